//! How far the views say that each log goes. A view is written after the records that it knows, so one that is ahead of
//! its log proves that records are gone from the log's end.

use std::path::Path;

use ostler_eventlog::{FileLog, Log};
use ostler_index::{Index, SqliteIndex};
use ostler_recorder::{StateSnapshot, decode_snapshot};
use ostler_types::SessionId;

/// The snapshots and the index of a data directory without a daemon.
pub(super) struct LastKnownRecords<'a> {
    log: &'a FileLog,
    index: Option<SqliteIndex>,
}

impl<'a> LastKnownRecords<'a> {
    /// An index that is missing or cannot be read knows nothing, and is not made here.
    pub(super) fn open(data_dir: &Path, log: &'a FileLog) -> LastKnownRecords<'a> {
        let path = data_dir.join("index.db");
        let index = path.exists().then(|| SqliteIndex::open(&path).ok()).flatten().map(|(index, _)| index);
        LastKnownRecords { log, index }
    }

    /// The newest record of a session that a view knows; 0 when none does.
    pub(super) async fn last_seq(&self, id: SessionId) -> u64 {
        let snapshot = self.snapshot(id).await.map_or(0, |snapshot| snapshot.state.last_seq);
        let indexed = match &self.index {
            Some(index) => index.position(id).await.unwrap_or_default(),
            None => 0,
        };
        snapshot.max(indexed)
    }

    /// The record that a snapshot knows and that is another one in the log.
    pub(super) async fn diverged_record(&self, id: SessionId) -> Option<u64> {
        let snapshot = self.snapshot(id).await?;
        let (seq, known) = (snapshot.state.last_seq, snapshot.chain?);
        let lines = self.log.read(id, seq, 1).await.ok()?;
        lines.first().filter(|line| line.seq == seq && line.chain() != known).map(|_| seq)
    }

    async fn snapshot(&self, id: SessionId) -> Option<StateSnapshot> {
        let content = self.log.snapshot(id).await.ok().flatten()?;
        decode_snapshot(&content).filter(|snapshot| snapshot.state.session.id == id)
    }

    /// Sessions whose log is missing or empty, although a view knows some of its records.
    pub(super) async fn sessions_without_a_log(&self) -> anyhow::Result<Vec<SessionId>> {
        let mut found = Vec::new();
        for id in self.log.without_records().await? {
            if self.last_seq(id).await > 0 {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Forgets a session, because its owner accepts the log as it is.
    pub(super) async fn forget(&self, id: SessionId) -> anyhow::Result<()> {
        self.log.remove_snapshot(id).await?;
        if let Some(index) = &self.index {
            index.remove(id).await?;
            index.flush().await?;
        }
        Ok(())
    }
}
