# Toolplane. `make run` shows the main job, `make test` runs every test; both do all set-up themselves.
# Second runs reuse what is there: node_modules, plugins/dist, web/dist and Go's build cache.

GO          ?= go
BIN         := bin/toolplane
TOOLS       := .cache/bin
GOLANGCI    := $(TOOLS)/golangci-lint
GOLANGCI_VERSION := v2.15.0
NODE_MODULES := node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help run test check fmt lint gen plugins web build bench e2e setup clean

help: ## Lists the targets.
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Does all set-up, builds the binary and shows the main job.
	@bash .ci/setup.sh browser
	$(BIN) demo

test: setup build ## Does all set-up and runs every test: Go with -race, TypeScript, end to end in a real browser.
	$(GO) vet ./...
	$(GO) test -race -timeout 20m ./...
	cd plugins && $(GO) vet ./sdk/... && $(GO) test ./...
	npx --no-install tsc --noEmit
	npx --no-install vitest run

e2e: setup build ## Runs only the end-to-end tests: real binary, real browser, real MCP client.
	$(GO) test -race -timeout 20m ./tests/...
	npx --no-install vitest run tests/mcp

check: $(GOLANGCI) $(NODE_MODULES) web ## Formats are right, linters are quiet, types hold, generated files are fresh.
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run: make fmt"; exit 1; }
	$(GO) vet ./...
	$(GOLANGCI) run ./...
	cd plugins && $(GO) vet ./sdk/...
	npx --no-install biome check .
	npx --no-install tsc --noEmit

lint: check ## The same as check.

fmt: $(NODE_MODULES) ## Formats Go, TypeScript and JSON.
	gofmt -w $$(git ls-files '*.go')
	npx --no-install biome check --write .

gen: ## Regenerates what is generated from sources.
	$(GO) generate ./...

plugins: ## Builds the guests in plugins/ to plugins/dist/*.wasm and the one that the binary embeds.
	bash plugins/build.sh

web: $(NODE_MODULES) ## Builds the browser runtime to web/dist.
	node web/build.mjs

build: web plugins ## Builds bin/toolplane: one binary with the web runtime, pyodide and the demo plugin inside.
	$(GO) build -trimpath -o $(BIN) ./cmd/toolplane

bench: setup build ## Prints the speeds that the README names, side by side in one run.
	$(GO) run ./tests/bench

setup: $(NODE_MODULES)
	@bash .ci/setup.sh browser firefox cc

$(NODE_MODULES): package.json package-lock.json web/package.json tests/package.json
	@bash .ci/setup.sh
	npm ci --no-audit --no-fund
	@touch $@

$(GOLANGCI): Makefile
	GOBIN=$(CURDIR)/$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@touch $@

clean: ## Removes what was built.
	rm -rf bin dist plugins/dist web/dist/executor host/demo/plugins/*.wasm
