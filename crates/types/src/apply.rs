//! How each event changes the state. Total: an event that was recorded can always be applied.

mod children;

use std::collections::VecDeque;

use jiff::Timestamp;

use crate::{
    Accepted, Answered, ApprovalOption, Batch, CallStatus, Delivery, Event, Limits, Message, Moment,
    OpenCall, OpenTurn, PATCH_REVIEW, Patch, PendingApproval, Purpose, Queued, Record, Reviewed, Rule, Scope,
    Session, SessionStatus, State, ToolCall, ToolCallId, ToolKind, TurnId, TurnStatus, TurnSummary,
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
        match &record.event {
            Event::SessionCreated { session } => Some(State::new(session.clone(), record.seq)),
            _ => None,
        }
    }

    /// Folds one more record.
    pub fn apply(&mut self, record: &Record) {
        self.last_seq = record.seq;
        if record.event.is_activity() {
            self.session.updated_at = record.ts;
        }
        match &record.event {
            Event::SessionCreated { session } | Event::SessionUpdated { session } => {
                self.replace_session(session)
            }
            Event::SessionCompleted { .. } => self.session.status = SessionStatus::Completed,
            Event::SessionFailed { .. } => self.session.status = SessionStatus::Failed,
            Event::SessionCanceled { .. } => self.session.status = SessionStatus::Canceled,
            Event::MessageAdded { message, idempotency_key } => {
                self.add_message(message, record.turn_id, idempotency_key.as_deref());
            }
            Event::MessageQueued { queued, idempotency_key, before } => {
                let steered = self.turn.as_ref().filter(|_| queued.delivery == Delivery::Steer);
                let answered_by = steered.map_or(queued.turn_id, |turn| turn.id);
                self.remember_key(idempotency_key.as_deref(), queued.message.id, Some(answered_by));
                self.enqueue(queued, *before);
            }
            Event::MessageWithdrawn { message_id, .. } => self.queue.retain(|q| q.message.id != *message_id),
            Event::TurnRetried { .. } => {}
            Event::TurnStarted { message_ids, purpose, .. } => {
                if let Some(turn_id) = record.turn_id {
                    self.start_turn(turn_id, message_ids.clone(), purpose.clone(), record.ts);
                }
            }
            Event::TurnCompleted { verified, .. } => {
                self.end_turn(TurnStatus::Completed, record.ts, *verified, None);
            }
            Event::TurnFailed { error, .. } => {
                self.end_turn(TurnStatus::Failed, record.ts, None, Some(short(&error.message)));
            }
            Event::TurnCanceled { .. } => self.end_turn(TurnStatus::Canceled, record.ts, None, None),
            Event::CheckpointCreated { .. } | Event::CheckpointFailed { .. } => self.apply_checkpoint(record),
            Event::UsageRecorded { message_id, usage, .. } => {
                // What a message took stands with the message too, as it did before there was this event.
                if message_id.is_none() {
                    self.spend(record.turn_id, *usage);
                }
            }
            Event::ContextCompacted { compaction } => self.compact(compaction),
            Event::AgentUpdated { agent } => self.hear_agent(agent),
            Event::SubagentStarted { .. }
            | Event::SubagentCompleted { .. }
            | Event::ApprovalRequested { child: Some(_), .. }
            | Event::ApprovalGranted { child: Some(_), .. }
            | Event::ApprovalDenied { child: Some(_), .. } => self.apply_to_children(record),
            _ => self.apply_to_turn(record),
        }
        self.settle_status();
    }

    /// The events of a running turn. Without one they change nothing: a repair may follow a crash.
    fn apply_to_turn(&mut self, record: &Record) {
        let Some(turn) = &mut self.turn else { return };
        match &record.event {
            Event::ModelOutputCompleted { message, usage, .. } => {
                turn.steps += 1;
                turn.said = Some(message.id);
                let tokens = usage.input_tokens + usage.output_tokens;
                self.context.tokens = if tokens > 0 { Some(tokens) } else { self.context.tokens };
                turn.usage += *usage;
                self.session.usage += *usage;
                turn.calls = message.tool_calls().cloned().map(OpenCall::proposed).collect();
                turn.used.extend(message.tool_calls().map(|call| call.id.clone()));
                bound(&mut turn.used, Limits::TURN_CALLS);
                turn.batch = None;
            }
            Event::ToolBatchStarted { parallel, .. } => {
                turn.batch = Some(Batch { parallel: *parallel, halted: false });
            }
            Event::ToolBatchHalted { .. } => {
                if let Some(batch) = &mut turn.batch {
                    batch.halted = true;
                }
            }
            Event::ToolBatchCompleted {} => {
                turn.calls.clear();
                turn.batch = None;
            }
            Event::ToolCallStarted { tool_call, kind } => {
                turn.changed |= *kind != ToolKind::Read;
                turn.set(&tool_call.id, CallStatus::Started);
            }
            Event::ToolCallCompleted { tool_call, tool_result, .. } => {
                turn.set(&tool_call.id, CallStatus::Done { ok: tool_result.ok });
            }
            Event::ApprovalRequested { tool_call, kind, summary, rule, options, child: _ } => {
                turn.wait(record, tool_call, *kind, summary, rule, options);
            }
            Event::VerificationStarted { .. } => turn.rounds += 1,
            // A check that passed leaves nothing to check until the workspace changes again.
            Event::VerificationCompleted { ok, .. } => turn.changed &= !ok,
            Event::ReasoningCompleted { .. } | Event::ModelResolved { .. } | Event::ModelWaiting { .. } => {}
            _ => self.apply_to_answers(record),
        }
    }

    /// What was captured of the workspace, or why not. It may come when the turn is over: one that was
    /// stopped is captured when nothing of it runs any more.
    fn apply_checkpoint(&mut self, record: &Record) {
        let mut open = self.turn.as_mut().filter(|turn| Some(turn.id) == record.turn_id);
        let summary = self.turns.iter_mut().rev().find(|summary| Some(summary.id) == record.turn_id);
        match &record.event {
            Event::CheckpointCreated { checkpoint_id, moment: Moment::Before, .. } => {
                open.iter_mut().for_each(|turn| turn.checkpoint = Some(checkpoint_id.clone()));
                summary.into_iter().for_each(|turn| turn.checkpoint_before = Some(checkpoint_id.clone()));
            }
            Event::CheckpointCreated { checkpoint_id, moment: Moment::After, .. } => {
                summary.into_iter().for_each(|turn| turn.checkpoint_after = Some(checkpoint_id.clone()));
            }
            Event::CheckpointFailed { moment, reason } => {
                let reason = short(reason);
                if *moment == Moment::Before {
                    open.iter_mut().for_each(|turn| turn.checkpoint_error = Some(reason.clone()));
                }
                summary.into_iter().for_each(|turn| turn.checkpoint_error = Some(reason.clone()));
            }
            _ => unreachable!("State::apply hands only checkpoints to apply_checkpoint"),
        }
    }

    /// What was used when no message came of it, perhaps of a turn that is over by now.
    fn spend(&mut self, turn_id: Option<TurnId>, usage: crate::Usage) {
        self.session.usage += usage;
        if let Some(turn) = self.turn.as_mut().filter(|turn| Some(turn.id) == turn_id) {
            turn.usage += usage;
        } else if let Some(turn) = self.turns.iter_mut().rev().find(|turn| Some(turn.id) == turn_id) {
            turn.usage += usage;
        }
    }

    /// The rest of them: what people answered.
    fn apply_to_answers(&mut self, record: &Record) {
        let Some(turn) = &mut self.turn else { return };
        match &record.event {
            Event::PatchReviewRequested { tool_call_id, files, waits, more, checkpoint_id, note } => {
                turn.reviewed = None;
                if *waits {
                    let (files, checkpoint_id, note) = (files.clone(), checkpoint_id.clone(), note.clone());
                    let patch = Patch { files, more: *more, checkpoint_id, note };
                    turn.review(record, tool_call_id, &patch);
                }
            }
            Event::ApprovalGranted { tool, reason, review, by, tool_call_id, .. }
            | Event::ApprovalDenied { tool, reason, review, by, tool_call_id, .. }
                if tool == PATCH_REVIEW =>
            {
                let accepted = matches!(record.event, Event::ApprovalGranted { .. });
                let answer = review.clone().unwrap_or_default();
                let shown =
                    turn.call(tool_call_id).and_then(|open| open.call.input["checkpoint_id"].as_str());
                let checkpoint_id = shown.map(str::to_owned);
                turn.reviewed = Some(Reviewed { accepted, reason: reason.clone(), answer, checkpoint_id });
                turn.calls.clear();
                let answered = Answered::new(turn.id, tool_call_id, accepted, by);
                self.remember_answer(answered);
            }
            Event::ApprovalGranted { tool_call_id, by, scope, option, .. } => {
                let rule = turn.call(tool_call_id).and_then(OpenCall::offered_rule);
                turn.choose(tool_call_id, CallStatus::Granted, option.as_ref());
                let answered = Answered::new(turn.id, tool_call_id, true, by);
                self.remember_answer(answered);
                if let (Some(rule), Scope::Session | Scope::Always) = (rule, scope) {
                    self.remember_rule(rule);
                }
            }
            Event::ApprovalDenied { tool_call_id, by, reason, option, .. } => {
                let denied = CallStatus::Denied { reason: reason.clone() };
                turn.choose(tool_call_id, denied, option.as_ref());
                let answered = Answered::new(turn.id, tool_call_id, false, by);
                self.remember_answer(answered);
            }
            _ => unreachable!("State::apply handles every event outside a turn itself"),
        }
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
            child.outcome.is_none() || crate::decide::note_id(child.session_id) != message.id
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
            self.session.title = title_of(&message.text());
        }
    }

    /// Has a message wait, in the place of itself where it waits already.
    fn enqueue(&mut self, queued: &Queued, before: Option<crate::MessageId>) {
        self.queue.retain(|waiting| waiting.message.id != queued.message.id);
        let place = before.and_then(|id| self.queue.iter().position(|waiting| waiting.message.id == id));
        let last = match queued.delivery {
            Delivery::Queue | Delivery::Steer => self.queue.len(),
            Delivery::Interrupt => 0,
        };
        self.queue.insert(place.unwrap_or(last), queued.clone());
    }

    fn start_turn(
        &mut self,
        id: TurnId,
        message_ids: Vec<crate::MessageId>,
        purpose: Purpose,
        at: Timestamp,
    ) {
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
        bound(&mut self.turns, Limits::TURNS);
        self.turn = Some(OpenTurn {
            id,
            purpose,
            message_ids,
            started_at: at,
            steps: 0,
            calls: Vec::new(),
            said: None,
            used: VecDeque::new(),
            batch: None,
            rounds: 0,
            changed: false,
            usage: crate::Usage::default(),
            checkpoint: None,
            checkpoint_error: None,
            reviewed: None,
        });
    }

    fn end_turn(&mut self, status: TurnStatus, at: Timestamp, verified: Option<bool>, error: Option<String>) {
        let Some(turn) = self.turn.take() else { return };
        self.children.retain(|child| child.is_of_interest(None));
        if let Some(summary) = self.turns.iter_mut().rev().find(|summary| summary.id == turn.id) {
            summary.status = status;
            summary.ended_at = Some(at);
            summary.verified = verified;
            summary.error = error;
            summary.usage = turn.usage;
        }
    }

    /// While a turn is open the session is active, or waits for an answer.
    fn settle_status(&mut self) {
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
            bound(&mut self.keys, Limits::KEYS);
        }
    }

    fn remember_answer(&mut self, answered: Answered) {
        self.answers.push_back(answered);
        bound(&mut self.answers, Limits::ANSWERS);
    }

    fn remember_rule(&mut self, rule: Rule) {
        let rules = &mut self.session.policy.approval.rules;
        if !rules.contains(&rule) && rules.len() < Limits::RULES {
            rules.push(rule);
        }
    }
}

