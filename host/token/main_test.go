package token

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A test that needs another process runs its own binary with these set.
const (
	roleVariable = "TOOLPLANE_TOKEN_TEST_ROLE"
	pathVariable = "TOOLPLANE_TOKEN_TEST_PATH"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role, os.Getenv(pathVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// play is what another process does.
func play(role, path string) error {
	s, err := Open(Options{Path: path, LockTimeout: time.Minute})
	if err != nil {
		return err
	}
	what, argument, _ := strings.Cut(role, ":")
	switch what {
	case "die": // in the middle of making a token, at a step
		s.step = func(name string) {
			if name == argument {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
				select {} // the signal arrives
			}
		}
		_, _, err := s.Create("made by one that dies", CreateOptions{})
		return errors.Join(errors.New("it should have died"), err)
	case "create":
		n, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		for i := range n {
			secret, _, err := s.Create(fmt.Sprintf("%d of %d", i, os.Getpid()), CreateOptions{})
			if err != nil {
				return err
			}
			if _, ok := s.Verify(secret.Reveal()); !ok {
				return errors.New("its own token isn't valid")
			}
		}
		return nil
	case "revoke":
		return s.Revoke(argument)
	}
	return fmt.Errorf("no such role: %s", role)
}

// other makes another process of this binary.
func other(t *testing.T, role, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, pathVariable+"="+path)
	return cmd
}
