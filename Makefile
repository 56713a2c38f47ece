# Two commands matter: `make demo` and `make test`. Both set up everything they need.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
DEMO    = demo-index
# Two more than there are cores: many tests wait for a server or a browser. Each of them, and what it
# starts, calculates with one thread: more would get in each other's way.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
# `make security AUDIT=--allow-unreachable` where no advisory service can be reached.
AUDIT  ?=
# Other engines to measure: `make bench PEER=all`, or some of them: `PEER="bm25s tantivy"`.
PEER   ?= rank_bm25 bm25s tantivy
CORPUS ?= part97,scifact,ohr-bench

# Several at a time, the ones that take longest first; tests that measure time run alone, after them.
TESTS  = OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder
ALONE  = $(BIN)/pytest $$(grep -rl --include="test_*.py" "mark\.alone" tests)

.PHONY: help demo test test-all test-long check format bench fuzz docs site release test-wheel security lock clean

help:
	@echo "make demo    set up, ingest the samples, search them, ask"
	@echo "make test    set up, run what guards behaviour: six minutes on two cores"
	@echo "make test-all    these and the long ones: servers, faults, browser, cluster, release"
	@echo "make check   format, lint, types, the tests of single functions"
	@echo "make bench   speed and quality beside other engines (PEER=all for all of them)"
	@echo "make fuzz    ten minutes of hostile input for every parser"
	@echo "make docs    write the generated parts of the documentation again"
	@echo "make site    the documentation as a site of plain files, in site/"
	@echo "make release wheel, source archive and bill of materials, checked, in dist/"
	@echo "make test-wheel  fast tests against the built wheel instead of the source tree"
	@echo "make security    licences, and advisories of known vulnerabilities"
	@echo "make lock    choose the versions of a release anew"

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[serve]"
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

demo: $(VENV)/installed
	@PATH="$(BIN):$$PATH" sh scripts/demo.sh $(DEMO)

test: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(TESTS) -m "not slow and not alone"
	$(ALONE) -m "alone and not slow"

test-all: test test-long

# What `make test` leaves out.
test-long: $(VENV)/installed-dev
	$(BIN)/bandit -q -r src -c pyproject.toml --severity-level medium
	@sh scripts/chromium.sh
	$(TESTS) -m "slow and not alone"
	$(ALONE) -m "alone and slow"

check: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mypy
	$(TESTS) -m "not slow and not alone" tests/unit tests/contract tests/reference tests/test_*.py

format: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed-dev
	$(BIN)/python bench/peers.py --corpus $(CORPUS) $(foreach each,$(PEER),--peer $(each)) \
	    --save bench.jsonl --html bench.html
	$(BIN)/python bench/growth.py --sizes 1000,10000,100000

# Coverage-guided if atheris is installed there, a few hundred inputs a target if not.
fuzz: $(VENV)/installed-dev
	$(BIN)/python fuzz/run.py --seconds 600
	$(BIN)/python fuzz/hostile.py

docs: $(VENV)/installed-dev
	$(BIN)/python docs/generate.py

site: $(VENV)/installed-dev
	$(BIN)/python -m scripts.website

release: $(VENV)/installed-dev
	$(BIN)/python -m scripts.release.build

test-wheel: $(VENV)/installed-dev
	sh scripts/test_wheel.sh $(BIN)/python

security: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group security
	$(BIN)/python -m scripts.release.licences
	$(BIN)/python -m scripts.release.audit $(AUDIT)

lock: $(VENV)/installed-dev
	$(BIN)/python -m scripts.release.lock

clean:
	rm -rf $(VENV) $(DEMO) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
