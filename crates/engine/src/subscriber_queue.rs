//! What waits for one subscriber. Bounded in bytes, because one record can be as large as a thousand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::delta_line::DeltaLine;
use crate::record_line::RecordLine;

/// Bytes that may wait for a subscriber of one session.
const QUEUE_BYTES: usize = 256 * 1024;

/// What a subscriber of one session is given.
#[derive(Debug, Clone)]
pub enum SubscriptionItem {
    /// A record, as it stands on disk.
    Record(RecordLine),
    /// Text as it streams.
    Delta(DeltaLine),
}

/// What waits for one subscriber, bounded in bytes.
#[derive(Debug)]
pub(crate) struct SubscriberQueue<T = SubscriptionItem> {
    state: Mutex<SubscriberQueueState<T>>,
    /// Notified when [`Queue::try_next`] may have something to say. The queues of one task may share it.
    changed: Arc<Notify>,
    /// Bytes that may wait.
    limit: usize,
    /// Whether text as it streams is left out.
    only_records: bool,
}

#[derive(Debug)]
struct SubscriberQueueState<T> {
    /// Each with its size.
    items: VecDeque<(T, usize)>,
    bytes: usize,
    overflowed: bool,
    closed: bool,
}

/// What a queue has to say.
#[derive(Debug)]
pub(crate) enum Dequeued<T = SubscriptionItem> {
    /// Something to show.
    Item(T),
    /// It overflowed; read from the log.
    Overflowed,
    /// No more will come.
    Closed,
}

impl Default for SubscriberQueue {
    fn default() -> SubscriberQueue {
        SubscriberQueue::with_limit(QUEUE_BYTES)
    }
}

impl SubscriberQueue {
    /// A queue for a subscriber who does not care for text as it streams.
    pub(crate) fn records_only() -> SubscriberQueue {
        SubscriberQueue { only_records: true, ..SubscriberQueue::default() }
    }

    /// A queue that notifies `changed`.
    pub(crate) fn notifying(changed: Arc<Notify>) -> SubscriberQueue {
        SubscriberQueue { changed, ..SubscriberQueue::default() }
    }

    pub(crate) fn takes_deltas(&self) -> bool {
        !self.only_records
    }
}

impl<T> SubscriberQueue<T> {
    /// A queue in which so many bytes may wait.
    pub(crate) fn with_limit(limit: usize) -> SubscriberQueue<T> {
        let waiting = Mutex::new(SubscriberQueueState::new(false, false));
        SubscriberQueue { state: waiting, changed: Arc::default(), limit, only_records: false }
    }

    pub(crate) fn push(&self, item: T, size: usize) {
        let mut waiting = self.lock();
        if waiting.overflowed {
            return;
        }
        waiting.bytes += size;
        if waiting.bytes > self.limit {
            *waiting = SubscriberQueueState::new(true, waiting.closed);
        } else {
            waiting.items.push_back((item, size));
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// The next item, without waiting for one.
    pub(crate) fn try_next(&self) -> Option<Dequeued<T>> {
        self.try_next_if(|_| true)
    }

    /// The same, if it is due; the item stays otherwise.
    pub(crate) fn try_next_if(&self, is_due: impl FnOnce(&T) -> bool) -> Option<Dequeued<T>> {
        let mut waiting = self.lock();
        if waiting.overflowed {
            return Some(Dequeued::Overflowed);
        }
        match waiting.items.pop_front_if(|(item, _)| is_due(item)) {
            Some((item, size)) => {
                waiting.bytes = waiting.bytes.saturating_sub(size);
                Some(Dequeued::Item(item))
            }
            None => (waiting.closed && waiting.items.is_empty()).then_some(Dequeued::Closed),
        }
    }

    /// Waits until [`Queue::try_next`] may have something to say.
    pub(crate) async fn wait(&self) {
        self.changed.notified().await;
    }

    /// Marks the queue as overflowed, so that the subscriber reads from the log.
    pub(crate) fn overflow(&self) {
        let mut waiting = self.lock();
        *waiting = SubscriberQueueState::new(true, waiting.closed);
        drop(waiting);
        self.changed.notify_one();
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Forgets the overflow, and what waits.
    pub(crate) fn restart(&self) {
        let mut waiting = self.lock();
        *waiting = SubscriberQueueState::new(false, waiting.closed);
    }

    fn lock(&self) -> MutexGuard<'_, SubscriberQueueState<T>> {
        self.state.lock().expect("no code panics while it holds a queue")
    }
}

impl<T> SubscriberQueueState<T> {
    fn new(overflowed: bool, closed: bool) -> SubscriberQueueState<T> {
        SubscriberQueueState { items: VecDeque::new(), bytes: 0, overflowed, closed }
    }
}
