//! Carries out random moves on a world, and checks what each command promises of itself. What every
//! log keeps is left to [`crate::audit`].

use std::collections::HashMap;

use ostler_types::{
    Accepted, AnswerApproval, CallStatus, Command, Decision, Delivery, Event, Message, MessageEvent,
    MessageId, OpenCall, Part, Policy, ProposedCall, Refusal, RequeueMessage, Role, Rule, SessionChange,
    SessionStatus, SubmitMessage, ToolCall, ToolCallId, ToolKind, TurnEvent, TurnId, TurnReport, Verdict,
};
use serde_json::json;

use crate::audit::{AuditedCall, Law};
use crate::history_moves::{HistoryMove, NewCall, Saying};
use crate::session_driver::{
    SessionDriver, call, cancel, close, completed, failed, kind_of, propose, start, subject,
};

/// A world with what its clients remember of it.
pub(crate) struct HistoryPlayer {
    pub(crate) world: SessionDriver,
    told: HashMap<String, (MessageId, Option<TurnId>)>,
    messages: Vec<MessageId>,
    turns: Vec<TurnId>,
}

impl HistoryPlayer {
    pub(crate) fn new() -> HistoryPlayer {
        let (messages, turns) = (Vec::new(), Vec::new());
        HistoryPlayer { world: SessionDriver::new(), told: HashMap::new(), messages, turns }
    }

    pub(crate) fn make(&mut self, step: HistoryMove) {
        match step {
            HistoryMove::Submit { delivery, auto_run, key, partial } => {
                self.submit(delivery, auto_run, key, partial)
            }
            HistoryMove::Run => {
                let turn_id = self.world.turn_id();
                self.start_turn(Command::Run { turn_id });
            }
            HistoryMove::Withdraw { pick } => {
                let message_id = picked(&self.messages, pick).unwrap_or_else(|| self.world.message_id());
                let queued = self.world.state.queue.iter().any(|queued| queued.message.id == message_id);
                let outcome = self.ask(Command::Withdraw { message_id, by: "ann".to_owned() });
                self.demand(Law::Queue, outcome.is_ok() == queued, "only what waits can be withdrawn");
            }
            HistoryMove::Requeue { pick, before, delivery, edit } => {
                let message_id = picked(&self.messages, pick).unwrap_or_else(|| self.world.message_id());
                let named = |pick| picked(&self.messages, pick).unwrap_or(message_id);
                let before = before.map(|before| before.map(named));
                let waits = |id: MessageId| self.world.state.queue.iter().any(|it| it.message.id == id);
                let places = before.flatten().is_none_or(|before| before == message_id || waits(before));
                let possible = waits(message_id) && places && delivery != Some(Delivery::Interrupt);
                let parts = edit.then(|| vec![Part::text("said differently")]);
                let (turn_id, by) = (self.world.turn_id(), "ann".to_owned());
                let requeue = RequeueMessage { message_id, turn_id, parts, delivery, before, by };
                let outcome = self.ask(Command::Requeue(requeue));
                self.demand(
                    Law::Queue,
                    outcome.is_ok() == possible,
                    "what waits can be changed, and no other",
                );
            }
            HistoryMove::Answer { pick, approve, scope, other_turn } => {
                let tool_call_id = self.call_id(pick);
                let turn_id = if other_turn { self.world.turn_id() } else { self.last_turn() };
                let verdict = if approve { Verdict::Approve } else { Verdict::Deny };
                self.answer(Command::Answer(AnswerApproval {
                    review: None,
                    option: None,
                    turn_id,
                    tool_call_id,
                    verdict,
                    scope,
                    reason: None,
                    by: "ann".to_owned(),
                }));
            }
            HistoryMove::Cancel { partial } => self.cancel(partial),
            HistoryMove::Retry { pick } => {
                let last = self.turns.last().copied().filter(|_| pick < 160);
                let retry_of =
                    last.or_else(|| picked(&self.turns, pick)).unwrap_or_else(|| self.world.turn_id());
                let turn_id = self.world.turn_id();
                self.start_turn(Command::Retry { retry_of, turn_id });
            }
            HistoryMove::Update { pick } => {
                let outcome = self.ask(Command::Update(change(pick)));
                self.demand(Law::Status, outcome.is_ok(), "a session can be changed at any time");
            }
            HistoryMove::Close => self.close(),
            HistoryMove::Recover { resumable, partial } => self.recover(resumable, partial),
            HistoryMove::Restart { resumable, partial } => self.restart(resumable, partial),
            HistoryMove::Advance { pick } => self.advance(pick),
            HistoryMove::Say { saying, late } => self.say(saying, late),
        }
    }

