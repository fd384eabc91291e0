//! The [`Log`] that a [`FileLog`] is.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ostler_types::{Delta, Event, EventName, NewRecord, SessionId, TurnId};
use tokio::sync::watch;

use super::{FileLog, MAX_WAITING_KIB, stopped};
use crate::committer::{Append, EPOCH, Request};
use crate::log::{Claim, Epoch, FeedPosition, FeedRecord, Line, Log, LogError};
use crate::seal::encode;
use crate::shared::{Shared, disk_error};
use crate::{blobs, drafts, feed_reader, markers, nested, reader};

impl Log for FileLog {
    /// The data directory's lock makes its holder the owner of all sessions, so there is one epoch, which is
    /// never void.
    fn claim(&self, session: SessionId) -> BoxFuture<'_, Result<Claim, LogError>> {
        Box::pin(async move { Ok(Claim { epoch: EPOCH, last_seq: self.last_seq(session).await? }) })
    }

    fn release(&self, session: SessionId, epoch: Epoch, rested: bool) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            match (epoch == EPOCH, rested) {
                (false, _) => Err(LogError::Fenced),
                (true, false) => Ok(()),
                (true, true) => self.ask(|reply| Request::Settle { session, reply }).await,
            }
        })
    }

    fn append(
        &self,
        session: SessionId,
        epoch: Epoch,
        expected_seq: u64,
        records: Vec<NewRecord>,
    ) -> BoxFuture<'_, Result<Vec<Line>, LogError>> {
        Box::pin(async move {
            if records.is_empty() {
                return Ok(Vec::new());
            }
            let ends_message = records.iter().any(|record| ends_message(&record.event));
            let (records, size) = encode(session, expected_seq, records)?;
            let room = Arc::clone(&self.room).acquire_many_owned(kib(size)).await.map_err(|_| stopped())?;
            self.ask(|reply| {
                Request::Append(Append {
                    session,
                    epoch,
                    expected_seq,
                    records,
                    ends_message,
                    reply,
                    _room: room,
                })
            })
            .await
        })
    }

    fn begin(&self, session: SessionId) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.ask(move |reply| Request::Making { session, unfinished: true, reply }))
    }

    fn finish(&self, session: SessionId) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.ask(move |reply| Request::Making { session, unfinished: false, reply }))
    }

    fn place_under(&self, session: SessionId, parent: SessionId) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.ask(move |reply| Request::Place { session, parent, reply }))
    }

    fn placed_under(&self, parent: SessionId) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        Box::pin(self.blocking(move |shared| {
            let folder = shared.layout.session(parent);
            let nested = nested::directly(&folder).map_err(|error| disk_error("listing sessions", &error))?;
            Ok(nested.into_iter().map(|(session, _)| session).collect())
        }))
    }

    fn read(
        &self,
        session: SessionId,
        from: u64,
        limit_bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, LogError>> {
        Box::pin(self.blocking(move |shared| reader::read(shared, session, from, limit_bytes)))
    }

    fn last_seq(&self, session: SessionId) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(self.blocking(move |shared| reader::last_seq(shared, session)))
    }

    fn save_draft(&self, session: SessionId, epoch: Epoch, turn: TurnId, delta: Delta) {
        if epoch != EPOCH {
            return;
        }
        let line = match drafts::encode(turn, delta) {
            Ok(line) => line,
            Err(error) => return tracing::warn!(%session, %error, "a draft was lost"),
        };
        let room = Arc::clone(&self.room).try_acquire_many_owned(kib(line.len()));
        let sent = room.map_err(|_| "too much waits to be written").and_then(|room| {
            let requests = self.requests.as_ref().ok_or("the log is closed")?;
            let request = Request::Draft { session, line, _room: room };
            requests.try_send(request).map_err(|_| "too much waits to be written")
        });
        if let Err(why) = sent {
            tracing::warn!(%session, why, "a draft was lost");
        }
    }

    fn drafts(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<(TurnId, Delta)>, LogError>> {
        Box::pin(self.blocking(move |shared| drafts::read(shared, session)))
    }

    fn put_blob(
        &self,
        session: SessionId,
        name: String,
        content: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.blocking(move |shared| blobs::put(shared, session, &name, &content)))
    }

    fn get_blob(&self, session: SessionId, name: String) -> BoxFuture<'_, Result<Bytes, LogError>> {
        Box::pin(self.blocking(move |shared| blobs::get(shared, session, &name)))
    }

    fn share_blob(
        &self,
        from: SessionId,
        to: SessionId,
        name: String,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.blocking(move |shared| blobs::share(shared, from, to, &name)))
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        Box::pin(
            self.blocking(|shared| sessions(shared).map_err(|error| disk_error("listing sessions", &error))),
        )
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

    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(async move {
            let trash = self.ask(|reply| Request::Remove { session, reply }).await?;
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
                self.ask(|reply| Request::MendFeed { reply }).await?;
            }
            self.blocking(move |shared| feed_reader::read(shared, from, limit)).await
        })
    }

    fn feed_end(&self) -> watch::Receiver<FeedPosition> {
        self.shared.feed.follow()
    }
}

/// Whether the record holds all of the text that drafts kept.
fn ends_message(event: &Event) -> bool {
    event.name() == EventName::ModelOutputCompleted || event.name().ends_turn()
}

/// What a request of this size takes of the room for those that wait.
fn kib(size: usize) -> u32 {
    u32::try_from((size >> 10) + 1).unwrap_or(u32::MAX).min(MAX_WAITING_KIB as u32)
}

/// Every session. Whoever asks for all of them has the time to mend what somebody did to their names.
fn sessions(shared: &Shared) -> io::Result<Vec<SessionId>> {
    nested::mend(shared)?;
    let mut sessions = Vec::new();
    for entry in std::fs::read_dir(&shared.layout.sessions)? {
        let session = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        sessions.extend(session.filter(|session| exists(shared, *session)));
    }
    Ok(sessions)
}

/// Whether a session has a log that is not empty: one that failed at its first record has none.
fn exists(shared: &Shared, session: SessionId) -> bool {
    std::fs::metadata(shared.layout.log(session)).is_ok_and(|metadata| metadata.len() > 0)
}
