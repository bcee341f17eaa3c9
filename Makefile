# Two commands on a fresh machine do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Numba does not notice that a kernel called from another file has changed, so each state of the sources has a cache of
# its own.
SOURCES := $(shell find understudy paper -name '*.py' | sort)
export NUMBA_CACHE_DIR := $(abspath $(VENV))/numba/$(shell cat $(SOURCES) | cksum | cut -d' ' -f1)

.PHONY: demo test slow bench soak paper format clean

demo: $(VENV)/.core
	$(BIN)/understudy demo

test: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" --numprocesses auto --dist worksteal

slow: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow --numprocesses auto --dist worksteal

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

# Kills, full disks and 100,000 damaged inputs: about an hour on two cores. `make soak SOAK="inputs --minutes 5"` is less.
SOAK ?= --page
soak: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m soak $(SOAK)

paper: $(VENV)/.test
	$(BIN)/python -m paper --runs 100 --page docs/paper.md

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache report.html
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
