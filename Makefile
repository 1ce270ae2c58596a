# The front door. `make run` and `make test` need nothing but make: tools/setup.sh installs the rest.
#
#   REFRAIN_LIBTORCH=DIR  a LibTorch of your own (DIR holds include/ and lib/) instead of .venv
#   RUN="..."             what `make run` hands to refrain
#   BENCH="..."           what `make bench` hands to bench/run.py
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
export REFRAIN_LIBTORCH
export CTEST_PARALLEL_LEVEL ?= $(shell nproc)

FUZZ_SECONDS ?= 60

# The main job: a small Llama on the C++ headers of the installed LibTorch, under every kind of
# recompute setting and under the plan for a budget; two to three minutes on two cores.
RUN ?= bench --model llama-15m --memory-budget 250MiB

CONFIGURE = cmake -DREFRAIN_LIBTORCH="$(abspath $(REFRAIN_LIBTORCH))" --preset
SOURCES = find src tests bench cmake -name '*.h' -o -name '*.cpp'
# ThreadSanitizer's memory layout does not go with 32 bits of address randomisation.
NO_ASLR = setarch "$$(uname -m)" --addr-no-randomize

help:  ## Say what there is to make
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1\t/' | expand -t 16

run: build  ## Set up, build and run the main job: a table of recompute settings
	build/bin/refrain $(RUN)

build: setup  ## Set up and build build/bin/refrain and build/bin/refrain-engine
	$(CONFIGURE) release
	cmake --build --preset release

test: build  ## Set up, build and run every test
	ctest --preset release

web: setup  ## Test pages in a real browser (installs Chromium)
	tools/setup.sh web
	$(CONFIGURE) release
	cmake --build --preset release
	ctest --preset release -L web

bench: build  ## Race Refrain against PyTorch (installs PyTorch into .venv-peer, 6 GB)
	tools/setup.sh peer
	python3 bench/run.py $(BENCH)

sanitize: asan tsan  ## Run unit and exact tests under ASan, UBSan and TSan

# Each parser over its corpus; FUZZ_SECONDS of it. New inputs stay in build-fuzz.
fuzz: setup  ## Fuzz the parsers, a minute each
	tools/setup.sh fuzz
	$(CONFIGURE) fuzz
	cmake --build --preset fuzz
	for parser in $(patsubst tests/fuzz/fuzz_%.cpp,%,$(wildcard tests/fuzz/fuzz_*.cpp)); do \
	  mkdir -p build-fuzz/found/$$parser; \
	  build-fuzz/bin/fuzz_$$parser -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
	    -artifact_prefix=build-fuzz/ build-fuzz/found/$$parser tests/fuzz/corpus/$$parser; \
	done

format:  ## Reformat the C++ sources
	tools/setup.sh lint
	$(SOURCES) | xargs clang-format -i

lint: setup  ## Check the formatting and clang-tidy's list
	tools/setup.sh lint
	$(SOURCES) | xargs clang-format --dry-run -Werror
	$(CONFIGURE) tidy
	run-clang-tidy -quiet -p build-tidy -extra-arg=-Wno-unknown-warning-option \
	  "^$(CURDIR)/(src|bench)/(?!.*_test\.cpp)"

docs: build  ## Write the pages of docs/ that are derived from the code
	build/bin/refrain labels --markdown > docs/labels.md
	build/bin/refrain rules --markdown > docs/rules.md
	build/bin/refrain knobs --markdown > docs/knobs.md
	build/bin/refrain recipes --verdicts --markdown > docs/recipes.md

accuracy: build  ## Predictions beside every measured run of data/accuracy: docs/accuracy.md
	build/bin/refrain accuracy --markdown data/accuracy/megatron_ci.csv data/accuracy/measured.csv data/accuracy/cases.csv > docs/accuracy.md

clean:  ## Remove every build folder (not .venv)
	rm -rf build build-*

setup:
	tools/setup.sh

asan: setup
	$(CONFIGURE) asan
	cmake --build --preset asan
	ctest --preset asan

tsan: setup
	$(CONFIGURE) tsan
	$(NO_ASLR) cmake --build --preset tsan
	$(NO_ASLR) ctest --preset tsan

.PHONY: help run build test web bench sanitize fuzz format lint docs accuracy clean setup asan tsan
