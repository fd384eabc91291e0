//! A session that is followed: its transcript, and what is known of it beside.

use std::collections::VecDeque;

use ostler_client::{ContextRoom, SendMessage, SessionShown};
use ostler_types::{
    AgentState, Delivery, Event, FileChange, MessageId, PATCH_REVIEW, PendingApproval, Queued, Record, Rule,
    Session, SessionId, SessionStatus, ToolCallId, ToolKind, TurnId, TurnStatus, TurnSummary,
};

use super::Dock;
use crate::composer::Composer;
use crate::transcript::Transcript;
use crate::view::Drawn;

/// A session that is followed.
#[derive(Debug)]
pub struct OpenSession {
    /// Its id.
    pub id: SessionId,
    /// Its description.
    pub session: Session,
    /// What was said, as far as it is held.
    pub transcript: Transcript,
    /// The turn that runs, and since when by the client's clock.
    pub running: Option<(TurnId, u64)>,
    /// Calls that wait for an answer, the oldest first.
    pub approvals: Vec<PendingApproval>,
    /// The files of patch reviews that wait.
    pub reviews: Vec<(ToolCallId, Vec<FileChange>)>,
    /// Messages that wait for their turn.
    pub queue: Vec<Queued>,
    /// Its newest turns.
    pub turns: Vec<TurnSummary>,
    /// What its agent says of itself.
    pub agent: Option<Box<AgentState>>,
    /// How full the model's window is.
    pub context: ContextRoom,
    /// Whether what lies in its workspace is trusted.
    pub trusted: bool,
    /// Where its readable files lie.
    pub log_dir: String,
    /// Messages that are on their way.
    pub outbox: VecDeque<Outgoing>,
    /// The message that waits and is being changed.
    pub editing: Option<Editing>,
    /// The question that is shown.
    pub dock: Dock,
    /// What of the transcript is on the screen.
    pub place: Place,
    /// Lines to scroll up by, once it is known how high things are; down when negative.
    pub scroll: isize,
    /// Whether the screen shows the beginning of what is held.
    pub wants_older: bool,
    /// Whether an older page is on its way.
    pub loading: bool,
    /// Whether its stream is open.
    pub following: bool,
    /// When to open it again, if it is not.
    pub follow_at: u64,
    /// When it was last looked at, for letting go of the others.
    pub used: u64,
    /// What was laid out of the transcript.
    pub(crate) drawn: Drawn,
    /// Up to which record what stands beside the transcript was told as a whole.
    known_up_to: u64,
}

/// What of a transcript is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Its end, whatever is added.
    Tail,
    /// From this line of this entry on.
    At {
        /// The entry.
        key: u64,
        /// The line of it.
        line: usize,
    },
}

/// A message that waits and is being changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editing {
    /// The message.
    pub message: MessageId,
    /// What was being written before.
    pub parked: Composer,
}

/// A message on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// Its key, under which it is taken once however often it is sent.
    pub key: String,
    /// The message.
    pub message: SendMessage,
    /// Whether it waits for a connection.
    pub held: bool,
}

impl OpenSession {
    /// A session as the daemon shows it, with the last `page` records still to be read.
    pub fn new(shown: SessionShown, page: u64, now: u64) -> OpenSession {
        let after = shown.view.last_seq.saturating_sub(page);
        let mut session = OpenSession {
            id: shown.view.session.id,
            session: shown.view.session.clone(),
            transcript: Transcript::after(after),
            running: None,
            approvals: Vec::new(),
            reviews: Vec::new(),
            queue: Vec::new(),
            turns: Vec::new(),
            agent: None,
            context: ContextRoom::default(),
            trusted: false,
            log_dir: String::new(),
            outbox: VecDeque::new(),
            editing: None,
            dock: Dock::default(),
            place: Place::Tail,
            scroll: 0,
            wants_older: false,
            loading: false,
            following: false,
            follow_at: 0,
            used: now,
            drawn: Drawn::default(),
            known_up_to: 0,
        };
        session.refresh(shown, now);
        session
    }

    /// Lets go of the transcript, and begins it again after a record, at its end.
    pub fn begin_after(&mut self, seq: u64) {
        self.transcript = Transcript::after(seq);
        // Keys begin anew, so nothing that was laid out for the old ones may stay.
        self.drawn = Drawn::default();
        (self.place, self.scroll, self.loading) = (Place::Tail, 0, false);
    }

