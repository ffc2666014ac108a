# The front door. `make` alone lists what there is.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)

.PHONY: help run build test bench fmt install uninstall tsan fuzz clean setup
.DEFAULT_GOAL := help

help: ## shows this list
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## builds, then plays the demo and serves the web page until Ctrl-C
	@build/cru demo

build: setup ## builds the release: build/cru
	@cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build --target cru -j $(JOBS)

test: ## runs all tests: unit, simulation, layering, ledger, format, tidy, page, end to end
	@scripts/setup test
	@mkdir -p build/test
	@cmake --preset test >build/test/configure.log 2>&1 || { cat build/test/configure.log; exit 1; }
	@cmake --build build/test -j $(JOBS)
	@node scripts/test.mjs $(ONLY)

bench: ## runs the benchmarks and compares them with other programs
	@scripts/setup bench
	@mkdir -p build
	@cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build build -j $(JOBS)
	@bench/run

fmt: ## formats the C++ in place
	@scripts/setup test
	@scripts/format

install: build ## installs build/cru under PREFIX (default /usr/local), below DESTDIR if set
	@install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/doc/cru"
	@install -m 0755 -s build/cru "$(DESTDIR)$(PREFIX)/bin/cru"
	@install -m 0644 README.md CHANGELOG.md LICENSE "$(DESTDIR)$(PREFIX)/share/doc/cru/"
	@echo "installed $(DESTDIR)$(PREFIX)/bin/cru"

uninstall: ## removes what install installed
	@rm -f "$(DESTDIR)$(PREFIX)/bin/cru"
	@rm -rf "$(DESTDIR)$(PREFIX)/share/doc/cru"

tsan: ## runs unit and simulation tests under the thread sanitizer
	@scripts/setup test
	@mkdir -p build/tsan
	@cmake --preset tsan >build/tsan/configure.log 2>&1 || { cat build/tsan/configure.log; exit 1; }
	@cmake --build build/tsan -j $(JOBS)
	@ctest --test-dir build/tsan --output-on-failure -j $(JOBS)

fuzz: ## fuzzes each parser for a minute (FUZZ_SECONDS=60, ONLY=name)
	@scripts/setup test
	@mkdir -p build/fuzz
	@cmake --preset fuzz >build/fuzz/configure.log 2>&1 || { cat build/fuzz/configure.log; exit 1; }
	@cmake --build build/fuzz -j $(JOBS) --target fuzzers
	@node tests/fuzz/run.mjs $(ONLY)

clean: ## removes everything that was built
	@rm -rf build

setup:
	@scripts/setup
	@mkdir -p build
