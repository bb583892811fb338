package executor

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestFindBrowser(t *testing.T) {
	tests := []struct {
		name       string
		goos       string
		env        map[string]string
		configured string
		present    []string // what can be started
		want       string
		wantErr    []string
	}{
		{name: "first on PATH", goos: "linux", present: []string{"chromium", "microsoft-edge"}, want: "chromium"},
		{name: "Chrome before Chromium", goos: "linux", present: []string{"chromium", "google-chrome"}, want: "google-chrome"},
		{name: "usual place off PATH", goos: "linux", present: []string{"/opt/google/chrome/chrome"}, want: "/opt/google/chrome/chrome"},
		{name: "snap before the bare shell", goos: "linux", present: []string{"headless_shell", "/snap/bin/chromium"}, want: "/snap/bin/chromium"},
		{name: "configured wins", goos: "linux", configured: "/my/chrome", present: []string{"chromium", "/my/chrome"}, want: "/my/chrome"},
		{name: "environment wins over configured", goos: "linux", env: map[string]string{BrowserEnv: "edge"}, configured: "/my/chrome",
			present: []string{"edge", "/my/chrome"}, want: "edge"},
		{name: "configured but missing", goos: "linux", configured: "/my/chrome", present: []string{"chromium"},
			wantErr: []string{"[executor] browser", `"/my/chrome"`, "remove it"}},
		{name: "environment but missing", goos: "linux", env: map[string]string{BrowserEnv: "edge"}, present: []string{"chromium"},
			wantErr: []string{BrowserEnv, `"edge"`}},
		{name: "nothing on Linux", goos: "linux", wantErr: []string{"google-chrome", "apt-get install chromium", BrowserEnv, "[executor] browser"}},
		{name: "macOS", goos: "darwin", present: []string{"/Applications/Chromium.app/Contents/MacOS/Chromium"},
			want: "/Applications/Chromium.app/Contents/MacOS/Chromium"},
		{name: "macOS, the user's own", goos: "darwin", env: map[string]string{"HOME": "/Users/me"},
			present: []string{"/Users/me/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"},
			want:    "/Users/me/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"},
		{name: "Windows", goos: "windows", env: map[string]string{"ProgramFiles(x86)": `C:\P86`},
			present: []string{`C:\P86\Microsoft\Edge\Application\msedge.exe`}, want: `C:\P86\Microsoft\Edge\Application\msedge.exe`},
		{name: "nothing on Windows", goos: "windows", wantErr: []string{"winget", "msedge.exe"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := browserSearch{
				goos:       tt.goos,
				getenv:     func(name string) string { return tt.env[name] },
				configured: tt.configured,
				lookPath: func(name string) (string, error) {
					if slices.Contains(tt.present, name) {
						return name, nil
					}
					return "", exec.ErrNotFound
				},
			}.find()
			if got != tt.want || (err != nil) != (tt.wantErr != nil) {
				t.Fatalf("got %q, %v; want %q", got, err, tt.want)
			}
			for _, part := range tt.wantErr {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q doesn't mention %q", err, part)
				}
			}
			if named := tt.configured != "" || tt.env[BrowserEnv] != ""; tt.wantErr != nil && errors.Is(err, ErrNoBrowser) == named {
				t.Errorf("errors.Is(%v, ErrNoBrowser) = %v", err, !named)
			}
		})
	}
}

func TestFindBrowserHere(t *testing.T) {
	t.Setenv(BrowserEnv, "")
	path, err := FindBrowser()
	if err != nil {
		t.Fatalf("the tests need a browser: %v", err)
	}
	t.Setenv(BrowserEnv, path)
	if again, err := LookBrowser("/no/such/browser"); again != path || err != nil {
		t.Errorf("with %s=%s: got %q, %v", BrowserEnv, path, again, err)
	}
}
