package config

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// Bytes is a size. In a file it's written as a whole number of bytes or as text
// with a unit ("16 MiB").
type Bytes int64

// Binary units.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

var byteUnits = []struct {
	name string
	size int64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// String writes the size in the largest binary unit that divides it, so that
// [ParseBytes] gives it back exactly.
func (b Bytes) String() string {
	for _, u := range byteUnits[:3] {
		if b != 0 && int64(b)%u.size == 0 {
			return fmt.Sprintf("%d %s", int64(b)/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d B", int64(b))
}

// ParseBytes reads a size with its unit: B, KB, MB, GB (powers of 1000) or KiB,
// MiB, GiB (powers of 1024), in any case, with or without a space. A fraction is
// fine where it's a whole number of bytes.
func ParseBytes(s string) (Bytes, error) {
	s = strings.TrimSpace(s)
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.') {
		end++
	}
	number, unit := s[:end], strings.TrimSpace(s[end:])
	const form = `write a number and a unit, such as "8 MiB" (B, KB, MB, GB count in thousands; KiB, MiB, GiB in 1024)`
	// 20 digits are more than an int64 holds; the bound keeps big.Rat cheap.
	if number == "" || len(number) > 20 {
		return 0, fmt.Errorf("%q isn't a size: %s", s, form)
	}
	if unit == "" {
		return 0, fmt.Errorf("%q has no unit: %s", s, form)
	}
	for _, u := range byteUnits {
		if !strings.EqualFold(u.name, unit) {
			continue
		}
		r, ok := new(big.Rat).SetString(number)
		if !ok {
			return 0, fmt.Errorf("%q isn't a size: %s", s, form)
		}
		r.Mul(r, new(big.Rat).SetInt64(u.size))
		if !r.IsInt() {
			return 0, fmt.Errorf("%q isn't a whole number of bytes", s)
		}
		if !r.Num().IsInt64() {
			return 0, fmt.Errorf("%q is too large: the largest size is %d bytes", s, int64(math.MaxInt64))
		}
		return Bytes(r.Num().Int64()), nil
	}
	return 0, fmt.Errorf("%q has an unknown unit: %s", s, form)
}

// parseDuration reads a duration as Go writes it, and says how when it can't.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf(`%q isn't a duration: write a number and a unit, such as "30s", "1m30s" or "250ms" (units: ms, s, m, h)`, s)
	}
	return d, nil
}

// formatDuration writes a duration without the zero parts that
// time.Duration.String adds ("1h" instead of "1h0m0s").
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
