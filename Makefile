# Thin: it makes .venv with the project in it and calls the tools, whose settings are in pyproject.toml.
#   make demo    the local run, from nothing to decided reports
#   make test    the tests
#   make check   linters, types, layering, template
#   make build   the Lambda packages (needs a Python 3.13)

.DEFAULT_GOAL := help
.PHONY: help demo test check format build clean
.DELETE_ON_ERROR:

# The first Python that runs and is 3.11 or newer; a version manager may offer names that do not run.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
SAM_VERSION := 1.170.0
SAM := SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam
PYTEST_ARGS ?=

help:
	@sed -n 's/^#   make/make/p' Makefile

# -- environments ------------------------------------------------------------------------------------------------
# Stamps, so that a second make installs nothing. `demo` needs only the extra `local`.
LOCAL := .venv/.installed-local
DEV := .venv/.installed-dev
SAM_READY := .venv-sam/.installed-$(SAM_VERSION)

.venv/.created:
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer on PATH; install one, or say make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

$(LOCAL): .venv/.created pyproject.toml constraints.txt
	$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt --editable '.[local]'
	@touch $@

$(DEV): .venv/.created pyproject.toml constraints.txt
	$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(LOCAL)

# The SAM CLI pins other versions of what we use, so it lives alone.
$(SAM_READY):
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer on PATH" >&2; exit 1; }
	$(PYTHON) -m venv .venv-sam
	.venv-sam/bin/python $(PIP_INSTALL) aws-sam-cli==$(SAM_VERSION)
	@touch $@

# -- what people run ---------------------------------------------------------------------------------------------
demo: $(LOCAL)
	$(BIN)/casegraph demo $(DEMO_ARGS)

test: $(DEV)
	$(BIN)/python -m pytest -n 2 --dist worksteal $(PYTEST_ARGS)

check: $(DEV) $(SAM_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(SAM) validate --lint

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# `sam build` calls python3.13 by name. --no-cached: a layer is built from the files that are there.
build: $(SAM_READY)
	$(SAM) build --no-cached --parallel
	@test -f .aws-sam/build/EngineLayer/python/casegraph/__init__.py
	@test -d .aws-sam/build/DependenciesLayer/python/pydantic

clean:
	rm -rf .venv .venv-sam .aws-sam .casegraph .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
