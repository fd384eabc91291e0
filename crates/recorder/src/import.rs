//! The way back: a session from an export, or from another program's transcript.
//!
//! What comes from outside is not believed. Lines must be whole and in order, their chain must hold where they have
//! one, names must stay inside a session's folder, and nothing is larger than it may be; the first thing that is
//! wrong is refused with its line. Appending the records, and keeping the files, is left to the caller.

mod archive;
mod imported_lines;
mod records;
mod transcript;

use std::io;

use ostler_types::{AgentEvent, Event, Policy, Record, Session, SessionId, State, StepEvent};

pub use archive::{ArchivedAttachments, ImportedArchive};
pub use records::read_ndjson;
pub use transcript::read_transcript;

/// A session that was read and is ready to be appended, under the ids that its records have.
#[derive(Debug)]
pub struct ImportedSession {
    /// Its records, from 1 and without holes.
    pub records: Vec<Record>,
    /// The session as its last record describes it.
    pub session: Session,
    /// The id that the file gives it.
    pub origin: SessionId,
}

impl ImportedSession {
    /// How the session is to be described after its last record. A file must not decide what a session may do here:
    /// it gets this policy, and writes nowhere but in its own folder. What its records have made of it stays: its
    /// title, its status, what it has spent.
    pub fn local_description(&self, policy: Policy) -> Session {
        let stands = State::fold(&self.records).map(|state| state.session);
        let stands = stands.unwrap_or_else(|| self.session.clone());
        Session { policy, runner: None, log_root: None, raw_log: false, ..stands }
    }

    /// Leaves out what the answers took, for a place where the session that they were given in is known: they are
    /// paid for once. What each message took stands with the message.
    pub fn remove_usage(&mut self) {
        let is_use = |record: &Record| matches!(record.event, Event::Step(StepEvent::UsageRecorded { .. }));
        let mut left_out: Vec<u64> = Vec::new();
        self.records.retain(|record| {
            if is_use(record) {
                left_out.push(record.seq);
            }
            !is_use(record)
        });
        let moved = |seq: u64| seq - left_out.partition_point(|&gone| gone < seq) as u64;
        for record in &mut self.records {
            record.seq = moved(record.seq);
            if let Event::Agent(AgentEvent::ContextCompacted { compaction }) = &mut record.event {
                compaction.first_kept_seq = moved(compaction.first_kept_seq);
            }
        }
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
