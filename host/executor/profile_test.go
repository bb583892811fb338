package executor

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSweepRemovesOnlyAbandonedProfiles(t *testing.T) {
	parent := t.TempDir()
	now := time.Now()
	dir := func(name string) string {
		path := filepath.Join(parent, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := func(path string) {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	living, err := newProfile(parent)
	if err != nil {
		t.Fatal(err)
	}
	dead := dir(profilePrefix + "dead")
	file(filepath.Join(dead, profileLock))
	file(filepath.Join(dead, "Local State"))
	young := dir(profilePrefix + "young") // between MkdirTemp and its lock
	old := dir(profilePrefix + "old")
	if err := os.Chtimes(old, now, now.Add(-2*unlockedAge)); err != nil {
		t.Fatal(err)
	}
	other := dir("somebody-elses")
	file(filepath.Join(other, profileLock))
	link := filepath.Join(parent, profilePrefix+"link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}

	// A lock file that is a link could make the sweep lock, or later remove,
	// something that isn't its own.
	trick := dir(profilePrefix + "trick")
	if err := os.Symlink(filepath.Join(other, profileLock), filepath.Join(trick, profileLock)); err != nil {
		t.Fatal(err)
	}

	if n := sweepProfiles(parent, now); n != 2 {
		t.Errorf("removed %d profiles, want 2", n)
	}
	for path, want := range map[string]bool{
		living.dir: true, dead: false, young: true, old: false, other: true, link: true, trick: true,
		filepath.Join(other, profileLock): true,
	} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(path), err == nil, want)
		}
	}

	if err := living.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(living.dir); !os.IsNotExist(err) {
		t.Errorf("removed profile: %v", err)
	}
}

func TestSweepRespectsAnotherProcessesLock(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, profilePrefix+"held")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(dir, profileLock)
	// flock(1) holds the lock while the command that it runs waits for its
	// standard input to close.
	cmd := exec.Command("flock", lock, "sh", "-c", "echo held; cat >/dev/null")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 5)
	if _, err := out.Read(buf); err != nil {
		t.Fatal(err)
	}
	if n := sweepProfiles(parent, time.Now()); n != 0 {
		t.Errorf("removed %d profiles while another process holds the lock", n)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := sweepProfiles(parent, time.Now()); n != 1 {
		t.Errorf("removed %d profiles after the other process ended, want 1", n)
	}
}

func TestProfileParent(t *testing.T) {
	for dir, want := range map[string]string{
		"/tmp":                               "/tmp",
		"/var/tmp":                           "/var/tmp",
		"/home/u/" + strings.Repeat("x", 90): "/tmp",
	} {
		t.Setenv("TMPDIR", dir)
		if got := profileParent(); got != want {
			t.Errorf("with TMPDIR=%s: %s, want %s", dir, got, want)
		}
	}
}

func TestBrowserEnv(t *testing.T) {
	got := browserEnv("linux", []string{"PATH=/bin", "HOME=/root", "LC_ALL=C", "GITHUB_TOKEN=x", "TMPDIR=/tmp", "AWS_SECRET_ACCESS_KEY=x", "https_proxy=x"}, "/p")
	want := []string{"PATH=/bin", "HOME=/root", "LC_ALL=C", "TMPDIR=/tmp", "XDG_CONFIG_HOME=/p/config", "BREAKPAD_DUMP_LOCATION=/p", "TMPDIR=/p"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A sweep never takes a profile that is just being made, or in use, for an
// abandoned one.
func TestSweepHammer(t *testing.T) {
	parent := t.TempDir()
	stop := make(chan struct{})
	var sweeps, hosts sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					sweepProfiles(parent, time.Now())
				}
			}
		})
	}
	for range 4 {
		hosts.Go(func() {
			for range 200 {
				p, err := newProfile(parent)
				if err != nil {
					t.Error(err)
					return
				}
				file := filepath.Join(p.dir, "Local State")
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond) // long enough for a sweep
				if _, err := os.Stat(file); err != nil {
					t.Errorf("swept while in use: %v", err)
				}
				if err := p.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	hosts.Wait()
	close(stop)
	sweeps.Wait()
}
