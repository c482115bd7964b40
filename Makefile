# Everything here works from a fresh clone with Python 3.11 or newer and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
ARGS   ?=
ROUNDS ?= 30
SCHEDULES ?= 10000
BROKERS ?= 1
DATA   ?= ../shared/data
PROFILES ?= qdrant,grafana
EXTRAS ?= kafka index llm rank redis otel embed warc mcp console
READY  := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
BENCH_READY := $(VENV)/.bench-ready
QUIX   := .assay/quix
INTEGRATIONS := .assay/integrations
QUIX_READY := $(QUIX)/.ready
# The tests of a file run in order in one process; tests/conftest.py orders the files. Byte code is written whatever the
# shell says: to compile it in every run takes a third of the time until the first test begins.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder
# Into an environment that was just made: uv takes seconds where pip takes a minute. It reads no settings of pip, so that
# pip is asked where uv finds no registry.
define INSTALL
install() { \
	echo "installing Assay into $$1"; \
	$$1/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv && \
	$$1/bin/uv pip install --quiet --python $$1 --constraint constraints.txt --editable "$$2" 2>/dev/null || \
	$$1/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable "$$2"; \
}
endef
# The environment of another Python, and tests of what a Python may change: asyncio, TLS, SQLite, processes, types.
OTHER  ?= .assay/$(notdir $(PYTHON))
PYTHON_TESTS := tests/contract/test_handlers.py tests/schemas $(addprefix tests/streams/,fetch index llm pipeline workers)

# The services of the workers that run.
WORKERS = docker compose ps --format '{{.Service}} {{.Labels}}' | grep assay.handler= | cut -d' ' -f1 | sort -u
# As many new containers as there are old ones join the group; when they are healthy, each old one drains and goes. New ones
# that don't get well go again. An embedded index (QDRANT_URL is set, and empty) has one owner: its old one stops first.
define ROLL
roll() { \
	old=$$(docker compose ps --quiet $$1); count=$$(echo $$old | wc -w); service=$$1; \
	[ $$count -gt 0 ] || { echo "$$service does not run: make up starts it" >&2; return 1; }; \
	echo "$$service: $$count to replace"; \
	case "$${QDRANT_URL-server}$$service" in index-*) \
		docker compose up --detach --wait --no-deps --force-recreate $$service; return;; esac; \
	docker compose up --detach --wait --no-deps --no-recreate --scale $$service=$$((2 * count)) $$service || { \
		docker rm --force $$(docker compose ps --all --quiet $$service | grep -vF "$$old") >/dev/null; \
		echo "$$service: the new ones are not healthy and were removed; the old ones go on" >&2; return 1; }; \
	docker stop $$old && docker inspect --format '{{.Name}} ended with status {{.State.ExitCode}}' $$old && docker rm $$old; \
}
endef

# Ports open to other machines, where an address is named; then passwords are required.
ifdef BIND
export COMPOSE_FILE ?= docker-compose.yml:docker-compose.open.yml
endif

# What the image runs on. The hashes are those of all files of a version, so they hold for aarch64 too.
LOCK = $(BIN)/uv pip compile --quiet --generate-hashes --no-header --no-annotate --no-emit-index-url --only-binary :all: \
	--python-platform x86_64-manylinux_2_28 --python-version 3.11 --constraint constraints.txt

# name:tag of every image that others publish, with its digest where it has one. A digest stays when the tag moves on.
IMAGES = Dockerfile docker-compose.yml
define PIN
docker version >/dev/null 2>&1 || { \
	echo "pin-images asks a container engine for digests, and none answers: start Docker, or set DOCKER_HOST" >&2; exit 1; }; \
for image in $$(sed -nE 's/.*_IMAGE(:-|=)([a-z0-9][^@}]*:[^@}]*).*/\2/p' $(IMAGES) | grep -v '^assay:' | sort -u); do \
	digest=$$(docker pull $$image | sed -nE 's/^Digest: (sha256:[0-9a-f]{64})$$/\1/p'); \
	[ -n "$$digest" ] || { echo "$$image: the engine names no digest" >&2; exit 1; }; \
	sed -i.before -E "s#(_IMAGE(:-|=)$$image)(@sha256:[0-9a-f]{64})?(\}|$$)#\1@$$digest\4#" $(IMAGES); \
	rm $(addsuffix .before,$(IMAGES)); \
	echo "$$image@$$digest"; \
done
endef

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-quick test-slow test-faults simulate test-mutants test-python test-integrations test-containers check bench comparison accuracy up roll down generate lock pin-images clean

help: ## Show these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(READY) ## Make the virtual environment and install Assay into it

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Assay needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL); install $(VENV) '.[local,dev]'
	@touch $@

# Without the developer's tools. Byte code is written at the first use.
$(DEMO_READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Assay needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL); install $(VENV) '.[demo]'
	@touch $@

$(BENCH_READY): $(READY)
	@$(INSTALL); install $(VENV) '.[local,dev,bench]'
	@touch $@

