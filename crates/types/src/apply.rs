//! How each event changes the state. Total: an event that was recorded can always be applied.

mod children;
mod open_turn;

use std::collections::VecDeque;

use jiff::Timestamp;

use crate::{
    AgentEvent, AnsweredApproval, ApprovalEvent, ApprovalOption, BatchEvent, CallEvent, CallStatus, Child,
    ChildEvent, Delivery, Event, Message, MessageEvent, Moment, OpenBatch, OpenCall, OpenTurn,
    PendingApproval, Purpose, Queued, Record, ReviewAnswer, Reviewed, Rule, Scope, Session, SessionEvent,
    SessionId, SessionStatus, State, StateLimits, StepEvent, ToolCall, ToolCallId, ToolKind, TurnEvent,
    TurnId, TurnPatch, TurnStatus, TurnSummary, WorkspaceEvent,
};

impl State {
    /// Folds a whole log. `None` when it does not begin with `session_created`.
    pub fn fold<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<State> {
        let mut records = records.into_iter();
        let mut state = State::begin(records.next()?)?;
        records.for_each(|record| state.apply(record));
        Some(state)
    }

    /// The state after the first record, which must be `session_created`.
    pub fn begin(record: &Record) -> Option<State> {
        let Event::Session(SessionEvent::Created { session }) = &record.event else { return None };
        Some(State::new(session.clone(), record.seq))
    }

