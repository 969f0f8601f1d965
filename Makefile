# Two commands do all their own set-up on a fresh Debian machine with Python 3.11 and make:
#   make conformance   the suite against the SQLite reference, ending in a report
#   make test          the tests of the product itself
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: conformance test lint mutants publish setup clean

conformance: setup
	$(BIN)/onceproof run --driver reference --budget ci --out runs/latest

# The published report of the reference, made anew (reports/README.md).
publish: conformance
	$(BIN)/onceproof report runs/latest --publish reports

test: setup
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/onceproof spec lint

mutants: setup
	$(BIN)/onceproof mutants

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml scripts/setup
	PYTHON=$(PYTHON) scripts/setup $(VENV)
	touch $@

clean:
	rm -rf $(VENV) runs build .mypy_cache .ruff_cache .pytest_cache .hypothesis
