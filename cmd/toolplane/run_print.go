package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/toolplane/toolplane/host/executor"
)

// runPrinter prints one run: its output as it comes, then its value or error.
type runPrinter struct {
	app    *app
	json   bool
	status *status
	file   string
	header bool // there are several runs: name each
	first  bool

	mu      sync.Mutex
	started bool
	printed map[string]int // bytes of each stream
	lastEnd byte           // the last byte on stdout
}

// output prints what the snippet prints, as it comes.
func (p *runPrinter) output(stream, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	p.write(stream, text)
}

// begin makes way for the run's output.
func (p *runPrinter) begin() {
	if p.started {
		return
	}
	p.started = true
	p.printed = map[string]int{}
	p.status.clear()
	if p.header {
		if !p.first {
			fmt.Fprintln(p.app.stdout)
		}
		fmt.Fprintln(p.app.stdout, p.app.palette(p.app.stdout).dim("==> "+p.file+" <=="))
	}
	p.lastEnd = '\n'
}

func (p *runPrinter) write(stream, text string) {
	if text == "" {
		return
	}
	p.printed[stream] += len(text)
	if stream == "stderr" {
		fmt.Fprint(p.app.stderr, text)
		return
	}
	fmt.Fprint(p.app.stdout, text)
	p.lastEnd = text[len(text)-1]
}

// result prints what the run came to.
func (p *runPrinter) result(res *executor.Result) error {
	p.status.clear()
	if p.json {
		line, err := res.JSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.app.stdout, "%s\n", line)
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	// Whatever the stream of output didn't bring.
	for stream, text := range map[string]string{"stdout": res.Stdout, "stderr": res.Stderr} {
		if n := p.printed[stream]; n < len(text) {
			p.write(stream, text[n:])
		}
	}
	if p.lastEnd != '\n' {
		fmt.Fprintln(p.app.stdout)
	}
	if res.OutputTruncated {
		fmt.Fprintln(p.app.stderr, "(the output was cut at its limit, [executor] max_output_bytes)")
	}
	if res.Tampered {
		fmt.Fprintln(p.app.stderr, "(the snippet sent messages that only an attack on its sandbox would send)")
	}
	if !res.OK {
		p.failure(res.Error)
		return nil
	}
	if string(res.Value) == "null" {
		return nil
	}
	_, err := fmt.Fprintln(p.app.stdout, indent(res.Value))
	return err
}

func (p *runPrinter) failure(e *executor.RunError) {
	colour := p.app.palette(p.app.stderr)
	trace := strings.TrimSpace(e.Traceback)
	if trace != "" {
		fmt.Fprintln(p.app.stderr, trace)
	}
	if !strings.Contains(trace, e.Message) || trace == "" {
		fmt.Fprintf(p.app.stderr, "%s: %s\n", colour.red(e.Type), e.Message)
	}
}

// indent lays JSON out for a reader. Numbers and strings keep their text.
func indent(value json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, value, "", "  "); err != nil {
		return string(value)
	}
	return b.String()
}
