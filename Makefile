# From a clean checkout: `make run` generates a kernel, `make test` tests, `make bench` measures.
# `make help` lists all.

PYTHON ?= python3
SHAPE ?= resnet18:R2
MINUTES ?= 20
PYTEST_FLAGS ?=

# Processes that test side by side: one more than there are cores, since tests wait for disks, clocks and time-outs.
PROCESSES = $(shell n=`nproc 2>/dev/null || echo 1`; echo $$((n < 4 ? n + 1 : 4)))
# The quick sample seldom waits, and each process takes a tenth of its time to collect the tests.
QUICK_PROCESSES = $(shell n=`nproc 2>/dev/null || echo 1`; echo $$((n < 4 ? n : 4)))

VENV := .venv
VENV_PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed

.PHONY: help setup compiler run lint format test test-fast exhaustive soak bench clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo "Variables: SHAPE=$(SHAPE) MINUTES=$(MINUTES) PYTHON=$(PYTHON) PYTEST_FLAGS=$(PYTEST_FLAGS)"

setup: compiler $(STAMP) ## create .venv and install into it, where that is not done yet

compiler:
	@set -- $$CC; for name in "$${1:-cc}" gcc clang; do command -v "$$name" >/dev/null && exit 0; done; \
	echo "make: no C compiler was found: install gcc (Debian/Ubuntu: apt install gcc libc6-dev) or set CC" >&2; exit 1

# The stamp is as old as the last installation: only a newer pyproject.toml repeats it. A virtual environment that
# cannot run pip (interrupted, or its Python is gone) is made anew.
$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: $(PYTHON) was not found: install Python 3.10 or newer, or set PYTHON" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "make: $(PYTHON) is `$(PYTHON) -V 2>&1`; Tilewright needs 3.10 or newer: set PYTHON, e.g. PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: $(PYTHON) lacks the venv module: install it (Debian/Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@$(VENV_PYTHON) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check -e '.[test,plot]'
	@touch $@

run: setup ## generate a fast kernel for SHAPE
	$(VENV_PYTHON) -m search.conv --shape '$(SHAPE)'

lint: setup ## check style, format and types; changes nothing
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

format: setup ## mend what `make lint` finds where that needs no thought
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

# Tests start hundreds of Python processes: where the environment forbids to keep bytecode, each would compile our modules
# again, for as long as most of them run.
test test-fast exhaustive soak: export PYTHONDONTWRITEBYTECODE =

# A process that a test crashes is not started again: pytest-xdist would then wait for ever at the end.
SIDE_BY_SIDE = -n $(PROCESSES) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

test: setup ## run the tests, of some a sample of the cases, files side by side
	$(VENV_PYTHON) -m pytest $(SIDE_BY_SIDE) --sample $(PYTEST_FLAGS)

exhaustive: setup ## run every case of the tests of which `make test` runs a sample
	$(VENV_PYTHON) -m pytest $(SIDE_BY_SIDE) -m exhaustive $(PYTEST_FLAGS)

test-fast: setup ## run a quick sample of the tests, in less than two minutes on two cores
	$(VENV_PYTHON) -m pytest -n $(QUICK_PROCESSES) --fast -q --durations 5 $(PYTEST_FLAGS)

soak: setup ## run every case, then the long tests, which share MINUTES
	$(VENV_PYTHON) -m pytest $(SIDE_BY_SIDE) -m exhaustive; every=$$?; \
	$(VENV_PYTHON) -m pytest --soak '$(MINUTES)' -rfEP $(PYTEST_FLAGS) && exit $$every

bench: setup ## a short comparison with other libraries on ResNet-18; rewrites the table in README.md where there are any
	$(VENV_PYTHON) -m bench --suite resnet18 --budget 5 --readme README.md

clean: ## remove .venv and what builds and tests leave behind
	rm -rf $(VENV) build *.egg-info .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
