package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/config"
	"github.com/toolplane/toolplane/host"
	"github.com/toolplane/toolplane/host/demo"
	"github.com/toolplane/toolplane/host/executor"
)

const demoScope = "demo"

// demoReport is what the demonstration found out, and what --json prints.
type demoReport struct {
	OK    bool       `json:"ok"`
	Steps []demoStep `json:"steps"`
	Runs  []demoRun  `json:"runs"`
	// StayedBytes is the size of what was saved, and so never left the host.
	StayedBytes int64 `json:"stayed_bytes"`
	// ReachedBytes is the size of both results, as a caller gets them.
	ReachedBytes int64 `json:"reached_bytes"`
}

type demoStep struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

type demoRun struct {
	Filename string           `json:"filename"`
	Code     string           `json:"code"`
	Bytes    int              `json:"bytes"` // of the result object
	Result   *executor.Result `json:"-"`
	Raw      json.RawMessage  `json:"result"`
}

func (a *app) demo() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job: fetch much, keep it on the host, return little",
		Long: `Shows what Toolplane is for, with nothing to set up but a browser: it starts a
host with a plugin that the binary carries, opens a headless browser session, and
runs two snippets. The first fetches 5,000 issues from the plugin, saves them on the
host and returns only a count, a sample and a handle; the second, in a fresh
interpreter, loads them by the handle and counts.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.runDemo(c.Context(), asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func (a *app) runDemo(ctx context.Context, asJSON bool) error {
	cfg := config.Default()
	cfg.Plugins["issues"] = config.DefaultPlugin(config.BuiltinPrefix + "issues")
	report := &demoReport{}
	p := &demoPrinter{app: a, color: a.palette(a.stdout), silent: asJSON}
	status := a.status()
	defer status.clear()

	step := func(name string, what func() error) error {
		status.say("%s…", name)
		begin := time.Now()
		err := what()
		report.Steps = append(report.Steps, demoStep{name, milliseconds(time.Since(begin))})
		status.clear()
		return err
	}

	p.opening()
	var h *host.Host
	err := step("start the host", func() (err error) {
		h, err = a.open(ctx, cfg, "warn", host.Options{Listen: "127.0.0.1:0"})
		return err
	})
	if err != nil {
		return err
	}
	defer a.close(h)
	err = step("load the plugin", func() error {
		for _, failure := range h.Missing(ctx) {
			return &exitError{exitFailed, fmt.Errorf("%s", failure)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := step("start the browser and Python", func() error { return h.Start(ctx) }); err != nil {
		return &exitError{exitFailed, fmt.Errorf("%w\n\"toolplane doctor\" looks at everything that's needed", err)}
	}
	var previous json.RawMessage
	for i, s := range demo.Snippets() {
		p.snippet(i+1, s)
		var res *executor.Result
		_ = step("run "+s.Filename, func() error {
			res = h.Run(ctx, executor.Request{Scope: demoScope, Code: s.Code, Filename: s.Filename, Previous: previous, Fresh: true})
			return nil
		})
		raw, err := res.JSON()
		if err != nil {
			return err
		}
		run := demoRun{Filename: s.Filename, Code: s.Code, Bytes: len(raw), Result: res, Raw: raw}
		report.Runs = append(report.Runs, run)
		report.ReachedBytes += int64(run.Bytes)
		p.result(run)
		if !res.OK {
			return &exitError{exitFailed, fmt.Errorf("%s failed: %w", s.Filename, res.Error)}
		}
		previous = res.Value
	}
	report.OK = true
	report.StayedBytes = h.Results().Stats().Bytes
	if asJSON {
		return a.printJSON(report)
	}
	p.summary(report)
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
