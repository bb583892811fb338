#!/bin/sh
# Builds the plugins in this folder to dist/NAME.wasm, and the one that the toolplane binary embeds to ../host/demo/plugins.
# Usage: build.sh [NAME…]    (all of them by default)
# A plugin is built again only when its sources, the SDK or the Go version have changed. Several builds may run at once.
set -eu
cd "$(dirname "$0")"
embedded=issues
go=${GO:-go}

if [ $# -eq 0 ]; then
	set -- $(find . -mindepth 2 -maxdepth 2 -name main.go | sed 's|^\./||; s|/main\.go$||' | sort)
fi

# replace FILE: puts standard input there in one step, so that nobody sees half a file.
replace() {
	mkdir -p "$(dirname "$1")"
	cat >"$1.$$.tmp"
	mv -f "$1.$$.tmp" "$1"
}

for name; do
	if [ ! -f "$name/main.go" ]; then
		echo "plugins/build.sh: there is no plugin $name: plugins/$name/main.go is missing" >&2
		exit 2
	fi
	stamp=$($go version; find go.mod go.sum build.sh sdk "$name" -type f ! -name '*_test.go' ! -path '*/testdata/*' | LC_ALL=C sort | xargs cksum)
	if [ ! -f "dist/$name.wasm" ] || [ "$stamp" != "$(cat "dist/$name.stamp" 2>/dev/null)" ]; then
		echo "building plugins/dist/$name.wasm"
		mkdir -p dist
		GOOS=wasip1 GOARCH=wasm $go build -buildmode=c-shared -trimpath -ldflags='-s -w' -o "dist/$name.wasm.$$.tmp" "./$name"
		mv -f "dist/$name.wasm.$$.tmp" "dist/$name.wasm"
		printf '%s\n' "$stamp" | replace "dist/$name.stamp"
	fi
	if [ "$name" = "$embedded" ] && ! cmp -s "dist/$name.wasm" "../host/demo/plugins/$name.wasm"; then
		replace "../host/demo/plugins/$name.wasm" <"dist/$name.wasm"
	fi
done
