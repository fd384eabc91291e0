#!/usr/bin/env bash
# Runs the Autobahn testsuite over our WebSocket framing, by way of an echo server that is an example of crates/door-kit:
# tests/gateway/autobahn.sh [REPORT]. Needs `wstest` of PyPI's autobahntestsuite 25.10.1, which runs on Python 2.7 only, in
# WSTEST or in the search path. Extensions (12.*, 13.*) are left out: none is agreed on.
set -euo pipefail
cd "$(dirname "$0")/../.."

report=$(realpath -m "${1:-target/autobahn}")
wstest=${WSTEST:-wstest}
address=127.0.0.1:9001
mkdir -p "$report"
cat >"$report/fuzzingclient.json" <<JSON
{"outdir": "$report", "servers": [{"agent": "ostler", "url": "ws://$address", "options": {"version": 18}}],
 "cases": ["*"], "exclude-cases": ["12.*", "13.*"], "exclude-agent-cases": {}}
JSON

# Started by itself, because what cargo starts outlives cargo.
echo=$(cargo build -p ostler-door-kit --example echo --message-format json |
    python3 -c 'import json, sys; print([o["executable"] for o in map(json.loads, sys.stdin) if o.get("executable")][-1])')
"$echo" "$address" &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
until (exec 3<>"/dev/tcp/${address%:*}/${address#*:}") 2>/dev/null; do
    kill -0 "$server" || { echo "the echo server did not start" >&2; exit 1; }
done
"$wstest" --mode fuzzingclient --spec "$report/fuzzingclient.json"

python3 - "$report/index.json" <<'PYTHON'
import collections, json, sys

cases = json.load(open(sys.argv[1]))["ostler"]
groups = collections.defaultdict(collections.Counter)
bad = []
for case, outcome in cases.items():
    verdicts = {outcome["behavior"], outcome["behaviorClose"]}
    groups[int(case.split(".")[0])][outcome["behavior"]] += 1
    if not verdicts <= {"OK", "NON-STRICT", "INFORMATIONAL"}:
        bad.append(f"{case}: {outcome['behavior']}, close {outcome['behaviorClose']}")
for group, counts in sorted(groups.items()):
    print(f"{group}.*: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
print("\n".join(bad) or f"{len(cases)} cases, none failed")
sys.exit(bool(bad))
PYTHON
