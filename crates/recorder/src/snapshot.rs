//! A snapshot: the state of a session at some seq, so that waking folds only what came after. Where it is kept is left
//! to the log.
//!
//! It is one line of JSON, `{"version":3,"sha256":"…","state":…,"chain":"…"}`, where the sum is over the
//! bytes of `state` and those of the chain just as they stand. The chain is that of the newest record that the state
//! knows, by which a log is recognised that is not the one of this state; it is left out where it is not known. It
//! is read back by that exact shape: a snapshot that is damaged in any way is ignored, and the log is folded from
//! its beginning instead. The version must be raised whenever [`State`] changes, or what an event does to it.

use ostler_types::State;
use sha2::{Digest, Sha256};

const HEAD: &str = r#"{"version":3,"sha256":""#;
const MIDDLE: &str = r#"","state":"#;
const CHAIN: &str = r#","chain":""#;
const TAIL: &str = "}\n";
const SUM_DIGITS: usize = 64;

/// A state, and the record that it goes up to.
#[derive(Debug, Clone, PartialEq)]
pub struct StateSnapshot {
    /// The state. Its `last_seq` says where in the log to go on.
    pub state: State,
    /// The chain of that record, if it was known.
    pub chain: Option<String>,
}

/// The snapshot of a state. `chain` is that of its newest record.
pub fn encode_snapshot(state: &State, chain: Option<&str>) -> Result<String, serde_json::Error> {
    let state = serde_json::to_string(state)?;
    let chain = chain.map(|chain| format!("{CHAIN}{chain}\"")).unwrap_or_default();
    let covered = [state.as_str(), &chain].concat();
    Ok([HEAD, &sum(&covered), MIDDLE, &covered, TAIL].concat())
}

/// What is in a snapshot; `None` when it is of another version, and when anything about it is damaged.
pub fn decode_snapshot(content: &[u8]) -> Option<StateSnapshot> {
    let content = std::str::from_utf8(content).ok()?;
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
    Some(StateSnapshot { state: serde_json::from_str(state).ok()?, chain })
}

fn sum(text: &str) -> String {
    use std::fmt::Write;
    let mut digits = String::with_capacity(SUM_DIGITS);
    for byte in Sha256::digest(text) {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    digits
}
