# Everything from a bare clone, with nothing else prepared: `make demo`, `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-slow check bench load pictures install clean

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/workbench demo

# Two processes, a file to each at a time, the longest (browsers) first, and a thread to each; what
# starts clusters of its own comes after, alone.
test: export OMP_NUM_THREADS = 1
test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" \
	  --ignore tests/test_parallel.py tests/e2e tests workbench reward_model
	$(BIN)/python -m pytest -m "not slow" tests/test_parallel.py

test-slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=apps $(BIN)/mypy apps/explorer.py apps/parts apps/views
	$(BIN)/python -m pytest -q tests/test_architecture.py

# By hand, on a quiet machine; each prints the figures that RESULTS.md quotes.
bench: $(INSTALLED)
	for bench in tests/bench/bench_*.py; do echo "== $$bench"; $(BIN)/python $$bench || exit 1; done

# By hand too: 20 people who move λ in the explorer for a minute. No error, or it fails.
load: $(INSTALLED)
	$(BIN)/python tests/bench/bench_explorer.py

# The README's three pictures, made again by the code; needs Chromium.
pictures: $(INSTALLED)
	$(BIN)/python tests/e2e/make_pictures.py

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