    /// Takes in how the session stands, unless more is known already.
    pub fn refresh(&mut self, shown: SessionShown, now: u64) {
        let SessionShown { view, context, log_dir, trusted } = shown;
        (self.context, self.trusted, self.log_dir) = (context, trusted, log_dir);
        self.turns = view.turns;
        if view.last_seq < self.transcript.cursor() || view.last_seq < self.known_up_to {
            return;
        }
        self.known_up_to = view.last_seq;
        self.session = view.session;
        self.approvals = view.pending_approvals;
        self.learn_reviews();
        self.queue = view.queue;
        self.agent = view.agent_state;
        self.running = match (view.running_turn_id, self.running) {
            (Some(turn), Some((known, since))) if turn == known => Some((turn, since)),
            (Some(turn), _) => Some((turn, now)),
            (None, _) => None,
        };
        self.dock.settle(&self.approvals, now);
    }

    /// Takes in a record: into the transcript, and into what stands beside it. Says whether it was new.
    pub fn apply(&mut self, record: &Record, now: u64) -> bool {
        if !self.transcript.apply(record) {
            return false;
        }
        if let Event::MessageAdded { idempotency_key: Some(key), .. }
        | Event::MessageQueued { idempotency_key: Some(key), .. } = &record.event
        {
            self.outbox.retain(|outgoing| outgoing.key != *key);
        }
        if let Event::PatchReviewRequested { tool_call_id, files, waits: true, .. } = &record.event {
            self.reviews.retain(|(id, _)| id != tool_call_id);
            self.reviews.push((tool_call_id.clone(), files.clone()));
        }
        if record.seq > self.known_up_to {
            self.beside(record, now);
            self.dock.settle(&self.approvals, now);
        }
        true
    }

    fn beside(&mut self, record: &Record, now: u64) {
        if record.event.is_activity() {
            self.session.updated_at = record.ts;
        }
        match &record.event {
            Event::SessionCreated { session } | Event::SessionUpdated { session } => {
                let Session { usage, status, updated_at, .. } = self.session;
                self.session = Session { usage, status, updated_at, ..session.clone() };
            }
            Event::SessionCompleted { .. } => self.session.status = SessionStatus::Completed,
            Event::SessionFailed { .. } => self.session.status = SessionStatus::Failed,
            Event::SessionCanceled { .. } => self.session.status = SessionStatus::Canceled,
            Event::MessageAdded { message, .. } => {
                self.queue.retain(|queued| queued.message.id != message.id);
            }
            Event::MessageQueued { queued, before, .. } => self.enqueue(queued, *before),
            Event::MessageWithdrawn { message_id, .. } => {
                self.queue.retain(|queued| queued.message.id != *message_id);
            }
            Event::TurnStarted { .. } => {
                self.running = record.turn_id.map(|turn| (turn, now));
                self.session.last_turn_id = record.turn_id;
                self.session.status = SessionStatus::Active;
            }
            Event::TurnCompleted { .. } | Event::TurnFailed { .. } | Event::TurnCanceled { .. } => {
                self.running = None;
                self.approvals.retain(|approval| Some(approval.turn_id) != record.turn_id);
            }
            Event::UsageRecorded { usage, .. } => self.session.usage += *usage,
            Event::ApprovalRequested { .. } => self.asked(record),
            Event::PatchReviewRequested { tool_call_id, files, waits: true, note, .. } => {
                let summary = note.clone().unwrap_or_else(|| format!("{} files changed", files.len()));
                self.review_asked(record, tool_call_id, summary);
            }
            Event::ApprovalGranted { tool_call_id, .. } | Event::ApprovalDenied { tool_call_id, .. } => {
                self.approvals.retain(|approval| approval.tool_call_id != *tool_call_id);
                self.reviews.retain(|(id, _)| id != tool_call_id);
                if self.approvals.is_empty() {
                    self.session.status = SessionStatus::Active;
                }
            }
            Event::AgentUpdated { agent } => self.agent = Some(Box::new(agent.clone())),
            Event::ModelResolved { resolution } => self.session.model.clone_from(&resolution.model),
            Event::TurnRetried { .. }
            | Event::ModelWaiting { .. }
            | Event::ReasoningCompleted { .. }
            | Event::ModelOutputCompleted { .. }
            | Event::ToolBatchStarted { .. }
            | Event::ToolBatchHalted { .. }
            | Event::ToolBatchCompleted {}
            | Event::ToolCallStarted { .. }
            | Event::ToolCallCompleted { .. }
            | Event::CheckpointCreated { .. }
            | Event::CheckpointFailed { .. }
            | Event::PatchReviewRequested { waits: false, .. }
            | Event::VerificationStarted { .. }
            | Event::VerificationCompleted { .. }
            | Event::ContextCompacted { .. }
            | Event::SubagentStarted { .. }
            | Event::SubagentCompleted { .. } => {}
        }
    }

