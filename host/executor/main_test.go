package executor

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// victimEnv says what the victim is doing when it is killed.
const victimEnv = "TOOLPLANE_TEST_VICTIM"

// playVictim, if it is set, turns the process into a host that waits to be killed.
var playVictim func()

// TestMain lets the test binary play a host that is killed (see
// TestKilledHostLeavesNoBrowser), and otherwise fails if a goroutine is left.
func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) != "" && playVictim != nil {
		playVictim()
	}
	goleak.VerifyTestMain(m)
}
