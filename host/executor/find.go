package executor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// BrowserEnv is the environment variable that names the browser to use. It wins
// over the configuration and over the search.
const BrowserEnv = "TOOLPLANE_BROWSER"

// ErrNoBrowser is what [FindBrowser] wraps when the search found nothing.
var ErrNoBrowser = errors.New("no Chrome, Chromium or Edge found")

// FindBrowser returns the Chromium-based browser to use: the one that
// TOOLPLANE_BROWSER names or else the first of Chrome, Chromium and Edge found
// on PATH and in the usual places of the operating system. The error says what
// was looked for and how to name a browser.
func FindBrowser() (path string, err error) { return LookBrowser("") }

// LookBrowser is [FindBrowser] with a configured path or name, which counts when
// TOOLPLANE_BROWSER is not set. A browser that was named but isn't there is an
// error: no other one is taken in its place.
func LookBrowser(configured string) (path string, err error) {
	return browserSearch{
		goos:       runtime.GOOS,
		getenv:     os.Getenv,
		lookPath:   exec.LookPath,
		configured: configured,
	}.find()
}

// browserSearch is the search with everything it asks the system, so that a
// test can run that of another system.
type browserSearch struct {
	goos       string
	getenv     func(string) string
	lookPath   func(string) (string, error)
	configured string
}

func (s browserSearch) find() (string, error) {
	if name := s.getenv(BrowserEnv); name != "" {
		return s.named(name, BrowserEnv)
	}
	if s.configured != "" {
		return s.named(s.configured, "[executor] browser")
	}
	candidates := s.candidates()
	for _, c := range candidates {
		if path, err := s.lookPath(c); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("find a browser: %w (looked for %s): %s, or set [executor] browser or %s to the path of one",
		ErrNoBrowser, strings.Join(candidates, ", "), installHint(s.goos), BrowserEnv)
}

func (s browserSearch) named(name, by string) (string, error) {
	path, err := s.lookPath(name)
	if err != nil {
		return "", fmt.Errorf("find a browser: %s names %q, which can't be started (%w): correct it, or remove it to have one searched", by, name, err)
	}
	return path, nil
}

func installHint(goos string) string {
	switch goos {
	case "darwin":
		return "install one (brew install --cask chromium)"
	case "windows":
		return "install one (winget install Google.Chrome)"
	default:
		return "install one (on Debian: apt-get install chromium)"
	}
}

// candidates lists what to look for, best first. Names without a separator are
// searched on PATH. The bare headless shell comes last: it works, but it is
// often an old one that another tool left.
func (s browserSearch) candidates() []string {
	switch s.goos {
	case "darwin":
		var list []string
		apps := []string{
			"Google Chrome.app/Contents/MacOS/Google Chrome",
			"Chromium.app/Contents/MacOS/Chromium",
			"Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
		}
		for _, app := range apps {
			list = append(list, "/Applications/"+app)
		}
		if home := s.getenv("HOME"); home != "" {
			for _, app := range apps {
				list = append(list, filepath.Join(home, "Applications", app))
			}
		}
		return append(list, "google-chrome", "chromium", "chrome", "microsoft-edge")
	case "windows":
		var list []string
		for _, program := range []string{
			`Google\Chrome\Application\chrome.exe`,
			`Chromium\Application\chrome.exe`,
			`Microsoft\Edge\Application\msedge.exe`,
		} {
			for _, root := range []string{"ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"} {
				if dir := s.getenv(root); dir != "" {
					list = append(list, dir+`\`+program)
				}
			}
		}
		return append(list, "chrome.exe", "chromium.exe", "msedge.exe")
	default:
		return []string{
			"google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "chrome",
			"microsoft-edge-stable", "microsoft-edge",
			"/opt/google/chrome/chrome", "/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser",
			"/opt/microsoft/msedge/msedge", "/usr/local/bin/chrome", "/snap/bin/chromium",
			"headless_shell", "chrome-headless-shell",
		}
	}
}
