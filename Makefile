# make          all tables, all figures and the ledger, from nothing but Python, git and make
# make test     the whole test suite
# make verify   builds once more in another folder and compares byte for byte
# make bench    how long builds take, as ratios
# make lint     style of code, rules and notebooks
# make lock     compiles requirements.txt from pyproject.toml (needs uv)
# make clean    removes what a build makes and git does not keep

PYTHON ?= python3
CORES ?= 4
BIN := .venv/bin
RUN := $(BIN)/python -m

# Without byte code each kernel compiles SymPy anew; settings of the caller's Python have no place in the build.
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME VIRTUAL_ENV

.PHONY: build test verify bench lint lock clean
.DELETE_ON_ERROR:

build: .venv/installed
	@$(RUN) snakemake --cores $(CORES)
	@echo
	@echo "tables              tables/table_N.md, .csv, .tex"
	@echo "figures             figures/figure_N.svg, .pdf, .png, .csv"
	@echo "ledger              ledger/ledger.csv, ledger.json"
	@echo "executed notebooks  notebooks/executed/"

# The stamp comes last: an installation that was broken off is taken up again.
.venv/installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "Python 3.11 or newer is needed, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)."; \
	    echo "Name another one: make PYTHON=python3.12"; exit 1; }
	@echo "installing the locked environment into .venv/ (once, some minutes)"
	@$(PYTHON) -m venv .venv
	@$(RUN) pip install --quiet --require-hashes -r requirements.txt
	@$(RUN) pip install --quiet --no-deps --no-build-isolation -e .
	@$(RUN) compileall -qq -j 0 .venv/lib src || true
	@touch $@

test: .venv/installed
	@$(RUN) pytest

# Only the forms are built here: what is compared with the second build is what stands in the checkout.
verify: .venv/installed
	@$(RUN) snakemake --cores $(CORES) build/forms.json
	@$(RUN) kvwall verify

bench: .venv/installed
	@$(BIN)/python bench/bench.py

lint: .venv/installed
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) snakefmt --check -l 110 Snakefile workflow
	@$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb

lock:
	@command -v uv >/dev/null || { echo "uv is needed to compile the lock"; exit 1; }
	uv pip compile --quiet pyproject.toml --extra dev --python-version 3.11 --universal --generate-hashes \
	    --custom-compile-command "make lock" --output-file requirements.txt

clean:
	rm -rf build logs .snakemake notebooks/executed figures/*.png figures/*.pdf