    /// Puts a message where it waits: before another, or last; first when it interrupts.
    fn enqueue(&mut self, queued: &Queued, before: Option<MessageId>) {
        self.queue.retain(|known| known.message.id != queued.message.id);
        let place = before.and_then(|id| self.queue.iter().position(|known| known.message.id == id));
        let last = match queued.delivery {
            Delivery::Queue | Delivery::Steer => self.queue.len(),
            Delivery::Interrupt => 0,
        };
        self.queue.insert(place.unwrap_or(last), queued.clone());
    }

    fn asked(&mut self, record: &Record) {
        let Event::ApprovalRequested { tool_call, kind, summary, rule, options, child } = &record.event
        else {
            return;
        };
        let (session_id, turn_id) = match child {
            Some(child) => (child.session_id, Some(child.turn_id)),
            None => (record.session_id, record.turn_id),
        };
        let Some(turn_id) = turn_id else { return };
        self.session.status = SessionStatus::WaitingApproval;
        self.approvals.retain(|approval| approval.tool_call_id != tool_call.id);
        self.approvals.push(PendingApproval {
            session_id,
            turn_id,
            tool_call_id: tool_call.id.clone(),
            tool: tool_call.name.clone(),
            input: tool_call.input.clone(),
            kind: *kind,
            summary: summary.clone(),
            rule: rule.clone(),
            options: options.clone(),
            requested_at: record.ts,
        });
    }

    /// The whole change of a turn waits for an answer, like a call.
    fn review_asked(&mut self, record: &Record, id: &ToolCallId, summary: String) {
        let Some(turn_id) = record.turn_id else { return };
        self.session.status = SessionStatus::WaitingApproval;
        self.approvals.retain(|approval| approval.tool_call_id != *id);
        let (tool, subject) = (PATCH_REVIEW.to_owned(), id.0.clone());
        self.approvals.push(PendingApproval {
            session_id: record.session_id,
            turn_id,
            tool_call_id: id.clone(),
            tool: tool.clone(),
            input: serde_json::Value::Null,
            kind: ToolKind::Write,
            summary,
            rule: Rule { tool, subject, whole: true, workspace: None, commands: Vec::new() },
            options: Vec::new(),
            requested_at: record.ts,
        });
    }

    /// What a review that waits is about, where its own record is further back than what is held.
    fn learn_reviews(&mut self) {
        for approval in self.approvals.iter().filter(|approval| approval.tool == PATCH_REVIEW) {
            let known = self.reviews.iter().any(|(id, _)| *id == approval.tool_call_id);
            let files = approval.input.get("files").filter(|_| !known).cloned();
            if let Some(Ok(files)) = files.map(serde_json::from_value) {
                self.reviews.push((approval.tool_call_id.clone(), files));
            }
        }
    }

    /// Whether nothing of what its reader does is under way.
    pub fn is_idle(&self) -> bool {
        self.outbox.is_empty() && self.editing.is_none()
    }

    /// The last turn that changed the workspace, and so can be undone.
    pub fn undoable(&self) -> Option<TurnId> {
        self.turns.iter().rev().find(|turn| turn.checkpoint_before.is_some()).map(|turn| turn.id)
    }

    /// The last turn, if it failed or was canceled.
    pub fn repeatable(&self) -> Option<TurnId> {
        let last = self.turns.last()?;
        matches!(last.status, TurnStatus::Failed | TurnStatus::Canceled).then_some(last.id)
    }

    /// How much of the model's window is taken, in percent.
    pub fn percent(&self) -> Option<u64> {
        let agent = self.agent.as_deref();
        let tokens = self.context.tokens.or_else(|| agent?.context_tokens)?;
        let window = self.context.window.or_else(|| agent?.context_window).filter(|window| *window > 0)?;
        Some(tokens.saturating_mul(100) / window)
    }
}
