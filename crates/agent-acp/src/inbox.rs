//! What has come in for one session and has not been looked at, in the order in which it came and bounded in
//! bytes. Answers to the session's own requests are in it too, so that what an agent said before an answer is
//! seen before it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{Error, RequestId};
use ostler_acp::AcpUpdate;
use serde_json::Value;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How many KiB wait at most; a single thing that is larger takes all of it.
const MAX_PENDING_KIB: usize = 8 * 1024;

/// What can come in.
#[derive(Debug)]
pub(crate) enum InboxItem {
    /// The agent tells something.
    Update(AcpUpdate),
    /// The agent wants something.
    Request { id: RequestId, method: String, params: Value },
    /// The agent answers the request of this number.
    Answer { ticket: i64, outcome: Result<Value, Error> },
    /// The connection is over.
    Closed,
}

/// The queue of one session. Clones are the same queue.
#[derive(Clone)]
pub(crate) struct Inbox(Arc<InboxQueue>);

struct InboxQueue {
    queue: Mutex<VecDeque<(InboxItem, Option<OwnedSemaphorePermit>)>>,
    room: Arc<Semaphore>,
    ready: Notify,
    is_closed: AtomicBool,
    /// Takes updates as they came.
    raw: Option<ostler_agent::RawLogSink>,
}

impl Inbox {
    pub(crate) fn new(raw: Option<ostler_agent::RawLogSink>) -> Inbox {
        let room = Arc::new(Semaphore::new(MAX_PENDING_KIB));
        let (queue, ready, is_closed) = (Mutex::default(), Notify::new(), AtomicBool::new(false));
        Inbox(Arc::new(InboxQueue { queue, room, ready, is_closed, raw }))
    }

    /// Adds something of this size, and waits until there is room for it.
    pub(crate) async fn push(&self, item: InboxItem, bytes: usize) {
        let wanted =
            u32::try_from((bytes / 1024 + 1).min(MAX_PENDING_KIB)).expect("the room is a small number");
        // A closed queue has no permits to give, and takes nothing.
        if let Ok(permit) = Arc::clone(&self.0.room).acquire_many_owned(wanted).await {
            self.queue().push_back((item, Some(permit)));
            self.0.ready.notify_one();
        }
    }

    /// Adds something small that must not wait.
    pub(crate) fn push_now(&self, item: InboxItem) {
        self.queue().push_back((item, None));
        self.0.ready.notify_one();
    }

    /// The next thing; waits for it. One caller at a time.
    pub(crate) async fn pop(&self) -> InboxItem {
        loop {
            let ready = self.0.ready.notified();
            if let Some((item, _)) = self.queue().pop_front() {
                return item;
            }
            if self.0.is_closed.load(Ordering::Acquire) {
                return InboxItem::Closed;
            }
            ready.await;
        }
    }

    /// Takes nothing any more, and forgets what is in it.
    pub(crate) fn close(&self) {
        self.0.is_closed.store(true, Ordering::Release);
        self.0.room.close();
        self.queue().clear();
        self.0.ready.notify_one();
    }

    pub(crate) fn raw(&self) -> Option<&ostler_agent::RawLogSink> {
        self.0.raw.as_ref()
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<(InboxItem, Option<OwnedSemaphorePermit>)>> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::{Inbox, InboxItem};

    fn answer(ticket: i64) -> InboxItem {
        InboxItem::Answer { ticket, outcome: Ok(serde_json::Value::Null) }
    }

    #[tokio::test]
    async fn what_is_too_much_waits_and_comes_in_order() {
        let inbox = Inbox::new(None);
        inbox.push(answer(1), 100 << 20).await;
        let mut second = Box::pin(inbox.push(answer(2), 10));
        assert!((&mut second).now_or_never().is_none(), "there is no room beside the first");
        assert!(matches!(inbox.pop().await, InboxItem::Answer { ticket: 1, .. }));
        second.await;
        assert!(matches!(inbox.pop().await, InboxItem::Answer { ticket: 2, .. }));
        assert!(inbox.pop().now_or_never().is_none());
        inbox.close();
        inbox.push(answer(3), 10).await;
        assert!(matches!(inbox.pop().await, InboxItem::Closed));
    }
}
