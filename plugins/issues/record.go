package main

const (
	trackerSize = 100_000
	// firstID is 2**53 + 1, the first integer that doesn't survive a float64. The ids are 2**31 + 11 apart.
	firstID  = 1<<53 + 1
	idStride = 1<<31 + 11
)

// record is an issue as numbers: indices into the word lists. Everything in it follows from the number.
type record struct {
	number                      int
	part, problem, circumstance int
	author, version, platform   int
	open                        bool
	labels                      uint32 // a bit for each of labels
	created, updated            int64  // Unix seconds
	comments                    int
	reactions                   [len(reactionNames)]int
	milestone                   int // -1: none
	noise                       uint64
}

func newRecord(number int) record {
	d := dice(uint64(number) * 0x9e3779b97f4a7c15)
	r := record{
		number: number,
		part:   d.roll(len(parts)), problem: d.roll(len(problems)), circumstance: d.roll(len(circumstances)),
		author: d.roll(len(people)), version: d.roll(len(versions)), platform: d.roll(len(platforms)),
		// Older issues are more likely to be closed: 9 in 10 at first, 1 in 3 at the end.
		open:      d.roll(trackerSize*10) < trackerSize+number*57/10,
		milestone: d.roll(len(milestones)*2) - len(milestones),
	}
	if r.milestone < 0 {
		r.milestone = -1
	}
	r.labels = 1<<problems[r.problem].kind | 1<<(firstAreaLabel+r.part%(len(labels)-firstAreaLabel))
	for extra := firstExtraLabel; extra < firstAreaLabel; extra++ {
		if d.roll(9) == 0 {
			r.labels |= 1 << extra
		}
	}
	// About an issue each 35 minutes from 2019 on.
	r.created = 1546300800 + int64(number)*2113 + int64(d.roll(2000))
	r.updated = r.created + int64(d.roll(90*86400))
	r.comments = d.roll(6) * d.roll(5)
	for i := range r.reactions {
		r.reactions[i] = max(0, d.roll(12)-6-i)
	}
	r.noise = d.next()
	return r
}

func idOf(number int) int64 { return firstID + int64(number-1)*idStride }

// numberOf finds an issue by its id or number; 0 if there is none.
func numberOf(id int64) int {
	if id >= 1 && id <= trackerSize {
		return int(id)
	}
	if id < firstID || (id-firstID)%idStride != 0 || (id-firstID)/idStride >= trackerSize {
		return 0
	}
	return int((id-firstID)/idStride) + 1
}

// dice is splitmix64: as good as random, the same everywhere, and a few instructions long.
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *dice) roll(n int) int { return int(d.next() >> 33 * uint64(n) >> 31) }