# Quix Streams asks for an older pydantic than Assay, so it has an environment of its own.
$(QUIX_READY): tools/bench/quix-requirements.txt
	@$(PYTHON) -m venv $(QUIX)
	@$(QUIX)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

demo: $(if $(wildcard $(READY)),$(READY),$(DEMO_READY)) ## Run the whole job on a sample web (ARGS="--once --json" for scripts)
	@$(BIN)/assay demo $(ARGS)

test: setup ## Run the tests on a real Kafka, without those of test-slow
	$(PYTEST) -m "not slow" $(ARGS)

test-quick: setup ## Run the tests that need no Kafka, for the inner loop
	$(PYTEST) -m "not slow and not kafka" $(ARGS)

test-slow: setup ## Run the rest: large backfills, own brokers, tests of tests, trainings, live Prometheus, the tutorial
	$(PYTEST) -m slow $(ARGS)

test-faults: setup ## Rounds of faults on a real Kafka (ROUNDS=200, BROKERS=3, ARGS="--seed 1 --first 100")
	$(BIN)/python -m tools.faults --brokers $(BROKERS) --rounds $(ROUNDS) $(ARGS)

simulate: setup ## Runs of the pipeline over a simulated Kafka, in virtual time (SCHEDULES=100000, ARGS="--seed 1 --json")
	$(BIN)/python -m tests.simulation --schedules $(SCHEDULES) $(ARGS)

test-mutants: setup ## Make each change of tools/mutant_baseline.jsonl; fails if the tests find one no more
	$(BIN)/python -m tools.mutant_baseline --again $(ARGS)

check: setup ## Lint, types, import contracts, spelling, plain terms, sizes, drift of generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell assay schemas handlers streams tests tools docs README.md CONTRIBUTING.md CHANGELOG.md
	$(BIN)/python -m tools.idioms
	$(BIN)/python -m tools.sizes
	$(BIN)/assay generate --check

generate: setup ## Write the generated files again
	@$(BIN)/assay generate

bench: $(BENCH_READY) $(QUIX_READY) ## Measure on the pages of DATA (ARGS="--quick"; see docs/benchmarks.md)
	@DATA=$(DATA) $(BIN)/python -m tools.bench $(ARGS)

comparison: $(BENCH_READY) ## Measure the table of docs/comparison.md on the labelled pages of DATA (ARGS=--write)
	@DATA=$(DATA) $(BIN)/python -m tools.comparison $(ARGS)

accuracy: $(BENCH_READY) ## Measure on the labelled pages of DATA, beside htmldate and trafilatura (see docs/accuracy.md)
	@DATA=$(DATA) $(BIN)/python -m tools.accuracy $(ARGS)

test-python: ## Run tests on another Python, without Kafka (PYTHON=python3.13)
	@$(MAKE) --no-print-directory setup VENV=$(OTHER)
	PYTHONDONTWRITEBYTECODE= $(OTHER)/bin/pytest -q -n auto --dist loadfile -m "not kafka and not slow" $(PYTHON_TESTS) $(ARGS)

test-integrations: $(READY) ## The modules for Scrapy, Crawl4AI, LangChain and LlamaIndex, then all tests but the slow ones on the newest dependencies and Kafka
	@test -d $(INTEGRATIONS) || $(PYTHON) -m venv $(INTEGRATIONS)
	@$(INTEGRATIONS)/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement tests/assay/integrations/requirements.txt --editable '.[kafka,index,rank,local]'
	$(INTEGRATIONS)/bin/pytest -q tests/assay/integrations --override-ini addopts= --override-ini filterwarnings=default $(ARGS)
	$(BIN)/python -m tools.newest

test-containers: setup ## The composition run for real, where a Docker engine answers (see docs/containers.md)
	COMPOSE_PROFILES=$(PROFILES) $(BIN)/pytest tests/containers $(ARGS)

up: ## Start the whole installation in containers (ARGS="--scale score-page=3", PROFILES= without Qdrant and Grafana)
	COMPOSE_PROFILES=$(PROFILES) docker compose up --detach --build --wait $(ARGS)

roll: ## Replace workers by new ones, one service after another (SERVICES="score-page fetch-page")
	docker compose build topics
	@$(ROLL); for service in $(or $(SERVICES),$$($(WORKERS))); do roll $$service || exit 1; done

down: ## Stop it, keeping its volumes
	docker compose --profile '*' down $(ARGS)

lock: setup ## Write the versions and hashes that the image installs (EXTRAS=redis for a smaller image)
	$(LOCK) $(addprefix --extra ,$(EXTRAS)) --output-file requirements.lock pyproject.toml
	sed -n 's/^requires = \["\(.*\)"\]$$/\1/p' pyproject.toml | $(LOCK) --output-file requirements-build.lock -

pin-images: ## Write the digests of the images beside their tags, where a container engine answers
	@$(PIN)

clean: ## Remove what was built here
	rm -rf $(VENV) .assay build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
