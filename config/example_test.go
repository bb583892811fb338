package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolplane/toolplane/config"
)

func Example() {
	dir, err := os.MkdirTemp("", "config-example-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, config.FileName)
	text := "[executor]\nrun_timeout = \"5s\"\npool_sise = 3\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}

	_, _, err = config.Load(config.Source{File: path})
	var problems config.Problems
	errors.As(err, &problems)
	for _, p := range problems {
		fmt.Printf("line %d: %s: %s\n", p.Line, p.Key, p.Text)
	}
	// Output:
	// line 3: executor.pool_sise: unknown setting; did you mean "pool_size"?
}
