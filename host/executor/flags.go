package executor

import (
	"net/url"
	"strings"
)

// offFeatures are Chromium features that start processes (a preloaded tab
// strip, a spare renderer) or ask servers for something, and that nobody sees
// in a browser without a window.
var offFeatures = []string{
	"PreloadTopChromeWebUI", "InitialWebUI", "WebUIReloadButton", "WebUIToolbar", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
	"SpareRendererForSitePerProcess", "OptimizationHints", "Translate", "MediaRouter", "DialMediaRouteProvider",
	"AutofillServerCommunication", "CertificateTransparencyComponentUpdater",
}

// chromiumFlags are the switches of the browser, without "--". An empty value
// is a switch without value. The profile, the debugging pipe and the process
// sandbox are not among them.
func chromiumFlags(base *url.URL) [][2]string {
	return [][2]string{
		{"headless", "new"},
		{"mute-audio"},
		{"hide-scrollbars"},
		{"disable-gpu"},

		// Nothing to ask, nothing to fetch, nothing to report, nothing to keep.
		{"no-first-run"},
		{"no-default-browser-check"},
		{"disable-background-networking"},
		{"disable-component-update"},
		{"disable-client-side-phishing-detection"},
		{"disable-default-apps"},
		{"disable-domain-reliability"},
		{"disable-extensions"},
		{"disable-sync"},
		{"disable-quic"},
		{"disable-breakpad"},
		{"metrics-recording-only"},
		{"password-store", "basic"},
		{"use-mock-keychain"},
		{"disable-features", strings.Join(offFeatures, ",")},

		// The page has no window that could be in front, and must not be slowed
		// down for that.
		{"disable-background-timer-throttling"},
		{"disable-renderer-backgrounding"},
		{"disable-backgrounding-occluded-windows"},
		{"disable-ipc-flooding-protection"},
		{"disable-hang-monitor"},
		{"disable-popup-blocking"},
		// /dev/shm holds 64 MB in a default container; a heap is larger.
		{"disable-dev-shm-usage"},

		// Neither the browser nor a page that broke out of its policy resolves
		// any name but the host's own.
		{"no-proxy-server"},
		{"host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE " + base.Hostname()},
	}
}

// browserEnv is the environment of the browser: what a program needs to start,
// and none of the secrets that the host's own environment may hold.
//
// Two folders are moved into the profile, so that nothing stays behind. The
// crash handler, which can't be turned off (with --disable-crashpad-for-testing
// the network service of Chromium 156 dies at its start), writes to the user's
// configuration folder; and a browser that is killed leaves its socket in the
// folder for temporary files.
func browserEnv(goos string, environ []string, profile string) []string {
	var env []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if keepEnv(strings.ToUpper(name)) {
			env = append(env, entry)
		}
	}
	if goos == "linux" {
		env = append(env, "XDG_CONFIG_HOME="+profile+"/config", "BREAKPAD_DUMP_LOCATION="+profile, "TMPDIR="+profile)
	}
	return env
}

func keepEnv(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
		"LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERPROFILE", "LOCALAPPDATA", "APPDATA", "PROGRAMDATA",
		"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMSPEC", "PATHEXT", "USERNAME", "PROCESSOR_ARCHITECTURE":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
