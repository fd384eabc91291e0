//! A session as a client shows it, kept up to date from its records and deltas.
//!
//! The rules are those of [`State`]; a client only has another beginning, since it is shown a [`SessionView`] where the
//! daemon reads the log. The transcript is not kept here: it is as long as the log.

use std::collections::VecDeque;

use crate::{
    AgentState, ApprovalEvent, CallStatus, Child, ChildCall, ContextUse, Delta, Event, LiveText, OpenCall,
    OpenReview, OpenTurn, PendingApproval, Purpose, Queued, Record, Session, SessionView, Spliced, State,
    ToolCall, TurnId, TurnSummary,
};

/// A session as a client shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    state: State,
    live: LiveText,
}

impl From<SessionView> for View {
    fn from(shown: SessionView) -> View {
        View { state: State::from_session_view(shown), live: LiveText::default() }
    }
}

impl View {
    /// The view after the first record, which must be `session_created`.
    pub fn begin(record: &Record) -> Option<View> {
        Some(View { state: State::begin(record)?, live: LiveText::default() })
    }

    /// Takes in a record. Says whether it was new: one that comes again changes nothing.
    pub fn apply(&mut self, record: &Record) -> bool {
        // Streamed text is let go by its own record, however much is known of the rest.
        self.live.apply(&record.event);
        if record.seq <= self.state.last_seq {
            return false;
        }
        self.add_missed_call(record);
        self.state.apply(record);
        true
    }

    /// Makes room for a question of which the beginning was not seen: a client that came in the middle of a turn has
    /// missed the message that proposed the call, one that began with a list the start of the child.
    fn add_missed_call(&mut self, record: &Record) {
        let Event::Approval(ApprovalEvent::Requested { tool_call, child, .. }) = &record.event else {
            return;
        };
        match (child, &mut self.state.turn) {
            (None, Some(turn)) if turn.call(&tool_call.id).is_none() => {
                turn.calls.push(OpenCall::proposed(tool_call.clone()));
            }
            (Some(ChildCall { via, .. }), Some(turn))
                if self.state.children.iter().all(|child| child.session_id != *via) =>
            {
                self.state.children.push(Child {
                    session_id: *via,
                    turn_id: turn.id,
                    tool_call_id: None,
                    subtask: None,
                    description: String::new(),
                    background: false,
                    outcome: None,
                    approvals: Vec::new(),
                });
            }
            (None | Some(_), None | Some(_)) => {}
        }
    }

    /// Passes over a record whose event is not known.
    pub fn skip(&mut self, seq: u64) {
        self.state.last_seq = self.state.last_seq.max(seq);
    }

    /// Takes in streamed text. `None` when it changes nothing.
    pub fn splice<'a>(&mut self, delta: &'a Delta) -> Option<Spliced<'a>> {
        self.live.splice(delta)
    }

    /// Takes over how the daemon shows the session, unless more is known already. Streamed text stays.
    pub fn refresh(&mut self, shown: SessionView) -> bool {
        let is_newer = shown.last_seq >= self.state.last_seq;
        if is_newer {
            self.state = State::from_session_view(shown);
        }
        is_newer
    }

    /// The same as the daemon shows it.
    pub fn session_view(&self) -> SessionView {
        self.state.view()
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.state.session
    }

    /// The newest record.
    pub fn last_seq(&self) -> u64 {
        self.state.last_seq
    }

    /// The turn that runs or waits now.
    pub fn running_turn_id(&self) -> Option<TurnId> {
        self.state.turn.as_ref().map(|turn| turn.id)
    }

    /// Its newest turns, oldest first.
    pub fn turns(&self) -> &VecDeque<TurnSummary> {
        &self.state.turns
    }

    /// The calls that wait for an answer, those of its children included.
    pub fn pending_approvals(&self) -> impl Iterator<Item = &PendingApproval> {
        self.state.pending_approvals()
    }

    /// Messages that wait for their turn, first one first.
    pub fn queue(&self) -> &VecDeque<Queued> {
        &self.state.queue
    }

    /// Sessions that it has started and that are still of interest.
    pub fn children(&self) -> &[Child] {
        &self.state.children
    }

    /// What its agent says of itself, if it is a third-party one.
    pub fn agent_state(&self) -> Option<&AgentState> {
        self.state.agent.as_deref()
    }

    /// Text that streams, as far as it has come.
    pub fn live_text(&self) -> &LiveText {
        &self.live
    }
}

impl State {
    /// As much of a state as a client is shown of it. What only the rules of the daemon look at is not in it: calls
    /// that wait for no answer, keys, earlier answers, and what the running turn has used so far.
    fn from_session_view(shown: SessionView) -> State {
        let SessionView { session, running_turn_id, turns, pending_approvals, queue, .. } = shown;
        let running = turns.iter().rev().find(|turn| Some(turn.id) == running_turn_id);
        let own = pending_approvals.into_iter().filter(|approval| approval.session_id == session.id);
        let (mut reviews, calls): (Vec<_>, Vec<_>) = own.partition(PendingApproval::is_review);
        let turn = running_turn_id.map(|id| OpenTurn {
            calls: calls.into_iter().map(OpenCall::from_approval).collect(),
            review: reviews.pop().map(OpenReview::from_approval),
            ..OpenTurn::new(
                id,
                Purpose::default(),
                running.map(|turn| turn.message_ids.clone()).unwrap_or_default(),
                running.map_or(session.updated_at, |turn| turn.started_at),
            )
        });
        State {
            turn,
            turns: turns.into(),
            queue: queue.into(),
            context: ContextUse { tokens: shown.context_tokens, ..ContextUse::default() },
            children: shown.children,
            children_usage: shown.children_usage,
            agent: shown.agent_state,
            ..State::new(session, shown.last_seq)
        }
    }
}

impl OpenReview {
    /// What may be rejected is looked at by the daemon alone.
    fn from_approval(approval: PendingApproval) -> OpenReview {
        OpenReview { approval: Box::new(approval), paths: Vec::new(), checkpoint_id: None }
    }
}

impl OpenCall {
    fn from_approval(approval: PendingApproval) -> OpenCall {
        let (id, name, input) =
            (approval.tool_call_id.clone(), approval.tool.clone(), approval.input.clone());
        let status = CallStatus::Waiting { approval: Box::new(approval) };
        OpenCall { call: ToolCall { id, name, input }, status, chosen: None }
    }
}
