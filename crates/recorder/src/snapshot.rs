//! `snapshot.json`: the state of a session at some seq, so that waking folds only what came after.
//!
//! The file is one line of JSON, `{"version":2,"sha256":"…","state":…,"chain":"…"}`, where the sum is over the
//! bytes of `state` and those of the chain just as they stand. The chain is that of the newest record that the state
//! knows, by which a log is recognised that is not the one of this state; it is left out where it is not known. The
//! file is read back by that exact shape: a snapshot that is damaged in any way is ignored, and the log is folded from
//! its beginning instead. The version must be raised whenever [`State`] changes, or what an event does to it.

use std::fs;
use std::path::Path;

use ostler_types::State;
use sha2::{Digest, Sha256};

use crate::RecorderError;
use crate::replace::replace;

const NAME: &str = "snapshot.json";
const HEAD: &str = r#"{"version":2,"sha256":""#;
const MIDDLE: &str = r#"","state":"#;
const CHAIN: &str = r#","chain":""#;
const TAIL: &str = "}\n";
const SUM_DIGITS: usize = 64;

/// A state holds only what is open and is far smaller; more than this was not written by us.
const MAX_BYTES: u64 = 64 << 20;

/// A state, and the record that it goes up to.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The state. Its `last_seq` says where in the log to go on.
    pub state: State,
    /// The chain of that record, if it was known.
    pub chain: Option<String>,
}

/// Writes the state into the session's folder, in place of the one before. `chain` is that of its newest record.
pub fn write_snapshot(dir: &Path, state: &State, chain: Option<&str>) -> Result<(), RecorderError> {
    let state = serde_json::to_string(state)
        .map_err(|error| RecorderError { path: dir.join(NAME), source: error.into() })?;
    let chain = chain.map(|chain| format!("{CHAIN}{chain}\"")).unwrap_or_default();
    let covered = [state.as_str(), &chain].concat();
    let content = [HEAD, &sum(&covered), MIDDLE, &covered, TAIL].concat();
    replace(dir, NAME, content.as_bytes())
}

/// What was written last; `None` when there is nothing, when it is of another version, and when anything about it is
/// damaged.
pub fn read_snapshot(dir: &Path) -> Option<Snapshot> {
    let path = dir.join(NAME);
    if fs::metadata(&path).ok()?.len() > MAX_BYTES {
        return None;
    }
    let content = fs::read_to_string(path).ok()?;
    let (written_sum, rest) = content.strip_prefix(HEAD)?.split_at_checked(SUM_DIGITS)?;
    let covered = rest.strip_prefix(MIDDLE)?.strip_suffix(TAIL)?;
    if written_sum != sum(covered) {
        return None;
    }
    let with_chain = covered.strip_suffix('"').and_then(|covered| covered.rsplit_once(CHAIN));
    let is_chain = |chain: &str| chain.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (state, chain) = match with_chain.filter(|(_, chain)| is_chain(chain)) {
        Some((state, chain)) => (state, Some(chain.to_owned())),
        None => (covered, None),
    };
    Some(Snapshot { state: serde_json::from_str(state).ok()?, chain })
}

fn sum(text: &str) -> String {
    use std::fmt::Write;
    let mut digits = String::with_capacity(SUM_DIGITS);
    for byte in Sha256::digest(text) {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    digits
}
