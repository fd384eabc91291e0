//! How far the views say that each log goes. A view is written after the records that it knows, so one that is ahead of
//! its log proves that records are gone from the log's end.

use std::path::{Path, PathBuf};

use ostler_eventlog::{FileLog, Log};
use ostler_index::Index;
use ostler_recorder::Snapshot;
use ostler_types::SessionId;

/// The snapshots and the index of a data directory without a daemon.
pub(super) struct KnownEnds {
    sessions: PathBuf,
    index: Option<Index>,
}

impl KnownEnds {
    /// An index that is missing or cannot be read knows nothing, and is not made here.
    pub(super) fn open(data_dir: &Path) -> KnownEnds {
        let path = data_dir.join("index.db");
        let index = path.exists().then(|| Index::open(&path).ok()).flatten().map(|(index, _)| index);
        KnownEnds { sessions: data_dir.join("sessions"), index }
    }

    /// The newest record of a session that a view knows; 0 when none does.
    pub(super) async fn of(&self, id: SessionId) -> u64 {
        let snapshot = self.snapshot(id).map_or(0, |snapshot| snapshot.state.last_seq);
        let indexed = match &self.index {
            Some(index) => index.position(id).await.unwrap_or_default(),
            None => 0,
        };
        snapshot.max(indexed)
    }

    /// The record that a snapshot knows and that is another one in the log.
    pub(super) async fn other_record(&self, log: &FileLog, id: SessionId) -> Option<u64> {
        let snapshot = self.snapshot(id)?;
        let (seq, known) = (snapshot.state.last_seq, snapshot.chain?);
        let lines = log.read(id, seq, 1).await.ok()?;
        lines.first().filter(|line| line.seq == seq && line.chain() != known).map(|_| seq)
    }

    fn snapshot(&self, id: SessionId) -> Option<Snapshot> {
        let snapshot = ostler_recorder::read_snapshot(&self.sessions.join(id.to_string()));
        snapshot.filter(|snapshot| snapshot.state.session.id == id)
    }

    /// Sessions with a folder whose log is missing or empty, although a view knows some of its records.
    pub(super) async fn sessions_without_a_log(&self) -> std::io::Result<Vec<SessionId>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.sessions)? {
            let entry = entry?;
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let log = std::fs::metadata(entry.path().join("events.ndjson"));
            if log.map_or(0, |log| log.len()) == 0 && self.of(id).await > 0 {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Forgets a session, because its owner accepts the log as it is.
    pub(super) async fn forget(&self, id: SessionId) -> anyhow::Result<()> {
        match std::fs::remove_file(self.sessions.join(id.to_string()).join("snapshot.json")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        if let Some(index) = &self.index {
            index.remove(id).await?;
            index.flushed().await?;
        }
        Ok(())
    }
}
