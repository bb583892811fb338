package executor

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary play a host that is killed (see
// TestKilledHostLeavesNoBrowser), and otherwise fails if a goroutine is left.
func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) != "" {
		playVictim()
	}
	goleak.VerifyTestMain(m)
}
