# toolcell: one disposable sandbox for every tool call. `make help` lists what there is.
SHELL := /bin/bash
GO ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 20s
FUZZJOBS ?= 1
# What `make fuzz` fuzzes; .ci/run has it do what a gateway's operator and its agents write.
FUZZ ?= ./...
# -p 1: some tests count what is left on the host, which another package's tests would disturb.
# The generator of the seccomp programs needs cgo and libseccomp; without them its own tests are left out, and said so.
TAGS = $(shell pkg-config --exists libseccomp 2>/dev/null && echo libseccomp)

.DEFAULT_GOAL := help
.PHONY: help build run test test-cells test-kernels test-engines packages vet lint generate bench soak fuzz cover race cross check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/toolcell (static, needs no second file), bin/toolcell-init and the MCP server, bin/toolcell-mcp
	CGO_ENABLED=0 $(GO) build -o bin/toolcell ./cmd/toolcell
	CGO_ENABLED=0 $(GO) build -o bin/toolcell-init ./cmd/toolcell-init
	CGO_ENABLED=0 $(GO) build -o bin/toolcell-mcp ./cmd/toolcell-mcp

run: build ## run a real tool in a sandbox, and show what it is denied there
	@cmd/toolcell/demo/run.sh bin/toolcell

packages: ## install the Debian packages that the tests use (as root; otherwise say what is missing)
	@test/packages.sh

test: packages vet build ## run every test that this machine can run, and say what is left out
	@[ -n "$(TAGS)" ] || echo 'left out: the tests of the seccomp generator (no libseccomp here)'
	$(GO) test -p 1 -tags '$(TAGS)' -timeout 20m ./...

test-cells: ## boot real kernels in an emulator and make every kind of caller's calls there
	@TOOLCELL_TEST_KERNELS=1 test/packages.sh
	$(GO) run ./test/kernels

test-kernels: ## the same with the suites, as root and as an ordinary user, and every kind of call in a docker container
	@SOULACY_DOCKER_TESTS=1 TOOLCELL_TEST_KERNELS=1 test/packages.sh
	$(GO) run ./test/kernels -suites
	SOULACY_DOCKER_TESTS=1 TOOLCELL_TEST_REQUIRE=1 $(GO) test -count 1 -timeout 10m -run TestContainer -v ./test/kernels

test-engines: ## run every test on real container engines, docker, podman, nerdctl and gVisor, in its long form
	SOULACY_DOCKER_TESTS=1 test/packages.sh
	SOULACY_DOCKER_TESTS=1 TOOLCELL_TEST_LONG=1 TOOLCELL_TEST_REQUIRE=1 $(GO) test -count 1 -p 1 -timeout 120m -v ./backends/docker ./test/engines
	SOULACY_DOCKER_TESTS=1 TOOLCELL_TEST_LONG=1 TOOLCELL_TEST_REQUIRE=1 $(GO) test -count 1 -p 1 -timeout 120m -v -run 'Engines|Runsc' ./test/conformance ./test/escape

vet: ## report what the compiler's own checks find
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -d $$(git ls-files '*.go'); exit 1; }
	$(GO) vet -tags '$(TAGS)' ./...

lint: vet ## run staticcheck, and golangci-lint where it is installed
	$(GO) run $(STATICCHECK) ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run; else echo 'golangci-lint is not installed; test/arch holds the rules that must hold'; fi

generate: ## generate the seccomp programs from the profile again
	$(GO) generate ./...

bench: build ## print what a call costs beside its peers, with plots; BENCH_NPM=1 adds those from npm (ten minutes, more on a busy machine)
	@test/bench/peers.sh
	$(GO) run ./test/bench -bin bin -json bin/bench.json -plots bin/plots -steps 100

soak: build ## make a hundred thousand calls, kill two hundred callers, run CPython's whole suite, and count what is left
	TOOLCELL_TEST_LONG=1 TOOLCELL_TEST_SOAK=full $(GO) test -count 1 -p 1 -timeout 120m -v ./test/conformance ./test/soak ./test/cpython

# A worker that is late at the end of its time is a failure to the go command, without an input that fails. Those that do are
# kept in testdata, where the second try begins with them.
fuzz: ## fuzz every parser for FUZZTIME each, or those of the packages FUZZ, FUZZJOBS at a time
	@set -e; packages=$$($(GO) list $(FUZZ)); targets=; for p in $$packages; do \
		for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do targets="$$targets $$p $$f"; done; \
	done; test -n "$$targets"; \
	printf '%s\n' $$targets | xargs -n 2 -P $(FUZZJOBS) sh -c 'echo "== $$0 $$1"; \
		try() { $(GO) test -run "^$$" -fuzz "^$$1\$$" -fuzztime $(FUZZTIME) $(if $(filter-out 1,$(FUZZJOBS)),-parallel 1) $$2; }; \
		try $$1 $$0 || try $$1 $$0'

cover: ## write bin/coverage.html
	@mkdir -p bin
	$(GO) test -p 1 -tags '$(TAGS)' -timeout 20m -coverprofile bin/cover.out ./... && $(GO) tool cover -html bin/cover.out -o bin/coverage.html

race: ## run the tests of what has goroutines and no forks under the race detector
	$(GO) test -race ./sandbox/... ./cmd/...

cross: ## build and vet for every system that something of this runs on
	@set -e; for t in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do \
		p='./sandbox/... ./backends/... ./seccomp/... ./cmd/...'; case $$t in linux/*) p=./...;; esac; \
		echo "== $$t"; CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) vet $$p; \
	done

check: lint test race cross ## everything that a change must pass

clean: ## remove what was built
	rm -rf bin
