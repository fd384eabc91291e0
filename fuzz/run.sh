#!/usr/bin/env bash
# Fuzzes every target for so many seconds each, one after the other: fuzz/run.sh [SECONDS] [TARGET…]. Says how much CPU time
# each took, and stops at the first input that breaks a target.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:-60}
shift || true
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(jsonl_framing jsonl_commands gateway_frames imported_files)

command -v cargo-fuzz >/dev/null || { echo "cargo-fuzz is missing; get it with: cargo install cargo-fuzz" >&2; exit 1; }
# The versions that the daemon is built from.
[ -e Cargo.lock ] || cp ../Cargo.lock Cargo.lock
# An input that takes longer than a second, or more memory than this, counts as broken.
limits=(-timeout=1 -rss_limit_mb=1024 -malloc_limit_mb=512 -max_len=65536)

TIMEFORMAT='%U s user, %S s system, %R s passed'
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    echo "== $target"
    time cargo +nightly fuzz run "$target" "corpus/$target" "seeds/$target" -- \
        -dict=words.dict -max_total_time="$seconds" -print_final_stats=1 "${limits[@]}"
done
