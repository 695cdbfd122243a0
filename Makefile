# The front door: each target is a few lines over meson, ninja and scripts/. `make help` lists them.
#
# Every kind of build has its own directory, so switching between them rebuilds nothing. A target
# first lets scripts/setup install what it needs; with nothing missing that takes no time and no
# network.

PREFIX  ?= /usr/local
# A recipe takes these from the environment, where a space in a path is only a character.
export PREFIX DESTDIR
SECONDS ?= 20
SEEDS   ?= 20000
INTEROP ?=
ATTACK  ?=
BASE    ?= HEAD
WHAT    ?=
BUILD   := build

ifneq (,$(filter aarch64 arm64,$(shell uname -m)))
CROSS := amd64
else
CROSS := arm64
endif

# What is kept between clones: `scripts/cache`. Objects do not depend on where the clone is.
CACHE := $(shell scripts/cache)
export CCACHE_DIR     ?= $(CACHE)/ccache
export CCACHE_MAXSIZE ?= 2G
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
SYSROOT := $(CACHE)/sysroot-$(CROSS)
# Meson finds the compiler cache by itself, unless it is told which compiler to use.
CLANG = CC='$(shell command -v ccache) clang'

# Leaks are looked for by one job of its own, `make leaks`: the check at the exit of each of many
# short programs costs more than the programs.
SAN_ENV := ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:strict_string_checks=1 \
           UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 HUNT_SEEDS=200
# Processes that make everything, see a peer die, and end in good order.
LEAKS_ENV := ASAN_OPTIONS=detect_leaks=1:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1
LEAKS_CASES := a_thousand_pairs_between_two_processes kill_of_the_first_end
# By clang, the second compiler: its undefined-behaviour checks see more, and one build proves that it
# accepts all code, tests and benchmarks too. The runtime is shared, so that our libraries have it
# under programs that were not built with it.
SAN_LIBS = $(dir $(shell clang --print-file-name=libclang_rt.asan-$(shell uname -m).so))
SAN_ARGS = -Doptimization=1 -Ddebug=true -Db_sanitize=address,undefined -Db_lundef=false \
           -Dc_args='-fno-sanitize-recover=all -fno-omit-frame-pointer' \
           -Dc_link_args='-shared-libsan -Wl,-rpath,$(SAN_LIBS)'

# Older thread sanitizers know only the places that a kernel puts memory without much randomness;
# some containers forbid to switch that off, and then most likely need not.
TSAN_ENV = TSAN_OPTIONS=halt_on_error=1 $(shell setarch -R true 2>/dev/null && echo setarch -R)
TSAN_TESTS := nic_threads
# The system tests with threads: the script's name, and what it runs.
TSAN_SYSTEM := system-threads
TSAN_SYSTEM_NEEDS := tests/system/system-end

# Of the fuzz targets everything is compiled to show where an input went, which makes it too slow for
# tests.
FUZZ_ARGS := -Dfuzz=true -Dtests=false -Dtools=false -Dbench=false \
             -Db_sanitize=address,undefined -Db_lundef=false \
             -Dc_args='-fsanitize=fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer'

# $(call configure,DIR,MESON OPTIONS,ENVIRONMENT): once per directory; meson itself notices later
# changes.
configure = test -f $(1)/build.ninja || $(3) meson setup $(1) . $(2)
# $(call build_asan): for asan and leaks alike.
build_asan = $(call configure,build-asan,$(SAN_ARGS),$(CLANG)) && \
	ninja -C build-asan programs meson-test-prereq meson-benchmark-prereq
# $(call run_tests,DIR,MESON TEST OPTIONS,ENVIRONMENT,OPTIONS OF THE COUNT): runs, then counts; the
# count is the last line.
run_tests = rm -f $(1)/meson-logs/testlog.json; \
	$(3) meson test -C $(1) --no-rebuild --print-errorlogs $(2); code=$$?; \
	scripts/count-tests $(4) $(1)/meson-logs/testlog.json && exit $$code

# ninja spreads the work over the processors; the steps here stay in order.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: all help demo tour test interop attack same fan-ins bench bench-wire soak fuzz hunt hunt-selftest lint format \
	docs install clean distclean debug asan tsan leaks clang cross coverage ci \
	setup-build setup-test configured

all: configured ## build the programs and libraries, optimized, in build/ (the default)
	@ninja -C $(BUILD) programs

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup-build:
	@scripts/setup build

setup-test:
	@scripts/setup build test

# Where the loader looks for libraries. Meson knows it by a package that a bare machine lacks, and
# takes lib64 without.
LIBDIR = $(patsubst %,--libdir=lib/%,$(shell gcc -print-multiarch))

configured: setup-build
	@$(call configure,$(BUILD),--buildtype=release $(LIBDIR))

demo: configured ## build, then watch MRC move data past faults, RC beside it
	@ninja -C $(BUILD) src/tools/weft
	@$(BUILD)/src/tools/weft demo

tour: all ## build, then decode captures, simulate a fabric, run an RDMA program
	@scripts/setup tour
	@scripts/tour $(BUILD)/src/tools/weft .

test: setup-test configured ## build and run all tests
	@ninja -C $(BUILD) programs meson-test-prereq
	@$(call run_tests,$(BUILD),,,--slowest 10)

interop: all ## run weft against the kernel's Soft-RoCE in a guest; needs root or sudo
	@scripts/setup interop
	@ninja -C $(BUILD) tests/interop/peer
	@tests/interop/guest-image build-interop "$(CACHE)/guest" $(BUILD)/tests/interop/peer
	@tests/interop/interop $(INTEROP) $(BUILD) build-interop

