#!/usr/bin/env bash
# Installs what the tests of crates/agent-acp talk to, in pinned versions, into a directory (target/acp-agents unless
# another is named): the protocol's SDK for Node, and with `adapters` as second argument a real agent too, which is
# large. Does nothing where they are there already.
set -euo pipefail

directory=${1:-$(cd "$(dirname "$0")/../.." && pwd)/target/acp-agents}
parts=(sdk)
[ "${2:-}" = adapters ] && parts+=(claude)

packages_of() {
    case $1 in
    sdk) echo @agentclientprotocol/sdk@2.4.0 ;;
    # It needs a newer Node than Debian has.
    claude) echo node@22.20.0 @agentclientprotocol/claude-agent-acp@0.99.1 ;;
    esac
}

for program in npm flock; do
    command -v "$program" >/dev/null || { echo "tests/acp/setup.sh needs $program; install it and try again" >&2; exit 1; }
done

mkdir -p "$directory"
# Two that install at once would tear each other's files.
exec 9>"$directory/lock"
flock 9
for part in "${parts[@]}"; do
    wanted=$(packages_of "$part")
    if [ "$(cat "$directory/$part/installed" 2>/dev/null || true)" != "$wanted" ]; then
        echo "installing $wanted into $directory/$part" >&2
        # shellcheck disable=SC2086
        npm install --prefix "$directory/$part" --no-save --no-audit --no-fund --loglevel=error $wanted >&2
        printf '%s\n' "$wanted" >"$directory/$part/installed"
    fi
done
