# What people type. Each target installs what is missing (scripts/setup), builds, and goes.
.DEFAULT_GOAL := help
.PHONY: help setup build everything run test test-ha test-compat test-clients chaos bench fuzz lint soak clean

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 30
SECONDS ?= 600
REPEAT ?= 3

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install the Debian packages that are missing
	@scripts/setup

build: ## Build build/pawl and what its demo runs, nothing else
	@scripts/setup build
	@scripts/build release run

everything: setup
	@scripts/build release

run: build ## See Pawl at work: a payment provider, a payments API, the gateway in front
	@scripts/run

test: everything ## Run every test
	@ctest --preset release -j $(JOBS)

# The same programs as in `make test`, again and again, or for longer.
test-ha: everything ## Outages, locks, poolers and standbys of PostgreSQL, REPEAT times
	@ctest --preset release -L ha --repeat until-fail:$(REPEAT)

test-compat: everything ## Public vectors, real upstreams, other languages' clients, REPEAT times
	@ctest --preset release -L compat --repeat until-fail:$(REPEAT)

test-clients: ## The clients for Node, Python and Go: suite, crashes, fakes, quick starts, packages
	@scripts/setup build clients
	@scripts/build release pawl
	@tests/clients/run

chaos: everything ## Kill everything under load, for long; an independent ledger counts
	@PAWL_CRASH_KILLS=500 PAWL_CHAOS_PAYMENTS=2000 ctest --preset release -L chaos

bench: everything ## Measure, as ratios within one run
	@scripts/bench

fuzz: setup ## Run each fuzzer for FUZZ_SECONDS
	@scripts/fuzz $(FUZZ_SECONDS)

soak: everything ## Run the simulator on fresh seeds for SECONDS
	@scripts/soak $(SECONDS)

lint: setup ## Check formatting and run clang-tidy
	@scripts/lint

clean: ## Remove build/
	rm -rf build
