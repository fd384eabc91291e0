//! What waits for one subscriber. Bounded in bytes, because one record can be as large as a thousand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::delta_line::DeltaLine;
use crate::record_line::RecordLine;

/// Bytes that may wait for one subscriber.
const QUEUE_BYTES: usize = 256 * 1024;

/// What a subscriber is given.
#[derive(Debug, Clone)]
pub enum Item {
    /// A record, as it stands on disk.
    Record(RecordLine),
    /// Text as it streams.
    Delta(DeltaLine),
}

/// What waits for one subscriber, bounded in bytes.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    /// Notified when [`Queue::try_next`] may have something to say. The queues of one task may share it.
    changed: Arc<Notify>,
    /// Whether text as it streams is left out.
    only_records: bool,
}

#[derive(Debug, Default)]
struct Waiting {
    items: VecDeque<Item>,
    bytes: usize,
    overflowed: bool,
    closed: bool,
}

/// What a queue has to say.
#[derive(Debug)]
pub(crate) enum Next {
    /// Something to show.
    Item(Item),
    /// It overflowed; read from the log.
    Overflowed,
    /// No more will come.
    Closed,
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

    pub(crate) fn push(&self, item: Item, size: usize) {
        let mut waiting = self.lock();
        if waiting.overflowed {
            return;
        }
        waiting.bytes += size;
        if waiting.bytes > QUEUE_BYTES {
            *waiting = Waiting { overflowed: true, closed: waiting.closed, ..Waiting::default() };
        } else {
            waiting.items.push_back(item);
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// The next item, without waiting for one.
    pub(crate) fn try_next(&self) -> Option<Next> {
        let mut waiting = self.lock();
        if waiting.overflowed {
            return Some(Next::Overflowed);
        }
        match waiting.items.pop_front() {
            Some(item) => {
                let size = match &item {
                    Item::Record(line) => line.bytes.len(),
                    Item::Delta(line) => line.size(),
                };
                waiting.bytes = waiting.bytes.saturating_sub(size);
                Some(Next::Item(item))
            }
            None => waiting.closed.then_some(Next::Closed),
        }
    }

    /// Waits until [`Queue::try_next`] may have something to say.
    pub(crate) async fn wait(&self) {
        self.changed.notified().await;
    }

    /// Marks the queue as overflowed, so that the subscriber reads from the log.
    pub(crate) fn overflow(&self) {
        let mut waiting = self.lock();
        *waiting = Waiting { overflowed: true, closed: waiting.closed, ..Waiting::default() };
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
        *waiting = Waiting { closed: waiting.closed, ..Waiting::default() };
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("no code panics while it holds a queue")
    }
}
