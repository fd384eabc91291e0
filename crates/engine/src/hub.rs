//! Fan-out of one session: what was recorded, and text as it streams, to whoever looks on.
//!
//! A subscriber has a queue bounded in bytes. When it overflows, the queue is emptied and the
//! subscriber reads what it missed from the log: nobody is dropped, and nobody makes the daemon hold
//! more than the bound. The hub also keeps the text that streams right now, for those who come late
//! and for the draft that survives a crash.

use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;
use ostler_eventlog::LogLine;
use ostler_types::{
    Clock, Delta, DeltaKind, Message, MessageId, Part, PendingApproval, Role, SessionId, ToolCallId, TurnId,
};

use crate::delta_line::DeltaLine;
use crate::record_line::RecordLine;
use crate::subscriber_queue::{SubscriberQueue, SubscriptionItem};

/// Bytes of a running tool's output that are kept for subscribers who come late.
const TOOL_OUTPUT_BYTES: usize = 32 * 1024;

/// Bytes that an unfinished message may take in its record; what is beyond is lost.
const PARTIAL_BYTES: usize = 2 << 20;

/// One session's fan-out, shared by its actor, its agent and its subscribers.
pub(crate) struct Hub {
    session_id: SessionId,
    clock: Arc<dyn Clock>,
    inner: Mutex<HubState>,
}

#[derive(Debug)]
struct HubState {
    last_seq: u64,
    turn_id: Option<TurnId>,
    streams: Vec<HubStream>,
    queues: Vec<Arc<SubscriberQueue>>,
    approvals: Vec<PendingApproval>,
    /// What came while the end of the turn was being recorded.
    paused_deltas: Option<Vec<Delta>>,
    /// How often the session was lost since its newest record of this process.
    losses: u32,
    closed: bool,
}

/// Text that streams right now.
#[derive(Debug, Clone)]
struct HubStream {
    kind: DeltaKind,
    /// Where `text` begins; above 0 only for tool output, of which the tail is kept.
    start: u64,
    text: String,
    /// How much of it is in the draft on disk.
    saved: u64,
}

/// What a new or lagging subscriber starts from.
#[derive(Debug)]
pub(crate) struct SubscriptionStart {
    /// Everything up to here is in the log.
    pub(crate) last_seq: u64,
    /// The text that streams right now.
    pub(crate) deltas: Vec<DeltaLine>,
    /// No more will come.
    pub(crate) closed: bool,
}

impl Hub {
    pub(crate) fn new(session_id: SessionId, last_seq: u64, clock: Arc<dyn Clock>) -> Hub {
        let inner = HubState {
            last_seq,
            turn_id: None,
            streams: Vec::new(),
            queues: Vec::new(),
            approvals: Vec::new(),
            paused_deltas: None,
            losses: 0,
            closed: false,
        };
        Hub { session_id, clock, inner: Mutex::new(inner) }
    }

    pub(crate) fn session_id(&self) -> SessionId {
        self.session_id
    }

    /// Adds a subscriber, and says what it has to read first. One step, so nothing falls between.
    pub(crate) fn subscribe(&self, queue: &Arc<SubscriberQueue>) -> SubscriptionStart {
        let mut inner = self.lock();
        inner.queues.push(Arc::clone(queue));
        self.subscription_start(&inner)
    }

    /// What a subscriber whose queue overflowed has to read; its queue starts again, empty.
    pub(crate) fn catch_up(&self, queue: &SubscriberQueue) -> SubscriptionStart {
        let inner = self.lock();
        queue.restart();
        self.subscription_start(&inner)
    }

    pub(crate) fn unsubscribe(&self, queue: &Arc<SubscriberQueue>) {
        self.lock().queues.retain(|other| !Arc::ptr_eq(other, queue));
    }

    pub(crate) fn has_subscribers(&self) -> bool {
        !self.lock().queues.is_empty()
    }

    /// Shows records that have just been written.
    pub(crate) fn publish(
        &self,
        lines: &[LogLine],
        approvals: Vec<PendingApproval>,
        finished: &[FinishedStream],
    ) {
        let mut inner = self.lock();
        (inner.approvals, inner.losses) = (approvals, 0);
        for finished in finished {
            inner.streams.retain(|stream| !finished.covers(&stream.kind));
            if matches!(finished, FinishedStream::Turn) {
                // Its agent may not have heard of it yet, and whatever it shows is too late.
                (inner.turn_id, inner.paused_deltas) = (None, None);
            }
        }
        for line in lines {
            inner.last_seq = line.seq;
            let record = RecordLine::published(line.clone());
            for queue in &inner.queues {
                queue.push(SubscriptionItem::Record(record.clone()), line.bytes.len());
            }
        }
    }

