#!/usr/bin/env bash
# Tests the page: format and lint, types, unit tests, the build and its size, then the specs in Chromium against the built
# daemon. Installs what it needs first, in the versions of package-lock.json, and does nothing about what is there already.
# `web/test.sh unit` leaves the specs out; further arguments go to Playwright.
set -euo pipefail
cd "$(dirname "$0")"

only=all
if [ "${1:-}" = unit ]; then only=unit; shift; fi
tools=$(cd .. && pwd)/target/page
export OSTLER_BINARY=${OSTLER_BINARY:-$(cd .. && pwd)/target/debug/ostler}
export OSTLER_CHROMIUM=${OSTLER_CHROMIUM:-$(command -v chromium || true)}
# Debian's browser is used, so none is fetched.
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1

for program in node npm flock; do
    command -v "$program" >/dev/null || { echo "web/test.sh needs $program; install it and try again" >&2; exit 1; }
done
mkdir -p "$tools"
# Two that install or build at once would tear each other's files.
exec 9>"$tools/lock"
flock 9

if ! cmp -s package-lock.json "$tools/package-lock.json" || [ ! -d node_modules ]; then
    npm ci --no-audit --no-fund --loglevel=error
    cp package-lock.json "$tools/package-lock.json"
fi
npm run --silent lint
npm run --silent check
npm run --silent unit
npm run --silent build
node size.mjs
if [ "$only" = unit ]; then exit 0; fi

if [ -z "$OSTLER_CHROMIUM" ]; then
    echo "web/test.sh needs Chromium; make setup installs it" >&2
    exit 1
fi
if [ ! -x "$OSTLER_BINARY" ]; then
    echo "$OSTLER_BINARY is not there; build it with: cargo build --package ostler-cli" >&2
    exit 1
fi
npm run --silent spec -- "$@"
