# make demo   set up a local .venv and run the main job on handwritten digits
# make test   set up what is missing and run all tests
# make check  lint and types
# make docs   the documentation site, in docs/_build/html
PYTHON ?= python3
VENV := .venv
UV := $(shell command -v uv 2>/dev/null)
STAMP := $(VENV)/.installed
SITE := docs/_build docs/api docs/gallery
MAKEFLAGS += --no-print-directory

.PHONY: demo test quick check bench docs clean

demo: $(STAMP)
	$(VENV)/bin/narrows demo

test: $(STAMP)
	$(VENV)/bin/python -m pytest -n 2 --dist loadfile

# the ordinary tests, without those that take more than about ten seconds
quick: $(STAMP)
	$(VENV)/bin/python -m pytest -n 2 --dist loadfile -m "not slow"

check: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(STAMP)
	$(VENV)/bin/python -m benchmarks performance

# from nothing each time: what was made of pages that are gone, or of other data, goes
docs: $(STAMP)
	rm -rf $(SITE)
	$(VENV)/bin/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html

$(STAMP): pyproject.toml constraints.txt
ifdef UV
	$(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
	$(UV) pip install --quiet --python $(VENV)/bin/python -c constraints.txt -e ".[plots,docs,dev]"
else
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[plots,docs,dev]"
endif
	@touch $(STAMP)

clean:
	rm -rf $(VENV) $(SITE) .hypothesis .mypy_cache .pytest_cache .ruff_cache narrows-demo.png
