//! One client's view of all sessions: every record in the order of the feed, and text as it streams.
//!
//! Records always come from the log, in the order in which they were appended, so a cursor is one
//! position and nothing can be missed; the end of the feed only says that there is more to read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ostler_eventlog::{FeedPosition, FeedRecord, Line, Log};
use ostler_types::{CallEvent, Event, EventName, StepEvent};
use tokio::sync::watch;

use crate::delta_line::{DeltaLine, Subject};
use crate::error::EngineError;
use crate::queue::{Item, Next, Queue};

/// Records read at a time.
const PAGE_RECORDS: usize = 256;
/// Finished messages and calls that are remembered. A delta is not that late.
const REMEMBERED: usize = 256;

/// Everything that happens in every session. Dropping it unsubscribes.
pub struct FeedSubscription {
    log: Arc<dyn Log>,
    deltas: Arc<Deltas>,
    queue: Arc<Queue>,
    end: watch::Receiver<FeedPosition>,
    position: FeedPosition,
    page: VecDeque<FeedRecord>,
    /// Messages and calls whose record was given out; what streamed into them comes too late.
    finished: VecDeque<Subject>,
}

/// The deltas of all sessions, for those who look at all of them.
#[derive(Debug, Default)]
pub(crate) struct Deltas {
    queues: Mutex<Vec<Arc<Queue>>>,
}

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
        let queue = Arc::new(Queue::default());
        deltas.lock().push(Arc::clone(&queue));
        let end = log.feed_end();
        let position = after.unwrap_or(*end.borrow());
        FeedSubscription {
            log,
            deltas,
            queue,
            end,
            position,
            page: VecDeque::new(),
            finished: VecDeque::new(),
        }
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

    /// What can be shown without waiting for something to happen.
    pub async fn ready(&mut self) -> Result<Option<FeedItem>, EngineError> {
        if let Some(record) = self.page.pop_front() {
            return Ok(Some(self.give(record)));
        }
        let end = *self.end.borrow_and_update();
        if self.position < end {
            self.page = self.log.read_feed(self.position, PAGE_RECORDS).await?.into();
            if let Some(record) = self.page.pop_front() {
                return Ok(Some(self.give(record)));
            }
            // Only records of removed sessions were left.
            self.position = end;
        }
        loop {
            match self.queue.try_next() {
                Some(Next::Item(Item::Delta(line))) if self.finished.iter().any(|of| of.covers(&line)) => {}
                Some(Next::Item(Item::Delta(line))) => return Ok(Some(FeedItem::Delta(line))),
                Some(Next::Item(Item::Record(_))) => {}
                // The text is whole in the record that follows it, so a lost delta is only late.
                Some(Next::Overflowed) => self.queue.restart(),
                Some(Next::Closed) | None => return Ok(None),
            }
        }
    }
}

impl FeedSubscription {
    fn give(&mut self, record: FeedRecord) -> FeedItem {
        self.position = record.next;
        if let Some(finished) = finished(&record.line) {
            self.finished.push_back(finished);
            if self.finished.len() > REMEMBERED {
                self.finished.pop_front();
            }
        }
        FeedItem::Record(record)
    }
}

/// What a record brings to its end.
fn finished(line: &Line) -> Option<Subject> {
    if !matches!(line.name(), Some(EventName::ModelOutputCompleted | EventName::ToolCallCompleted)) {
        return None;
    }
    let event = line.record().ok()?.event;
    if let Event::Step(StepEvent::ModelOutputCompleted { message, .. }) = event {
        return Some(Subject::Message(message.id));
    }
    let Event::Call(CallEvent::Completed { tool_call, .. }) = event else { return None };
    Some(Subject::Call(tool_call.id))
}

impl Drop for FeedSubscription {
    fn drop(&mut self) {
        self.deltas.lock().retain(|queue| !Arc::ptr_eq(queue, &self.queue));
    }
}

impl Deltas {
    pub(crate) fn publish(&self, line: &DeltaLine) {
        for queue in self.lock().iter() {
            queue.push(Item::Delta(line.clone()), line.size());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Queue>>> {
        self.queues.lock().expect("no code panics while it holds the list")
    }
}