    /// Folds one more record.
    pub fn apply(&mut self, record: &Record) {
        self.last_seq = record.seq;
        if record.event.is_activity() {
            self.session.updated_at = record.ts;
        }
        match &record.event {
            Event::Session(SessionEvent::Created { session })
            | Event::Session(SessionEvent::Updated { session }) => self.replace_session(session),
            Event::Session(SessionEvent::Completed { .. }) => self.session.status = SessionStatus::Completed,
            Event::Session(SessionEvent::Failed { .. }) => self.session.status = SessionStatus::Failed,
            Event::Session(SessionEvent::Canceled { .. }) => self.session.status = SessionStatus::Canceled,
            Event::Message(MessageEvent::Added { message, idempotency_key }) => {
                self.add_message(message, record.turn_id, idempotency_key.as_deref());
            }
            Event::Message(MessageEvent::Queued { queued, idempotency_key, before }) => {
                self.queue_message(queued, idempotency_key.as_deref(), *before);
            }
            Event::Message(MessageEvent::Withdrawn { message_id, .. }) => {
                self.queue.retain(|q| q.message.id != *message_id)
            }
            Event::Turn(TurnEvent::Started { message_ids, purpose, .. }) => {
                self.start_turn(record, message_ids, purpose)
            }
            Event::Turn(TurnEvent::Completed { verified, .. }) => {
                self.end_turn(TurnStatus::Completed, record.ts, *verified, None);
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => {
                self.end_turn(TurnStatus::Failed, record.ts, None, Some(shorten_error(&error.message)));
            }
            Event::Turn(TurnEvent::Canceled { .. }) => {
                self.end_turn(TurnStatus::Canceled, record.ts, None, None)
            }
            Event::Workspace(WorkspaceEvent::CheckpointCreated { checkpoint_id, moment, .. }) => {
                self.apply_checkpoint(record.turn_id, *moment, checkpoint_id);
            }
            Event::Workspace(WorkspaceEvent::CheckpointFailed { moment, reason }) => {
                self.apply_checkpoint_failure(record.turn_id, *moment, &shorten_error(reason));
            }
            Event::Step(StepEvent::UsageRecorded { message_id: None, usage, .. }) => {
                self.add_usage(record.turn_id, *usage)
            }
            Event::Agent(AgentEvent::ContextCompacted { compaction }) => self.compact(compaction),
            Event::Agent(AgentEvent::Updated { agent }) => self.apply_agent_state(agent),
            Event::Child(ChildEvent::Started {
                session_id,
                tool_call_id,
                subtask,
                description,
                background,
            }) => {
                self.children.extend(record.turn_id.map(|turn_id| Child {
                    session_id: *session_id,
                    turn_id,
                    tool_call_id: tool_call_id.clone(),
                    subtask: subtask.clone(),
                    description: description.clone(),
                    background: *background,
                    outcome: None,
                    approvals: Vec::new(),
                }));
            }
            Event::Child(ChildEvent::Completed { session_id, outcome }) => {
                self.end_child(*session_id, outcome)
            }
            Event::Message(MessageEvent::ModelOutputCompleted { message, usage, .. }) => {
                self.apply_model_message(message, *usage)
            }
            Event::Batch(BatchEvent::Started { parallel, .. }) => {
                self.in_turn(|turn| turn.batch = Some(OpenBatch { parallel: *parallel, halted: false }));
            }
            Event::Batch(BatchEvent::Halted { .. }) => {
                self.in_turn(|turn| turn.batch.iter_mut().for_each(|batch| batch.halted = true));
            }
            Event::Batch(BatchEvent::Completed {}) => self.in_turn(OpenTurn::end_batch),
            Event::Call(CallEvent::Started { tool_call, kind }) => self.in_turn(|turn| {
                turn.changed |= *kind != ToolKind::Read;
                turn.set_status(&tool_call.id, CallStatus::Started);
            }),
            Event::Call(CallEvent::Completed { tool_call, tool_result, .. }) => {
                self.in_turn(|turn| turn.set_status(&tool_call.id, CallStatus::Done { ok: tool_result.ok }));
            }
            Event::Approval(ApprovalEvent::Requested { tool_call, kind, summary, rule, options, child }) => {
                let asked = ApprovalQuestion { tool_call, kind: *kind, summary, rule, options };
                match child {
                    Some(child) => self.add_child_approval(child, &asked, record.ts),
                    None => self.in_turn(|turn| turn.add_pending_approval(record, &asked)),
                }
            }
            Event::Approval(ApprovalEvent::Granted { tool_call_id, child: Some(child), .. })
            | Event::Approval(ApprovalEvent::Denied { tool_call_id, child: Some(child), .. }) => {
                self.remove_child_approval(child, tool_call_id);
            }
            Event::Approval(ApprovalEvent::Granted {
                tool_call_id,
                by,
                reason,
                review,
                scope,
                option,
                ..
            }) => {
                let answer = RecordedAnswer { tool_call_id, granted: true, by };
                if !self.end_review(&answer, reason.as_ref(), review.as_ref()) {
                    self.grant(&answer, *scope, option.as_ref());
                }
            }
            Event::Approval(ApprovalEvent::Denied { tool_call_id, by, reason, review, option, .. }) => {
                let answer = RecordedAnswer { tool_call_id, granted: false, by };
                if !self.end_review(&answer, reason.as_ref(), review.as_ref()) {
                    self.deny(&answer, reason.clone(), option.as_ref());
                }
            }
            Event::Workspace(WorkspaceEvent::PatchReviewRequested {
                tool_call_id,
                files,
                waits,
                more,
                checkpoint_id,
                note,
            }) => {
                let (files, checkpoint_id, note) = (files.clone(), checkpoint_id.clone(), note.clone());
                let patch = TurnPatch { files, more: *more, checkpoint_id, note };
                self.in_turn(|turn| turn.show_patch(record, tool_call_id, &patch, *waits));
            }
            Event::Workspace(WorkspaceEvent::VerificationStarted { .. }) => {
                self.in_turn(|turn| turn.rounds += 1)
            }
            // A check that passed leaves nothing to check until the workspace changes again.
            Event::Workspace(WorkspaceEvent::VerificationCompleted { ok, .. }) => {
                self.in_turn(|turn| turn.changed &= !ok)
            }
            // What a message took stands with the message too, as it did before there was this event.
            Event::Step(StepEvent::UsageRecorded { message_id: Some(_), .. })
            | Event::Turn(TurnEvent::Retried { .. })
            | Event::Step(
                StepEvent::ReasoningCompleted { .. }
                | StepEvent::ModelResolved { .. }
                | StepEvent::ModelWaiting { .. },
            ) => {}
        }
        self.update_status();
    }

    /// Changes the running turn. Without one nothing changes: a repair may follow a crash.
    fn in_turn(&mut self, change: impl FnOnce(&mut OpenTurn)) {
        if let Some(turn) = &mut self.turn {
            change(turn);
        }
    }

    fn apply_model_message(&mut self, message: &Message, usage: crate::Usage) {
        let Some(turn) = &mut self.turn else { return };
        turn.steps += 1;
        turn.said = Some(message.id);
        let tokens = usage.input_tokens + usage.output_tokens;
        self.context.tokens = if tokens > 0 { Some(tokens) } else { self.context.tokens };
        turn.usage += usage;
        self.session.usage += usage;
        turn.calls = message.tool_calls().cloned().map(OpenCall::proposed).collect();
        turn.used.extend(message.tool_calls().map(|call| call.id.clone()));
        drop_oldest(&mut turn.used, StateLimits::TURN_CALLS);
        turn.batch = None;
    }

    /// The workspace was captured. That may come when the turn is over: one that was stopped is captured when
    /// nothing of it runs any more.
    fn apply_checkpoint(&mut self, turn_id: Option<TurnId>, moment: Moment, checkpoint_id: &str) {
        let (open, summary) = self.turn_with_summary(turn_id);
        match moment {
            Moment::Before => {
                open.into_iter().for_each(|turn| turn.checkpoint = Some(checkpoint_id.to_owned()));
                summary.into_iter().for_each(|turn| turn.checkpoint_before = Some(checkpoint_id.to_owned()));
            }
            Moment::After => {
                summary.into_iter().for_each(|turn| turn.checkpoint_after = Some(checkpoint_id.to_owned()));
            }
        }
    }

    /// The workspace could not be captured.
    fn apply_checkpoint_failure(&mut self, turn_id: Option<TurnId>, moment: Moment, reason: &str) {
        let (open, summary) = self.turn_with_summary(turn_id);
        if moment == Moment::Before {
            open.into_iter().for_each(|turn| turn.checkpoint_error = Some(reason.to_owned()));
        }
        summary.into_iter().for_each(|turn| turn.checkpoint_error = Some(reason.to_owned()));
    }

    /// A turn while it runs, and what is kept of it.
    fn turn_with_summary(
        &mut self,
        turn_id: Option<TurnId>,
    ) -> (Option<&mut OpenTurn>, Option<&mut TurnSummary>) {
        let open = self.turn.as_mut().filter(|turn| Some(turn.id) == turn_id);
        (open, self.turns.iter_mut().rev().find(|summary| Some(summary.id) == turn_id))
    }

    /// What was used when no message came of it, perhaps of a turn that is over by now.
    fn add_usage(&mut self, turn_id: Option<TurnId>, usage: crate::Usage) {
        self.session.usage += usage;
        if let Some(turn) = self.turn.as_mut().filter(|turn| Some(turn.id) == turn_id) {
            turn.usage += usage;
        } else if let Some(turn) = self.turns.iter_mut().rev().find(|turn| Some(turn.id) == turn_id) {
            turn.usage += usage;
        }
    }

    /// Takes in what is to become of the change of the turn, if this answers its review. Says whether it does.
    fn end_review(
        &mut self,
        answer: &RecordedAnswer<'_>,
        reason: Option<&String>,
        review: Option<&ReviewAnswer>,
    ) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        let Some(open) = turn.take_review(answer.tool_call_id) else { return false };
        turn.reviewed = Some(Reviewed {
            accepted: answer.granted,
            reason: reason.cloned(),
            answer: review.cloned().unwrap_or_default(),
            checkpoint_id: open.checkpoint_id,
        });
        let turn_id = turn.id;
        self.remember_answer(answer.in_turn(turn_id));
        true
    }