    /// Says what was written before the session woke. Subscribers of an actor before this one read from the log what
    /// they have missed.
    pub(crate) fn start_from(&self, last_seq: u64, approvals: Vec<PendingApproval>) {
        let mut inner = self.lock();
        (inner.last_seq, inner.approvals) = (last_seq, approvals);
        (inner.turn_id, inner.paused_deltas) = (None, None);
        inner.streams.clear();
        inner.queues.iter().for_each(|queue| queue.overflow());
    }

    /// Counts that an actor lost the session. Returns how often in a row, without a record in between.
    pub(crate) fn count_loss(&self) -> u32 {
        let mut inner = self.lock();
        inner.losses += 1;
        inner.losses
    }

    /// Says which turn the deltas belong to from now on.
    pub(crate) fn set_turn(&self, turn_id: Option<TurnId>) {
        let mut inner = self.lock();
        (inner.turn_id, inner.paused_deltas) = (turn_id, None);
        inner.streams.clear();
    }

    /// Shows text as it streams. A delta of a turn that is over is dropped. Returns what was shown.
    pub(crate) fn publish_delta(&self, turn_id: TurnId, delta: Delta) -> Option<DeltaLine> {
        let mut inner = self.lock();
        if inner.turn_id != Some(turn_id) {
            return None;
        }
        if let Some(held) = &mut inner.paused_deltas {
            held.push(delta);
            return None;
        }
        Some(self.publish_locked(&mut inner, turn_id, delta))
    }

    /// What the model has written of its current message. Nothing more is shown until the end of the
    /// turn is published, or [`Hub::resume_deltas`]: so all that was shown is kept.
    pub(crate) fn pause_deltas(&self) -> Option<Message> {
        let mut inner = self.lock();
        inner.paused_deltas.get_or_insert_default();
        self.partial_of(&inner)
    }

    /// Shows what was held back, if the turn goes on after all. Returns what was shown.
    pub(crate) fn resume_deltas(&self) -> Vec<DeltaLine> {
        let mut inner = self.lock();
        let (Some(held), Some(turn_id)) = (inner.paused_deltas.take(), inner.turn_id) else {
            return Vec::new();
        };
        held.into_iter().map(|delta| self.publish_locked(&mut inner, turn_id, delta)).collect()
    }

    fn publish_locked(&self, inner: &mut HubState, turn_id: TurnId, delta: Delta) -> DeltaLine {
        inner.append_text(&delta);
        let line = DeltaLine::new(self.session_id, turn_id, self.clock.now(), delta);
        for queue in inner.queues.iter().filter(|queue| queue.takes_deltas()) {
            queue.push(SubscriptionItem::Delta(line.clone()), line.size());
        }
        line
    }

    /// The text that no draft holds yet, if there is any; at least `least` bytes of it.
    pub(crate) fn unsaved(&self, least: usize) -> Option<(TurnId, Vec<Delta>)> {
        let mut inner = self.lock();
        let turn_id = inner.turn_id?;
        let waiting: u64 = inner.streams.iter().map(HubStream::unsaved).sum();
        if waiting == 0 || waiting < least as u64 {
            return None;
        }
        Some((turn_id, inner.streams.iter_mut().filter_map(HubStream::save).collect()))
    }

    /// What the model has written of its current message.
    pub(crate) fn partial(&self) -> Option<Message> {
        self.partial_of(&self.lock())
    }

    fn partial_of(&self, inner: &HubState) -> Option<Message> {
        let streamed = inner.streams.iter().map(|stream| (&stream.kind, stream.text.as_str()));
        partial_message(streamed, self.clock.now())
    }

    pub(crate) fn approvals(&self) -> Vec<PendingApproval> {
        self.lock().approvals.clone()
    }

    /// Tells every subscriber that no more will come.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.queues.iter().for_each(|queue| queue.close());
    }

    fn subscription_start(&self, inner: &HubState) -> SubscriptionStart {
        let now = self.clock.now();
        let line = |stream: &HubStream| {
            let turn_id = inner.turn_id?;
            let delta = Delta { kind: stream.kind.clone(), offset: stream.start, text: stream.text.clone() };
            (!delta.text.is_empty()).then(|| DeltaLine::new(self.session_id, turn_id, now, delta))
        };
        let deltas = inner.streams.iter().filter_map(line).collect();
        SubscriptionStart { last_seq: inner.last_seq, deltas, closed: inner.closed }
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.inner.lock().expect("no code panics while it holds the hub")
    }
}

