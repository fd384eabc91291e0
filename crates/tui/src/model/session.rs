//! A session that is followed: its transcript, and what is known of it beside.

use std::collections::VecDeque;

use ostler_api_types::{ContextUsage, SendMessage, SessionWithContext};
use ostler_types::{
    Delta, Event, FileChange, MessageEvent, MessageId, PendingApproval, Record, SessionId, ToolCallId,
    TurnId, TurnStatus, View,
};

use super::ApprovalPanel;
use crate::composer::Composer;
use crate::transcript::Transcript;
use crate::view::LayoutCache;

/// A session that is followed.
#[derive(Debug)]
pub struct FollowedSession {
    /// Its id.
    pub id: SessionId,
    /// How it stands.
    pub view: View,
    /// What was said, as far as it is held.
    pub transcript: Transcript,
    /// The turn that runs.
    pub running: Option<TurnId>,
    /// The files of patch reviews that wait, read out of their approvals.
    pub reviews: Vec<(ToolCallId, Vec<FileChange>)>,
    /// How full the model's window is.
    pub context: ContextUsage,
    /// Whether what lies in its workspace is trusted.
    pub trusted: bool,
    /// Where its readable files lie.
    pub log_dir: String,
    /// Messages that are on their way.
    pub outbox: VecDeque<OutboxMessage>,
    /// The message that waits and is being changed.
    pub queue_edit: Option<QueuedMessageEdit>,
    /// The question that is shown.
    pub approval_panel: ApprovalPanel,
    /// What of the transcript is on the screen.
    pub scroll_position: ScrollPosition,
    /// Lines to scroll up by, once it is known how high things are; down when negative.
    pub scroll: isize,
    /// Whether the screen shows the beginning of what is held.
    pub wants_older: bool,
    /// Whether an older page is on its way.
    pub loading: bool,
    /// Whether its stream is open.
    pub following: bool,
    /// When to open it again, if it is not.
    pub reopen_at: u64,
    /// When it was last looked at, for letting go of the others.
    pub last_used: u64,
    /// What was laid out of the transcript.
    pub(crate) layout: LayoutCache,
}

/// What of a transcript is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrollPosition {
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
pub struct QueuedMessageEdit {
    /// The message.
    pub message: MessageId,
    /// What was being written before.
    pub parked: Composer,
}

/// A message on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxMessage {
    /// Its key, under which it is taken once however often it is sent.
    pub key: String,
    /// The message.
    pub message: SendMessage,
    /// Whether it waits for a connection.
    pub held: bool,
}

impl FollowedSession {
    /// A session as the daemon shows it, with the last `page` records still to be read.
    pub fn new(shown: SessionWithContext, page: u64, now: u64) -> FollowedSession {
        let SessionWithContext { view, context, log_dir, trusted, messages: _ } = shown;
        let mut session = FollowedSession {
            id: view.session.id,
            transcript: Transcript::after(view.last_seq.saturating_sub(page)),
            view: View::from(view),
            running: None,
            reviews: Vec::new(),
            context,
            trusted,
            log_dir,
            outbox: VecDeque::new(),
            queue_edit: None,
            approval_panel: ApprovalPanel::default(),
            scroll_position: ScrollPosition::Tail,
            scroll: 0,
            wants_older: false,
            loading: false,
            following: false,
            reopen_at: 0,
            last_used: now,
            layout: LayoutCache::default(),
        };
        session.sync_with_view(now);
        session
    }

    /// Lets go of the transcript, and begins it again after a record, at its end.
    pub fn begin_after(&mut self, seq: u64) {
        self.transcript = Transcript::after(seq);
        // Keys begin anew, so nothing that was laid out for the old ones may stay.
        self.layout = LayoutCache::default();
        (self.scroll_position, self.scroll, self.loading) = (ScrollPosition::Tail, 0, false);
    }

    /// Takes in how the session stands, unless more is known already.
    pub fn refresh(&mut self, shown: SessionWithContext, now: u64) {
        let SessionWithContext { view, context, log_dir, trusted, messages: _ } = shown;
        (self.context, self.trusted, self.log_dir) = (context, trusted, log_dir);
        if self.view.refresh(view) {
            self.sync_with_view(now);
        }
    }

