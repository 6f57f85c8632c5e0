# All commands of the project; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PAGES := $(wildcard book/*.ipynb)
# Supported Pythons, first and last minor version, from `requires-python`
MINORS := $(shell sed -n 's/^requires-python = ">=3\.\([0-9]*\),<3\.\([0-9]*\)"$$/\1 \2/p' pyproject.toml)
OLDEST := $(word 1,$(MINORS))
NEWEST := $(shell expr $(word 2,$(MINORS)) - 1)
LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.$(OLDEST) \
	--fork-strategy fewest --only-binary :all: --no-emit-index-url --no-emit-find-links \
	--no-emit-build-options --custom-compile-command "make lock"
# uv installs in seconds, pip in a minute; pip is used where uv is not available or cannot reach
# the index that pip is configured for. Modules are compiled when they are imported.
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
install = $(BIN)/python -m uv pip install --quiet --python $(BIN)/python $(1) || $(PIP) $(1)
# Matplotlib's font cache is built at installation: in a notebook it would print a message.
export MPLCONFIGDIR := $(CURDIR)/$(VENV)/matplotlib
# JAX's compilation cache: a notebook that was built is not compiled again for its test.
export JAX_COMPILATION_CACHE_DIR := $(CURDIR)/$(VENV)/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0.1
# Many container images forbid Python to cache bytecode. Then every process compiles all modules
# that it imports: JAX and cfrlib take 7 seconds instead of 2.
unexport PYTHONDONTWRITEBYTECODE
# Notebooks use the kernel and the commands of this environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help book test test-all test-slow portable lab bench notebooks format lock clean lint \
	types kernels programs digits test-quick test-notebooks test-changed pdf classroom kit exam \
	tournament leaderboard package open

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- environment ---------------------------------------------------------------------------

# An incomplete environment, or one whose Python is gone, is made anew.
$(shell test -x $(BIN)/python || rm -f $(VENV)/.made)

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, $(OLDEST)) <= sys.version_info[:2] <= (3, $(NEWEST)))' || \
		{ echo "Python 3.$(OLDEST) to 3.$(NEWEST) is needed; try: make PYTHON=python3.$(NEWEST) ..."; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) > /dev/null || { rm -rf $(VENV); \
		echo "Python's module venv does not work; on Debian and Ubuntu: apt install python3-venv"; \
		exit 1; }
	@$(PIP) --constraint requirements-test.txt uv || echo "There is no uv here: pip installs."
	@touch $@

$(VENV)/.book: requirements.txt pyproject.toml | $(VENV)/.made
	@echo "Installing what the book needs into $(VENV)."
	@$(call install,-r requirements.txt)
	@$(call install,--no-deps -e .)
	@$(BIN)/python -c 'import matplotlib.font_manager'
	@touch $@

$(VENV)/.test: requirements-test.txt $(VENV)/.book
	@echo "Installing what the tests need into $(VENV)."
	@$(call install,-r requirements-test.txt)
	@touch $@

$(VENV)/.classroom: requirements-classroom.txt $(VENV)/.book
	@$(call install,-r requirements-classroom.txt)
	@touch $@

# The packages of a dependency group in pyproject.toml
group = $$($(BIN)/python -c 'import sys, tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"][sys.argv[1]])' $(1))

$(VENV)/.package: | $(VENV)/.made
	@$(PYTHON) -m venv $(VENV)/package
	@$(VENV)/package/bin/python -m pip install --quiet --disable-pip-version-check \
		$(call group,release)
	@touch $@

# ---- book ----------------------------------------------------------------------------------

# What was hidden once stays so (book/_ext/unsolved.py), and needs more than the book.
HIDDEN := $(if $(filter open,$(CFR_BOOK_SOLUTIONS)),,$(strip $(CFR_BOOK_SOLUTIONS) \
	$(CFR_BOOK_SOLUTIONS_KEY) $(wildcard _build/solutions-key.txt)))
book: $(VENV)/$(if $(HIDDEN),.classroom,.book) ## run the notebooks, build the HTML book (about 6 minutes, 1.6 GB, 520 MB to download)
	@$(BIN)/python tools/build.py
	@$(BIN)/python tools/onpage.py
	@$(BIN)/python tools/editor.py

pdf: book $(VENV)/.test ## print the built pages into one PDF and one EPUB
	$(BIN)/python tools/pdf.py
	$(BIN)/python tools/epub.py

# What a release has: the package, and the site as zip, PDF and EPUB for readers without a network.
package: pdf $(VENV)/.package ## make and check the package for PyPI; a zip, PDF and EPUB of the site
	$(VENV)/package/bin/python tools/package.py

lab: $(VENV)/.book ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab --notebook-dir=book

classroom: $(VENV)/.classroom ## make nbgrader assignments; with COURSE=... GRADE=..., grade one
	$(BIN)/python tools/classroom.py $(if $(COURSE),--course "$(COURSE)") \
		$(if $(GRADE),--grade "$(GRADE)") $(if $(COLLECT),--collect "$(COLLECT)") \
		$(if $(WORKSHEET),--worksheet "$(WORKSHEET)")

kit: book $(VENV)/.test ## make slides, paper, quizzes; ADDRESS=... is that of Play Kuhn poker
	$(if $(ADDRESS),CFR_BOOK_PAGE="$(ADDRESS)") $(BIN)/python tools/kit.py

exam: $(VENV)/.test ## make an exam with drawn numbers, in four variants with solutions: SEED=...
	$(BIN)/python tools/exam.py $(if $(SEED),"$(SEED)")

