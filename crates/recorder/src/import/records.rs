//! The records of a session from the lines of a log, with or without their chain.

use std::fmt::Write;
use std::io::BufRead;

use ostler_types::{Event, Record, Session, SessionEvent, SessionId};
use sha2::{Digest, Sha256};

use super::imported_lines::ImportedLines;
use super::{ImportError, ImportedSession};

/// How a line with a chain ends: `,"chain":"`, sixteen digits, `"}`.
const CHAIN: &str = ",\"chain\":\"";
const DIGITS: usize = 16;

/// Reads a session from an `ndjson` export or from a log. With `id` the session becomes another one: it gets that
/// id, and gives up what would tie it to the first one's place here (its parent, its name, its keys).
pub fn read_ndjson(input: impl BufRead, id: Option<SessionId>) -> Result<ImportedSession, ImportError> {
    let mut lines = ImportedLines::new(input);
    let mut chain = ImportedChain::Unknown;
    let mut records: Vec<Record> = Vec::new();
    while let Some(line) = lines.next()? {
        // A space says that the append goes on in the next line.
        let line = line.strip_suffix(' ').unwrap_or(&line);
        chain = chain.next(line).map_err(|what| lines.damaged(what))?;
        let record: Record = serde_json::from_str(line)
            .map_err(|error| lines.damaged(format!("it is not a record ({error})")))?;
        check_order(&records, &record).map_err(|what| lines.damaged(what))?;
        records.push(record);
    }
    let session = last_description(&records).cloned();
    let mut session = session.ok_or_else(|| ImportError::Refused("the file holds no records".to_owned()))?;
    let origin = session.id;
    if let Some(id) = id {
        records.iter_mut().for_each(|record| move_to_session(record, id));
        reset_identity(&mut session, id);
    }
    Ok(ImportedSession { records, session, origin })
}

/// What the lines so far say of chains: all have one, or none has.
enum ImportedChain {
    Unknown,
    None,
    Last([u8; DIGITS]),
}

impl ImportedChain {
    fn next(self, line: &str) -> Result<ImportedChain, &'static str> {
        let claimed = line.strip_suffix("\"}").and_then(|line| {
            let (body, digits) = line.split_at_checked(line.len().checked_sub(DIGITS)?)?;
            Some((body.strip_suffix(CHAIN)?, <[u8; DIGITS]>::try_from(digits.as_bytes()).ok()?))
        });
        let previous = match (&self, claimed) {
            (ImportedChain::Unknown | ImportedChain::None, None) => return Ok(ImportedChain::None),
            (ImportedChain::None, Some(_)) => {
                return Err("it has a chain, and the lines before it have none");
            }
            (ImportedChain::Last(_), None) => return Err("its chain is missing"),
            (ImportedChain::Unknown, Some(_)) => [b'0'; DIGITS],
            (ImportedChain::Last(last), Some(_)) => *last,
        };
        let (body, claimed) = claimed.ok_or("its chain is missing")?;
        if next_chain(previous, body) != claimed {
            return Err("the record does not match its chain");
        }
        Ok(ImportedChain::Last(claimed))
    }
}

/// The chain of a record whose JSON is `body` and a closing brace.
fn next_chain(previous: [u8; DIGITS], body: &str) -> [u8; DIGITS] {
    let mut hasher = Sha256::new();
    hasher.update(previous);
    hasher.update(body);
    hasher.update("}");
    let mut hex = String::with_capacity(DIGITS);
    for byte in hasher.finalize().iter().take(DIGITS / 2) {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
    }
    hex.as_bytes().try_into().expect("eight bytes have sixteen digits")
}

/// Whether the record may stand after those before it.
fn check_order(before: &[Record], record: &Record) -> Result<(), String> {
    let seq = before.len() as u64 + 1;
    if record.seq != seq {
        return Err(format!("it has seq {}, where {seq} should be", record.seq));
    }
    match (&record.event, before.first()) {
        (Event::Session(SessionEvent::Created { .. }), Some(_)) => {
            Err("it creates the session a second time".to_owned())
        }
        (
            Event::Session(SessionEvent::Created { session })
            | Event::Session(SessionEvent::Updated { session }),
            _,
        ) if session.id != record.session_id => {
            Err("it describes another session than the one it belongs to".to_owned())
        }
        (Event::Session(SessionEvent::Created { .. }), None) => Ok(()),
        (_, None) => Err("it does not create the session, as the first record must".to_owned()),
        (_, Some(first)) if first.session_id != record.session_id => {
            Err("it belongs to another session than the lines before it".to_owned())
        }
        (_, Some(_)) => Ok(()),
    }
}

/// The session as the last record that describes it does.
fn last_description(records: &[Record]) -> Option<&Session> {
    records.iter().rev().find_map(|record| {
        if let Event::Session(SessionEvent::Created { session })
        | Event::Session(SessionEvent::Updated { session }) = &record.event
        {
            Some(session)
        } else {
            None
        }
    })
}

fn move_to_session(record: &mut Record, id: SessionId) {
    record.session_id = id;
    if let Event::Session(SessionEvent::Created { session })
    | Event::Session(SessionEvent::Updated { session }) = &mut record.event
    {
        reset_identity(session, id);
    }
}

fn reset_identity(session: &mut Session, id: SessionId) {
    session.id = id;
    (session.parent_session_id, session.depth) = (None, 0);
    (session.idempotency_key, session.name, session.log_root) = (None, None, None);
}
