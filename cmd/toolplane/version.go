package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/web"
)

// buildVersion is set by release builds: -ldflags "-X main.buildVersion=v1.2.3".
var buildVersion = ""

type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Pyodide is the embedded Python runtime, "" when it isn't built in.
	Pyodide string `json:"pyodide"`
}

func readVersion() versionInfo {
	v := versionInfo{Version: buildVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Pyodide: web.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v.named()
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	if v.Version == "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	return v.named()
}

// named gives a build that carries no version one that says so.
func (v versionInfo) named() versionInfo {
	if v.Version != "" {
		return v
	}
	v.Version = "devel"
	if len(v.Commit) >= 12 {
		v.Version += "-" + v.Commit[:12]
	}
	return v
}

func (a *app) version() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print versions of Toolplane, Go and Python's runtime",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if asJSON {
				return a.printJSON(v)
			}
			a.printf("toolplane %s\n", v.Version)
			if v.Commit != "" {
				changed := ""
				if v.Modified {
					changed = ", with changes that aren't committed"
				}
				a.printf("  commit    %s (%s%s)\n", v.Commit, v.Time, changed)
			}
			pyodide := v.Pyodide
			if pyodide == "" {
				pyodide = "not built in"
			}
			a.printf("  pyodide   %s\n  go        %s\n  platform  %s\n", pyodide, v.Go, v.Platform)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// printJSON prints a value as JSON for programs and people.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
