# Two commands: `make run` shows everything, `make test` proves it. `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: help run test lint dist bench-draw bench-think bench-ledger bench-serve bench-story clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

run: $(VENV)/.installed  ## install and run the main job (make run ARGS="--quick --lang zh")
	@$(BIN)/whygpu $(ARGS)

test: $(VENV)/.installed-test  ## install with the test extra and run every test
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not alone" $(ARGS) || [ $$? = 5 ]  # 5: none was chosen
	@$(BIN)/python -m pytest -m alone $(ARGS) || [ $$? = 5 ]

lint: $(VENV)/.installed-test  ## style, types, layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

dist: $(VENV)/.installed-test  ## build a wheel and an sdist into dist/ and try the wheel in a fresh environment
	@rm -rf dist
	@$(BIN)/python -m build
	@rm -rf dist/.try && $(PYTHON) -m venv dist/.try
	@dist/.try/bin/pip install --quiet dist/*.whl
	@cd dist && .try/bin/whygpu --version && .try/bin/whygpu draw cube -o try.png && rm try.png
	@rm -rf dist/.try

bench-ledger: $(VENV)/.installed-test  ## what listening costs
	@$(BIN)/python benchmarks/ledger.py $(ARGS)

bench-draw: $(VENV)/.installed-test  ## drawing against Mesa's llvmpipe (ARGS="--json", --duck FILE)
	@$(BIN)/pip install --quiet --editable '.[bench]'
	@$(BIN)/python benchmarks/draw.py $(ARGS)

bench-think: $(VENV)/.installed-test  ## language models against llama.cpp (builds it; ARGS="--json", GGUF files)
	@$(BIN)/pip install --quiet --editable '.[bench]'
	@OPENBLAS_THREAD_TIMEOUT=4 $(BIN)/python benchmarks/think.py $(ARGS)

bench-serve: $(VENV)/.installed-test  ## clients on loopback, and frames of the lab
	@$(BIN)/python benchmarks/serve.py $(ARGS)
	@$(BIN)/python benchmarks/lab.py

bench-story: $(VENV)/.installed-test  ## time and size of each exhibit
	@$(BIN)/python benchmarks/story.py $(ARGS)

clean:  ## remove what the other targets made
	rm -rf $(VENV) dist build whygpu-report

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "whygpu needs Python 3.11 or newer; say which with: make PYTHON=python3.12 run"; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "installing whygpu into $(VENV) (about half a minute) ..."
	@$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/python
	@echo "installing whygpu and its test tools into $(VENV) (a minute or two) ..."
	@$(BIN)/pip install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.installed
