//! `snapshot.json`: the state of a session at some seq, so that waking folds only what came after.
//!
//! The file is one line of JSON, `{"version":2,"sha256":"…","state":…}`, where the sum is over the
//! bytes of `state` just as they stand. It is read back by that exact shape: a snapshot that is
//! damaged in any way is ignored, and the log is folded from its beginning instead. The version must
//! be raised whenever [`State`] changes, or what an event does to it.

use std::fs;
use std::path::Path;

use ostler_types::State;
use sha2::{Digest, Sha256};

use crate::RecorderError;
use crate::replace::replace;

const NAME: &str = "snapshot.json";
const HEAD: &str = r#"{"version":2,"sha256":""#;
const MIDDLE: &str = r#"","state":"#;
const TAIL: &str = "}\n";
const SUM_DIGITS: usize = 64;

/// A state holds only what is open and is far smaller; more than this was not written by us.
const MAX_BYTES: u64 = 64 << 20;

/// Writes the state into the session's folder, in place of the one before.
pub fn write_snapshot(dir: &Path, state: &State) -> Result<(), RecorderError> {
    let state = serde_json::to_string(state)
        .map_err(|error| RecorderError { path: dir.join(NAME), source: error.into() })?;
    let content = [HEAD, &sum(&state), MIDDLE, &state, TAIL].concat();
    replace(dir, NAME, content.as_bytes())
}

/// The state that was written last; `None` when there is none, when it is of another version, and
/// when anything about it is damaged. Its `last_seq` says where in the log to go on.
pub fn read_snapshot(dir: &Path) -> Option<State> {
    let path = dir.join(NAME);
    if fs::metadata(&path).ok()?.len() > MAX_BYTES {
        return None;
    }
    let content = fs::read_to_string(path).ok()?;
    let (written_sum, rest) = content.strip_prefix(HEAD)?.split_at_checked(SUM_DIGITS)?;
    let state = rest.strip_prefix(MIDDLE)?.strip_suffix(TAIL)?;
    if written_sum != sum(state) {
        return None;
    }
    serde_json::from_str(state).ok()
}

fn sum(text: &str) -> String {
    use std::fmt::Write;
    let mut digits = String::with_capacity(SUM_DIGITS);
    for byte in Sha256::digest(text) {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    digits
}
