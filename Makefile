# make demo: set up and show the product at work.   make test: set up and run the tests.
# PYTHON picks the interpreter that .venv is made with: make test PYTHON=python3.13
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Hundreds of tests start a command: each would compile every module anew if Python kept no bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-core test-tools core-alone slow driver-table forecast false-alarms log-coverage cluster-memory lint bench bench-sweep export-matrix hostile-exports boundscheck fuzz fuzz-folders kills mutants docs site-check words gallery wheel packages floors next impacts corpus clean clean-cache

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || \
	  { echo "palpate needs Python 3.11 to 3.14; name one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

# The versions that were tested last; CONSTRAINTS= installs the newest ones.
CONSTRAINTS ?= packaging/constraints.txt
KNOWN := $(if $(CONSTRAINTS),-c $(CONSTRAINTS))

$(VENV)/.installed: $(VENV)/.created pyproject.toml $(CONSTRAINTS)
	$(BIN)/python -m pip install --quiet $(KNOWN) -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.created pyproject.toml $(CONSTRAINTS)
	$(BIN)/python -m pip install --quiet $(KNOWN) -e '.[all]' --group dev --group witness
	touch $(VENV)/.installed $@

demo: $(VENV)/.installed
	$(BIN)/palpate check panda
	$(BIN)/palpate run panda-wall --out runs/demo

# One process compiles the kernels into the cache, so that the test workers do not all compile them at once.
test: $(VENV)/.installed-dev
	$(BIN)/palpate run panda-wall --no-report --quiet --out runs/warm-up
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# The two tiers apart: what palpate run needs, and the tools.
test-core: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --ignore=tests/tools

test-tools: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests/tools

# The core's tests with every tool taken away; minutes.
core-alone: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow tests/test_tools_away.py

# Every law, arm and driver, some minutes: the table in the documentation.
driver-table: $(VENV)/.installed-dev
	$(BIN)/python tests/driver_table.py docs/driver-table.md
	$(BIN)/python tests/run/test_driver_limits.py docs/driver-limits.md

# Random loops, what was foretold of them and what happened; half an hour. SEED=7 repeats one, COUNT=40 is quicker.
forecast: $(VENV)/.installed-dev
	$(BIN)/python tests/forecast_table.py --count $(or $(COUNT),200) $(if $(SEED),--seed $(SEED)) --out docs/forecast-table.md

# What takes minutes.
slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

# What is timed, and the peers that agree with its versions, in one environment; the others in a second one. A peer that
# cannot be installed is named on the page, and the rest goes on.
build/bench-venv/.for-bench: pyproject.toml
	$(MAKE) VENV=build/bench-venv build/bench-venv/.created
	build/bench-venv/bin/python -m pip install --quiet -e . --group bench
	touch $@

build/peers-venv/.for-bench: benchmarks/peers/requirements.txt
	$(MAKE) VENV=build/peers-venv build/peers-venv/.created
	grep -v '^#' $< | while read peer; do build/peers-venv/bin/python -m pip install --quiet "$$peer" || true; done
	touch $@

# Everything, about a quarter of an hour once the environments are there; make bench ONLY="loop laws" runs some and writes nothing.
bench: build/bench-venv/.for-bench build/peers-venv/.for-bench
	build/bench-venv/bin/python -m benchmarks $(if $(ONLY),$(ONLY),--page benchmarks/RESULTS.md)

# The figure that counts for sweeps: 10 000 runs, and the memory they take; ten minutes, an hour on a busy machine.
# What it finds is kept, with its date and machine, and shown on every page that make bench writes.
bench-sweep: $(VENV)/.installed
	PALPATE_BENCH_RUNS=10000 $(BIN)/python -m benchmarks sweep --repeats 1 --timeout 10000 --out benchmarks/long_sweep.json

# 39 hostile sequences against the compiled library of every law on three arms: limits, codes, ramps.
hostile-exports: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow tests/tools/exporting/test_hostile.py

# Laws exported and replayed whole on every machine that qemu-user, cross compilers, wasm-ld and node give here (what is
# missing is named), then every law on every arm of the catalogue on this one: docs/export-matrix.md. Long;
# the table goes on where it was cut short.
export-matrix: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow -s tests/exporting
	mkdir -p build
	$(BIN)/python tests/tools/exporting/matrix.py docs/export-matrix.md build/export-matrix.jsonl

# Every shipped scenario with the bounds of every array checked, in a cache of its own; slow.
boundscheck: $(VENV)/.installed-dev
	NUMBA_BOUNDSCHECK=1 PALPATE_CACHE_DIR=build/boundscheck $(BIN)/python -m pytest tests/scenario/test_library.py

# An hour of fuzzing: models, every shipped scenario, traces, tables, the API, kept kernels, folders; then the property
# tests with new examples. The seed is a fresh one and is printed; SEED=7 repeats it, SECONDS=60 ends sooner.
fuzz: SEED ?= $(shell date +%s)
fuzz: $(VENV)/.installed-dev
	mkdir -p build
	$(BIN)/python tests/fuzz.py --seconds $(or $(SECONDS),3600) --seed $(SEED) --log build/fuzz-under-way
	PALPATE_HYPOTHESIS=fresh $(BIN)/python -m pytest --hypothesis-seed=$(SEED) $$(grep -rl "from hypothesis import" tests)

# 5 000 damaged folders: a file of a run, sweep, study or search spoilt, and a command that reads it; half an hour.
fuzz-folders: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python tests/hostile/damage.py --tries $(or $(TRIES),5000) --seed $(or $(SEED),0)

# Two hundred random legal variations of the shipped scenarios, none of which may be warned of; a minute.
false-alarms: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow tests/run/test_promise.py

# How often the intervals of palpate log hold: a hundred recordings of each kind, drawn by lot; some minutes. Goes on
# where it was cut short; SEEDS=5000:5100 counts others.
log-coverage: $(VENV)/.installed-dev
	mkdir -p build/log-coverage
	for kind in right stribeck stribeck-auto elastic rendered; do \
	  $(BIN)/python -m tests.tools.logs.coverage --kind $$kind --seeds $(or $(SEEDS),5000:5100) \
	    --out build/log-coverage/$$kind.jsonl || exit 1; \
	done

# A hundred thousand trivial runs on two Dask workers: the memory of driver and workers; minutes.
cluster-memory: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -s -m slow tests/tools/study/test_cluster_memory.py

# kill -9 at 50 random moments of each command: nothing lost that was promised, the same bytes afterwards. KILLS=5 is quicker.
kills: $(VENV)/.installed-dev
	$(BIN)/python tests/kills.py --kills $(or $(KILLS),50) --seed $(or $(SEED),1)

# Sixty formulas broken one at a time, drawn by lot over all packages: the tests must notice all but three. Hours.
# SEED=7 repeats a draw, COUNT=10 is quicker, ONLY=metrics keeps to one package.
mutants: $(VENV)/.installed-dev
	$(BIN)/python tests/mutants.py --count $(or $(COUNT),60) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

# The pages as a site, without a network: build/docs/index.html. A warning, such as of a dead link, is an error.
docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet $(KNOWN) -e . --group docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "see build/docs/index.html"

# Every page of the site in Chromium, on a laptop and a phone, light and dark, with axe-core (npm); ten minutes or more.
site-check: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow tests/views/test_site.py

# The snapshot of all sentences of palpate (tests/sentences.txt); read its diff.
words: $(VENV)/.installed-dev
	$(BIN)/python tests/words.py

# The gallery's page and pictures, from runs of every shipped scenario; docs/gallery.py new adds what is missing.
gallery: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet $(KNOWN) --group docs
	$(BIN)/python docs/gallery.py

# A wheel for this platform with the kernels compiled, in dist/: a first run from it compiles nothing. Some minutes.
wheel: $(VENV)/.installed
	$(BIN)/python packaging/make_wheel.py

# The plain wheel and the source archive in dist/, and whether all is in them; TAG=v0.2.0 compares the version.
packages:
	$(MAKE) VENV=build/packages-venv build/packages-venv/.created
	build/packages-venv/bin/python -m pip install --quiet --group release
	build/packages-venv/bin/python packaging/make_packages.py $(TAG)

# The lowest versions that pyproject.toml allows, in an environment of its own: a run, and the tests of what touches them.
floors:
	$(MAKE) VENV=build/floors-venv build/floors-venv/.created
	build/floors-venv/bin/python packaging/floors.py > build/floors.txt
	build/floors-venv/bin/python -m pip install --quiet -c build/floors.txt -e '.[all]' pytest hypothesis
	build/floors-venv/bin/palpate run panda-wall --no-report --quiet --out build/floors-run
	build/floors-venv/bin/python -m pytest -W ignore::DeprecationWarning $(or $(TESTS),tests/engine/test_maths.py tests/engine/test_records.py tests/spatial tests/trace tests/gym)

# The tests with the newest numba, MuJoCo and Python that can be had, previews of the two included, in an environment of
# its own. A numba that was not verified yet compiles in each process: the tests that compile little come first.
NEXT_PYTHON ?= $(firstword $(foreach v,3.14 3.13 3.12 3.11,$(shell python$(v) -c 'print("python$(v)")' 2>/dev/null)) $(PYTHON))
next:
	$(NEXT_PYTHON) -m venv --clear build/next-venv
	build/next-venv/bin/python -m pip install --quiet --upgrade pip
	build/next-venv/bin/python -m pip install --quiet --pre numba mujoco-core
	build/next-venv/bin/python -m pip install --quiet -e '.[all]' --group dev
	build/next-venv/bin/python -m pip list | grep -i -E '^(numba|llvmlite|mujoco|numpy)'
	build/next-venv/bin/python -m pytest tests/engine -m 'slow or not slow'
	build/next-venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Five hundred random impacts of a Panda instead of fifteen.
impacts: $(VENV)/.installed-dev
	PALPATE_IMPACTS=500 $(BIN)/python -m pytest tests/tools/contact/test_impacts.py

# Every public robot file through every test, and many spoilt copies, instead of a part of them.
corpus: $(VENV)/.installed-dev
	PALPATE_CORPUS=full $(BIN)/python -m pytest tests/robot/test_corpus.py

clean-cache:
	$(BIN)/python -c 'from palpate.engine.compiling.cache import clear_kernels; print(clear_kernels(), "files deleted")'

clean: clean-cache
	rm -rf $(VENV) build dist src/*.egg-info
