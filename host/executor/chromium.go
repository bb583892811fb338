package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/inspector"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// closeGrace is how long the browser may take to close in order. It closes in a
// tenth of a second; one that doesn't is killed.
const closeGrace = 1500 * time.Millisecond

// chromium is one browser process with one page. The debugging connection is a
// pipe that only this process holds: no port is open, and the browser ends when
// the pipe closes.
type chromium struct {
	logger  *slog.Logger
	profile *profile
	path    string
	pid     int

	// ctx is chromedp's; it ends when the browser does. cancel kills the
	// browser and waits until it has been.
	ctx    context.Context
	cancel context.CancelFunc

	// gone ends when the browser or its page is no longer usable, with the
	// reason as its cause. The first reason counts.
	gone context.Context
	lose context.CancelCauseFunc

	stopped sync.Once
	stopErr error
}

// chromiumOptions say how to start a browser.
type chromiumOptions struct {
	path       string
	base       *url.URL
	noSandbox  bool
	profileDir string // parent of the profile
	logger     *slog.Logger
}

// startChromium starts a browser with an empty page. It gives up when ctx ends;
// afterwards ctx has no meaning for the browser.
func startChromium(ctx context.Context, o chromiumOptions) (*chromium, error) {
	prof, err := newProfile(o.profileDir)
	if err != nil {
		return nil, err
	}
	c := &chromium{logger: o.logger, profile: prof, path: o.path}
	c.gone, c.lose = context.WithCancelCause(context.Background())

	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(o.path),
		chromedp.UserDataDir(prof.dir),
		chromedp.NoInheritEnv,
		chromedp.Env(browserEnv(goruntime.GOOS, os.Environ(), prof.dir)...),
		chromedp.ModifyCmdFunc(prepareCommand),
		// chromedp adds the switch by itself as root, so say it either way.
		chromedp.Flag("no-sandbox", o.noSandbox),
	}
	for _, flag := range chromiumFlags(o.base) {
		if flag[1] == "" {
			opts = append(opts, chromedp.Flag(flag[0], true))
		} else {
			opts = append(opts, chromedp.Flag(flag[0], flag[1]))
		}
	}
	debugf := func(format string, args ...any) {
		o.logger.Debug("chromedp", "message", fmt.Sprintf(format, args...))
	}
	allocCtx, cancelAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	tabCtx, cancelTab := chromedp.NewContext(allocCtx, chromedp.WithLogf(debugf), chromedp.WithErrorf(debugf))
	c.ctx = tabCtx
	c.cancel = func() { cancelTab(); cancelAlloc() }

	// chromedp binds the browser's life to the context of the first call, so
	// that context can't be the one that bounds the start.
	release := context.AfterFunc(ctx, func() { c.lose(context.Cause(ctx)); cancelAlloc() })
	err = c.attach()
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, errors.Join(startError(o.path, err), c.stop())
	}
	return c, nil
}

// attach starts the process, attaches to its page and watches both.
func (c *chromium) attach() error {
	if err := chromedp.Do(c.ctx); err != nil {
		return err
	}
	cc := chromedp.FromContext(c.ctx)
	c.pid = cc.Browser.Process().Pid
	ours := cc.Target.TargetID
	err := chromedp.ListenBrowser(c.ctx, func(ev any) {
		switch ev := ev.(type) {
		case *target.EventTargetCrashed:
			// Also of the sandboxed frame, which is a target of its own and in
			// which every interpreter lives.
			c.lose(fmt.Errorf("a page process of the browser crashed (%s, code %d)", ev.Status, ev.ErrorCode))
		case *target.EventTargetDestroyed:
			if ev.TargetID == ours {
				c.lose(errors.New("the browser closed the executor page"))
			}
		}
	})
	if err != nil {
		return err
	}
	err = chromedp.Listen(c.ctx, func(ev any) {
		if _, ok := ev.(*inspector.EventTargetCrashed); ok {
			c.lose(errors.New("the executor page crashed"))
		}
	})
	if err != nil {
		return err
	}
	context.AfterFunc(c.ctx, func() { c.lose(c.exitReason()) })
	return nil
}

