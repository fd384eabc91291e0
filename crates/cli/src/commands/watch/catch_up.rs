//! What `watch` has shown, so that it can read from the logs what was recorded while it had no connection, and show
//! nothing twice.

use std::collections::HashMap;

use futures_util::StreamExt;
use jiff::Timestamp;
use ostler_client::{Client, EventLine, SessionFilter};
use ostler_types::{Record, SessionId};

/// Sessions of which is remembered how far they were shown.
const MAX_REMEMBERED_SESSIONS: usize = 10_000;
/// Records that are read again at most, over all sessions, after a connection was lost.
const MAX_MISSED_RECORDS: usize = 100_000;

/// How far each session was shown.
pub(super) struct ShownRecords {
    seqs: HashMap<SessionId, u64>,
    /// Since when there is something to show; nothing before the first connection.
    since: Option<Timestamp>,
}

impl ShownRecords {
    pub(super) fn new() -> ShownRecords {
        ShownRecords { seqs: HashMap::new(), since: None }
    }

    /// Whether a record has not been shown yet; it counts as shown from now on.
    pub(super) fn is_new(&mut self, record: &Record) -> bool {
        if self.seqs.get(&record.session_id).is_some_and(|seen| record.seq <= *seen) {
            return false;
        }
        if self.seqs.len() >= MAX_REMEMBERED_SESSIONS && !self.seqs.contains_key(&record.session_id) {
            self.seqs.clear();
        }
        self.seqs.insert(record.session_id, record.seq);
        self.since = self.since.max(Some(record.ts));
        true
    }

    /// The records that were missed since the last one that was shown, session by session. The first time there are
    /// none: what happened before is not watched, it is looked up.
    pub(super) async fn missed_records(&mut self, client: &Client) -> anyhow::Result<Vec<EventLine>> {
        let filter = SessionFilter {
            limit: Some(super::MAX_LISTED_SESSIONS),
            children: true,
            ..SessionFilter::default()
        };
        let listed = client.list_sessions(&filter).await?.sessions;
        let Some(since) = self.since else {
            self.since = Some(Timestamp::now());
            self.seqs.extend(listed.iter().map(|listed| (listed.session.id, listed.last_seq)));
            return Ok(Vec::new());
        };
        let mut missed = Vec::new();
        for listed in listed.into_iter().filter(|listed| listed.session.updated_at >= since) {
            let id = listed.session.id;
            let seen = self.seqs.get(&id).copied();
            let mut events = client.events(id, seen.unwrap_or(0), false).await?;
            while let Some(line) = events.next().await {
                let line = line?;
                let Ok(record) = serde_json::from_str::<Record>(&line.raw) else { continue };
                // Of a session that was not known, only what is newer belongs here.
                if seen.is_some() || record.ts > since {
                    missed.push(line);
                }
                anyhow::ensure!(
                    missed.len() < MAX_MISSED_RECORDS,
                    "too many events were missed; run `ostler watch` again, or see `ostler sessions`"
                );
            }
        }
        Ok(missed)
    }
}
