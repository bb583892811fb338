package executor

const victimEnv = "TOOLPLANE_TEST_VICTIM"

func playVictim() {}
