//! The [`Log`] that a [`FileLog`] is.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ostler_types::{Delta, EventName, NewRecord, SessionId, TurnId};
use tokio::sync::watch;

use super::{FileLog, MAX_WAITING_KIB, stopped};
use crate::blobs::{self, Overwrite};
use crate::committer::{AppendRequest, CommitRequest, EPOCH};
use crate::log::{
    Blob, BlobEntry, BlobWrite, Claim, Epoch, FeedPosition, FeedRecord, Log, LogError, LogLine,
};
use crate::seal::{encode, unseal_lines};
use crate::shared::{FileLogShared, disk_error};
use crate::{drafts, feed_reader, markers, nested_sessions, reader};

/// A snapshot holds only what is open and is far smaller; more than this was not written by this program.
const MAX_SNAPSHOT: u64 = 64 << 20;

impl Log for FileLog {
    /// The data directory's lock makes its holder the owner of all sessions, so there is one epoch, which is
    /// never void.
    fn claim(&self, session: SessionId) -> BoxFuture<'_, Result<Claim, LogError>> {
        Box::pin(async move {
            let last_seq = match self.last_seq(session).await {
                // Whoever reads it is told of the damage; its owner may also remove it.
                Err(LogError::Damaged { seq, .. }) => seq.saturating_sub(1),
                last_seq => last_seq?,
            };
            Ok(Claim { epoch: EPOCH, last_seq })
        })
    }

    fn release(&self, session: SessionId, epoch: Epoch, rested: bool) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            check_epoch(epoch)?;
            if rested { self.ask(|reply| CommitRequest::Settle { session, reply }).await } else { Ok(()) }
        })
    }

    fn append(
        &self,
        session: SessionId,
        epoch: Epoch,
        expected_seq: u64,
        records: Vec<NewRecord>,
    ) -> BoxFuture<'_, Result<Vec<LogLine>, LogError>> {
        Box::pin(async move {
            if records.is_empty() {
                return Ok(Vec::new());
            }
            let ends_message = records.iter().any(|record| ends_message(record.event.name()));
            let (records, size) = encode(session, expected_seq, records)?;
            self.append_encoded((session, epoch, expected_seq), records, size, ends_message).await
        })
    }

    fn append_sealed(
        &self,
        session: SessionId,
        epoch: Epoch,
        lines: Vec<LogLine>,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            if lines.is_empty() {
                return Ok(());
            }
            check_epoch(epoch)?;
            let last_seq = self.last_seq(session).await?;
            let previous = if last_seq == 0 { Vec::new() } else { self.read(session, last_seq, 1).await? };
            let records = unseal_lines(session, previous.first(), &lines)?;
            let ends_message = lines.iter().any(|line| line.name().is_some_and(ends_message));
            let size = lines.iter().map(|line| line.bytes.len() + 2).sum();
            // What was read before is what is there still: the append says so, or fails.
            self.append_encoded((session, epoch, last_seq + 1), records, size, ends_message).await.map(drop)
        })
    }

    fn begin_creation(&self, session: SessionId, epoch: Epoch) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.set_unfinished(session, epoch, true))
    }

    fn finish_creation(&self, session: SessionId, epoch: Epoch) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.set_unfinished(session, epoch, false))
    }

    fn create_under(&self, session: SessionId, parent: SessionId) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.ask(move |reply| CommitRequest::CreateNested { session, parent, reply }))
    }

    fn sessions_under(&self, parent: SessionId) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        Box::pin(self.blocking(move |shared| {
            let folder = shared.layout.session(parent);
            let nested = nested_sessions::direct_children(&folder)
                .map_err(|error| disk_error("listing sessions", &error))?;
            Ok(nested.into_iter().map(|(session, _)| session).collect())
        }))
    }

    fn read(
        &self,
        session: SessionId,
        from: u64,
        limit_bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<LogLine>, LogError>> {
        Box::pin(self.blocking(move |shared| reader::read(shared, session, from, limit_bytes)))
    }

    fn last_seq(&self, session: SessionId) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(self.blocking(move |shared| reader::last_seq(shared, session)))
    }

    fn has_session(&self, session: SessionId) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(self.blocking(move |shared| Ok(shared.layout.session(session).is_dir())))
    }

    fn save_draft(&self, session: SessionId, epoch: Epoch, turn: TurnId, delta: Delta) {
        if epoch != EPOCH {
            return;
        }
        let line = match drafts::encode(turn, delta) {
            Ok(line) => line,
            Err(error) => return tracing::warn!(%session, %error, "a draft was lost"),
        };
        let room = Arc::clone(&self.queue_permits).try_acquire_many_owned(kib(line.len()));
        let sent = room.map_err(|_| "too much waits to be written").and_then(|room| {
            let requests = self.requests.as_ref().ok_or("the log is closed")?;
            let request = CommitRequest::Draft { session, line, _room: room };
            requests.try_send(request).map_err(|_| "too much waits to be written")
        });
        if let Err(why) = sent {
            tracing::warn!(%session, why, "a draft was lost");
        }
    }

    fn drafts(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(TurnId, Delta)>, LogError>> {
        Box::pin(self.blocking(move |shared| drafts::read(shared, session)))
    }

    fn save_snapshot(
        &self,
        session: SessionId,
        epoch: Epoch,
        content: Bytes,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            check_epoch(epoch)?;
            self.blocking(move |shared| blobs::put_snapshot(shared, session, &content)).await
        })
    }

    fn snapshot(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Bytes>, LogError>> {
        Box::pin(self.blocking(move |shared| blobs::snapshot(shared, session, MAX_SNAPSHOT)))
    }

    fn put_blob(
        &self,
        session: SessionId,
        name: String,
        content: Bytes,
        put: BlobWrite,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            let replace = match put {
                BlobWrite::New => Overwrite::No,
                BlobWrite::Owned(epoch) => check_epoch(epoch).map(|()| Overwrite::Yes)?,
            };
            self.blocking(move |shared| blobs::put(shared, session, &name, &content, replace)).await
        })
    }

    fn open_blob(&self, session: SessionId, name: String) -> BoxFuture<'_, Result<Arc<dyn Blob>, LogError>> {
        Box::pin(self.blocking(move |shared| blobs::open(shared, session, &name)))
    }

    fn list_blobs(
        &self,
        session: SessionId,
        folder: String,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<BlobEntry>, LogError>> {
        Box::pin(self.blocking(move |shared| blobs::list(shared, session, &folder, limit)))
    }

    fn share_blob(
        &self,
        from: SessionId,
        to: SessionId,
        name: String,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.blocking(move |shared| blobs::share(shared, from, to, &name)))
    }

    fn sessions(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        Box::pin(self.blocking(move |shared| {
            sessions(shared, after, limit).map_err(|error| disk_error("listing sessions", &error))
        }))
    }

    fn unsettled(&self) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        Box::pin(self.blocking(|shared| {
            let markers =
                markers::list(&shared.layout).map_err(|error| disk_error("listing markers", &error))?;
            Ok(markers
                .into_iter()
                .map(|(session, _)| session)
                .filter(|session| exists(shared, *session))
                .collect())
        }))
    }

    fn remove(&self, session: SessionId, epoch: Epoch) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            check_epoch(epoch)?;
            let trash = self.ask(|reply| CommitRequest::Remove { session, reply }).await?;
            self.blocking(move |shared| match shared.disk.remove_dir_all(&trash) {
                Ok(()) => Ok(()),
                Err(error) => {
                    // It is gone for everybody; the next start deletes what is left of it.
                    tracing::warn!(%error, path = %trash.display(), "a removed session could not be deleted");
                    Ok(())
                }
            })
            .await
        })
    }

    fn read_feed(
        &self,
        from: FeedPosition,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<FeedRecord>, LogError>> {
        Box::pin(async move {
            if self.shared.feed.is_broken() {
                self.ask(|reply| CommitRequest::RepairFeed { reply }).await?;
            }
            self.blocking(move |shared| feed_reader::read(shared, from, limit)).await
        })
    }

    fn feed_end(&self) -> watch::Receiver<FeedPosition> {
        self.shared.feed.follow()
    }
}

