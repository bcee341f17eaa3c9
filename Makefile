# Two commands on a fresh machine do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Numba does not notice that a kernel called from another file has changed, so each state of the sources has a cache of
# its own.
SOURCES := $(shell find understudy paper -name '*.py' | sort)
export NUMBA_CACHE_DIR := $(abspath $(VENV))/numba/$(shell cat $(SOURCES) | cksum | cut -d' ' -f1)

.PHONY: demo test slow bench bench-scale soak paper docs format clean

demo: $(VENV)/.core
	$(BIN)/understudy demo

AXE := $(VENV)/axe-core/package/axe.min.js

test: $(VENV)/.test
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory $(AXE); fi
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" --numprocesses auto --dist worksteal

slow: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow --numprocesses auto --dist worksteal

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

# Logs of 1e6 to 1e8 rows, some 8 GB of disk; 1e9 rows by hand: python -m benchmarks.scale --rows 1e9 --page
bench-scale: $(VENV)/.test
	$(BIN)/python -m benchmarks.scale --page
	$(BIN)/python -m benchmarks.streaming
	$(BIN)/python -m benchmarks.worker_memory
	$(BIN)/python -m benchmarks.sweeps
	$(BIN)/python -m benchmarks.cluster

# Kills, full disks and 100,000 damaged inputs: some 40 minutes on two cores. `make soak SOAK="inputs --minutes 5"` is less.
SOAK ?= --page
soak: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m soak $(SOAK)

paper: $(VENV)/.test
	$(BIN)/python -m paper --runs 100 --page docs/paper.md

# Every warning is an error; the pages are in .site/, to be opened without a server.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/mkdocs build --strict --quiet

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache report.html report.json .site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "understudy needs Python 3.11 or newer; give one with make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable ".[test]"
	@touch $@ $(VENV)/.core

# Tests of pages in a browser use this checker of accessibility, and skip where it is not there.
$(AXE):
	@mkdir -p $(VENV)/axe-core
	@cd $(VENV)/axe-core && npm pack --silent axe-core@4.14.0 > /dev/null && tar --extract --touch --file axe-core-4.14.0.tgz || \
	  echo "axe-core could not be fetched; pages are not tested for accessibility"

$(VENV)/.docs: $(VENV)/.test
	$(PIP) --editable ".[test,docs]"
	@touch $@ $(VENV)/.test
