# The usual tasks. `make` lists them; PYTHON, JOBS, TESTS and MINUTES may be given, as in `make test TESTS=tests/api`.
PYTHON ?= python
JOBS ?= 2
TESTS ?= tests
MINUTES ?= 10

.PHONY: help build test soak soak-tests gpu gpu-all gpu-1 gpu-2 doctest check ci lint format docs wheel clean

help:
	@echo "make build    compile the core beside its sources (about 5 minutes the first time)"
	@echo "make test     run tests: TESTS=tests/api, JOBS=4"
	@echo "make soak     random faults on random programs, and a table of what was lost: MINUTES=10"
	@echo "make soak-tests  every test with every parameter, kernels as users get them (hours; build/soak-tests.md)"
	@echo "make gpu      what launches kernels, on a GPU, of many parameters a quarter (about 5 minutes with JOBS=14)"
	@echo "make gpu-all  the whole suite on a GPU, in two halves (make gpu-1, make gpu-2)"
	@echo "make doctest  run the examples of docstrings"
	@echo "make check    what breaks most often, in a copy of the tree (.ci/run quick, at most 8 minutes)"
	@echo "make ci       everything that CI runs (.ci/run, about 25 minutes)"
	@echo "make lint     ruff and mypy"
	@echo "make format   let ruff rewrite what it can"
	@echo "make docs     build the documentation site (extra: docs)"
	@echo "make wheel    build a wheel for this Python into dist (needs auditwheel and patchelf)"
	@echo "make clean    remove what was compiled"

build:
	$(PYTHON) tools/build_inplace.py --jobs $(JOBS)

test:
	$(PYTHON) -m pytest -n $(JOBS) -q $(TESTS)

soak:
	$(PYTHON) tools/soak.py --minutes $(MINUTES) --jobs $(JOBS)

soak-tests:
	$(PYTHON) tools/soak_tests.py -n $(JOBS) $(TESTS)

gpu:
	$(PYTHON) -m pytest -n $(JOBS) -q --device cuda --launching --part=4 $(TESTS)

gpu-all: gpu-1 gpu-2

gpu-1 gpu-2:
	$(PYTHON) -m pytest -n $(JOBS) -q --device cuda --share=$(@:gpu-%=%)/2 $(TESTS)

doctest:
	$(PYTHON) -m pytest -q --doctest-modules --ignore=src/numloom/interop --ignore=src/numloom/command src/numloom

check:
	.ci/run quick

ci:
	.ci/run

lint:
	ruff check .
	ruff format --check .
	mypy

format:
	ruff check --fix .
	ruff format .

docs:
	$(PYTHON) -m sphinx -W -b html docs docs/_build

wheel:
	$(PYTHON) tools/build_wheel.py

clean:
	$(PYTHON) tools/build_inplace.py --clean
