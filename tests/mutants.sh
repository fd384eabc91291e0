#!/usr/bin/env bash
# Breaks the rules of ownership one by one, and expects a test to notice each time.
#
# Each mutant replaces one passage of a source file, runs the tests of ownership, and restores the file. A passage that is
# gone is an error: write the mutant anew. `--check` only looks whether every passage is there, which CI does, so that a
# renamed file breaks the build and not the next run of the mutants.
#
# Usage: tests/mutants.sh [NAME...] or tests/mutants.sh --check
set -euo pipefail
cd "$(dirname "$0")/.."

check=
[ "${1:-}" != --check ] || { check=1; shift; }
wanted=" $* "
checked=0
survived=()
file=
saved=$(mktemp)
restore() { [ -z "$file" ] || cp "$saved" "$file"; file=; }
trap 'restore; rm -f "$saved"' EXIT

# mutant NAME FILE OLD NEW
mutant() {
    [[ "$wanted" == "  " || "$wanted" == *" $1 "* ]] || return 0
    [ -f "$2" ] || { echo "mutant $1: there is no $2" >&2; exit 1; }
    cp "$2" "$saved"
    file=$2
    NAME=$1 OLD=$3 NEW=$4 CHECK=$check python3 - "$file" <<'PY'
import os, sys
path, name, old, new = sys.argv[1], os.environ["NAME"], os.environ["OLD"], os.environ["NEW"]
text = open(path).read()
if text.count(old) != 1:
    sys.exit(f"mutant {name}: {path} has this {text.count(old)} times, not once:\n{old}")
if not os.environ["CHECK"]:
    open(path, "w").write(text.replace(old, new))
PY
    if [ -n "$check" ]; then
        file=
        checked=$((checked + 1))
        return 0
    fi
    local code=0
    cargo nextest run --package ostler-engine --no-fail-fast ownership >"$saved.log" 2>&1 || code=$?
    restore
    # nextest ends with 100 when a test failed, and with another number when there was none to run.
    case $code in
        0) echo "SURVIVED $1"; survived+=("$1") ;;
        100) echo "caught   $1 by$(sed -n 's/^ *\(FAIL\|TIMEOUT\) .*it \(.*\)$/ \2/p' "$saved.log" | sort -u | tr '\n' ' ')" ;;
        *) tail -n 30 "$saved.log"; echo "$1 could not be tested"; exit 1 ;;
    esac
    rm -f "$saved.log"
}

engine=crates/engine/src
log=crates/testing/src/shared_log.rs

mutant claim-after-read $engine/recovery.rs \
'    let epoch = shared.log.claim(id).await?.epoch;
    let read = async {
        let woken = wake::read_state(shared, id).await?;' \
'    let woken = wake::read_state(shared, id).await?;
    let epoch = shared.log.claim(id).await?.epoch;
    let read = async {'

mutant no-fence-on-drafts $log \
'_ = self.lock().change(session, epoch, |stored| stored.drafts.push((turn, delta)));' \
'if let Some(stored) = self.lock().sessions.get_mut(&session) {
            stored.epochs.push(epoch.0);
            stored.drafts.push((turn, delta));
        }'

mutant settle-after-loss $log \
'        ready(self.lock().change(session, epoch, |stored| {
            stored.is_settled |= rested;' \
'        let current = Epoch(self.lock().sessions.get(&session).map_or(epoch.0, |stored| stored.epoch));
        ready(self.lock().change(session, current, |stored| {
            stored.epochs.push(epoch.0);
            stored.is_settled |= rested;'

mutant retry-after-fenced $engine/loaded_session.rs \
'        let lines = appended.inspect_err' \
'        let appended = match appended {
            Err(LogError::Fenced) => {
                let claim = self.shared.log.claim(self.id).await?;
                self.ownership = Ownership::Held(claim.epoch);
                self.shared.log.append(self.id, claim.epoch, claim.last_seq + 1, records.clone()).await
            }
            appended => appended,
        };
        let lines = appended.inspect_err'

mutant hub-closed-with-its-actor $engine/recovery.rs \
'shared.keep_hub(id, &hub);' 'hub.close();'

mutant hub-not-reused $engine/engine.rs \
'let kept = self.kept_hubs().remove(&id).and_then(|hub| hub.upgrade());' 'let kept = None;'

mutant loss-not-followed $engine/lost_session.rs \
'Some(last_seq) if has_grown => shared.advance_kept_hub(id, hub, last_seq),' 'Some(_) if has_grown => true,'

mutant lost-session-not-woken $engine/lost_session.rs \
'return shared.is_kept_hub(id, hub);' 'return false;'

mutant successor-shows-no-history $engine/hub.rs \
'(inner.last_seq, inner.approvals) = (last_seq, approvals);' \
'(inner.last_seq, inner.approvals) = (inner.last_seq, approvals);'

mutant feed-skips-after-a-cursor $engine/feed.rs \
'let position = after.unwrap_or(*end.borrow());' \
'let position = after.map_or(*end.borrow(), |after| FeedPosition(after.0 + u64::from(after.0 > 0)));'

mutant feed-repeats-a-record $engine/feed.rs \
'        self.position = record.next;' '        self.position = FeedPosition(record.next.0 - 1);'

mutant release-forgotten $engine/loaded_session.rs \
'        let Ownership::Held(epoch) = self.ownership else { return };
        match self.shared.log.release' \
'        let Ownership::Held(epoch) = self.ownership else { return };
        if !self.id.to_string().is_empty() {
            return;
        }
        match self.shared.log.release'

mutant finish-forgotten $engine/new_log.rs \
'        if self.has_begun {
            self.engine.shared.log.finish' \
'        if self.has_begun && self.id.to_string().is_empty() {
            self.engine.shared.log.finish'

mutant failed-fork-not-removed $engine/new_log.rs \
'_ = shared.log.remove(self.id, self.epoch).await;' ''

[ -z "$check" ] || echo "the passages of $checked mutants are where they should be"
[ ${#survived[@]} -eq 0 ] || { echo "no test noticed: ${survived[*]}"; exit 1; }
