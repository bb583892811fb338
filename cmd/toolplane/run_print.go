package main

import (
	"bytes"
	"encoding/json"
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
			p.app.printf("\n")
		}
		p.app.printf("%s\n", p.app.palette(p.app.stdout).dim("==> "+p.file+" <=="))
	}
	p.lastEnd = '\n'
}

func (p *runPrinter) write(stream, text string) {
	if text == "" {
		return
	}
	p.printed[stream] += len(text)
	if stream == "stderr" {
		p.app.complain("%s", text)
		return
	}
	p.app.printf("%s", text)
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
		p.app.printf("%s\n", line)
		return nil
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
		p.app.printf("\n")
	}
	if res.OutputTruncated {
		p.app.complain("(the output was cut at its limit, [executor] max_output_bytes)\n")
	}
	if res.SessionNote != "" {
		p.app.complain("(session: %s)\n", res.SessionNote)
	}
	if res.Tampered {
		p.app.complain("(the snippet sent messages that only an attack on its sandbox would send)\n")
	}
	if !res.OK {
		p.failure(res.Error)
		return nil
	}
	if string(res.Value) == "null" {
		return nil
	}
	p.app.printf("%s\n", indent(res.Value))
	return nil
}

func (p *runPrinter) failure(e *executor.RunError) {
	color := p.app.palette(p.app.stderr)
	trace := strings.TrimSpace(e.Traceback)
	if trace != "" {
		p.app.complain("%s\n", trace)
	}
	if !strings.Contains(trace, e.Message) || trace == "" {
		p.app.complain("%s: %s\n", color.red(e.Type), e.Message)
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
