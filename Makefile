# The commands of everyday work. Everything that is more than a line lives in xtask/ or .ci/.

.DEFAULT_GOAL := help
.PHONY: help run install uninstall dist page test test-crate test-long test-live bench fmt setup

CARGO ?= cargo

help: ## show this list
	@echo "Ostler: run many coding agents; control them from anywhere."
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)$$/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
		| while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done
	@echo
	@echo "CONTRIBUTING.md tells how to change it."

run: ## build the daemon and its page if needed, and start it (ARGS="..." are passed on)
	@command -v $(CARGO) >/dev/null || { echo "Rust is missing; install it from https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "A C compiler is missing; on Debian: apt install build-essential" >&2; exit 1; }
	@test -x target/release/ostler || echo "The first build needs Rust, a C compiler and Node.js, and takes 10 to 20 minutes on two cores."
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory page; \
		else echo "npm is missing: the daemon is built without its page (install Node.js to get it)"; fi
	$(CARGO) build --release --locked --package ostler-cli
	target/release/ostler serve $(ARGS)

# Where `make install` puts things; DESTDIR goes before it, for those who make packages.
PREFIX ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)
INTO = $(DESTDIR)$(PREFIX)
SHARED = $(INTO)/share
COMPLETIONS = bash:$(SHARED)/bash-completion/completions/ostler \
	zsh:$(SHARED)/zsh/site-functions/_ostler fish:$(SHARED)/fish/vendor_completions.d/ostler.fish

install: page ## build the daemon with its page, and install it with completions and man pages (PREFIX=...)
	$(CARGO) build --release --locked --package ostler-cli
	install -D -m 755 target/release/ostler "$(INTO)/bin/ostler"
	@for pair in $(COMPLETIONS); do \
		install -d "$$(dirname "$${pair#*:}")" && target/release/ostler completions "$${pair%%:*}" > "$${pair#*:}" || exit 1; done
	target/release/ostler man --out "$(SHARED)/man/man1"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "note: $(PREFIX)/bin is not in your PATH";; esac
	@echo "ostler is installed in $(INTO)/bin"

uninstall: ## remove what `make install` installed; sessions and configuration stay
	rm -f "$(INTO)/bin/ostler" "$(SHARED)"/man/man1/ostler.1 "$(SHARED)"/man/man1/ostler-*.1
	@for pair in $(COMPLETIONS); do rm -f "$${pair#*:}"; done

dist: ## build what is handed out, into target/dist (static if the musl target and musl-tools are installed)
	$(CARGO) xtask dist

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

test-long: ## what takes longer than a change should: a million command lines run for their effects, 60,000 read by two parsers, 10,000 seeds of two engines on one log
	OSTLER_OWNERSHIP_SEEDS=10000 $(CARGO) test -p ostler-engine --test it -- --exact ownership_seeds::two_engines_on_one_log_lose_nothing
	OSTLER_PARSER_LINES=20000 OSTLER_PARSER_SEED=$$(date +%s) $(CARGO) test -p ostler-command-line --test it second_parser
	fuzz/effects.sh 1000000

test-live: ## drive daemons with a real model, a proxy and agents that others wrote (ARGS="--only claude" for one agent)
	tests/live/run.sh $(ARGS)

bench: ## measure (ARGS="..." are passed on; --peers measures other programs of the kind beside it)
	$(CARGO) build --release --locked --package ostler-cli --package ostler-bench
	target/release/ostler-bench $(ARGS)

fmt: ## format the Rust code
	$(CARGO) fmt --all

setup: ## install what the tests need, if it is missing
	@.ci/setup
