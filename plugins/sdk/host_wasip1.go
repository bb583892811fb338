package sdk

import (
	"context"
	"fmt"

	pdk "github.com/extism/go-pdk"
)

//go:wasmexport describe
func describe() int32 {
	text, err := Describe()
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.Output(text)
	return 0
}

//go:wasmexport call
func call() int32 {
	pdk.Output(Handle(context.Background(), pdk.Input()))
	return 0
}

var toolplane struct{ asked, is bool }

// onToolplane reports whether the host is Toolplane, which validates arguments and reads structured content. A module's
// configuration doesn't change while it runs.
func onToolplane() bool {
	if !toolplane.asked {
		_, toolplane.is = pdk.GetConfig("toolplane.host")
		toolplane.asked = true
	}
	return toolplane.is
}

// Config returns a value of the plugin's config table.
func Config(key string) (string, bool) { return pdk.GetConfig(key) }

// Logf writes to the host's log.
func Logf(level Level, format string, a ...any) {
	pdk.Log(map[Level]pdk.LogLevel{Debug: pdk.LogDebug, Info: pdk.LogInfo, Warn: pdk.LogWarn}[level], fmt.Sprintf(format, a...))
}