impl FileLog {
    /// Appends records that are JSON already, with their seqs.
    async fn append_encoded(
        &self,
        (session, epoch, expected_seq): (SessionId, Epoch, u64),
        records: Vec<Vec<u8>>,
        size: usize,
        ends_message: bool,
    ) -> Result<Vec<LogLine>, LogError> {
        let room =
            Arc::clone(&self.queue_permits).acquire_many_owned(kib(size)).await.map_err(|_| stopped())?;
        let append =
            |reply| AppendRequest { session, epoch, expected_seq, records, ends_message, reply, _room: room };
        self.ask(|reply| CommitRequest::Append(append(reply))).await
    }

    async fn set_unfinished(
        &self,
        session: SessionId,
        epoch: Epoch,
        unfinished: bool,
    ) -> Result<(), LogError> {
        check_epoch(epoch)?;
        self.ask(|reply| CommitRequest::SetUnfinished { session, unfinished, reply }).await
    }
}

/// Refuses what somebody writes who does not own the data directory.
fn check_epoch(epoch: Epoch) -> Result<(), LogError> {
    if epoch == EPOCH { Ok(()) } else { Err(LogError::Fenced) }
}

/// Whether the record holds all of the text that drafts kept.
fn ends_message(name: EventName) -> bool {
    name == EventName::ModelOutputCompleted || name.ends_turn()
}

/// What a request of this size takes of the room for those that wait.
fn kib(size: usize) -> u32 {
    u32::try_from((size >> 10) + 1).unwrap_or(u32::MAX).min(MAX_WAITING_KIB as u32)
}

/// The sessions after this one. Whoever asks for all of them has the time to mend what somebody did to their names.
fn sessions(shared: &FileLogShared, after: Option<SessionId>, limit: usize) -> io::Result<Vec<SessionId>> {
    if after.is_none() {
        nested_sessions::repair_links(shared)?;
    }
    let mut named = Vec::new();
    for entry in std::fs::read_dir(&shared.layout.sessions)? {
        let session: Option<SessionId> = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        named.extend(session.filter(|session| Some(*session) > after));
    }
    named.sort_unstable();
    Ok(named.into_iter().filter(|session| exists(shared, *session)).take(limit).collect())
}

/// Whether a session has a log that is not empty: one that failed at its first record has none.
fn exists(shared: &FileLogShared, session: SessionId) -> bool {
    std::fs::metadata(shared.layout.log(session)).is_ok_and(|metadata| metadata.len() > 0)
}
