#!/usr/bin/env bash
# Makes sure that the tools which the Makefile calls are here: Go, Node, a C compiler when asked for ("cc", for go test -race)
# and a Chromium-family browser when asked for ("browser"). "firefox" gets Firefox where it can be had: nothing but its own tests needs it. Installs Debian's packages where the user may; otherwise says what to install.
set -euo pipefail

need_go="1.26" need_node="20"

fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# version_at_least HAVE WANT
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

find_browser() {
	if [ -n "${TOOLPLANE_BROWSER:-}" ]; then
		[ -x "$TOOLPLANE_BROWSER" ] || fail "TOOLPLANE_BROWSER=$TOOLPLANE_BROWSER can't be run: name a Chromium, Chrome or Edge binary, or unset it"
		return 0
	fi
	local name
	for name in chromium chromium-browser google-chrome google-chrome-stable google-chrome-beta chrome microsoft-edge microsoft-edge-stable; do
		command -v "$name" >/dev/null && return 0
	done
	for name in "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" "/Applications/Chromium.app/Contents/MacOS/Chromium" \
		"/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"; do
		[ -x "$name" ] && return 0
	done
	return 1
}

find_firefox() {
	[ -n "${TOOLPLANE_FIREFOX:-}" ] || command -v firefox-esr >/dev/null || command -v firefox >/dev/null || [ -x /Applications/Firefox.app/Contents/MacOS/firefox ]
}

# apt PACKAGE…: installs Debian packages as root, or by sudo where that needs no password.
apt() {
	local as=""
	command -v apt-get >/dev/null || return 1
	if [ "$(id -u)" != 0 ]; then
		sudo -n true 2>/dev/null || return 1
		as="sudo -n"
	fi
	printf 'setup: installing %s\n' "$*" >&2
	${as:+$as }apt-get update -qq >&2 && ${as:+$as }env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

command -v go >/dev/null || fail "Go $need_go or newer is missing: see https://go.dev/doc/install"
command -v node >/dev/null || fail "Node $need_node or newer is missing: see https://nodejs.org"
command -v npm >/dev/null || fail "npm is missing: it comes with Node $need_node or newer"
go_version=$(go env GOVERSION)
version_at_least "${go_version#go}" "$need_go" || fail "$go_version is too old: Go $need_go or newer is needed"
node_version=$(node --version)
version_at_least "${node_version#v}" "$need_node" || fail "Node $node_version is too old: Node $need_node or newer is needed"

for what in "$@"; do
	case $what in
	browser)
		find_browser || apt chromium || fail "no Chrome, Chromium or Edge was found and it could not be installed: install one, or name its binary in TOOLPLANE_BROWSER"
		find_browser || fail "the browser that was just installed is not on PATH"
		;;
	cc)
		command -v "$(go env CC)" >/dev/null || apt gcc libc6-dev || fail "a C compiler is missing (go test -race needs one): install gcc"
		;;
	firefox)
		find_firefox || apt firefox-esr || printf 'setup: no Firefox was found and it could not be installed: its tests are left out (TOOLPLANE_FIREFOX names one)\n' >&2
		;;
	*) fail "unknown part '$what': browser, firefox or cc" ;;
	esac
done
