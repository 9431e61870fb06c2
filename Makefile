# Everything works in a bare clone with Python 3.11 or later, make and git: the environment is made in .venv.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DEMO ?= demo

.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE # what the tests start would compile everything anew
.PHONY: help demo test test-all coverage golden lint format bench papers questions docs build schemas constraints clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

# Exact versions, all of them listed and each held to its digest; the project itself is built here, with what was just
# installed. Nothing is resolved: what one package asks for beyond the list is left out on purpose (pyproject.toml says).
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
		--requirement constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

constraints:  ## choose versions of all dependencies anew, for Python 3.11 and later (needs uv)
	uv pip compile --quiet --universal --upgrade --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --group dev pyproject.toml --output-file constraints.txt

demo: $(STAMP)  ## check, plan, release, verify and estimate on a survey that is generated here
	rm -rf $(DEMO) && mkdir -p $(DEMO)
	$(BIN)/rrpolicy check policies/pram.toml
	$(BIN)/rrpolicy plan policies/pram.toml --out $(DEMO)/plan.json --key $(DEMO)/key.json
	$(BIN)/rrpolicy release $(DEMO)/plan.json --out $(DEMO)/release --key $(DEMO)/key.json
	$(BIN)/rrpolicy verify $(DEMO)/release --source demo:survey --key $(DEMO)/key.json --strict
	$(BIN)/rrpolicy estimate $(DEMO)/release --by sex,education
	@echo "the report: $(DEMO)/release/audit/report.html; what the public sees: $(DEMO)/release/public/report.html"

test: $(STAMP)  ## the test suite but for what takes long, warnings as errors
	$(BIN)/pytest -n auto --dist worksteal -m "not slow"

test-all: $(STAMP)  ## the whole test suite, as CI runs it
	$(BIN)/pytest -n auto --dist worksteal

coverage: $(STAMP)  ## the quick tests' lines and branches; RRPOLICY_COVER_ALL=1 counts those of slow tests too
	$(BIN)/pytest -n auto --dist worksteal --cov --cov-report=term --cov-fail-under=97

golden: $(STAMP)  ## compare bundles, plans, outputs, schemas and public names with what was frozen (two minutes)
	$(BIN)/python -m tests.golden

lint: $(STAMP)  ## ruff, mypy --strict, the contracts between the rooms, plain language
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/lint-imports --no-cache --config rooms.ini
	$(BIN)/python -m tests.prose.lint

format: $(STAMP)  ## put the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## speed and memory, as ratios to something run in the same minute
	$(BIN)/python -m benchmarks.speed

papers: $(STAMP)  ## the papers' tables and figures again, in docs/explanation/results.md (needs RRPOLICY_DATA; ten minutes)
	$(BIN)/python -m benchmarks.papers

questions: $(STAMP)  ## how often intervals hold, in docs/explanation/coverage.md: twenty questions, three surveys (an hour)
	$(BIN)/python -m benchmarks.coverage

docs: $(STAMP)  ## the documentation site, in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

build: $(STAMP)  ## wheel and source distribution, with what they may hold checked
	$(BIN)/python -m build --no-isolation
	$(BIN)/check-wheel-contents dist/*.whl

schemas: $(STAMP)  ## write all JSON Schemas again
	$(BIN)/rrpolicy export schema > rrpolicy/schemas/rrpolicy.policy-1.json
	$(BIN)/python -m rrpolicy.artifacts rrpolicy/schemas

clean:  ## remove what the other targets made
	rm -rf .venv dist build demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