impl OpenTurn {
    /// Lets a call wait for an answer. What was shown to the one who answers is what may run.
    fn wait(
        &mut self,
        record: &Record,
        call: &ToolCall,
        kind: ToolKind,
        summary: &str,
        rule: &Rule,
        options: &[ApprovalOption],
    ) {
        let turn_id = self.id;
        let Some(open) = self.call_mut(&call.id) else { return };
        open.call = call.clone();
        let approval = Box::new(PendingApproval {
            session_id: record.session_id,
            turn_id,
            tool_call_id: call.id.clone(),
            tool: call.name.clone(),
            input: call.input.clone(),
            kind,
            summary: summary.to_owned(),
            rule: rule.clone(),
            options: options.to_vec(),
            requested_at: record.ts,
        });
        open.status = CallStatus::Waiting { approval };
    }

    /// Lets the whole change of the turn wait for an answer, like a call.
    fn review(&mut self, record: &Record, id: &ToolCallId, patch: &Patch) {
        let mut input = serde_json::json!({ "files": patch.files, "more": patch.more });
        let named = [("checkpoint_id", &patch.checkpoint_id), ("note", &patch.note)];
        for (name, value) in named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            input[name] = serde_json::Value::from(value.as_str());
        }
        let call = ToolCall { id: id.clone(), name: PATCH_REVIEW.to_owned(), input };
        let rule = Rule {
            tool: PATCH_REVIEW.to_owned(),
            subject: id.0.clone(),
            whole: true,
            workspace: None,
            commands: Vec::new(),
        };
        self.calls = vec![OpenCall::proposed(call.clone())];
        self.wait(record, &call, ToolKind::Write, &review_summary(patch), &rule, &[]);
    }

    fn choose(&mut self, id: &ToolCallId, status: CallStatus, option: Option<&String>) {
        if let Some(open) = self.call_mut(id) {
            open.chosen = option.cloned();
            open.status = status;
        }
    }

    fn set(&mut self, id: &ToolCallId, status: CallStatus) {
        if let Some(open) = self.call_mut(id) {
            open.status = status;
        }
    }
}

