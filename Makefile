# Everything works in a bare clone with Python 3.11 or later, make and git: the environment is made in .venv.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DEMO ?= demo

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench build schemas clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $(STAMP)

demo: $(STAMP)  ## check, plan, release, verify and estimate on a survey that is generated here
	rm -rf $(DEMO) && mkdir -p $(DEMO)
	$(BIN)/rrpolicy check policies/pram.toml
	$(BIN)/rrpolicy plan policies/pram.toml --out $(DEMO)/plan.json --key $(DEMO)/key.json
	$(BIN)/rrpolicy release $(DEMO)/plan.json --out $(DEMO)/release --key $(DEMO)/key.json
	$(BIN)/rrpolicy verify $(DEMO)/release --source demo:survey --key $(DEMO)/key.json --strict
	$(BIN)/rrpolicy estimate $(DEMO)/release --by sex,education
	@echo "the report: $(DEMO)/release/audit/report.html; what the public sees: $(DEMO)/release/public/report.html"

test: $(STAMP)  ## the whole test suite, warnings as errors
	$(BIN)/pytest -n auto

lint: $(STAMP)  ## ruff, mypy --strict, the contracts between the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## put the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## speed and memory, as ratios to something run in the same minute
	$(BIN)/python -m tests.bench

build: $(STAMP)  ## wheel and source distribution, with what they may hold checked
	$(BIN)/python -m build
	$(BIN)/check-wheel-contents dist/*.whl

schemas: $(STAMP)  ## write the policy language's JSON Schema again
	$(BIN)/rrpolicy schema > docs/schemas/rrpolicy.policy-1.json

clean:  ## remove what the other targets made
	rm -rf .venv dist build demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