    /// Takes in a record: into the transcript, and into how the session stands. Says whether it was new.
    pub fn apply(&mut self, record: &Record, now: u64) -> bool {
        if !self.transcript.apply(record) {
            return false;
        }
        if let Event::Message(MessageEvent::Added { idempotency_key: Some(key), .. })
        | Event::Message(MessageEvent::Queued { idempotency_key: Some(key), .. }) = &record.event
        {
            self.outbox.retain(|outgoing| outgoing.key != *key);
        }
        if self.view.apply(record) {
            self.sync_with_view(now);
        }
        true
    }

    /// Takes in text as it streams.
    pub fn splice(&mut self, delta: &Delta) {
        let spliced = self.view.splice(delta);
        self.transcript.stream(self.view.running_turn_id(), &delta.kind, self.view.live_text(), spliced);
    }

    /// Passes over a record that is not understood.
    pub fn skip(&mut self, seq: u64) {
        self.transcript.skip(seq);
        self.view.skip(seq);
    }

    /// Calls that wait for an answer, the oldest first.
    pub fn approvals(&self) -> impl Iterator<Item = &PendingApproval> {
        self.approval_panel.pending(&self.view)
    }

    /// Forgets a question that the daemon says is over, before its record comes.
    pub fn forget_question(&mut self, call: &str, now: u64) {
        self.approval_panel.ended_calls.extend(
            self.view
                .pending_approvals()
                .map(|approval| &approval.tool_call_id)
                .find(|id| id.0 == call)
                .cloned(),
        );
        self.sync_with_view(now);
    }

    /// Brings what is kept for the screen in line with the view.
    fn sync_with_view(&mut self, now: u64) {
        self.running = self.view.running_turn_id();
        self.approval_panel.show_oldest_pending(&self.view, now);
        let waits =
            |id: &ToolCallId| self.view.pending_approvals().any(|approval| approval.tool_call_id == *id);
        self.reviews.retain(|(id, _)| waits(id));
        for approval in self.view.pending_approvals().filter(|approval| approval.is_review()) {
            let known = self.reviews.iter().any(|(id, _)| *id == approval.tool_call_id);
            let files = approval.input.get("files").filter(|_| !known).cloned();
            if let Some(Ok(files)) = files.map(serde_json::from_value) {
                self.reviews.push((approval.tool_call_id.clone(), files));
            }
        }
    }

    /// How many entries have these words, and which of them, counted from the oldest, was found last.
    pub fn find_matches(&self, words: &str, found: Option<u64>) -> (usize, Option<usize>) {
        let words = words.to_lowercase();
        let entries = self.transcript.entries().iter();
        let matches = entries.filter(|entry| entry.text().to_lowercase().contains(&words));
        matches.fold((0, None), |(count, at), entry| {
            (count + 1, if Some(entry.key) == found { Some(count + 1) } else { at })
        })
    }

    /// Whether nothing of what its reader does is under way.
    pub fn is_idle(&self) -> bool {
        self.outbox.is_empty() && self.queue_edit.is_none()
    }

    /// The last turn that changed the workspace, and so can be undone.
    pub fn undoable_turn(&self) -> Option<TurnId> {
        self.view.turns().iter().rev().find(|turn| turn.checkpoint_before.is_some()).map(|turn| turn.id)
    }

    /// The last turn, if it failed or was canceled.
    pub fn retryable_turn(&self) -> Option<TurnId> {
        let last = self.view.turns().back()?;
        matches!(last.status, TurnStatus::Failed | TurnStatus::Canceled).then_some(last.id)
    }

    /// How much of the model's window is taken, in percent.
    pub fn context_percent(&self) -> Option<u64> {
        let agent = self.view.agent_state();
        let tokens = self.context.tokens.or_else(|| agent?.context_tokens)?;
        let window = self.context.window.or_else(|| agent?.context_window).filter(|window| *window > 0)?;
        Some(tokens.saturating_mul(100) / window)
    }
}
