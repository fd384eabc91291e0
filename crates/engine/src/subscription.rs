//! One client's view of one session: history, then live, with one cursor.
//!
//! It subscribes first, reads the log second, and drops what it has already given out. When its
//! queue overflows it goes back to the log. So there is no gap and no record twice, however slow
//! the client and however often it falls behind.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_eventlog::{Log, LogLine};
use ostler_types::SessionId;

use crate::error::EngineError;
use crate::hub::{Hub, SubscriptionStart};
use crate::record_line::RecordLine;
use crate::subscriber_queue::{Dequeued, SubscriberQueue, SubscriptionItem};

/// Bytes read from the log at a time.
const PAGE_BYTES: usize = 128 * 1024;

/// History, then live. Dropping it unsubscribes.
pub struct Subscription {
    session_id: SessionId,
    log: Arc<dyn Log>,
    hub: Arc<Hub>,
    queue: Arc<SubscriberQueue>,
    /// The newest record that was given out.
    seen: u64,
    /// Records up to here come from the log.
    log_until: u64,
    /// Read from the log, not given out yet; then the text that streams.
    page: VecDeque<SubscriptionItem>,
    /// To be given out once the log has been read.
    live_items: Vec<SubscriptionItem>,
    closed: bool,
}

impl Subscription {
    pub(crate) fn new(
        session_id: SessionId,
        log: Arc<dyn Log>,
        hub: Arc<Hub>,
        after: u64,
        queue: Arc<SubscriberQueue>,
    ) -> Subscription {
        let standing = hub.subscribe(&queue);
        let mut subscription = Subscription {
            session_id,
            log,
            hub,
            queue,
            seen: after,
            log_until: after,
            page: VecDeque::new(),
            live_items: Vec::new(),
            closed: false,
        };
        subscription.start_from(standing);
        subscription
    }

    /// The next thing to show; `None` when the session has gone. `Err` when the log cannot be read.
    pub async fn next(&mut self) -> Result<Option<SubscriptionItem>, EngineError> {
        loop {
            if let Some(item) = self.ready().await? {
                return Ok(Some(item));
            }
            if self.closed {
                return Ok(None);
            }
            self.queue.wait().await;
        }
    }

    /// What can be shown without waiting for something to happen.
    pub async fn ready(&mut self) -> Result<Option<SubscriptionItem>, EngineError> {
        loop {
            if let Some(item) = self.page.pop_front() {
                return Ok(Some(self.mark_seen(item)));
            }
            if self.seen < self.log_until {
                self.read_page().await?;
                continue;
            }
            if !self.live_items.is_empty() {
                self.page.extend(std::mem::take(&mut self.live_items));
                continue;
            }
            match self.queue.try_next() {
                Some(Dequeued::Item(SubscriptionItem::Record(line))) if line.seq <= self.seen => {}
                // A record that does not follow directly would be a gap; the log has what is missing.
                Some(Dequeued::Item(SubscriptionItem::Record(line))) if line.seq > self.seen + 1 => {
                    self.log_until = line.seq
                }
                Some(Dequeued::Item(item)) => return Ok(Some(self.mark_seen(item))),
                Some(Dequeued::Overflowed) => {
                    let standing = self.hub.catch_up(&self.queue);
                    self.start_from(standing);
                }
                Some(Dequeued::Closed) => {
                    self.closed = true;
                    return Ok(None);
                }
                None => return Ok(None),
            }
        }
    }

    /// The newest record that was given out.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Whether all of the history has been given out.
    pub fn is_live(&self) -> bool {
        self.page.is_empty() && self.seen >= self.log_until
    }

    /// Whether all has been given out that there will ever be.
    pub fn is_over(&self) -> bool {
        self.closed && self.is_live() && self.live_items.is_empty()
    }

    fn start_from(&mut self, standing: SubscriptionStart) {
        self.log_until = self.log_until.max(standing.last_seq);
        let deltas = standing.deltas.into_iter().filter(|_| self.queue.takes_deltas());
        self.live_items = deltas.map(SubscriptionItem::Delta).collect();
        self.closed = standing.closed;
    }

    fn mark_seen(&mut self, item: SubscriptionItem) -> SubscriptionItem {
        if let SubscriptionItem::Record(line) = &item {
            self.seen = line.seq;
        }
        item
    }

    async fn read_page(&mut self) -> Result<(), EngineError> {
        let lines: Vec<LogLine> = self.log.read(self.session_id, self.seen + 1, PAGE_BYTES).await?;
        if lines.is_empty() {
            // What was published is on disk; a log that does not have it has been removed.
            return Err(EngineError::NotFound);
        }
        let until = self.log_until;
        self.page.extend(
            lines
                .into_iter()
                .filter(|line| line.seq <= until)
                .map(RecordLine::read)
                .map(SubscriptionItem::Record),
        );
        Ok(())
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.unsubscribe(&self.queue);
    }
}
