# make demo   set up a local .venv and run the main job on handwritten digits
# make test   set up what is missing and run all tests
# make check  lint and types
PYTHON ?= python3
VENV := .venv
UV := $(shell command -v uv 2>/dev/null)
STAMP := $(VENV)/.installed
MAKEFLAGS += --no-print-directory

.PHONY: demo test quick check bench clean

demo: $(STAMP)
	$(VENV)/bin/narrows demo

test: $(STAMP)
	$(VENV)/bin/python -m pytest

# the ordinary tests, without those that take more than about ten seconds
quick: $(STAMP)
	$(VENV)/bin/python -m pytest -m "not slow"

check: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(STAMP)
	$(VENV)/bin/python -m benchmarks performance

$(STAMP): pyproject.toml constraints.txt
ifdef UV
	$(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
	$(UV) pip install --quiet --python $(VENV)/bin/python -c constraints.txt -e ".[plots,dev]"
else
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[plots,dev]"
endif
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache narrows-demo.png
