package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// The functions here judge single texts. They look at the text only: whether a
// file is there or a port is free is for "toolplane doctor" to find out.

var (
	pluginName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	hostName    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*\.?$`)
	envName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	exposedKind = regexp.MustCompile(`^[a-z]+$`)
	exposedName = regexp.MustCompile(`^[A-Za-z0-9_-]*\*?[A-Za-z0-9_-]*$`)
	scheme      = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
)

func checkNotEmpty(s string) error {
	if s == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func checkListen(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf(`%q isn't an address and port: write it as "127.0.0.1:7350" or "[::1]:7350"`, s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q has port %q: it must be a number from 0 to 65535 (0 takes any free port)", s, port)
	}
	if host == "" {
		return fmt.Errorf(`%q names no address: write "127.0.0.1:%s" for this machine only, or "0.0.0.0:%s" with allow_remote = true`, s, port, port)
	}
	if strings.EqualFold(host, "localhost") {
		return nil
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return fmt.Errorf("%q must name an IP address or localhost, not %q", s, host)
	}
	return nil
}

// IsLoopback reports whether a listen address ("host:port" or a host alone) is
// reachable from this machine only.
func IsLoopback(listen string) bool {
	host := listen
	if h, _, err := net.SplitHostPort(listen); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}

func checkHostName(s string) error {
	if strings.Contains(s, "*") {
		return fmt.Errorf("%q: a pattern isn't possible here, since it would undo the protection; write each name in full", s)
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	if len(s) > 253 || !hostName.MatchString(s) {
		return fmt.Errorf("%q isn't a host name: write the name alone, without scheme, port or path", s)
	}
	return nil
}

// checkOrigin accepts what a browser sends as Origin: scheme, host, port where
// it isn't the scheme's own, and nothing else.
func checkOrigin(s string) error {
	if s == "*" || strings.EqualFold(s, "null") {
		return fmt.Errorf("%q would let any web page connect; name each origin", s)
	}
	u, err := url.Parse(s)
	if err != nil || !scheme.MatchString(u.Scheme) || u.Host == "" || u.User != nil || u.Scheme+"://"+u.Host != s ||
		s != strings.ToLower(s) || strings.Contains(s, "*") {
		return fmt.Errorf(`%q isn't an origin: write it as the browser sends it, such as "https://console.example.org" (lower case, no path, no "/" at the end)`, s)
	}
	return nil
}

func checkSource(s string) error {
	if name, ok := strings.CutPrefix(s, BuiltinPrefix); ok {
		if !pluginName.MatchString(name) {
			return fmt.Errorf(`%q names no builtin plugin: write "builtin:issues"`, s)
		}
		return nil
	}
	if s == "" {
		return errors.New(`must name a .wasm file or a builtin plugin, such as "./plugin.wasm" or "builtin:issues"`)
	}
	if i := strings.Index(s, "://"); i > 0 && scheme.MatchString(s[:i]) {
		return fmt.Errorf(`%q: this version loads plugins from files only; download it and name the file`, s)
	}
	return nil
}

// checkHostGlob judges a pattern against which a plugin's HTTP hosts are
// matched. Ports aren't part of the match, so that one written here would never
// fit.
func checkHostGlob(s string) error {
	if s == "*" {
		return nil
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	if len(s) > 253 || !hostName.MatchString(strings.ReplaceAll(s, "*", "x")) {
		return fmt.Errorf(`%q isn't a host: write the name alone, such as "api.example.org" or "*.example.org", without scheme, port or path`, s)
	}
	return nil
}

func checkHostPath(s string) error {
	if strings.TrimPrefix(s, "ro:") == "" {
		return errors.New(`must name a folder, such as "./data" or "ro:./data"`)
	}
	return nil
}

func checkGuestPath(s string) error {
	if !path.IsAbs(s) || path.Clean(s) != s {
		return fmt.Errorf(`%q must be where the plugin sees the folder: an absolute path without "..", such as "/data"`, s)
	}
	return nil
}

// checkExpose judges a pattern for capabilities, with the name that may follow it.
// One that would fit anything is refused: it would put every schema into every
// agent's context, which is what search is there to avoid.
func checkExpose(s string) error {
	pattern, as, renamed := strings.Cut(s, " as ")
	if renamed && (!exposedName.MatchString(as) || as == "" || len(as) > 64) {
		return fmt.Errorf(`%q: %q can't be a tool's name: 1 to 64 letters, digits, _ or -, and at most one * for the tool's own name`, s, as)
	}
	kind, rest, ok := strings.Cut(pattern, ":")
	switch {
	case strings.Trim(pattern, "*?:/ ") == "" || ok && strings.Trim(rest, "*?/") == "":
		return fmt.Errorf(`%q would expose everything, with every schema in every agent's context; name a provider or a tag, such as "plugin:orders/*" or "tag:lookup"`, s)
	case !ok || strings.TrimSpace(pattern) != pattern || !exposedKind.MatchString(kind):
		return fmt.Errorf(`%q isn't a pattern: write a canonical name, such as "plugin:orders/list" or "plugin:orders/*", or "tag:NAME"`, s)
	case len(pattern) > 256:
		return fmt.Errorf("%.40q… has %d bytes, the limit is 256", pattern, len(pattern))
	}
	return nil
}

func checkEnvName(s string) error {
	if !envName.MatchString(s) {
		return fmt.Errorf("%q isn't the name of an environment variable: letters, digits and _, not starting with a digit", s)
	}
	return nil
}
