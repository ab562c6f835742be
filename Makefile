# make demo   install veclink, link the bundled sample, write a report of it
# make check  what a change needs while it is made: lint, types, import rules, unit tests; a few minutes, no torch
# make test   what has to pass before a change lands: check, the pages' numbers, whole runs, three stores, two pages
# make test-all  every test with every package that one needs, and those of `make lowest`; writes tests/whole_run.json
# make docs   build the documentation site into build/docs; make docs-serve shows it while it is written
# make lowest tests with the lowest versions that pyproject.toml allows, in an environment of their own
# make coverage  which lines of src all tests run, also in processes that they start
# make faults kill every command that writes, on every target: an hour, results committed
# make races  two runs that write to one place at once, 20 times for each command and target: results committed
# make fuzz   100,000 mutated inputs to every reader and URL (CASES=...), about half an hour on one core
# make reproduce  all tables again: corpora that are not there yet, cells that are missing or stale, pages; goes on where it
#                 stopped (DATA=..., a folder per corpus; JOBS=..., processes)
# make audit  ask pip-audit about known holes in what is installed; needs the network
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo check test test-all docs docs-serve lint clean browser lowest coverage faults races fuzz audit reproduce

demo: $(VENV)/installed
	$(BIN)/veclink demo
	@echo "veclink is in $(BIN): '. $(BIN)/activate' makes it a command of this shell."

check: $(VENV)/installed-for-checks lint
	$(BIN)/python -m pytest -q -m unit --numprocesses 2 --dist loadfile

test: $(VENV)/installed-for-gate browser lint
	PYTHONPATH=bench $(BIN)/python -m veclink_bench check
	CHROMIUM=$(CHROMIUM) $(BIN)/python -m pytest -q -m core --numprocesses 2 --dist loadfile --no-loadscope-reorder
	@$(BIN)/python tests/whole_run.py

test-all: $(VENV)/installed-for-tests browser lint
	$(BIN)/veclink bench check
	CHROMIUM=$(CHROMIUM) $(BIN)/python tests/whole_run.py --run
	$(MAKE) lowest

faults: $(VENV)/installed-for-tests
	$(BIN)/python tests/faults/long_run.py --kills 500 --out bench/results/faults/kills.json

races: $(VENV)/installed-for-tests
	RACES=20 RACES_OUT=bench/results/faults/races.json $(BIN)/python -m pytest -q tests/stores/test_races.py

# Of the unit tests those that touch what the bounds are of: the golden numbers are of the newest numpy, and the rest asks
# the same of the same packages for minutes. Then the stores' clients, which may want a newer package of the first five.
LOWEST := $(VENV)-lowest/bin/python
LOWEST_INSTALL = $(BIN)/uv pip install --quiet --compile-bytecode --python $(LOWEST) --resolution lowest-direct
LOWEST_TESTS := tests/cli/test_app.py tests/cli/test_uses.py tests/data tests/files tests/test_packages.py
lowest: $(VENV)/installed-for-checks
	$(PIP) uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)-lowest
	$(LOWEST_INSTALL) --editable . 'pytest>=8' 'pytest-xdist>=3.7' 'hypothesis>=6.100'
	$(LOWEST) -m pytest -q -m unit --numprocesses 2 -p no:cacheprovider $(LOWEST_TESTS)
	$(LOWEST_INSTALL) --editable '.[stores]' 'pytest>=8' 'hypothesis>=6.100' 'pgserver>=0.1.4' 'safetensors>=0.4'
	$(LOWEST) -m pytest -q --numprocesses 2 -p no:cacheprovider tests/stores/test_contract.py -k what_is_written_comes_back

coverage: $(VENV)/installed-for-tests browser
	rm -rf build/coverage
	mkdir -p build/coverage
	CHROMIUM=$(CHROMIUM) $(BIN)/coverage run -m pytest -q --numprocesses 2 --dist loadfile
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --fail-under 92

CASES ?= 100000
fuzz: $(VENV)/installed-for-tests
	mkdir -p bench/results/reliability
	PYTHONPATH=tests OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m fuzz.campaign --cases $(CASES) \
	  --keep build/fuzz --out bench/results/reliability/fuzz.json

DATA ?= $(or $(VECLINK_DATA),build/data)
JOBS ?= $(shell nproc)
reproduce: $(VENV)/installed-for-tests
	$(BIN)/veclink bench fetch --data $(DATA)
	$(BIN)/veclink bench reproduce --data $(DATA) --jobs $(JOBS)
	$(BIN)/veclink bench real --data $(DATA) --half report
	[ ! -d $(DATA)/catalogues ] || $(BIN)/veclink bench catalogues --data $(DATA)
	$(BIN)/veclink bench results --data $(DATA)
	VECLINK_DATA=$(DATA) $(BIN)/veclink bench check

audit: $(VENV)/installed-for-tests
	$(PIP) pip-audit
	$(BIN)/python -m pip_audit --skip-editable || { echo "pip-audit found something, or it could not reach its" \
	  "database: without the network nothing was checked." >&2; exit 1; }

docs: $(VENV)/installed-for-tests
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-serve: $(VENV)/installed-for-tests
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

lint: $(VENV)/installed-for-checks
	$(BIN)/ruff check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports --no-logo

# The pages are tested in a real browser, Debian's chromium; CHROMIUM=... names another one.
CHROMIUM ?= chromium
browser:
	@command -v $(CHROMIUM) >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null \
	  || apt-get install -qq -y chromium >/dev/null || { apt-get update -qq && apt-get install -qq -y chromium >/dev/null; }
	@command -v $(CHROMIUM) >/dev/null || { echo "The tests open pages in chromium, and $(CHROMIUM) is not there:" \
	  "run 'sudo apt-get install chromium', or name another with make test CHROMIUM=/path/to/chrome." >&2; exit 1; }

clean:
	rm -rf $(VENV) $(VENV)-lowest build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "veclink needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + "; choose another with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

# The stamps make a second run quick; the sources themselves are used in place (an editable install).
$(VENV)/installed: pyproject.toml | $(BIN)/python
	@echo "Installing veclink and what it needs into $(VENV): some 500 MB, a few minutes."
	$(PIP) --editable .
	@touch $@

$(VENV)/installed-for-checks: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable '.[check]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-for-gate: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt --editable '.[gate]'
	@touch $@ $(VENV)/installed $(VENV)/installed-for-checks

# pip finds the torch that a machine may keep on disk; uv takes a third of pip's time for all else. Modules are compiled
# here: where PYTHONDONTWRITEBYTECODE is set, each of the hundreds of processes that tests start would do it again.
$(VENV)/installed-for-tests: pyproject.toml bench/pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt torch uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt \
	  --editable '.[test]' --editable './bench[encode,speed]'
	@touch $@ $(VENV)/installed $(VENV)/installed-for-checks $(VENV)/installed-for-gate
