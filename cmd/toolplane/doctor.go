package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host"
)

type doctorOptions struct {
	json, noRun bool
	plugins     []string
}

func (a *app) doctor() *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why something doesn't work, and how to fix it",
		Long: `Looks at everything that Toolplane needs: configuration, browser, Python runtime,
port, compilation cache, each plugin, and a snippet that really runs. For each
thing that's broken it says how to fix it.

Exit codes: 0 when nothing is broken, else 1.`,
		Example: `  toolplane doctor
  toolplane doctor --no-run --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.diagnose(c.Context(), o) },
	}
	flags := c.Flags()
	pluginFlag(flags, &o.plugins)
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	flags.BoolVar(&o.noRun, "no-run", false, "don't start the browser to run a snippet")
	return c
}

// doctorReport is what "doctor --json" prints.
type doctorReport struct {
	OK       bool         `json:"ok"`
	Versions versionInfo  `json:"versions"`
	Checks   []host.Check `json:"checks"`
}

func (a *app) diagnose(ctx context.Context, o doctorOptions) error {
	logger, err := a.logger("error")
	if err != nil {
		return err
	}
	color := a.palette(a.stdout)
	status := a.status()
	show := func(c host.Check) {
		if o.json {
			return
		}
		status.clear()
		marks := map[string]string{host.CheckOK: color.green("ok     "), host.CheckWarning: color.cyan("warning"), host.CheckBroken: color.red("broken ")}
		a.printf("%s  %s: %s\n", marks[c.Status], color.bold(c.Name), plain(c.Detail))
		if c.Fix != "" {
			a.printf("         to fix it: %s\n", plain(c.Fix))
		}
		status.say("looking…")
	}
	report := doctorReport{Versions: readVersion()}
	if !o.json {
		v := report.Versions
		a.printf("toolplane %s, %s, %s\n", v.Version, v.Go, v.Platform)
	}
	cfg, check := a.checkConfigFile()
	report.Checks = append(report.Checks, check)
	show(check)
	if err := withPlugins(cfg, o.plugins); err != nil {
		return err
	}
	report.Checks = append(report.Checks, host.Diagnose(ctx, cfg, host.DiagnoseOptions{
		Options: host.Options{Version: report.Versions.Version, Logger: logger, CacheDir: host.DefaultCacheDir()},
		Run:     !o.noRun,
		Report:  show,
	})...)
	status.clear()
	report.OK = !host.Broken(report.Checks)
	if o.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	}
	if !report.OK {
		return &exitError{code: exitFailed}
	}
	return nil
}

// checkConfigFile loads the configuration; one that can't be used is replaced by
// the defaults, so that the other checks go on.
func (a *app) checkConfigFile() (*config.Config, host.Check) {
	source := config.Environment(a.configFile)
	source.Env = a.getenv(config.EnvVar)
	cfg, found, err := config.Load(source)
	check := host.Check{Name: "configuration", Status: host.CheckOK}
	switch {
	case err != nil:
		check.Status, check.Detail = host.CheckBroken, err.Error()
		check.Fix = "mend these lines; until then the checks below are made with the defaults"
		return config.Default(), check
	case found.Path == "":
		check.Detail = "no file, so that the defaults hold"
	default:
		check.Detail = fmt.Sprintf("%s (from %s)", found.Path, found.Origin)
	}
	if len(found.Warnings) > 0 {
		check.Status = host.CheckWarning
		check.Detail += "; " + found.Warnings.Error()
	}
	return cfg, check
}
