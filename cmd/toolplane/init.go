package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolplane/toolplane/config"
)

func (a *app) init() *cobra.Command {
	var path string
	var toStdout bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Write an annotated configuration",
		Long: `Writes a configuration file that holds every setting with its meaning, default
and bounds, and the demo plugin turned on. It never overwrites a file.`,
		Example: `  toolplane init
  toolplane init --path ~/.config/toolplane/toolplane.toml
  toolplane init --print | less`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if toStdout {
				_, err := a.stdout.Write(config.Sample())
				return err
			}
			return a.writeSample(path)
		},
	}
	c.Flags().StringVar(&path, "path", config.FileName, "where to write it")
	c.Flags().BoolVar(&toStdout, "print", false, "print it instead")
	return c
}

func (a *app) writeSample(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// 0600: a plugin's env and config may come to hold secrets.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and is left alone; choose another place with --path, or look at the sample with --print", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(config.Sample())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	check := "toolplane config check"
	if path != config.FileName {
		check += " --config " + path
	}
	a.printf("Wrote %s. See what it means with: %s\n", path, check)
	return nil
}
