# make demo   install veclink, link the bundled sample, write a report of it
# make check  what a change needs while it is made: lint, types, import rules, unit tests; a few minutes, no torch
# make test   install what all tests need, then check and run every tier of them
# make docs   build the documentation site into build/docs; make docs-serve shows it while it is written
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo check test docs docs-serve lint clean browser

demo: $(VENV)/installed
	$(BIN)/veclink demo

check: $(VENV)/installed-for-checks lint
	$(BIN)/python -m pytest -q -m unit --numprocesses 2 --dist loadfile

test: $(VENV)/installed-for-tests browser lint
	CHROMIUM=$(CHROMIUM) $(BIN)/python -m pytest -q --numprocesses 2 --dist loadfile

docs: $(VENV)/installed-for-tests
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-serve: $(VENV)/installed-for-tests
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

lint: $(VENV)/installed-for-checks
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The pages are tested in a real browser, Debian's chromium; CHROMIUM=... names another one.
CHROMIUM ?= chromium
browser:
	@command -v $(CHROMIUM) >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null \
	  || apt-get install -qq -y chromium >/dev/null || { apt-get update -qq && apt-get install -qq -y chromium >/dev/null; }
	@command -v $(CHROMIUM) >/dev/null || { echo "The tests open pages in chromium, and $(CHROMIUM) is not there:" \
	  "run 'sudo apt-get install chromium', or name another with make test CHROMIUM=/path/to/chrome." >&2; exit 1; }

clean:
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "veclink needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + "; choose another with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

# The stamps make a second run quick; the sources themselves are used in place (an editable install).
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/installed-for-checks: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable '.[check]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-for-tests: pyproject.toml bench/pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable '.[test]' --editable './bench[encode]'
	@touch $@ $(VENV)/installed $(VENV)/installed-for-checks
