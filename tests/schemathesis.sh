#!/usr/bin/env bash
# The http door against its own description: schemathesis reads /openapi.json of a real daemon, makes up
# requests that the description allows and requests that it forbids, and checks every answer against it.
# The last line says how many requests held and how many did not.
set -euo pipefail
cd "$(dirname "$0")/.."

version=4.32.5
# Requests per operation in the phase that makes them up at random.
examples=60

root=$PWD
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
tool=$target/schemathesis-$version
daemon=${OSTLER_BINARY:-$target/debug/ostler}

say() { printf 'schemathesis: %s\n' "$*" >&2; }

# Installs the tool once, into the build directory. Debian may lack what a venv needs, but not pip.
install() {
    [ -e "$tool/ready" ] && return
    say "installing schemathesis $version into $tool"
    rm -rf "$tool"
    mkdir -p "$tool"
    if python3 -m venv "$tool/venv" >/dev/null 2>&1; then
        "$tool/venv/bin/python" -m pip install --quiet --disable-pip-version-check "schemathesis==$version" >&2
    else
        rm -rf "$tool/venv"
        python3 -m pip install --quiet --disable-pip-version-check --target "$tool/site" "schemathesis==$version" >&2
    fi
    touch "$tool/ready"
}

schemathesis() {
    if [ -d "$tool/venv" ]; then
        "$tool/venv/bin/python" -m schemathesis.cli "$@"
    else
        PYTHONPATH=$tool/site python3 -m schemathesis.cli "$@"
    fi
}

# Builds the daemon when it is missing or older than the code.
build() {
    [ -z "${OSTLER_BINARY:-}" ] || return 0
    if [ ! -x "$daemon" ] || [ -n "$(find crates Cargo.lock -newer "$daemon" -type f \
        \( -path '*/src/*' -o -name Cargo.toml -o -name Cargo.lock \) -print -quit)" ]; then
        cargo build --package ostler-cli --locked
    fi
}

install
build

work=$(mktemp -d)
pid=
clean_up() {
    if [ -n "$pid" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap clean_up EXIT

mkdir "$work/workspace" "$work/config"
XDG_CONFIG_HOME=$work/config "$daemon" serve --listen 127.0.0.1:0 --data-dir "$work/data" \
    >"$work/out" 2>"$work/err" &
pid=$!

base=
for _ in $(seq 100); do
    base=$(sed -n 's/^ostler is ready at \(http[^ ]*\).*$/\1/p' "$work/out")
    [ -n "$base" ] && break
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.1
done
if [ -z "$base" ]; then
    say "the daemon did not start:"
    cat "$work/out" "$work/err" >&2
    exit 1
fi

export OSTLER_BASE=$base OSTLER_WORKSPACE=$work/workspace OSTLER_TOKEN
OSTLER_TOKEN=$(cat "$work/data/token")
export SCHEMATHESIS_HOOKS=$root/tests/schemathesis_hooks.py

# /v1/events never ends by itself; the Rust tests of the door read it. A deleted session can still be read
# unless it was purged, so that check does not hold here. Wrong tokens are answered slowly, so that they are not
# tried with every request; the Rust tests show one to every operation.
held=0
(cd "$work" && schemathesis --no-color run "$base/openapi.json" \
    -H "Authorization: Bearer $OSTLER_TOKEN" \
    --checks all --exclude-checks use_after_free,ignored_auth \
    --exclude-path /v1/events \
    --max-examples "$examples" --generation-deterministic \
    --request-timeout 5 --continue-on-failure \
    --report json --report-json-path "$work/report.json") || held=$?

# An orderly end: SIGTERM, and exit status 0.
kill -TERM "$pid"
stopped=0
wait "$pid" || stopped=$?
pid=

failures=0
if [ "$stopped" -ne 0 ]; then
    say "the daemon ended with status $stopped after SIGTERM"
    failures=$((failures + 1))
fi
if grep -n panicked "$work/err" >&2; then
    say "the daemon panicked"
    failures=$((failures + 1))
fi
if [ ! -s "$work/report.json" ]; then
    say "there is no report"
    exit 1
fi

python3 - "$work/report.json" "$held" "$failures" <<'PYTHON'
import json
import sys

report, held, failures = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
cases = report["test_cases"]
failed = cases["with_failures"] + cases["errored"] + len(report["errors"]) + failures
if held != 0 and failed == 0:
    failed = 1
print(f"{cases['generated'] - cases['with_failures'] - cases['errored']} passed, {failed} failed")
sys.exit(1 if failed else 0)
PYTHON
