# Go and make are all that is needed. `make help` lists the targets.

GO        ?= go
BIN       := bin/fleet
# A test that hangs is a failure; the whole suite is far below this.
TIMEOUT   ?= 15m
FUZZTIME  ?= 10s
# make race PKGS=./hub/... checks a part.
PKGS      ?= ./...
# A folder with a copy of the vulnerability database, for machines without a network.
VULNDB    ?=
# Extra arguments of `fleet bench` and `fleet demo`.
ARGS      ?=
CC_FOUND  := $(shell command -v $${CC:-cc} 2>/dev/null || command -v gcc 2>/dev/null || command -v clang 2>/dev/null)
FAULTS    := loss double swap altered early_effect

.DEFAULT_GOAL := build
.PHONY: help build test race check demo demo-fault bench fuzz crash link vuln vuln-fault clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-11s %s\n", $$1, $$2}' Makefile

TIDY := bin/tidy.diff

build: ## the one binary, bin/fleet
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN) ./cmd/fleet

test: ## every test, without cgo
	CGO_ENABLED=0 $(GO) test -timeout $(TIMEOUT) $(PKGS)

race: ## the same under the race detector, where a C compiler is found
ifeq ($(CC_FOUND),)
	@echo "make race: no C compiler found, so there is no race detector; set CC or install one" >&2
else
	CGO_ENABLED=1 $(GO) test -race -timeout $(TIMEOUT) $(PKGS)
endif

check: ## format, vet, staticcheck, module files
	@mkdir -p bin
	@files="$$($(GO) tool gofumpt -l .)" || exit 1; \
	if [ -n "$$files" ]; then echo "not gofumpt-formatted (go tool gofumpt -w FILE):"; echo "$$files"; exit 1; fi
	CGO_ENABLED=0 $(GO) vet ./...
	CGO_ENABLED=0 $(GO) tool staticcheck ./...
	@$(GO) mod tidy -diff >$(TIDY) 2>$(TIDY).err || { \
		if [ -s $(TIDY) ]; then echo "go.mod or go.sum is not tidy:"; cat $(TIDY); exit 1; fi; \
		echo "go mod tidy needs the network for modules of tests of dependencies; not checked" >&2; }
	GOPROXY=off $(GO) mod verify

demo: build ## two nodes, peered, killed and restarted under traffic, judged from outside
	$(BIN) demo $(ARGS)

demo-fault: build ## the demo must notice every planted fault
	@for fault in $(FAULTS); do \
		rc=0; $(BIN) demo --testing__fault $$fault >/dev/null 2>&1 || rc=$$?; \
		if [ $$rc -ne 1 ]; then echo "fault $$fault: the demo exited $$rc, not 1" >&2; exit 1; fi; \
		echo "fault $$fault: found"; \
	done

bench: build ## the product beside the bare pipeline, an outage, settled messages, idle agents
	$(BIN) bench hub $(ARGS)
	$(BIN) bench relay $(ARGS)
	$(BIN) bench outage $(ARGS)
	$(BIN) bench settled $(ARGS)
	$(BIN) bench idle $(ARGS)

# Without a bound on making inputs of interest shorter, a short run does nothing else.
fuzz: ## every fuzz target for FUZZTIME (10s)
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -h '^func Fuzz' $$dir/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do \
			echo "$$dir $$target"; \
			CGO_ENABLED=0 $(GO) test $$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x; \
		done; \
	done

crash: build ## thousands of messages each way under random SIGKILLs, then every planted fault
	$(BIN) testing__crash $(ARGS)

link: ## the link of two nodes cut at 500 random bytes, and out for 30 s; 10,000 strangers at a node's door
	CGO_ENABLED=0 $(GO) test -count=1 -timeout 1h -v ./testenv/cut -args -cuts 500 -pairs 8 -outage 30s
	CGO_ENABLED=0 $(GO) test -count=1 -timeout 1h -v ./testenv/hostile -args -strangers 10000

vuln: ## known vulnerabilities (VULNDB=FOLDER for a local database)
	$(GO) tool govulncheck $(if $(VULNDB),-db file://$(abspath $(VULNDB))) ./...

vuln-fault: ## the vulnerability check must notice a planted one
	@rc=0; $(GO) tool govulncheck -db file://$(abspath testenv/house/testdata/vulndb) ./hub/socket >bin/vuln.out 2>&1 || rc=$$?; \
	if [ $$rc -eq 0 ] || ! grep -q GO-2026-9999 bin/vuln.out; then echo "the planted vulnerability was not found:"; cat bin/vuln.out; exit 1; fi; \
	echo "planted vulnerability: found"

clean: ## remove what was built
	rm -rf bin
