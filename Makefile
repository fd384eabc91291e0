# The commands of everyday work. Everything that is more than a line lives in xtask/ or .ci/.

.DEFAULT_GOAL := help
.PHONY: help run page test test-crate test-live bench fmt setup

CARGO ?= cargo

help: ## show this list
	@echo "Ostler: a daemon that keeps coding-agent sessions going."
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)$$/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
		| while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done
	@echo
	@echo "CONTRIBUTING.md tells how to change it."

run: ## build the daemon and its page if needed, and start it (ARGS="..." are passed on)
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory page; \
		else echo "npm is missing, so the daemon is built without its page"; fi
	$(CARGO) build --release --locked --package ostler-cli
	target/release/ostler serve $(ARGS)

# What the page is made of. Its types are those of the TypeScript client.
PAGE := $(shell find web/src web/public web/*.json web/*.js web/*.ts web/index.html clients/ts/src -type f 2>/dev/null)

page: web/dist/index.html ## build the page, if its sources are newer

web/dist/index.html: $(PAGE) web/node_modules/.package-lock.json
	cd web && npm run build
	@touch $@

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

test: setup ## check everything, as CI does; installs what is missing
	@$(MAKE) --no-print-directory page
	$(CARGO) xtask ci

test-crate: ## test one crate: make test-crate C=engine (T="..." filters by name)
	@test -n "$(C)" || { echo "say which crate, for example: make test-crate C=engine"; exit 2; }
	$(CARGO) nextest run --package $(if $(wildcard crates/$(C)),ostler-$(C),$(C)) $(T)

test-live: ## drive daemons with a real model, a proxy and agents that others wrote (ARGS="--only claude" for one agent)
	tests/live/run.sh $(ARGS)

bench: ## measure (ARGS="..." are passed on)
	$(CARGO) build --release --locked --package ostler-cli --package ostler-bench
	target/release/ostler-bench $(ARGS)

fmt: ## format the Rust code
	$(CARGO) fmt --all

setup: ## install what the tests need, if it is missing
	@.ci/setup
