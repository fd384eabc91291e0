#!/usr/bin/env bash
# Installs the MCP servers that the tests of crates/mcp talk to, in pinned versions, into a directory
# (target/mcp-servers unless another is named). Does nothing where they are there already.
set -euo pipefail

directory=${1:-$(cd "$(dirname "$0")/../.." && pwd)/target/mcp-servers}
node_servers=(@modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31)
python_servers=(mcp-server-git==2026.10.19 mcp-server-time==2026.10.19)

wanted=$(printf '%s\n' "${node_servers[@]}" "${python_servers[@]}")
if [ "$(cat "$directory/installed" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi

for program in npm python3 flock; do
    command -v "$program" >/dev/null || { echo "tests/mcp/setup.sh needs $program; install it and try again" >&2; exit 1; }
done

mkdir -p "$directory"
# Two that install at once would tear each other's files.
exec 9>"$directory/lock"
flock 9
if [ "$(cat "$directory/installed" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi
rm -f "$directory/installed"
echo "installing MCP servers into $directory" >&2
npm install --prefix "$directory/node" --no-save --no-audit --no-fund --loglevel=error "${node_servers[@]}" >&2
python3 -m venv "$directory/python"
"$directory/python/bin/pip" install --quiet --disable-pip-version-check "${python_servers[@]}" >&2
printf '%s\n' "$wanted" >"$directory/installed"
