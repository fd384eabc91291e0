#!/usr/bin/env bash
# Installs shfmt, whose parser of bash (mvdan.cc/sh, in Go) the tests of crates/command-line are held against, in a pinned
# version, into a directory (target/second-parser unless another is named). Does nothing where it is there.
set -euo pipefail

directory=${1:-$(cd "$(dirname "$0")/../.." && pwd)/target/second-parser}
packages=(shfmt-py==4.2.0)

wanted=$(printf '%s\n' "${packages[@]}")
if [ "$(cat "$directory/installed" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi

for program in python3 flock; do
    command -v "$program" >/dev/null || { echo "tests/command-line/setup.sh needs $program; install it and try again" >&2; exit 1; }
done

mkdir -p "$directory"
# Two that install at once would tear each other's files.
exec 9>"$directory/lock"
flock 9
if [ "$(cat "$directory/installed" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi
rm -f "$directory/installed"
echo "installing a second parser of bash into $directory" >&2
python3 -m venv "$directory/python"
"$directory/python/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >&2
printf '%s\n' "$wanted" >"$directory/installed"