    fn grant(&mut self, answer: &RecordedAnswer<'_>, scope: Scope, option: Option<&String>) {
        let Some(turn) = &mut self.turn else { return };
        let rule = turn.call(answer.tool_call_id).and_then(OpenCall::offered_rule);
        turn.set_answer(answer.tool_call_id, CallStatus::Granted, option);
        let turn_id = turn.id;
        self.remember_answer(answer.in_turn(turn_id));
        if let (Some(rule), Scope::Session | Scope::Always) = (rule, scope) {
            self.remember_rule(rule);
        }
    }

    fn deny(&mut self, answer: &RecordedAnswer<'_>, reason: Option<String>, option: Option<&String>) {
        let Some(turn) = &mut self.turn else { return };
        turn.set_answer(answer.tool_call_id, CallStatus::Denied { reason }, option);
        let turn_id = turn.id;
        self.remember_answer(answer.in_turn(turn_id));
    }

    /// Takes over what can be changed from outside; what the log itself says stays.
    fn replace_session(&mut self, session: &Session) {
        let (updated_at, status) = (self.session.updated_at, self.session.status);
        let (last_turn_id, usage) = (self.session.last_turn_id, self.session.usage);
        self.session = Session { updated_at, status, last_turn_id, usage, ..session.clone() };
    }

    fn add_message(&mut self, message: &Message, turn_id: Option<TurnId>, key: Option<&str>) {
        self.remember_key(key, message.id, turn_id);
        self.queue.retain(|queued| queued.message.id != message.id);
        // A background child whose end the model has been told of is of no interest any more.
        self.children.retain(|child| {
            child.outcome.is_none() || crate::decide::end_notice_id(child.session_id) != message.id
        });
        let steers = turn_id.is_some() && self.turn.as_ref().map(|turn| turn.id) == turn_id;
        // Whatever is said in the turn comes after the agent has heard its review.
        if let Some(turn) = self.turn.as_mut().filter(|_| steers) {
            turn.reviewed = None;
        }
        if !steers {
            self.unanswered.push(message.id);
            self.session.status = SessionStatus::Active;
        }
        if !steers && self.session.title.is_none() && message.role == crate::Role::User {
            self.session.title = title_from_text(&message.text());
        }
    }

