#!/usr/bin/env bash
# Installs the protocol's client libraries for TypeScript and Python, with which the tests of crates/cli drive `ostler acp`,
# what holds messages to its schema, and the Python library's own example agent and client, in pinned versions, into a
# directory (target/acp-clients unless another is named). Does nothing where they are there.
set -euo pipefail

directory=${1:-$(cd "$(dirname "$0")/../.." && pwd)/target/acp-clients}
node_package=@agentclientprotocol/sdk@2.4.0
python_package=agent-client-protocol==0.12.1
validator=jsonschema==4.26.0
wanted=$(printf '%s\n' "$node_package" "$python_package" "$validator" examples)

for program in npm python3 tar flock; do
    command -v "$program" >/dev/null || { echo "tests/acp/clients.sh needs $program; install it and try again" >&2; exit 1; }
done
mkdir -p "$directory"
# Two that install at once would tear each other's files.
exec 9>"$directory/lock"
flock 9
if [ "$(cat "$directory/installed" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi
rm -f "$directory/installed"
echo "installing the protocol's client libraries into $directory" >&2
npm install --prefix "$directory/node" --no-save --no-audit --no-fund --loglevel=error "$node_package" >&2
python3 -m venv "$directory/python"
"$directory/python/bin/pip" install --quiet --disable-pip-version-check "$python_package" "$validator" >&2
# The examples are in the source package only.
pip=("$directory/python/bin/pip" --quiet --disable-pip-version-check)
rm -rf "$directory/source" "$directory/examples"
"${pip[@]}" download --no-deps --no-binary :all: --dest "$directory/source" "$python_package" >&2
mkdir "$directory/examples"
tar -xzf "$directory"/source/*.tar.gz -C "$directory/examples" --strip-components=2 --wildcards '*/examples/*.py'
printf '%s\n' "$wanted" >"$directory/installed"