attack: setup-test all ## throw forged packets at running transfers and show what they do; needs root (docs/security.md)
	@ninja -C $(BUILD) tests/attack/forge
	@tests/attack/attack $(ATTACK) --build $(BUILD)

same: setup-test configured ## whether behaviour is that of BASE=REVISION, and speed beside it
	@scripts/same $(BUILD) $(BASE) $(WHAT)

fan-ins: all ## whether incasts of 8 to 127 hosts end when they should with MRC, each of them
	@scripts/fan-ins $(BUILD)/src/tools/weft

bench: all ## run every benchmark and show its table
	@ninja -C $(BUILD) meson-benchmark-prereq
	@meson test -C $(BUILD) --no-rebuild --benchmark --verbose --timeout-multiplier 0

bench-wire: setup-test all ## RC over a veth pair against TCP and bare UDP, MRC on every driver; needs root
	@bench/wire $(BUILD)/src/tools/weft
	@bench/drivers $(BUILD)/src/tools/weft

fuzz: setup-build ## run every fuzz target for SECONDS=20 each
	@scripts/setup fuzz
	@$(call configure,build-fuzz,--buildtype=debugoptimized $(FUZZ_ARGS),$(CLANG))
	@ninja -C build-fuzz fuzz-targets
	@scripts/fuzz build-fuzz $(SECONDS)

soak: setup-test all ## RDMA programs at full length, all figures of documents, 10 minutes of damaged packets at every driver, then `hunt`
	@WEFT_SOAK=1 tests/scripts/verbs-programs $(BUILD)/src/tools/weft .
	@WEFT_SOAK=1 tests/scripts/figures $(BUILD)/src/tools/weft .
	@WEFT_GARBAGE_S=600 tests/scripts/drivers-wire $(BUILD)/src/tools/weft . garbage_is_counted
	@$(MAKE) --no-print-directory hunt

hunt: configured ## run SEEDS=20000 seeds of the fault hunt for each transport (docs/hunt.md)
	@ninja -C $(BUILD) tests/hunt/hunt
	@$(BUILD)/tests/hunt/hunt --transport rc --seeds 1..$(SEEDS)
	@$(BUILD)/tests/hunt/hunt --transport mrc --seeds 1..$(SEEDS)

hunt-selftest: setup-test ## plant bugs in a copy of the engines: the hunt must find each
	@tests/scripts/hunt-selftest .

lint: setup-test configured ## check format, and let clang-tidy, cppcheck and mandoc look for faults
	@scripts/setup lint
	@scripts/lint $(BUILD)

format: ## bring the C files into shape
	@scripts/setup lint
	@scripts/lint --format

docs: all ## build the documentation
	@scripts/setup docs
	@ninja -C $(BUILD) docs/wire-formats
	@scripts/docs $(BUILD)

install: all ## install under PREFIX=/usr/local, below DESTDIR= if given
	@meson configure $(BUILD) --prefix="$$PREFIX"
	@ninja -C $(BUILD) programs
	@meson install -C $(BUILD) --no-rebuild --destdir "$${DESTDIR:+$$(realpath -m -- "$$DESTDIR")}"

debug: setup-build ## build for a debugger, in build-debug/
	@$(call configure,build-debug,--buildtype=debug)
	@ninja -C build-debug

asan: setup-test ## unit and system tests by clang with address and undefined-behaviour checks, in build-asan/
	@scripts/setup sanitize
	@$(call build_asan)
	@$(call run_tests,build-asan,--suite unit --suite system,$(SAN_ENV))

# Fences, which tsan does not know, are there for readers in other processes, which it does not see.
tsan: setup-test ## tests with threads, under checks for data races, in build-tsan/
	@$(call configure,build-tsan,--buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false \
		-Dc_args=-Wno-tsan)
	@ninja -C build-tsan $(TSAN_TESTS:%=tests/unit/%) $(TSAN_SYSTEM_NEEDS)
	@$(call run_tests,build-tsan,$(TSAN_TESTS) $(TSAN_SYSTEM),$(TSAN_ENV))

leaks: setup-test ## one long run with leak checks, in build-asan/
	@scripts/setup sanitize
	@$(call build_asan)
	@scripts/leaks build-asan
	@$(LEAKS_ENV) tests/system/system build-asan/tests/system/system-end processes $(LEAKS_CASES)

clang: setup-test ## build and unit tests with clang, optimized, in build-clang/
	@scripts/setup clang
	@$(call configure,build-clang,--buildtype=release,$(CLANG))
	@ninja -C build-clang programs meson-test-prereq
	@$(call run_tests,build-clang,--suite unit)

cross: setup-test ## build for the other architecture, run what may differ there under qemu, in build-cross/
	@scripts/setup cross
	@scripts/sysroot "$(SYSROOT)" $(CROSS)
	@$(call configure,build-cross,--buildtype=release -Dwhole=false \
		--cross-file "$(SYSROOT).ini" --cross-file cross/$(CROSS).ini)
	@ninja -C build-cross programs meson-test-prereq
	@$(call run_tests,build-cross,--suite portable,HUNT_SEEDS=30)

coverage: setup-test ## which lines the unit tests reach, in build-cov/coverage/
	@scripts/setup coverage
	@$(call configure,build-cov,--buildtype=debug -Db_coverage=true \
		-Dc_args=-fprofile-update=atomic)
	@ninja -C build-cov meson-test-prereq
	@scripts/coverage build-cov

ci: ## everything that must hold before a change goes in
	@.ci/run

clean: ## remove the build directories
	rm -rf build build-debug build-asan build-tsan build-clang build-cross build-cov build-fuzz build-same

distclean: clean ## clean, and remove the guest of `make interop`; what all clones share stays (scripts/cache)
	rm -rf build-interop build-cache
