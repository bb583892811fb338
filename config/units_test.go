package config

import (
	"testing"
	"time"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0 B": 0, "1B": 1, "8 MiB": 8 << 20, "8mib": 8 << 20, " 1.5 KiB ": 1536, "2 GB": 2e9, "0.25 KiB": 256, "1 KB": 1000, "9223372036854775807 B": 1<<63 - 1,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "8", "8 M", "-1 B", "1e3 B", "1.5 B", "1..2 KiB", ". KiB", "9223372036854775808 B", "99999999999 GiB", "1 MiB MiB", "0x10 B", "1_000 B", "１ B"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("%q = %d, want an error", text, got)
		}
	}
}

func TestBytesRoundTrip(t *testing.T) {
	for _, n := range []Bytes{0, 1, 1000, 1023, 1024, 1025, 64 * KiB, 3 * MiB / 2, 16 * MiB, 5 * GiB} {
		if got, err := ParseBytes(n.String()); err != nil || got != n {
			t.Errorf("%d is written %q and read %d, %v", int64(n), n, int64(got), err)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1s", 90 * time.Second: "1m30s", time.Minute: "1m", time.Hour: "1h", 90 * time.Minute: "1h30m",
		time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m", 250 * time.Millisecond: "250ms", 720 * time.Hour: "720h", 0: "0s",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
		if back, err := time.ParseDuration(formatDuration(d)); err != nil || back != d {
			t.Errorf("%q is read as %v, %v", formatDuration(d), back, err)
		}
	}
}
