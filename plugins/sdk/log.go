package sdk

// Level is how important a line of the log is.
type Level string

// The levels. The host drops Debug unless it was asked to show it.
const (
	Debug Level = "debug"
	Info  Level = "info"
	Warn  Level = "warn"
)
