#!/usr/bin/env bash
# Tests the client libraries against the built daemon: clients/test.sh [ts|python]. Installs what they need first, in the
# versions that stand here and in package-lock.json, and does nothing about what is there already.
set -euo pipefail
cd "$(dirname "$0")"

wanted=${1:-all}
tools=$(cd .. && pwd)/target/clients
packages=(httpx==0.28.1 websockets==17.4 hatchling==1.33.0 editables==0.6 pytest==9.2.0 mypy==2.4.1 jsonschema==4.26.0)
export OSTLER_BINARY=${OSTLER_BINARY:-$(cd .. && pwd)/target/debug/ostler}
# Nothing is left beside the sources.
export PYTHONDONTWRITEBYTECODE=1

if [ ! -x "$OSTLER_BINARY" ]; then
    echo "$OSTLER_BINARY is not there; build it with: cargo build --package ostler-cli" >&2
    exit 1
fi
for program in npm python3 flock; do
    command -v "$program" >/dev/null || { echo "clients/test.sh needs $program; install it and try again" >&2; exit 1; }
done
mkdir -p "$tools"
# Two that install at once would tear each other's files.
exec 9>"$tools/lock"
flock 9

python3 generate.py --check

if [ "$wanted" = all ] || [ "$wanted" = ts ]; then
    if ! cmp -s ts/package-lock.json "$tools/package-lock.json" || [ ! -d ts/node_modules ]; then
        npm ci --prefix ts --no-audit --no-fund --loglevel=error
        cp ts/package-lock.json "$tools/package-lock.json"
    fi
    npm test --prefix ts --loglevel=error
fi

if [ "$wanted" = all ] || [ "$wanted" = python ]; then
    stamp=$(printf '%s\n' "${packages[@]}"; cat python/pyproject.toml)
    if [ "$(cat "$tools/python.installed" 2>/dev/null || true)" != "$stamp" ]; then
        rm -f "$tools/python.installed"
        python3 -m venv "$tools/python"
        "$tools/python/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
        "$tools/python/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --editable python
        printf '%s\n' "$stamp" >"$tools/python.installed"
    fi
    cd python
    "$tools/python/bin/mypy" --cache-dir "$tools/mypy"
    "$tools/python/bin/pytest" -p no:cacheprovider
fi
