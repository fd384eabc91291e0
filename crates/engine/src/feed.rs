//! One client's view of all sessions: every record in the order of the feed, and text as it streams.
//!
//! Records always come from the log, in the order in which they were appended, so a cursor is one
//! position and nothing can be missed; the end of the feed only says that there is more to read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ostler_eventlog::{FeedPosition, FeedRecord, Log};
use tokio::sync::watch;

use crate::delta_line::DeltaLine;
use crate::error::EngineError;
use crate::subscriber_queue::{Dequeued, SubscriberQueue};

/// Records read at a time.
const PAGE_RECORDS: usize = 256;
/// Bytes of deltas that may wait for one subscriber. A thousand sessions that stream make about 15 MB of them in a
/// second, and reading a page of records from their logs can take a tenth of that.
const DELTA_BYTES: usize = 8 << 20;

/// Everything that happens in every session. Dropping it unsubscribes.
pub struct FeedSubscription {
    log: Arc<dyn Log>,
    deltas: Arc<Deltas>,
    queue: Arc<DeltaQueue>,
    end: watch::Receiver<FeedPosition>,
    position: FeedPosition,
    page: VecDeque<FeedRecord>,
}

/// The deltas of all sessions, for those who look at all of them.
#[derive(Debug)]
pub(crate) struct Deltas {
    queues: Mutex<Vec<Arc<DeltaQueue>>>,
    end: watch::Receiver<FeedPosition>,
}

/// Deltas, each with the end of the feed when it was shown.
type DeltaQueue = SubscriberQueue<(FeedPosition, DeltaLine)>;

/// What such a client is given: a record and the position after it, or a delta.
#[derive(Debug, Clone)]
pub enum FeedItem {
    /// A record.
    Record(FeedRecord),
    /// Text as it streams.
    Delta(DeltaLine),
}

impl FeedSubscription {
    pub(crate) fn new(
        log: Arc<dyn Log>,
        deltas: Arc<Deltas>,
        after: Option<FeedPosition>,
    ) -> FeedSubscription {
        let queue = Arc::new(SubscriberQueue::with_limit(DELTA_BYTES));
        deltas.lock().push(Arc::clone(&queue));
        let end = log.feed_end();
        let position = after.unwrap_or(*end.borrow());
        FeedSubscription { log, deltas, queue, end, position, page: VecDeque::new() }
    }

    /// Where a client that has seen everything so far would go on.
    pub fn position(&self) -> FeedPosition {
        self.position
    }

    /// The next thing to show.
    pub async fn next(&mut self) -> Result<FeedItem, EngineError> {
        loop {
            if let Some(item) = self.ready().await? {
                return Ok(item);
            }
            tokio::select! {
                changed = self.end.changed() => changed.map_err(|_| EngineError::ShuttingDown)?,
                () = self.queue.wait() => {}
            }
        }
    }

    /// What can be shown without waiting for something to happen. A delta is due when all has been given out that was
    /// recorded before it: so it comes after the record that began its turn, and before the one that has its text.
    pub async fn ready(&mut self) -> Result<Option<FeedItem>, EngineError> {
        loop {
            match self.queue.try_next_if(|(after, _)| *after <= self.position) {
                Some(Dequeued::Item((_, line))) => return Ok(Some(FeedItem::Delta(line))),
                // The text is whole in the record that follows it, so a lost delta is only late.
                Some(Dequeued::Overflowed) => self.queue.restart(),
                Some(Dequeued::Closed) | None => {}
            }
            if let Some(record) = self.page.pop_front() {
                self.position = record.next;
                return Ok(Some(FeedItem::Record(record)));
            }
            let end = *self.end.borrow_and_update();
            if self.position >= end {
                return Ok(None);
            }
            self.page = self.log.read_feed(self.position, PAGE_RECORDS).await?.into();
            if self.page.is_empty() {
                // Only records of removed sessions were left.
                self.position = end;
            }
        }
    }
}

impl Drop for FeedSubscription {
    fn drop(&mut self) {
        self.deltas.lock().retain(|queue| !Arc::ptr_eq(queue, &self.queue));
    }
}

impl Deltas {
    pub(crate) fn new(end: watch::Receiver<FeedPosition>) -> Deltas {
        Deltas { queues: Mutex::default(), end }
    }

    pub(crate) fn publish(&self, line: &DeltaLine) {
        let queues = self.lock();
        if queues.is_empty() {
            return;
        }
        // Under the lock, so that the positions in a queue never go back.
        let end = *self.end.borrow();
        for queue in queues.iter() {
            queue.push((end, line.clone()), line.size());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<DeltaQueue>>> {
        self.queues.lock().expect("no code panics while it holds the list")
    }
}
