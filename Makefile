# make demo      set up a local .venv and run the main job on handwritten digits
# make test      add what tests need, and run the tests that are fast: three minutes on two cores
# make test-all  run all tests: also the slow ones, and with more data
# make check     lint and types
# make docs      the documentation site, in docs/_build/html
# make bench     measure time and memory
PYTHON ?= python3
VENV := .venv
UV := $(shell command -v uv 2>/dev/null)
SITE := docs/_build docs/api docs/gallery
MAKEFLAGS += --no-print-directory
# one process for each core, at most eight
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 8 ? n : 8)))
# no test uses the plugin for benchmarks, which costs milliseconds a test
PYTEST = $(VENV)/bin/python -m pytest -p no:benchmark -n $(WORKERS) --dist loadfile

ifdef UV
INSTALL = $(UV) pip install --quiet --python $(VENV)/bin/python
else
INSTALL = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
endif

.PHONY: demo test test-all test-long check bench docs clean

demo: $(VENV)/.demo
	$(VENV)/bin/narrows demo

test: $(VENV)/.test
	$(PYTEST) -m "not slow"

test-all: test test-long

# what make test leaves out, and again what does more with NARROWS_TESTS=all
test-long: $(VENV)/.long
	NARROWS_TESTS=all $(PYTEST) -m "slow or more"

check: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/.test
	$(VENV)/bin/python -m benchmarks performance

# from nothing each time: what was made of pages that are gone, or of other data, goes
docs: $(VENV)/.docs
	rm -rf $(SITE)
	$(VENV)/bin/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html

# the environment grows: each of these adds to the one before
$(VENV)/.demo: pyproject.toml constraints.txt
ifdef UV
	$(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
endif
	$(INSTALL) -c constraints.txt -e ".[plots]"
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(INSTALL) -c constraints.txt -e ".[plots,dev]"
	$(VENV)/bin/python -m tests.compiled
	@touch $@

$(VENV)/.long: $(VENV)/.test
	$(INSTALL) -c constraints.txt -e ".[plots,dev,long]"
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(INSTALL) -c constraints.txt -e ".[plots,docs,dev]"
	@touch $@

clean:
	rm -rf $(VENV) $(SITE) .hypothesis .mypy_cache .pytest_cache .ruff_cache narrows-demo.png