    fn ask(&mut self, command: Command) -> Result<Decision, Refusal> {
        let outcome = self.world.ask(command);
        match &outcome {
            Ok(decision) => self.turns.extend(decision.events.iter().filter_map(|event| match event.event {
                Event::Turn(TurnEvent::Started { .. }) => event.turn_id,
                _ => None,
            })),
            Err(refusal) => {
                let clear = !refusal.code.as_str().is_empty() && !refusal.message.is_empty();
                self.demand(Law::Status, clear, "a refusal says what was wrong");
            }
        }
        outcome
    }

    fn submit(&mut self, delivery: Delivery, auto_run: Option<bool>, key: Option<u8>, partial: bool) {
        let key = key.map(|key| format!("key {key}"));
        let message = self.world.message(Role::User, vec![Part::text("please")]);
        let message_id = message.id;
        let mut command = self.world.submission_of(message, delivery, key.as_deref());
        if let Command::Submit(SubmitMessage { auto_run: run, .. }) = &mut command {
            *run = auto_run;
        }
        self.world.facts.partial = partial.then(|| self.world.partial());
        let closed = self.world.audit.closed;
        let outcome = self.ask(command);
        let known = key.as_ref().and_then(|key| self.told.get(key)).copied();
        if let Some(told) = known {
            let same = outcome
                .as_ref()
                .is_ok_and(|decision| decision.events.is_empty() && ids_of(&decision.accepted) == Some(told));
            self.demand(Law::Keys, same, "a known key leads to what it led to before, and to nothing new");
        } else if closed {
            let refused = outcome.is_err_and(|refusal| refusal.code == "session_closed");
            self.demand(Law::Status, refused, "a closed session takes no message");
        } else if let Ok(decision) = outcome {
            let told = ids_of(&decision.accepted);
            let own = told.is_some_and(|(id, turn_id)| {
                id == message_id && turn_id.is_some() == auto_run.unwrap_or(true)
            });
            self.demand(Law::Keys, own, "a client is told its message, and the turn if there is to be one");
            self.messages.push(message_id);
            self.told.extend(key.zip(told));
        }
        let keyed = |record: &ostler_types::Record| match &record.event {
            Event::Message(MessageEvent::Added { idempotency_key, .. })
            | Event::Message(MessageEvent::Queued { idempotency_key, .. }) => idempotency_key.clone(),
            _ => None,
        };
        let keys: Vec<String> = self.world.log.iter().filter_map(keyed).collect();
        self.demand(Law::Keys, keys.len() == self.told.len(), "one message for each key");
    }

    fn start_turn(&mut self, command: Command) {
        let closed = self.world.audit.closed;
        let outcome = self.ask(command);
        self.demand(Law::Status, !(closed && outcome.is_ok()), "a closed session starts no turn");
    }

    fn answer(&mut self, command: Command) {
        let Command::Answer(AnswerApproval { turn_id, tool_call_id, .. }) = &command else {
            panic!("not an answer")
        };
        let audit = &self.world.audit;
        let named = |open: &AuditedCall| open.call.id == *tool_call_id && open.waits();
        let waits = audit.open == Some(*turn_id) && audit.calls.iter().any(named);
        let outcome = self.ask(command);
        self.demand(Law::Starts, outcome.is_ok() == waits, "what waits can be answered, and nothing else");
    }