impl HubState {
    /// Keeps a delta's text for those who come late.
    fn append_text(&mut self, delta: &Delta) {
        let stream = match self.streams.iter_mut().find(|stream| stream.kind == delta.kind) {
            Some(stream) => stream,
            None => {
                let fresh = HubStream {
                    kind: delta.kind.clone(),
                    start: delta.offset,
                    text: String::new(),
                    saved: 0,
                };
                self.streams.push(fresh);
                self.streams.last_mut().expect("it was just pushed")
            }
        };
        stream.text.push_str(&delta.text);
        stream.trim();
    }
}

impl HubStream {
    fn is_text(&self) -> bool {
        match self.kind {
            DeltaKind::Text { .. } | DeltaKind::Reasoning { .. } => true,
            DeltaKind::ToolOutput { .. } => false,
        }
    }

    fn unsaved(&self) -> u64 {
        if self.is_text() { self.text.len() as u64 - self.saved } else { 0 }
    }

    fn save(&mut self) -> Option<Delta> {
        if self.unsaved() == 0 {
            return None;
        }
        let offset = self.saved;
        self.saved = self.text.len() as u64;
        let start = usize::try_from(offset).expect("an offset into a string in memory fits");
        Some(Delta { kind: self.kind.clone(), offset, text: self.text[start..].to_owned() })
    }

    /// Forgets the beginning of a tool's output; it is whole in the call's result.
    fn trim(&mut self) {
        if self.is_text() || self.text.len() <= 2 * TOOL_OUTPUT_BYTES {
            return;
        }
        let mut cut = self.text.len() - TOOL_OUTPUT_BYTES;
        while !self.text.is_char_boundary(cut) {
            cut += 1;
        }
        self.text.drain(..cut);
        self.start += cut as u64;
    }
}

/// Which streams a record makes superfluous.
#[derive(Debug, Clone)]
pub(crate) enum FinishedStream {
    /// The message's text is in the record.
    Message(MessageId),
    /// The call's output is in the record.
    Call(ToolCallId),
    /// The turn is over, and all its text with it.
    Turn,
}

impl FinishedStream {
    fn covers(&self, kind: &DeltaKind) -> bool {
        match (self, kind) {
            (
                FinishedStream::Message(id),
                DeltaKind::Text { message_id, .. } | DeltaKind::Reasoning { message_id, .. },
            ) => id == message_id,
            (FinishedStream::Call(id), DeltaKind::ToolOutput { tool_call_id, .. }) => id == tool_call_id,
            (FinishedStream::Turn, _) => true,
            (FinishedStream::Message(_), DeltaKind::ToolOutput { .. }) => false,
            (FinishedStream::Call(_), DeltaKind::Text { .. } | DeltaKind::Reasoning { .. }) => false,
        }
    }
}

/// An unfinished message from the streams of its parts, cut to what a record can hold.
pub(crate) fn partial_message<'a>(
    streams: impl Iterator<Item = (&'a DeltaKind, &'a str)>,
    now: Timestamp,
) -> Option<Message> {
    let mut parts: Vec<(u32, Part)> = Vec::new();
    let mut id = None;
    let mut room = PARTIAL_BYTES;
    for (kind, text) in streams {
        let text = truncated_for_json(text, &mut room).to_owned();
        match kind {
            DeltaKind::Text { message_id, part } => {
                id = Some(*message_id);
                parts.push((*part, Part::Text { text }));
            }
            DeltaKind::Reasoning { message_id, part } => {
                id = Some(*message_id);
                parts.push((*part, Part::Reasoning { text, opaque: None }));
            }
            DeltaKind::ToolOutput { .. } => {}
        }
    }
    parts.sort_by_key(|(index, _)| *index);
    let parts = parts.into_iter().map(|(_, part)| part).collect();
    Some(Message { id: id?, role: Role::Assistant, parts, created_at: now })
}

/// As much of a text as there is room for once it is written as JSON.
fn truncated_for_json<'a>(text: &'a str, room: &mut usize) -> &'a str {
    for (index, c) in text.char_indices() {
        let size = match c {
            '"' | '\\' => 2,
            '\0'..'\u{20}' => 6,
            c => c.len_utf8(),
        };
        if size > *room {
            return &text[..index];
        }
        *room -= size;
    }
    text
}