    /// Has a message wait, in the place of itself where it waits already.
    fn queue_message(&mut self, queued: &Queued, key: Option<&str>, before: Option<crate::MessageId>) {
        let steered = self.turn.as_ref().filter(|_| queued.delivery == Delivery::Steer);
        let answered_by = steered.map_or(queued.turn_id, |turn| turn.id);
        self.remember_key(key, queued.message.id, Some(answered_by));
        self.queue.retain(|waiting| waiting.message.id != queued.message.id);
        let place = before.and_then(|id| self.queue.iter().position(|waiting| waiting.message.id == id));
        let last = match queued.delivery {
            Delivery::Queue | Delivery::Steer => self.queue.len(),
            Delivery::Interrupt => 0,
        };
        self.queue.insert(place.unwrap_or(last), queued.clone());
    }

    fn start_turn(&mut self, record: &Record, message_ids: &[crate::MessageId], purpose: &Purpose) {
        let Some(id) = record.turn_id else { return };
        let (message_ids, purpose, at) = (message_ids.to_vec(), purpose.clone(), record.ts);
        if purpose.is_answer() {
            self.unanswered.clear();
        }
        self.session.last_turn_id = Some(id);
        self.session.status = SessionStatus::Active;
        self.turns.push_back(TurnSummary {
            id,
            status: TurnStatus::Running,
            message_ids: message_ids.clone(),
            started_at: at,
            ended_at: None,
            verified: None,
            error: None,
            usage: crate::Usage::default(),
            checkpoint_before: None,
            checkpoint_after: None,
            checkpoint_error: None,
        });
        drop_oldest(&mut self.turns, StateLimits::TURNS);
        self.turn = Some(OpenTurn::new(id, purpose, message_ids, at));
    }

    fn end_turn(&mut self, status: TurnStatus, at: Timestamp, verified: Option<bool>, error: Option<String>) {
        let Some(turn) = self.turn.take() else { return };
        self.children.retain(|child| child.is_needed(None));
        if let Some(summary) = self.turns.iter_mut().rev().find(|summary| summary.id == turn.id) {
            summary.status = status;
            summary.ended_at = Some(at);
            summary.verified = verified;
            summary.error = error;
            summary.usage = turn.usage;
        }
    }

    /// While a turn is open the session is active, or waits for an answer.
    fn update_status(&mut self) {
        if self.turn.is_some() {
            let waits = self.pending_approvals().next().is_some();
            self.session.status = if waits { SessionStatus::WaitingApproval } else { SessionStatus::Active };
        } else if self.session.status == SessionStatus::WaitingApproval {
            self.session.status = SessionStatus::Active;
        }
    }

    fn remember_key(&mut self, key: Option<&str>, message_id: crate::MessageId, turn_id: Option<TurnId>) {
        if let Some(key) = key {
            self.keys.push_back((key.to_owned(), message_id, turn_id));
            drop_oldest(&mut self.keys, StateLimits::KEYS);
        }
    }

    fn remember_answer(&mut self, answered: AnsweredApproval) {
        self.answers.push_back(answered);
        drop_oldest(&mut self.answers, StateLimits::ANSWERS);
    }

    fn remember_rule(&mut self, rule: Rule) {
        let rules = &mut self.session.policy.approval.rules;
        if !rules.contains(&rule) && rules.len() < StateLimits::RULES {
            rules.push(rule);
        }
    }
}

/// A question as its event says it.
struct ApprovalQuestion<'a> {
    tool_call: &'a ToolCall,
    kind: ToolKind,
    summary: &'a str,
    rule: &'a Rule,
    options: &'a [ApprovalOption],
}

impl ApprovalQuestion<'_> {
    fn pending(&self, session_id: SessionId, turn_id: TurnId, requested_at: Timestamp) -> PendingApproval {
        PendingApproval {
            session_id,
            turn_id,
            tool_call_id: self.tool_call.id.clone(),
            tool: self.tool_call.name.clone(),
            input: self.tool_call.input.clone(),
            kind: self.kind,
            summary: self.summary.to_owned(),
            rule: self.rule.clone(),
            options: self.options.to_vec(),
            requested_at,
        }
    }
}

/// Who answered which call, and how.
struct RecordedAnswer<'a> {
    tool_call_id: &'a ToolCallId,
    granted: bool,
    by: &'a str,
}

impl RecordedAnswer<'_> {
    fn in_turn(&self, turn_id: TurnId) -> AnsweredApproval {
        let (tool_call_id, by) = (self.tool_call_id.clone(), self.by.to_owned());
        AnsweredApproval { turn_id, tool_call_id, granted: self.granted, by }
    }
}

/// A title from the first line that says something, at most 80 characters.
fn title_from_text(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut title: String = line.chars().take(80).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    Some(title)
}

/// An error in a line or two; the whole of it is in its record.
fn shorten_error(text: &str) -> String {
    text.chars().take(StateLimits::LABEL_BYTES).collect()
}

fn drop_oldest<T>(items: &mut VecDeque<T>, limit: usize) {
    while items.len() > limit {
        items.pop_front();
    }
}
