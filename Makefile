# Each target sets up what it needs: a virtual environment with pinned versions, then data.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Tests run in two processes with one thread each: many small jobs, no fight over cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test test-fast faults lint bench bench-quick fuzz audit clean

demo: $(READY)
	$(BIN)/ftt demo

test: $(READY)
	$(ONE_THREAD) $(BIN)/pytest -n 2

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

# Known weaknesses of the pinned versions; needs the network, and says so where there is none.
audit: $(READY)
	@$(BIN)/python -c "import pip_audit" 2>/dev/null || $(BIN)/python -m pip install --quiet pip-audit || true
	@if ! $(BIN)/python -c "import pip_audit" 2>/dev/null; then echo "audit skipped: pip-audit cannot be installed here"; \
	else $(BIN)/python -m pip_audit --requirement constraints.txt --no-deps --disable-pip --timeout 10; fi

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing pinned versions into $(VENV) (once; a few minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

clean:
	rm -rf $(VENV) ftt-home build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
