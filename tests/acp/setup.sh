#!/usr/bin/env bash
# Installs the protocol's SDK for Node, to which the tests of crates/agent-acp talk, in a pinned version, into a directory
# (target/acp-agents unless another is named). Does nothing where it is there already.
set -euo pipefail

directory=${1:-$(cd "$(dirname "$0")/../.." && pwd)/target/acp-agents}
wanted=@agentclientprotocol/sdk@2.4.0

for program in npm flock; do
    command -v "$program" >/dev/null || { echo "tests/acp/setup.sh needs $program; install it and try again" >&2; exit 1; }
done

mkdir -p "$directory"
# Two that install at once would tear each other's files.
exec 9>"$directory/lock"
flock 9
if [ "$(cat "$directory/sdk/installed" 2>/dev/null || true)" != "$wanted" ]; then
    echo "installing $wanted into $directory/sdk" >&2
    npm install --prefix "$directory/sdk" --no-save --no-audit --no-fund --loglevel=error "$wanted" >&2
    printf '%s\n' "$wanted" >"$directory/sdk/installed"
fi
