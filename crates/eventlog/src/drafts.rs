//! Drafts: text that streams, kept until the record that holds all of it.
//!
//! The committer writes and clears them; here is their form, and how they are read.

use std::io;

use ostler_types::{Delta, SessionId, TurnId};
use serde::{Deserialize, Serialize};

use crate::log::LogError;
use crate::shared::{FileLogShared, disk_error};

/// The most that a session's drafts may take; what comes after that is lost.
pub(crate) const MAX_DRAFTS: u64 = 16 << 20;

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct DraftLine {
    turn_id: TurnId,
    delta: Delta,
}

/// The line for a delta, with its line feed.
pub(crate) fn encode(turn_id: TurnId, delta: Delta) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(&DraftLine { turn_id, delta })?;
    line.push(b'\n');
    Ok(line)
}

/// The drafts of a session, up to the first line that is not whole: drafts are the one thing that may
/// be lost, and what follows a hole has no place in its text.
pub(crate) fn read(shared: &FileLogShared, session: SessionId) -> Result<Vec<(TurnId, Delta)>, LogError> {
    let bytes = match std::fs::read(shared.layout.drafts(session)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(disk_error("reading drafts", &error)),
    };
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.map_while(|line| serde_json::from_slice::<DraftLine>(line.strip_suffix(b"\n")?).ok());
    Ok(whole.map(|draft| (draft.turn_id, draft.delta)).collect())
}
