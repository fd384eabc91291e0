#!/usr/bin/env bash
# Installs the WebSocket client and the JSON Schema validator with which the tests of crates/cli drive the gateway, in
# pinned versions, into a directory (target/gateway-client unless another is named). Does nothing where they are there.
set -euo pipefail

directory=${1:-$(cd "$(dirname "$0")/../.." && pwd)/target/gateway-client}
packages=(websockets==17.4 jsonschema==4.26.0)

wanted=$(printf '%s\n' "${packages[@]}")
if [ "$(cat "$directory/installed" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi

for program in python3 flock; do
    command -v "$program" >/dev/null || { echo "tests/gateway/setup.sh needs $program; install it and try again" >&2; exit 1; }
done

mkdir -p "$directory"
# Two that install at once would tear each other's files.
exec 9>"$directory/lock"
flock 9
if [ "$(cat "$directory/installed" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi
rm -f "$directory/installed"
echo "installing a WebSocket client into $directory" >&2
python3 -m venv "$directory/python"
"$directory/python/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >&2
printf '%s\n' "$wanted" >"$directory/installed"
