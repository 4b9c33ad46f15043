# Everything needs only python3 (3.11 or newer), make and git. Set-up happens by itself, once,
# and again only when a lock file changes.

VENV   := .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data
JOBS   ?= logical
PYTEST := $(BIN)/pytest -n $(JOBS) --maxprocesses=4

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format docs bench torture size lock clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: $(VENV)/.test  ## install everything for working on Waypost into .venv

demo: $(VENV)/.core  ## play a five-day task into a memory and question it
	@$(BIN)/python -m waypost.demo

test: $(VENV)/.test  ## lint, types, layers and every test
	@status=0; \
	$(MAKE) --no-print-directory --keep-going lint types layers || status=1; \
	$(PYTEST) || status=1; \
	if [ $$status -ne 0 ]; then echo "make test: FAILED" >&2; fi; exit $$status

check: lint formatted types layers  ## the static checks alone, formatting included

.PHONY: lint formatted types layers
lint: $(VENV)/.test
	@echo "ruff"; $(BIN)/ruff check --quiet .
formatted: $(VENV)/.test
	@echo "ruff format"; $(BIN)/ruff format --check --quiet . || \
	  { echo "run: make format" >&2; exit 1; }
types: $(VENV)/.test
	@echo "mypy"; $(BIN)/mypy --no-error-summary
layers: $(VENV)/.test
	@echo "import-linter"; $(BIN)/lint-imports --no-logo >$(VENV)/layers.log 2>&1 || \
	  { cat $(VENV)/layers.log; exit 1; }

format: $(VENV)/.test  ## rewrite the sources in the project's format
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

docs: $(VENV)/.test  ## regenerate the reference pages
	@$(BIN)/python -m scripts.reference

bench: $(VENV)/.test $(VENV)/.model  ## the benchmarks, on the data sets below DATA
	@DATA=$(DATA) $(BIN)/python -m benchmarks

torture: $(VENV)/.test  ## kill writers in mid-flight, share files, and count what is lost
	@$(BIN)/python -m benchmarks.torture_store --kills 200
	@$(BIN)/python -m benchmarks.torture_archive --kills 200
	@$(BIN)/pytest -m torture -n 0

size: $(VENV)/.test  ## size of the core install and time to import it
	@$(BIN)/python -m benchmarks.footprint

lock: $(VENV)/.core  ## resolve the newest allowed versions into requirements/
	@.ci/lock

clean:  ## remove the virtual environment and every cache
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.core: requirements/build.txt requirements/core.txt pyproject.toml
	@.ci/install core
$(VENV)/.test: $(VENV)/.core requirements/test.txt
	@.ci/install test
# Without a wheel for this machine the benchmarks run all the same and say what they leave out.
$(VENV)/.model: $(VENV)/.test requirements/model.txt
	@.ci/install model || true