tournament: $(VENV)/.classroom ## play strategies against one another: FOLDER=... GAME=kuhn or leduc
	$(BIN)/python tools/tournament.py $(if $(FOLDER),"$(FOLDER)") $(if $(GAME),--game $(GAME))

leaderboard: $(VENV)/.classroom ## race solvers of a class: FOLDER=... GAME=leduc or kuhn SECONDS=60
	$(BIN)/python tools/leaderboard.py $(if $(FOLDER),"$(FOLDER)") $(if $(GAME),--game $(GAME)) \
		$(if $(SECONDS),--seconds $(SECONDS))

notebooks: $(VENV)/.book ## execute the notebooks again and write them in normal form
	$(BIN)/python tools/notebooks.py --execute $(PAGES)

# ---- tests ---------------------------------------------------------------------------------

# Report every failure, and print the output of each job in one piece.
TOGETHER := $(MAKE) --no-print-directory --keep-going --jobs=2 \
	$(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
NBVAL := --nbval --nbval-sanitize-with tests/plugins/nbval_sanitize.cfg \
	-p tests.plugins.patient_kernels -p tests.plugins.page_runs
IN_TWO := -n 2 --dist loadfile --no-loadscope-reorder

# Tests read solutions on the pages, and must not open what a teacher has hidden.
open:
	@test -z "$(HIDDEN)" || { echo "The site in _build hides its solutions, and the tests need" \
		"them. Test another copy of the project, or open the site: CFR_BOOK_SOLUTIONS=open make test"; \
		exit 1; }

# Kernels are compiled once, while ruff and mypy, which need none, use the other processor.
# The book reuses the notebooks that the comparison has run.
test: open $(VENV)/.test ## lint, types, notebooks, quick tests, a visit of each page (14 minutes, 2.4 GB, 750 MB)
	@$(TOGETHER) programs lint types kernels; first=$$?; \
		$(MAKE) --no-print-directory test-notebooks; notebooks=$$?; \
		$(MAKE) --no-print-directory test-quick && exit $$((first + notebooks))
	@echo "All quick tests passed; \`make test-slow\` runs the others."

test-all: ## everything: first the quick tests, then the slow tests
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-slow

# Chromium and the graders' sandbox, which tests need
programs: $(VENV)/.test
	@$(BIN)/python tools/chromium.py > /dev/null; chromium=$$?; \
		$(BIN)/python tools/programs.py && exit $$chromium

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

kernels: $(VENV)/.test
	$(BIN)/python tools/warm.py

# Check that committed outputs exist, are in normal form, and match the code.
test-notebooks: $(VENV)/.test
	$(BIN)/python tools/notebooks.py --check $(PAGES)
	$(BIN)/python -m pytest $(NBVAL) $(IN_TWO) --durations=10 $(PAGES)

test-changed: $(VENV)/.test
	@changed=$$(git status --porcelain --untracked-files=all $(PAGES) | cut -c4-); \
		echo "Changed notebooks: $${changed:-none}"; \
		test -z "$$changed" || $(BIN)/python -m pytest $(NBVAL) $$changed

# The package, the built pages, and one visit of each page in Chromium
test-quick: open book $(VENV)/.test
	$(BIN)/pytest $(IN_TWO) -m "not slow" --durations=10 --ignore=tests/browser tests; rest=$$?; \
		$(BIN)/pytest -n 2 --no-loadscope-reorder -m "not slow" --durations=10 \
		tests/browser && exit $$rest

# In the browser three processes mostly wait.
test-slow: open book $(VENV)/.test
	@$(MAKE) --no-print-directory programs
	@$(MAKE) --no-print-directory digits; digits=$$?; \
		$(BIN)/pytest $(IN_TWO) -m slow --durations=20 --ignore=tests/browser tests; \
		rest=$$(($$? + digits)); \
		$(BIN)/pytest -n 3 --no-loadscope-reorder -m slow --durations=20 \
		tests/browser && exit $$rest

# Which printed digits depend on the order of additions
digits: book $(VENV)/.test
	$(BIN)/python tools/portable.py

portable: digits ## digits that depend on rounding; tests as on older processors, one thread and many (hours)
	$(BIN)/python tools/portable.py --machines

format: $(VENV)/.test ## format the code and the notebook cells
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# LiteEFG needs other versions of some packages, so it gets an environment of its own, if it can
# be built at all.
$(VENV)/.liteefg: | $(BIN)/python
	$(PYTHON) -m venv $(VENV)/liteefg
	$(VENV)/liteefg/bin/python -m pip install --quiet --disable-pip-version-check \
		$(call group,liteefg) || { echo "LiteEFG cannot be installed here and is left out."; \
		rm -rf $(VENV)/liteefg; }
	@touch $@

$(VENV)/.donksolver: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(call group,donksolver) \
		|| echo "donksolver cannot be installed here and is left out."
	@touch $@

bench: $(VENV)/.test $(VENV)/.liteefg $(VENV)/.donksolver ## time cfrlib against its peers, and the sliders
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/reach_nash_conv.py
	$(BIN)/python benchmarks/deep.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/teaching.py
	$(BIN)/python benchmarks/classroom.py

# ---- housekeeping --------------------------------------------------------------------------

lock: $(VENV)/.test ## compile the ranges of pyproject.toml into the pinned requirements
	$(LOCK) --upgrade --extra book -o requirements.txt
	$(LOCK) --extra notebooks --extra deep --constraint requirements.txt \
		-o binder/requirements.txt
	$(LOCK) --upgrade --extra classroom --constraint requirements.txt \
		-o requirements-classroom.txt
	$(LOCK) --upgrade --extra test --constraint requirements-classroom.txt \
		-o requirements-test.txt

clean: ## remove the built book, the caches and the environment
	rm -rf _build $(VENV) *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
