# Everything the project does, in one place. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PAGES := $(wildcard book/*.ipynb)
LIBRARY := $(shell find cfrlib -name '*.py')
LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--fork-strategy fewest --only-binary :all: --no-emit-index-url --no-emit-find-links \
	--no-emit-build-options --custom-compile-command "make lock"
# Python compiles a module when it is first imported; all of them would take half a minute.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
# Matplotlib's font cache is made once at installation: a notebook would report making it.
export MPLCONFIGDIR := $(CURDIR)/$(VENV)/matplotlib
# What JAX has compiled for a notebook once, it need not compile again when that is tested.
export JAX_COMPILATION_CACHE_DIR := $(CURDIR)/$(VENV)/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0.1
# Notebooks find the kernel and the commands of this environment, whatever else is installed.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help book test lab bench notebooks format lock clean lint types test-library \
	test-notebooks test-book test-browser test-pages pdf classroom

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- environment ---------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo "Python 3.11, 3.12 or 3.13 is needed; try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.book: requirements.txt pyproject.toml | $(BIN)/python
	$(INSTALL) -r requirements.txt
	$(INSTALL) --no-deps -e .
	$(BIN)/python -c 'import matplotlib.font_manager'
	@touch $@

$(VENV)/.test: requirements-test.txt $(VENV)/.book
	$(INSTALL) -r requirements-test.txt
	@touch $@

$(VENV)/.classroom: requirements-classroom.txt $(VENV)/.book
	$(INSTALL) -r requirements-classroom.txt
	@touch $@

# ---- book ----------------------------------------------------------------------------------

# Sphinx repeats no warning of an unchanged page, so -W needs the pages built anew. That is
# cheap: executed notebooks stay in the cache, until the library or a pin changes.
book: $(VENV)/.book _build/.executed-with ## run the notebooks, build the HTML book
	@rm -rf _build/html _build/.doctrees
	$(BIN)/jupyter-book build . --quiet -W --keep-going
	@echo "The book is ready: file://$(CURDIR)/_build/html/index.html"

_build/.executed-with: $(LIBRARY) requirements.txt
	@rm -rf _build/.jupyter_cache && mkdir -p _build && touch $@

pdf: book $(VENV)/.test ## print the built pages into one PDF
	$(BIN)/python tools/pdf.py

lab: $(VENV)/.book ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab --notebook-dir=book

classroom: $(VENV)/.classroom ## assignments for nbgrader, and five invented students graded
	$(BIN)/python tools/classroom.py $(if $(COURSE),--course $(COURSE))

notebooks: $(VENV)/.book ## execute the notebooks again, write them in normal form
	$(BIN)/python tools/notebooks.py --execute $(PAGES)

# ---- tests ---------------------------------------------------------------------------------

# Three jobs at a time, as each waits now and then; every failure reported, the output of each
# job in one piece.
test: $(VENV)/.test ## everything: lint, types, library, notebooks, book
	@$(MAKE) --no-print-directory --keep-going --jobs=3 \
		$(if $(filter output-sync,$(.FEATURES)),--output-sync=target) \
		test-pages lint types test-library
	@echo "All tests passed."

# One after the other: the book shows what the comparison of the notebooks has run.
test-pages: $(VENV)/.test
	@$(MAKE) --no-print-directory test-notebooks; notebooks=$$?; \
		$(MAKE) --no-print-directory test-browser test-book && exit $$notebooks

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

test-library: $(VENV)/.test
	$(BIN)/pytest -n 2 --dist loadfile tests --ignore=tests/book --ignore=tests/browser

# Committed outputs are there, clean, and what the code prints.
test-notebooks: $(VENV)/.test _build/.executed-with
	$(BIN)/python tools/notebooks.py --check $(PAGES)
	$(BIN)/python -m pytest -p tests.patient_kernels -p tests.learned_numbers \
		-p tests.page_runs --nbval --nbval-sanitize-with tests/nbval_sanitize.cfg \
		-n 2 --dist loadfile $(PAGES)

test-book: book $(VENV)/.test
	$(BIN)/pytest tests/book

test-browser: book $(VENV)/.test # the built pages, and the notebooks in JupyterLab, in Chromium
	$(BIN)/pytest -n 3 --dist loadfile tests/browser  # much of it is waiting

format: $(VENV)/.test ## let the formatter set the code and the cells
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# LiteEFG wants other versions of some packages: it gets an environment of its own, if it can
# be built at all.
$(VENV)/.liteefg: | $(BIN)/python
	$(PYTHON) -m venv $(VENV)/liteefg
	$(VENV)/liteefg/bin/python -m pip install --quiet --disable-pip-version-check \
		LiteEFG==1.0.0 || { echo "LiteEFG does not install here: left out"; \
		rm -rf $(VENV)/liteefg; }
	@touch $@

bench: $(VENV)/.test $(VENV)/.liteefg ## time cfrlib beside its peers, and the sliders
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/deep.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/teaching.py

# ---- housekeeping --------------------------------------------------------------------------

lock: $(VENV)/.test ## compile the ranges of pyproject.toml into the pinned requirements
	$(LOCK) --upgrade --extra book -o requirements.txt
	$(LOCK) --upgrade --extra classroom --constraint requirements.txt \
		-o requirements-classroom.txt
	$(LOCK) --upgrade --extra test --constraint requirements-classroom.txt \
		-o requirements-test.txt

clean: ## remove the built book, the caches and the environment
	rm -rf _build $(VENV) *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
