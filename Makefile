# Everything a developer or a curious stranger runs. Needs `make` and Python 3.11 or later;
# each target first brings `.venv` up to date, which costs nothing when it is.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
PYTEST := $(BIN)/pytest --durations=15 --durations-min=1

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-unit test-long soak bench lock clean system-packages

help:  ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## Create .venv and install what is locked

demo: $(INSTALLED)  ## Detect fraud in half a minute of web logs, and check the result
	@$(BIN)/penstock demo

check: $(INSTALLED)  ## Everything static: lint, format, types, layers, spelling, lock
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell $$(git ls-files)
	$(BIN)/python tools/lock.py --check
	$(BIN)/pip check
	@# Addresses of package indexes and paths of one machine do not belong here.
	@! git grep -nIE '/[w]ork/|/[r]oot/|[p]ypi\.org|[p]ythonhosted\.org|[m]aven\.org'

# docs/decisions/0020-second-tries.md says why, and when that is not enough.
SECOND_TRIES := --second-tries

# Most tests wait for brokers and sessions rather than work, so three at once suit two cores. Files
# are handed out in their order, in which those that take longest come first.
test: system-packages  ## All tests that take seconds, in under 15 minutes
	$(PYTEST) $(SECOND_TRIES) --numprocesses 3 --dist loadfile --no-loadscope-reorder -m "not long and not soak"

test-unit: $(INSTALLED)  ## The tests that need neither Java nor a network
	$(PYTEST) --numprocesses 2 tests/unit

test-long: system-packages  ## The tests that take minutes each
	$(PYTEST) $(SECOND_TRIES) --numprocesses 2 --dist loadfile -m long

soak: $(INSTALLED)  ## A hundred faults, each told with its time; SOAK_SEED chooses others
	$(PYTEST) --capture no -m soak

bench: $(INSTALLED)  ## Measure, with the versions and the hardware beside the results
	@for script in bench/*.py; do $(BIN)/python -m bench.$$(basename $$script .py) || exit 1; done

lock: $(INSTALLED)  ## Make the lock files anew from pyproject.toml
	$(BIN)/python tools/lock.py

clean:  ## Remove .venv, caches and builds; jars and platforms in your home stay
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find src tests bench tools examples -name __pycache__ -type d -exec rm -rf {} +

$(INSTALLED): pyproject.toml requirements.lock requirements-java.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "error: Penstock needs Python 3.11 or later; $(PYTHON) is: $$($(PYTHON) -V 2>&1)" >&2; \
	  echo "hint: name a newer one, such as make PYTHON=python3.12 demo" >&2; \
	  exit 1; }
	@$(PYTHON) tools/environment.py packages

system-packages: $(INSTALLED)
	@$(BIN)/python tools/environment.py system-packages
