//! The contract of an index: what the engine asks of it. [`crate::SqliteIndex`] is the implementation for one machine.

use futures_util::future::BoxFuture;
use ostler_types::{Session, SessionId};

use crate::{IndexError, IndexUpdate, ListFilter, SessionListing, UsageQuery, UsageReport};

/// The list of all sessions, the search in what was said in them, and what they used. It may lag behind the logs, and
/// never leads.
pub trait Index: Send + Sync + 'static {
    /// Queues an update, waiting for room in the queue. Updates of one session are applied in the order in
    /// which they were queued; one that brings nothing new changes nothing. They are committed within a second, and
    /// before any answer that must see them.
    fn update(&self, update: IndexUpdate) -> BoxFuture<'_, Result<(), IndexError>>;

    /// Queues the removal of a session and of all that was said and used in it.
    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), IndexError>>;

    /// Returns once everything queued before is committed; with the reason when it cannot be. What
    /// could not be committed is kept, and tried again at the next call or after some more updates.
    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>>;

    /// Notes that every log has been fed, so that the next opening does not ask for it again.
    fn mark_rebuilt(&self) -> BoxFuture<'_, Result<(), IndexError>>;

    /// Up to which record all that a session's log says is committed; 0 when the session is not known.
    /// Updates that still wait do not count.
    fn position(&self, session: SessionId) -> BoxFuture<'_, Result<u64, IndexError>>;

    /// The sessions that pass the filter, those with the newest activity first. Sees every update queued
    /// before the call, unless writing fails: then it shows what there is.
    fn list(&self, filter: ListFilter) -> BoxFuture<'_, Result<SessionListing, IndexError>>;

    /// What models were used for, summed up. Takes as long as there are answers in the time that is asked
    /// for. Sees every update queued before the call, unless writing fails: then it shows what there is.
    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<UsageReport, IndexError>>;

    /// The session that was made under this key; the first one if there are several.
    fn by_idempotency_key<'a>(&'a self, key: &'a str)
    -> BoxFuture<'a, Result<Option<SessionId>, IndexError>>;

    /// The session that an agent knows by an id of its own; the newest one if there are several. Who has just been told
    /// that id may ask at once: where nothing is found, what has not been written yet is waited for.
    fn by_agent_session<'a>(
        &'a self,
        agent: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<SessionId>, IndexError>>;

    /// The open session of this name; the first one if there are several. What has not been written yet is not
    /// waited for.
    fn by_name<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<SessionId>, IndexError>>;

    /// The open sessions that have a name, in the order of their names: those after `after`, at most `limit`.
    fn named_sessions<'a>(
        &'a self,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Session>, IndexError>>;
}
