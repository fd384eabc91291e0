//! The way back: a session from an export, or from another program's transcript.
//!
//! What comes from outside is not believed. Lines must be whole and in order, their chain must hold where they have
//! one, names must stay inside a session's folder, and nothing is larger than it may be; the first thing that is
//! wrong is refused with its line. Appending the records, and keeping the files, is left to the caller.

mod archive;
mod lines;
mod records;
mod transcript;

use std::io;

use ostler_types::{Event, Policy, Record, Session};

pub use archive::Archive;
pub use records::read_ndjson;
pub use transcript::read_transcript;

/// A session that was read and is ready to be appended, under the ids that its records have.
#[derive(Debug)]
pub struct Imported {
    /// Its records, from 1 and without holes.
    pub records: Vec<Record>,
    /// The session as its last record describes it.
    pub session: Session,
}

impl Imported {
    /// What must be recorded after the last record, because a file must not decide what a session may do here:
    /// it gets this policy, and writes nowhere but in its own folder.
    pub fn adopted(&self, policy: Policy) -> Event {
        let session = Session { policy, log_root: None, raw_log: false, ..self.session.clone() };
        Event::SessionUpdated { session }
    }
}

/// Why something was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line is not what it must be.
    #[error("line {line}: {what}; nothing was imported, get the file again or cut it before this line")]
    Damaged {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The file as a whole is not what it must be.
    #[error("{0}; nothing was imported")]
    Refused(String),
    /// The file could not be read.
    #[error("the file cannot be read: {0}")]
    Io(#[from] io::Error),
}
