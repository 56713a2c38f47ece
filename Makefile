# Two commands matter: `make demo` and `make test`. Both set up everything they need.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
DEMO    = demo-index
# The python of an environment with bench/peers.txt, for `make bench PEERS=peers/bin/python`.
PEERS  ?=

.PHONY: help demo test check format bench fuzz docs clean

help:
	@echo "make demo    set up, ingest the samples, search them, ask"
	@echo "make test    set up, run all tests"
	@echo "make check   format, lint, types, fast tests"
	@echo "make bench   speed and quality beside other search engines"
	@echo "make fuzz    ten minutes of hostile input for every parser"
	@echo "make docs    write the generated parts of the documentation again"

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[serve]"
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@touch $@

demo: $(VENV)/installed
	@PATH="$(BIN):$$PATH" sh scripts/demo.sh $(DEMO)

test: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/bandit -q -r src -c pyproject.toml --severity-level medium
	@sh scripts/chromium.sh
	$(BIN)/pytest -n auto --dist loadscope -m "not alone"
	$(BIN)/pytest -m alone tests

check: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist loadscope -m "not slow"

format: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed-bench
	$(BIN)/python bench/lexical.py
	$(BIN)/python bench/search.py --real 0 --chunks 1000 --growth 10000 $(if $(PEERS),--peers-python $(PEERS))

# Coverage-guided if atheris is installed there, a few hundred inputs a target if not.
fuzz: $(VENV)/installed-dev
	$(BIN)/python fuzz/run.py --seconds 600
	$(BIN)/python fuzz/hostile.py

docs: $(VENV)/installed-dev
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) $(DEMO) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