impl OpenCall {
    fn proposed(call: crate::ToolCall) -> OpenCall {
        OpenCall { call, status: CallStatus::Proposed, chosen: None }
    }

    /// The answer as the agent hears it: one of those that it offered, if it did.
    pub fn answered(&self, plain: Accepted, allowed: bool) -> Accepted {
        match &self.chosen {
            Some(option) => Accepted::Chosen { option: option.clone(), allowed },
            None => plain,
        }
    }

    /// The rule that was shown to whoever answers.
    fn offered_rule(&self) -> Option<Rule> {
        if let CallStatus::Waiting { approval } = &self.status { Some(approval.rule.clone()) } else { None }
    }
}

impl Answered {
    fn new(turn_id: TurnId, tool_call_id: &ToolCallId, granted: bool, by: &str) -> Answered {
        Answered { turn_id, tool_call_id: tool_call_id.clone(), granted, by: by.to_owned() }
    }
}

/// A review in a line.
fn review_summary(Patch { files, more, note, .. }: &Patch) -> String {
    if let Some(note) = note {
        return format!("keep the change of this turn, which cannot be shown: {}", short(note));
    }
    let (added, removed) =
        files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let count = files.len() as u64 + more;
    let noun = if count == 1 { "file" } else { "files" };
    let shown = if *more == 0 { String::new() } else { format!(" in the {} that are shown", files.len()) };
    format!("keep the change of this turn: {count} {noun}, +{added} −{removed} lines{shown}")
}

/// A title from the first line that says something, at most 80 characters.
fn title_of(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut title: String = line.chars().take(80).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    Some(title)
}

/// An error in a line or two; the whole of it is in its record.
fn short(text: &str) -> String {
    text.chars().take(Limits::LABEL_BYTES).collect()
}

fn bound<T>(items: &mut VecDeque<T>, limit: usize) {
    while items.len() > limit {
        items.pop_front();
    }
}
