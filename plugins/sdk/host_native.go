//go:build !wasip1

package sdk

import "log"

// onToolplane is false natively: arguments are then checked as on any other host.
func onToolplane() bool { return false }

// Config returns a value of the plugin's config table. Outside a host there is none.
func Config(string) (string, bool) { return "", false }

// Logf writes to the host's log; outside a host, to the log package's.
func Logf(level Level, format string, a ...any) { log.Printf(string(level)+": "+format, a...) }
