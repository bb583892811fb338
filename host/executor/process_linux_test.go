package executor

import "testing"

func TestStartedFor(t *testing.T) {
	const profile = "/tmp/toolplane-browser-12"
	for cmdline, want := range map[string]bool{
		"/usr/bin/chromium\x00--headless=new\x00--user-data-dir=/tmp/toolplane-browser-12\x00about:blank\x00":        true,
		"/usr/bin/chromium\x00--user-data-dir=/tmp/toolplane-browser-12":                                             true,
		"/usr/bin/chromium --type=renderer --user-data-dir=/tmp/toolplane-browser-12 --lang=en\x00":                  true,
		"/usr/lib/chrome_crashpad_handler\x00--database=/tmp/toolplane-browser-12/config/chromium/Crash Reports\x00": true,
		"/usr/lib/chrome_crashpad_handler\x00--database=/tmp/toolplane-browser-12\x00--annotation=x\x00":             true,
		"/usr/bin/chromium\x00--user-data-dir=/tmp/toolplane-browser-123\x00":                                        false,
		"/usr/lib/chrome_crashpad_handler\x00--database=/tmp/toolplane-browser-123/config\x00":                       false,
		"vim\x00/tmp/toolplane-browser-12/Local State\x00":                                                           false,
		"grep\x00toolplane-browser-12\x00":                                                                           false,
		"":                                                                                                           false,
	} {
		if got := startedFor([]byte(cmdline), profile); got != want {
			t.Errorf("startedFor(%q) = %v", cmdline, got)
		}
	}
}
