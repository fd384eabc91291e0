#!/usr/bin/env bash
# Installs agents that others wrote, each by the lock file under tests/acp/adapters, into a directory of its own:
# adapters.sh DIRECTORY NAME…. `node` is the Node that some of them need. Does nothing where they are there already.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)/adapters
directory=${1:?name the directory to install into}
shift

for program in npm flock cmp; do
    command -v "$program" >/dev/null || { echo "tests/acp/adapters.sh needs $program; install it and try again" >&2; exit 1; }
done

mkdir -p "$directory"
# Two that install at once would tear each other's files.
exec 9>"$directory/lock"
flock 9
for name in "$@"; do
    [ -f "$here/$name/package-lock.json" ] || { echo "there is no adapter $name in $here" >&2; exit 2; }
    place=$directory/$name
    cmp --silent "$here/$name/package-lock.json" "$place/installed" && continue
    echo "installing $name into $place" >&2
    mkdir -p "$place"
    rm -f "$place/installed"
    cp "$here/$name/package.json" "$here/$name/package-lock.json" "$place/"
    # Not `npm ci`, which insists on what is optional and for other machines.
    npm install --prefix "$place" --no-save --no-audit --no-fund --loglevel=error >&2
    cp "$place/package-lock.json" "$place/installed"
done
