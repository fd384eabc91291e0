#!/usr/bin/env bash
# Runs command lines that the daemon allows without asking, and fails when one changes something or shows a file from outside
# of the workspace: fuzz/effects.sh [LINES] [SEED]. Lines are generated; those that are allowed run in a namespace (bubblewrap).
set -euo pipefail
cd "$(dirname "$0")/.."

export OSTLER_EFFECTS_LINES=${1:-1000000}
export OSTLER_EFFECTS_SEED=${2:-$(date +%s)}
echo "== $OSTLER_EFFECTS_LINES lines from seed $OSTLER_EFFECTS_SEED"
cargo test -p ostler-tools --test it -- --nocapture --exact \
    effects::an_allowed_line_changes_nothing_and_shows_nothing_from_outside
