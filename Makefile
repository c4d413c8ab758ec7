# The front door. CMake presets do the work; this file gives each task one short name.
# Every target can be run again at any time, and does only what is left to do.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
PRESETS := dev tsan release tidy fuzz
FUZZ_SECONDS ?= 60
FORMATTED := find include src tests bench fuzz examples -name node_modules -prune -o \( -name '*.h' -o -name '*.cc' -o -name '*.c' \) -print 2>/dev/null

.PHONY: fuzz soak build deps ready run test sanitized test-sanitized test-faults test-python test-frameworks test-clients test-matrix test-network test-network-quick test-vm test-containers test-systemd test-packages test-all bench tsan tidy format format-check lint install package clean help
.DELETE_ON_ERROR:

# Only what is installed: whoever wants to use brig need not wait for its tests.
build: build/release/build.ninja  ## build the release: build/release/bin/brig (the default)
	@cmake --build --preset release --parallel $(JOBS) --target brig_program brig_server brig

deps:  ## install the Debian packages that are missing
	@scripts/deps build

# A preset that changed is configured anew; everything else Ninja notices itself.
$(PRESETS:%=build/%/build.ninja): build/%/build.ninja: CMakePresets.json
	cmake --preset $*
	@touch $@

.PHONY: $(PRESETS:%=build-%)
$(PRESETS:%=build-%): build-%: build/%/build.ninja
	@cmake --build --preset $* --parallel $(JOBS)

# Recipes that need packages first call make again: a prerequisite could run beside `deps` under -j.
run:  ## a short tour: what happens to good and bad commands and tools in a cell, and what it costs
	@scripts/deps build
	@scripts/fold $(MAKE) --no-print-directory build
	@scripts/fold cmake --build --preset release --parallel $(JOBS) --target tools_geo
	@scripts/tour

test:  ## the tests in C++, as root and as an unprivileged user (minutes; more the first time)
	@scripts/deps build
	@$(MAKE) --no-print-directory build-release
	@scripts/test

test-sanitized:  ## the same tests with ASan and UBSan
	@scripts/deps build
	@$(MAKE) --no-print-directory build-dev
	@$(MAKE) --no-print-directory build
	@scripts/test dev

# So that a part that only computes can run beside the others: none of them installs anything any more.
ready:  ## all packages that CI needs, and the release
	@scripts/deps build python lint browser vm
	@command -v npm >/dev/null || scripts/deps node
	@command -v curl >/dev/null || scripts/deps curl
	@$(MAKE) --no-print-directory build-release

sanitized: build-dev  ## what test-sanitized runs

test-faults:  ## calls of a cell's set-up and of a server fail, one per run: nothing fails open, nothing is told wrongly
	@scripts/deps build
	@$(MAKE) --no-print-directory build
	@cmake --build --preset release --parallel $(JOBS) --target faults
	@scripts/test-faults
	@if [ "$$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then sudo -n scripts/test-faults; fi

test-python:  ## the Python package: every CPython that is here, a venv, an installed one
	@scripts/deps build python
	@$(MAKE) --no-print-directory build
	@scripts/test-python

test-frameworks:  ## the drop-ins inside of the frameworks they come from; DIR=their checkouts
	@test -n '$(DIR)' || { echo 'usage: make test-frameworks DIR=checkouts (see docs/compat.md)' >&2; exit 2; }
	@scripts/deps build python
	@$(MAKE) --no-print-directory build
	@scripts/test-frameworks '$(DIR)'

test-clients:  ## the server, with MCP clients from npm, curl, and the console in Chromium
	@scripts/deps build python
	@$(MAKE) --no-print-directory build
	@scripts/test-clients

test-matrix:  ## common Python packages and programs in cells; docs/compatibility.md has the table
	@scripts/deps build python matrix
	@$(MAKE) --no-print-directory build
	@scripts/test-matrix

test-network:  ## the way out of a cell, with real programs and servers in a network of the tests' own
	@scripts/deps build network
	@$(MAKE) --no-print-directory build
	@scripts/test-network

test-network-quick:  ## the part of test-network that takes less than a minute
	@scripts/deps build network-quick
	@$(MAKE) --no-print-directory build
	@scripts/test-network --quick

test-vm:  ## the tests on other kernels, in virtual machines
	@scripts/test-vm

test-containers:  ## brig inside containers, bubblewrap, firejail, a chroot and brig; needs root
	@scripts/test-containers

test-systemd:  ## a login session and the service, on a machine with systemd: virtual, made from Debian's packages
	@scripts/test-systemd

test-packages:  ## what `make package` makes, installed and used in bare Debian systems; needs root
	@scripts/test-packages

test-all:  ## everything: what CI runs, containers, systemd, packages, matrices, every fault, TSan, the long soaks
	@BRIG_FAULTS=all BRIG_SANITIZED=all BRIG_PYTHONS=all scripts/run-parts ready +sanitized +lint test test-faults test-python test-clients test-matrix test-network test-containers test-systemd test-packages format-check wait test-sanitized test-vm tsan soak

soak:  ## 20,000 mixed calls, counting what is left behind
	@scripts/deps build
	@$(MAKE) --no-print-directory build-release
	@BRIG_SOAK_CALLS=$${BRIG_SOAK_CALLS:-20000} BRIG_GUESTS=$(CURDIR)/build/release/guests build/release/bin/soak_test

fuzz:  ## every fuzz target, FUZZ_SECONDS of CPU time each (60)
	@scripts/deps build fuzz
	@$(MAKE) --no-print-directory build/fuzz/build.ninja
	@cmake --build --preset fuzz --parallel $(JOBS) --target fuzz_targets
	@JOBS=$(JOBS) scripts/fuzz $(FUZZ_SECONDS)

bench:  ## the benchmarks, against bubblewrap and bare processes
	@scripts/deps build bench python
	@cmake --preset release -DBRIG_BENCH=ON >/dev/null
	@$(MAKE) --no-print-directory build-release
	@if [ -x scripts/bench ]; then scripts/bench; else echo 'no scripts/bench yet'; fi

# setarch -R: the TSan of g++ 12 can't map its shadow under the address randomisation of new kernels.
tsan:  ## build and test with the thread sanitizer
	@scripts/deps build
	@$(MAKE) --no-print-directory build-tsan
	@setarch -R ctest --preset tsan

tidy:  ## build with clang-tidy on every file
	@scripts/deps build lint
	@$(MAKE) --no-print-directory build-tidy

format:  ## rewrite the C and C++ files as .clang-format has it
	@scripts/deps lint
	@$(FORMATTED) | xargs clang-format -i

format-check:  ## fail if `make format` would change a file
	@scripts/deps lint
	@$(FORMATTED) | xargs clang-format --dry-run --Werror

lint:  ## shellcheck and clang-tidy; LINT_BASE=ref: only files changed since ref
	@scripts/deps build lint
	@$(MAKE) --no-print-directory build/tidy/build.ninja
	@cmake --build --preset tidy --parallel $(JOBS) --target brig_generated
	@scripts/lint

install: build  ## install below PREFIX (and DESTDIR)
	@DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

package:  ## a .deb, a Python wheel and a tarball, in build/packages
	@scripts/package

clean:  ## remove all that was built
	@rm -rf build

help:  ## this list
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
