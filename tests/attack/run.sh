#!/usr/bin/env bash
# Attacks the built daemon with a scripted model: run.sh [--class NAME] [--case NAME] [--config NAME] [--list]
# Run by root it tries every configuration, run by anybody else those of an ordinary user. OSTLER_BINARY names a daemon that is built already.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
# The cases run as an ordinary user too, who may not be able to start a Python that lies in somebody's home.
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)
binary=${OSTLER_BINARY:-$root/target/debug/ostler}
if [ -z "${OSTLER_BINARY:-}" ] && [[ " $* " != *" --list "* ]]; then
  (cd "$root" && cargo build --quiet --locked --package ostler-cli)
fi
exec "$python" "$here/main.py" --binary "$binary" --target "$root/target" "$@"
