package fold

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// randomText writes a value with white space, escapes, repeated keys, long strings
// and numbers that no float64 holds.
func randomText(r *rand.Rand, b *strings.Builder, depth int) {
	space := func() {
		if r.IntN(6) == 0 {
			b.WriteString([]string{" ", "\n", "\t\r\n  "}[r.IntN(3)])
		}
	}
	str := func() {
		b.WriteByte('"')
		n := r.IntN(6)
		if r.IntN(12) == 0 {
			n = r.IntN(400)
		}
		for range n {
			b.WriteString([]string{"a", "b", "é", "😀", `\n`, `\\`, `\"`, `\u0061`, `\ud83d\ude00`, `\/`, ".", "\u2028"}[r.IntN(12)])
		}
		b.WriteByte('"')
	}
	space()
	defer space()
	kind := r.IntN(10)
	if depth <= 0 {
		kind = r.IntN(5)
	}
	n := r.IntN(6)
	if r.IntN(8) == 0 {
		n = r.IntN(90)
	}
	switch {
	case kind < 2:
		str()
	case kind < 4:
		b.WriteString([]string{"0", "-0.0", "1.0", "9007199254740993", "1e5", strings.Repeat("12", 80), "-7"}[r.IntN(7)])
	case kind == 4:
		b.WriteString([]string{"true", "false", "null"}[r.IntN(3)])
	case kind < 7:
		b.WriteByte('[')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			randomText(r, b, depth-1)
		}
		space()
		b.WriteByte(']')
	default:
		b.WriteByte('{')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			switch r.IntN(4) {
			case 0:
				str()
			case 1:
				fmt.Fprintf(b, `"k\u0030%d"`, r.IntN(100))
			default:
				fmt.Fprintf(b, `"k%02d"`, r.IntN(100))
			}
			space()
			b.WriteByte(':')
			randomText(r, b, depth-1)
		}
		b.WriteByte('}')
	}
}

// randomPath is a path that leads somewhere in v, mostly.
func randomPath(r *rand.Rand, v any) Path {
	var p Path
	for r.IntN(5) > 0 {
		switch at := v.(type) {
		case *dict:
			if len(at.keys) == 0 {
				return p
			}
			name := at.keys[r.IntN(len(at.keys))]
			p, v = p.then(step{kind: []stepKind{nameStep, tokenStep}[r.IntN(2)], name: name}), at.values[name]
		case []any:
			if len(at) == 0 {
				return p
			}
			i := r.IntN(len(at))
			s := step{kind: tokenStep, name: strconv.Itoa(i)}
			if r.IntN(2) == 0 {
				s = step{kind: indexStep, index: i - r.IntN(2)*len(at)}
			}
			p, v = p.then(s), at[i]
		default:
			if r.IntN(20) == 0 {
				p = p.then(step{kind: stepKind(r.IntN(3)), name: "0"})
			}
			return p
		}
	}
	if r.IntN(8) == 0 {
		p = p.then(step{kind: stepKind(r.IntN(3)), name: "nowhere", index: r.IntN(9) - 4})
	}
	return p
}

func randomOptions(r *rand.Rand, root any) QueryOptions {
	var o QueryOptions
	p := randomPath(r, root)
	o.Path = p.String()
	if r.IntN(3) == 0 {
		for _, s := range p.steps { // a pointer can't say what these mean
			if s.kind == indexStep && s.index < 0 {
				p = Path{}
			}
		}
		o.Path = p.Pointer()
	}
	small := func() *int { n := r.IntN(40) - 1; return &n }
	switch r.IntN(6) {
	case 0:
		o.Offset = small()
	case 1:
		o.Limit = small()
	case 2, 3:
		o.Offset, o.Limit = small(), small()
	case 4:
		o.Page, o.Limit = small(), small()
	}
	if r.IntN(4) == 0 {
		o.Fields = []string{"k00", "k01", "k02.k03", fmt.Sprintf("k%02d", r.IntN(100)), "k05[0]"}
	}
	return o
}