    fn cancel(&mut self, partial: bool) {
        let open = self.world.audit.open;
        let partial = partial.then(|| self.world.partial());
        self.world.facts.partial.clone_from(&partial);
        let decision = self.ask(cancel()).expect("a cancel is never refused");
        match open {
            None => self.demand(
                Law::Cancel,
                decision.events.is_empty(),
                "cancel of an idle session records nothing",
            ),
            Some(turn) => self.stopped(&decision, turn, partial.as_ref(), "turn_canceled"),
        }
    }

    /// The turn ended there, with what was written before the terminal and the session's word after it.
    fn stopped(&mut self, decision: &Decision, turn: TurnId, partial: Option<&Message>, terminal: &str) {
        let is_terminal = |event: &ostler_types::EventFor| {
            event.turn_id == Some(turn) && event.event.name().as_str() == terminal
        };
        let place = decision.events.iter().position(is_terminal);
        self.demand(Law::Cancel, place.is_some(), "the turn ends");
        let place = place.unwrap_or(0);
        let follows = decision.events.get(place + 1).map(|event| event.event.name().as_str());
        let word = if terminal == "turn_failed" { "session_failed" } else { "session_canceled" };
        self.demand(Law::Cancel, follows == Some(word), "the session's word follows the terminal");
        let kept = |partial: &Message| {
            decision.events[..place].iter().any(|event| match &event.event {
                Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => message == partial,
                _ => false,
            })
        };
        self.demand(Law::Cancel, partial.is_none_or(kept), "what was written is kept, before the terminal");
    }

    fn close(&mut self) {
        let (closed, open) = (self.world.audit.closed, self.world.audit.open);
        let decision = self.ask(close()).expect("a close is never refused");
        let is_closed = self.world.state.session.status == SessionStatus::Completed;
        self.demand(Law::Status, is_closed && self.world.state.queue.is_empty(), "closed, and nothing waits");
        self.demand(Law::Status, decision.events.is_empty() == closed, "a session is closed once");
        if let Some(turn) = open {
            self.stopped(&decision, turn, None, "turn_canceled");
        }
    }

    fn recover(&mut self, resumable: bool, partial: bool) {
        let before = self.world.state.clone();
        let calls = &self.world.audit.calls;
        let started: Vec<ToolCallId> =
            calls.iter().filter(|c| c.started).map(|c| c.call.id.clone()).collect();
        let rests = before.turn.is_none() && before.queue.is_empty();
        let waits = resumable && !calls.is_empty() && started.is_empty();
        let partial = partial.then(|| self.world.partial());
        self.world.facts.partial.clone_from(&partial);
        let decision = self.ask(Command::Recover { resumable }).expect("a recovery is never refused");
        if waits || rests {
            let same = decision.events.is_empty() && before == self.world.state;
            self.demand(Law::Recovery, same, "what only waited is left as it was");
            return;
        }
        let Some(turn) = before.turn else { return };
        self.stopped(&decision, turn.id, partial.as_ref(), "turn_failed");
        let reason = decision.events.iter().find_map(|event| match &event.event {
            Event::Turn(TurnEvent::Failed { reason, .. }) => Some(reason.as_str()),
            _ => None,
        });
        self.demand(
            Law::Recovery,
            reason == Some("interrupted"),
            "the turn failed because it was interrupted",
        );
        let results = crate::session_driver::result_texts(&decision);
        let unknown =
            |id: &ToolCallId| results.contains(&(id.0.clone(), "interrupted: outcome unknown".to_owned()));
        self.demand(
            Law::Recovery,
            started.iter().all(unknown),
            "a call that had started has an unknown outcome",
        );
    }

