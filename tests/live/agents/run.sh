#!/usr/bin/env bash
# Drives agents that others wrote through the daemon, offline; agents.py says what the arguments are.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
[ -n "${OSTLER_BINARY:-}" ] || (cd "$root" && cargo build --quiet --locked --package ostler-cli)
exec python3 "$here/agents.py" "${OSTLER_BINARY:-$root/target/debug/ostler}" "$root/target/acp-adapters" "$@"
