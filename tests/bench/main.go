// Command bench prints the speeds that the README names as a Markdown table. Each row compares two benchmarks that ran in
// the same process, one after the other: machines differ and drift, ratios measured side by side hold.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row compares two benchmarks of one package.
type row struct {
	what, beside    string
	pkg             string
	ours, reference string // names as `go test -bench` prints them, without the -N for the number of processors
}

var rows = []row{
	{"no-op plugin call through the pool", "raw `CallWithContext` on one warm instance", "./host/plugin", "BenchmarkNoop/pool", "BenchmarkNoop/raw"},
	{"dispatch by the bridge: checks, schema, scope", "the provider called directly", "./host/bridge", "BenchmarkDispatch/small/bridge", "BenchmarkDispatch/small/provider"},
	{"`result_query`: a slice of a stored 8 MB value, asked repeatedly", "parsing the whole value once", "./host/mcpserver", "BenchmarkResultQuery/slice", "BenchmarkResultQuery/parse"},
	{"`await call_tool(…)` of a no-op, from Python", "bare WebSocket echo in the same page", "./host/executor", "BenchmarkBrowser/call_tool", "BenchmarkBrowser/echo"},
	{"fresh run of `return 1` from an idle pool", "bare WebSocket echo in the same page", "./host/executor", "BenchmarkBrowser/fresh_run", "BenchmarkBrowser/echo"},
}

const rounds = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	fmt.Printf("Measured on %s, %d cores, %s, %s; medians of %d rounds.\n\n", processor(), runtime.NumCPU(), runtime.Version(), browserVersion(ctx), rounds)
	fmt.Println("| what | time | beside it | time | ratio |")
	fmt.Println("| --- | ---: | --- | ---: | ---: |")
	measured := map[string]map[string]time.Duration{}
	for _, r := range rows {
		if measured[r.pkg] == nil {
			var err error
			if measured[r.pkg], err = benchmark(ctx, r.pkg); err != nil {
				return err
			}
		}
		ours, found := measured[r.pkg][r.ours]
		reference, foundToo := measured[r.pkg][r.reference]
		if !found || !foundToo {
			return fmt.Errorf("%s ran no benchmark called %s or %s", r.pkg, r.ours, r.reference)
		}
		fmt.Printf("| %s | %s | %s | %s | %.3g |\n", r.what, short(ours), r.beside, short(reference), float64(ours)/float64(reference))
	}
	cold, warm, err := startTimes(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("| process start to the first answered run, cold: empty compilation cache | %s | the same, warm: plugins compiled before | %s | %.2f |\n",
		short(cold), short(warm), float64(cold)/float64(warm))
	return contextTables(ctx)
}

// contextTables prints what reaches an agent's context, as the tests measure and bound it.
func contextTables(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "^(TestContextBudget|TestTasksSideBySide)$", "./host/mcpserver")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	fmt.Println("\nWhat reaches an agent's context:")
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "        ") { // the test's log
			fmt.Print(line[4:])
		}
	}
	return nil
}

var resultLine = regexp.MustCompile(`(?m)^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([0-9.e+]+) ns/op`)

// benchmark runs the benchmarks of a package that the rows name, and returns the median time of each.
func benchmark(ctx context.Context, pkg string) (map[string]time.Duration, error) {
	var tops []string
	for _, r := range rows {
		for _, name := range []string{r.ours, r.reference} {
			if top, _, _ := strings.Cut(name, "/"); r.pkg == pkg && !slices.Contains(tops, top) {
				tops = append(tops, top)
			}
		}
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^("+strings.Join(tops, "|")+")$", "-count", strconv.Itoa(rounds), "-benchtime", "500ms", "-timeout", "15m", pkg)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out.Bytes())
	}
	samples := map[string][]time.Duration{}
	for _, m := range resultLine.FindAllStringSubmatch(out.String(), -1) {
		ns, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%s printed %q: %w", pkg, m[0], err)
		}
		samples[m[1]] = append(samples[m[1]], time.Duration(ns))
	}
	medians := map[string]time.Duration{}
	for name, s := range samples {
		medians[name] = median(s)
	}
	return medians, nil
}

// startTimes measures the whole binary, from its start to its exit after one answered run that calls a plugin: with an
// empty user cache folder, and with the one that this left behind.
func startTimes(ctx context.Context) (cold, warm time.Duration, err error) {
	dir, err := os.MkdirTemp("", "toolplane-bench-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	snippet := dir + "/snippet.py"
	if err := os.WriteFile(snippet, []byte("return (await issues.list(count=1))[\"total\"]\n"), 0o600); err != nil {
		return 0, 0, err
	}
	var colds, warms []time.Duration
	for i := range rounds {
		home := fmt.Sprintf("%s/%d", dir, i)
		for _, times := range []*[]time.Duration{&colds, &warms} {
			cmd := exec.CommandContext(ctx, "bin/toolplane", "run", "--plugin", "issues=builtin:issues", snippet)
			cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+home, "TOOLPLANE_CONFIG=")
			begin := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return 0, 0, fmt.Errorf("%s: %w\n%s", cmd, err, out)
			}
			*times = append(*times, time.Since(begin))
		}
	}
	return median(colds), median(warms), nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// short writes a duration with three digits that mean something.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", float64(d)/1e3)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	default:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
}

func processor() string {
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`model name\s*:\s*(.+)`).FindSubmatch(text); m != nil {
			return string(m[1])
		}
	}
	return runtime.GOOS + "/" + runtime.GOARCH
}

func browserVersion(ctx context.Context) string {
	for _, name := range []string{os.Getenv("TOOLPLANE_BROWSER"), "chromium", "google-chrome", "microsoft-edge"} {
		if name == "" {
			continue
		}
		if out, err := exec.CommandContext(ctx, name, "--version").Output(); err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	return "an unnamed browser"
}