    /// The daemon stops in order and comes back.
    fn restart(&mut self, resumable: bool, partial: bool) {
        self.world.facts.partial = partial.then(|| self.world.partial());
        self.world.audit.suspended = true;
        let queue = self.world.state.queue.clone();
        self.ask(Command::Suspend { resumable }).expect("a suspension is never refused");
        self.demand(Law::Queue, queue == self.world.state.queue, "the queue outlives the daemon");
        self.world.audit.suspended = false;
        self.recover(resumable, false);
    }

    fn advance(&mut self, pick: u8) {
        if self.world.state.turn.is_none() {
            return self.submit(Delivery::Queue, Some(true), None, false);
        }
        let open =
            self.world.calls().iter().find(|open| !matches!(open.status, CallStatus::Done { .. })).cloned();
        let Some(OpenCall { call, status, .. }) = open else {
            return self.say(unhindered(pick), false);
        };
        let turn_id = self.last_turn();
        let call = as_tool_sees(&call);
        let report = match status {
            CallStatus::Proposed if !self.world.may_start(&call) => propose(&call),
            CallStatus::Proposed | CallStatus::Granted => start(&call),
            CallStatus::Started => self.world.finish(&call.id.0, !pick.is_multiple_of(4)),
            CallStatus::Denied { .. } | CallStatus::Done { .. } => self.world.finish(&call.id.0, false),
            CallStatus::Waiting { .. } => {
                let verdict = if pick.is_multiple_of(3) { Verdict::Deny } else { Verdict::Approve };
                return self.answer(crate::session_driver::answer(turn_id, &call.id.0, verdict, "ann"));
            }
        };
        let outcome = self.ask(Command::Report { turn_id, report });
        self.demand(Law::Starts, outcome.is_ok(), "an agent that asks first is not refused");
    }

    fn say(&mut self, saying: Saying, late: bool) {
        let open = self.world.audit.open;
        let earlier = picked(&self.turns, 0).filter(|_| late);
        let turn_id = earlier.or(open).unwrap_or_else(|| self.world.turn_id());
        let report = self.report(saying);
        let outcome = self.ask(Command::Report { turn_id, report });
        let over = outcome.is_err_and(|refusal| refusal.code == "turn_over");
        self.demand(Law::Over, over == (open != Some(turn_id)), "only the open turn is heard");
    }

    fn report(&mut self, saying: Saying) -> TurnReport {
        match saying {
            Saying::TakeSteering => TurnReport::TakeSteering,
            Saying::Step { calls } => {
                let calls: Vec<ToolCall> = calls.iter().map(|new| self.new_call(new)).collect();
                self.world.step_report(&calls)
            }
            Saying::BatchStarted { parallel } => TurnReport::BatchStarted { parallel },
            Saying::BatchHalted { pick } => TurnReport::BatchHalted { tool_call_id: self.call_id(pick) },
            Saying::BatchCompleted => TurnReport::BatchCompleted,
            Saying::Propose { pick, standing } => {
                let tool_call = as_tool_sees(&self.some_call(pick));
                let kind = kind_of(&tool_call.name);
                let subject = subject(&tool_call);
                self.world.facts.policy_context.rules =
                    standing.then(|| Rule::for_call(&tool_call, &subject)).into_iter().collect();
                TurnReport::CallProposed(ProposedCall {
                    tool_call,
                    kind,
                    summary: "do it".to_owned(),
                    risk: None,
                    trusted: true,
                    subject,
                    options: Vec::new(),
                })
            }
            Saying::Start { pick, altered } => {
                let mut tool_call = as_tool_sees(&self.some_call(pick));
                if altered {
                    tool_call.input = json!({"command": "something else"});
                }
                start(&tool_call)
            }
            Saying::Finish { pick, ok } => {
                let id = self.call_id(pick);
                self.world.finish(&id.0, ok)
            }
            Saying::VerificationStarted => {
                TurnReport::VerificationStarted { round: 1, commands: vec!["make test".to_owned()] }
            }
            Saying::VerificationCompleted { ok, feedback } => {
                let say = vec![Part::text("the tests failed")];
                let feedback = feedback.then(|| self.world.message(Role::User, say));
                TurnReport::VerificationCompleted { round: 1, ok, results: Vec::new(), feedback }
            }
            Saying::Completed => completed(),
            Saying::Failed { partial } => {
                self.world.facts.partial = partial.then(|| self.world.partial());
                failed()
            }
        }
    }