// open loads the page at address, and then ends the debugging features that
// would make the browser copy every frame of the page's WebSocket into the pipe.
// Without them a second page could not be opened.
func (c *chromium) open(ctx context.Context, address string) error {
	ctx, cancel := c.within(ctx)
	defer cancel()
	response, err := chromedp.Run(ctx, chromedp.NavigateResponse(address))
	if err != nil {
		return fmt.Errorf("open %s: %w", address, c.because(ctx, err))
	}
	if response != nil && response.Status != 200 {
		return fmt.Errorf("open %s: the host answered with status %d: is the web runtime built (make web)?", address, response.Status)
	}
	return c.because(ctx, chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, command := range []string{
			network.Disable.Method, dom.Disable.Method, css.Disable.Method, cdplog.Disable.Method, cdppage.Disable.Method, runtime.Disable.Method,
		} {
			if err := t.Call(ctx, command, cdp.Empty{}, nil); err != nil {
				return fmt.Errorf("%s: %w", command, err)
			}
		}
		_, err := cdp.Call(ctx, t, target.SetAutoAttach, target.SetAutoAttachParams{})
		return err
	})))
}

// evaluate runs an expression in the page and waits for the promise it gives.
// The expression may hold a secret: it stands in no error.
func (c *chromium) evaluate(ctx context.Context, expression string) error {
	ctx, cancel := c.within(ctx)
	defer cancel()
	yes := true
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		res, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, AwaitPromise: &yes, Silent: &yes})
		if err != nil {
			return err
		}
		if d := res.ExceptionDetails; d != nil {
			text := d.Text
			if d.Exception != nil && d.Exception.Description != "" {
				text = d.Exception.Description
			}
			first, _, _ := strings.Cut(text, "\n")
			return errors.New(first)
		}
		return nil
	}))
	return c.because(ctx, err)
}

// within returns chromedp's context, ended by ctx and by the page's end as well:
// a page that crashed answers no call.
func (c *chromium) within(ctx context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancelCause(c.ctx)
	release1 := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	release2 := context.AfterFunc(c.gone, func() { cancel(context.Cause(c.gone)) })
	return both, func() { release1(); release2(); cancel(nil) }
}

// because replaces an error that came because the browser is gone, or because
// ctx ended, by the reason for that.
func (c *chromium) because(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if c.gone.Err() != nil {
		return context.Cause(c.gone)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// exitReason says how the process ended. chromedp knows it for a moment longer
// than the connection lasts, and gives it to a call that fails.
func (c *chromium) exitReason() error {
	err := chromedp.Do(c.ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error { return ctx.Err() }))
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("the browser process ended (%w)", exit)
	}
	return errors.New("the browser process ended")
}

// stop ends the browser, every process it started, and its profile. It returns
// when they are gone, within a few seconds.
func (c *chromium) stop() error {
	c.stopped.Do(func() {
		c.lose(errors.New("the browser was stopped"))
		if c.pid != 0 && c.ctx.Err() == nil {
			// In order first: a browser that is killed can't wait for its own
			// children, and where process 1 doesn't either (as in many
			// containers) they stay behind as zombies.
			ctx, cancel := context.WithTimeout(c.ctx, closeGrace)
			if err := chromedp.Cancel(ctx); err != nil && c.ctx.Err() == nil {
				c.logger.Debug("browser didn't close in order", "error", err)
				endGroup(c.pid)
			}
			cancel()
		}
		c.cancel()
		endLeftovers(c.profile.dir)
		c.stopErr = c.profile.remove()
	})
	return c.stopErr
}

// startError names the browser and, where its output says so, what to do.
func startError(path string, err error) error {
	text := err.Error()
	var hint string
	switch {
	case strings.Contains(text, "No usable sandbox") || strings.Contains(text, "SUID sandbox") || strings.Contains(text, "namespace sandbox"):
		hint = `: this system doesn't let the browser use its own sandbox; allow unprivileged user namespaces, or set [executor] no_sandbox = "always"`
	case strings.Contains(text, "Running as root without --no-sandbox"):
		hint = `: as root the browser needs [executor] no_sandbox = "auto"`
	case strings.Contains(text, "error while loading shared libraries"):
		hint = ": install the missing library, or the browser's package"
	}
	if hint == "" && len(text) <= startErrorLimit {
		return fmt.Errorf("start the browser %s: %w", path, err)
	}
	return fmt.Errorf("start the browser %s: %s%s", path, gist(text, startErrorLimit), hint)
}

const startErrorLimit = 600

// gist returns the line of the browser's output that says why it gave up, or
// else its end, at most limit bytes.
func gist(text string, limit int) string {
	text = strings.TrimSpace(text)
	for line := range strings.Lines(text) {
		if strings.Contains(line, "FATAL") {
			return cutText(strings.TrimSpace(line), int64(limit))
		}
	}
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest
	}
	return strings.ToValidUTF8(text, "")
}
