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
pub enum Item {
    /// A record, as it stands on disk.
    Record(RecordLine),
    /// Text as it streams.
    Delta(DeltaLine),
}

/// What waits for one subscriber, bounded in bytes.
#[derive(Debug)]
pub(crate) struct Queue<T = Item> {
    waiting: Mutex<Waiting<T>>,
    /// Notified when [`Queue::try_next`] may have something to say. The queues of one task may share it.
    changed: Arc<Notify>,
    /// Bytes that may wait.
    limit: usize,
    /// Whether text as it streams is left out.
    only_records: bool,
}

#[derive(Debug)]
struct Waiting<T> {
    /// Each with its size.
    items: VecDeque<(T, usize)>,
    bytes: usize,
    overflowed: bool,
    closed: bool,
}

/// What a queue has to say.
#[derive(Debug)]
pub(crate) enum Next<T = Item> {
    /// Something to show.
    Item(T),
    /// It overflowed; read from the log.
    Overflowed,
    /// No more will come.
    Closed,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue::with_limit(QUEUE_BYTES)
    }
}

impl Queue {
    /// A queue for a subscriber who does not care for text as it streams.
    pub(crate) fn of_records() -> Queue {
        Queue { only_records: true, ..Queue::default() }
    }

    /// A queue that notifies `changed`.
    pub(crate) fn notifying(changed: Arc<Notify>) -> Queue {
        Queue { changed, ..Queue::default() }
    }

    pub(crate) fn takes_deltas(&self) -> bool {
        !self.only_records
    }
}

impl<T> Queue<T> {
    /// A queue in which so many bytes may wait.
    pub(crate) fn with_limit(limit: usize) -> Queue<T> {
        let waiting = Mutex::new(Waiting::new(false, false));
        Queue { waiting, changed: Arc::default(), limit, only_records: false }
    }

    pub(crate) fn push(&self, item: T, size: usize) {
        let mut waiting = self.lock();
        if waiting.overflowed {
            return;
        }
        waiting.bytes += size;
        if waiting.bytes > self.limit {
            *waiting = Waiting::new(true, waiting.closed);
        } else {
            waiting.items.push_back((item, size));
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// The next item, without waiting for one.
    pub(crate) fn try_next(&self) -> Option<Next<T>> {
        self.try_next_if(|_| true)
    }

    /// The same, if it is due; the item stays otherwise.
    pub(crate) fn try_next_if(&self, is_due: impl FnOnce(&T) -> bool) -> Option<Next<T>> {
        let mut waiting = self.lock();
        if waiting.overflowed {
            return Some(Next::Overflowed);
        }
        match waiting.items.pop_front_if(|(item, _)| is_due(item)) {
            Some((item, size)) => {
                waiting.bytes = waiting.bytes.saturating_sub(size);
                Some(Next::Item(item))
            }
            None => (waiting.closed && waiting.items.is_empty()).then_some(Next::Closed),
        }
    }

    /// Waits until [`Queue::try_next`] may have something to say.
    pub(crate) async fn wait(&self) {
        self.changed.notified().await;
    }

    /// Marks the queue as overflowed, so that the subscriber reads from the log.
    pub(crate) fn overflow(&self) {
        let mut waiting = self.lock();
        *waiting = Waiting::new(true, waiting.closed);
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
        *waiting = Waiting::new(false, waiting.closed);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().expect("no code panics while it holds a queue")
    }
}

impl<T> Waiting<T> {
    fn new(overflowed: bool, closed: bool) -> Waiting<T> {
        Waiting { items: VecDeque::new(), bytes: 0, overflowed, closed }
    }
}