    fn new_call(&mut self, new: &NewCall) -> ToolCall {
        let id = if new.used_id { "call_0".to_owned() } else { format!("call_{}", self.world.count()) };
        match new.pick % 5 {
            0 => call(&id, "read_file", json!({"path": "a.txt"})),
            1 => call(&id, "shell", json!({"command": "make test", "_parallel": true})),
            2 => call(&id, "write_file", json!({"path": "b.txt", "content": "x"})),
            3 => call(&id, "task", json!({"description": "look around", "_parallel": true})),
            _ => call(&id, "web_fetch", json!({"url": "http://localhost/"})),
        }
    }

    fn some_call(&mut self, pick: u8) -> ToolCall {
        let open = self.world.calls();
        let known = open.get(usize::from(pick) % (open.len() + 1)).map(|open| open.call.clone());
        known.unwrap_or_else(|| call("call_none", "shell", json!({"command": "make test"})))
    }

    fn call_id(&mut self, pick: u8) -> ToolCallId {
        self.some_call(pick).id
    }

    fn last_turn(&mut self) -> TurnId {
        self.turns.last().copied().unwrap_or_else(|| self.world.turn_id())
    }

    fn demand(&mut self, law: Law, holds: bool, promise: &str) {
        self.world.audit.demand(law, holds, || format!("broken: {promise}"));
    }
}

/// What an agent says that has no call to care for.
fn unhindered(pick: u8) -> Saying {
    let one = |pick| NewCall { pick, used_id: false };
    match pick % 6 {
        0 => Saying::Step { calls: Vec::new() },
        1 | 2 => Saying::Step { calls: vec![one(pick / 6)] },
        3 => Saying::Step { calls: vec![one(pick / 6), one(pick / 7), one(pick / 8)] },
        4 => Saying::TakeSteering,
        _ => Saying::Completed,
    }
}

/// Arguments that begin with `_` are for the agent, and no tool sees them.
fn as_tool_sees(call: &ToolCall) -> ToolCall {
    let mut call = call.clone();
    if let Some(input) = call.input.as_object_mut() {
        input.retain(|name, _| !name.starts_with('_'));
    }
    call
}

fn change(pick: u8) -> SessionChange {
    let mut policy = Policy::default();
    match pick % 6 {
        0 => return SessionChange { title: Some("a title".to_owned()), ..SessionChange::default() },
        1 => {
            return SessionChange {
                title: Some(String::new()),
                archived: Some(true),
                ..SessionChange::default()
            };
        }
        2 => return SessionChange { model: Some("demo:large".to_owned()), ..SessionChange::default() },
        3 => policy.approval.require_for_kinds.clear(),
        4 => policy.approval.require_for_tools.push("read_file".to_owned()),
        _ => policy.approval.require_for_kinds = vec![ToolKind::Network],
    }
    SessionChange { policy: Some(policy), ..SessionChange::default() }
}

fn ids_of(accepted: &Accepted) -> Option<(MessageId, Option<TurnId>)> {
    match accepted {
        Accepted::Message { message_id, turn_id } => Some((*message_id, *turn_id)),
        Accepted::Done
        | Accepted::Unchanged
        | Accepted::Turn { .. }
        | Accepted::Steering(_)
        | Accepted::Allowed
        | Accepted::Denied { .. }
        | Accepted::Waiting
        | Accepted::Reviewed(_)
        | Accepted::Chosen { .. }
        | Accepted::Forward { .. } => None,
    }
}

fn picked<T: Copy>(items: &[T], pick: u8) -> Option<T> {
    items.get(usize::from(pick) % (items.len() + 1)).copied()
}
