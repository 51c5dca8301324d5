# Each target sets up what it needs: a virtual environment with pinned versions, then data.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
DOCS_READY := $(VENV)/.docs-ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Runs a line of Python that sees the `project` table of pyproject.toml as p.
NEEDS := $(BIN)/python -c "import sys, tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; exec(sys.argv[1])"
# Read tables and query runs; the demo does neither, and without them it is installed in half the megabytes.
NOT_IN_DEMO := duckdb pandas pyarrow
# Tests run in processes with one thread each: many small jobs, no fight over cores. One process more than two cores need,
# because tests of clusters, kills and browsers mostly wait.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: browser demo docs test test-fast faults lint bench bench-quick fuzz audit claims clean

# `make demo DEMO="--full"` passes flags on.
demo: $(DEMO_READY)
	$(BIN)/ftt demo $(DEMO)

# The documentation as a folder of pages that opens from disk: site/index.html. A broken link or anchor ends it.
docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

# A browser for the tests of pages: Debian's Chromium where apt and root are available. Elsewhere these tests say why
# they are skipped.
BROWSER := $(VENV)/.browser
browser: $(BROWSER)
$(BROWSER): $(READY)
	@$(BIN)/python -c "import playwright" 2>/dev/null || $(PIP) -e '.[browser]' \
	  || echo "the tests of pages are skipped: playwright cannot be installed here"
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get \
	  >/dev/null && echo "installing Chromium for the tests of pages" && apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
	  apt-get -qq install -y --no-install-recommends chromium >/dev/null; } || echo "the tests of pages are skipped: no Chromium"
	@touch $(BROWSER)

test: $(READY) $(BROWSER)
	$(ONE_THREAD) $(BIN)/pytest -n 3

test-fast: $(READY)
	$(ONE_THREAD) $(BIN)/pytest -n 2 -m "not slow and not data and not ray and not browser"

# Kills, full disks and damaged files at many places, counted; `make test` runs a short form.
faults: $(READY)
	$(ONE_THREAD) FTT_FAULTS=long $(BIN)/pytest -s tests/faults

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.harness

bench-quick: $(READY)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.harness --quick

# Files with bytes changed, guided by coverage; ends with 1 where a reader raises anything but an error in words.
MINUTES ?= 10
fuzz: $(READY)
	@$(BIN)/python -c "import atheris" 2>/dev/null || $(BIN)/python -m pip install --quiet -c constraints.txt -e '.[fuzz]'
	$(ONE_THREAD) nice -n 19 $(BIN)/python -m tests.fuzz --minutes $(MINUTES)

# The numbers of docs/reproduction.md and docs/results/README.md, from the runs that are published beside them.
claims: $(READY)
	$(BIN)/python -m ftt.paper.claims docs

# Known weaknesses of the pinned versions; needs the network, and says so where there is none.
audit: $(READY)
	@$(BIN)/python -c "import pip_audit" 2>/dev/null || $(BIN)/python -m pip install --quiet pip-audit || true
	@if ! $(BIN)/python -c "import pip_audit" 2>/dev/null; then echo "audit skipped: pip-audit cannot be installed here"; \
	else $(BIN)/python -m pip_audit --requirement constraints.txt --no-deps --disable-pip --timeout 10; fi

# Kernels in C are compiled when the package is installed, so it is installed again when one has changed.
SOURCES := pyproject.toml constraints.txt hatch_build.py $(wildcard src/ftt/compiled/*.[ch] src/ftt/compiled/making.py)

$(READY): $(SOURCES)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing pinned versions into $(VENV) (once; a few minutes)"
	@$(PIP) -e '.[dev]'
	@touch $(READY) $(DEMO_READY) $(DOCS_READY)

# What the demo imports and nothing else. Python compiles what is imported, so nothing is compiled beforehand.
$(DEMO_READY): $(SOURCES)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing what the demo needs into $(VENV) (once; about 1.2 GB; \`make test\` adds another 1.2 GB of tools)"
	@$(NEEDS) "print('\n'.join(n for n in p['dependencies'] if not n.startswith(tuple('$(NOT_IN_DEMO)'.split()))))" \
	> $(VENV)/demo.txt
	@start=$$(date +%s); $(PIP) --no-compile -r $(VENV)/demo.txt && $(PIP) --no-compile --no-deps -e . && \
	echo "set up in $$(($$(date +%s) - start)) s: $(VENV) has $$(du -sm $(VENV) | cut -f1) MB"
	@touch $(DEMO_READY)

$(DOCS_READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing what builds the documentation into $(VENV) (once)"
	@$(NEEDS) "print('\n'.join(p['optional-dependencies']['docs']))" > $(VENV)/docs.txt && $(PIP) -r $(VENV)/docs.txt
	@touch $(DOCS_READY)

clean:
	rm -rf $(VENV) ftt-home site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
