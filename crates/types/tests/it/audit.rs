//! Reads a log record by record and notes every breach of the laws that all logs keep. Knows the
//! records only: whatever rules produced them, the laws are the same.

use std::collections::{HashSet, VecDeque};

use ostler_types::{
    ApprovalEvent, ApprovalPolicy, CallEvent, Delivery, Event, MessageEvent, MessageId, Record, Rule, Scope,
    SessionEvent, SessionStatus, State, StateLimits, ToolCall, ToolCallId, ToolKind, TurnEvent, TurnId,
};

/// The laws, one for each property test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Law {
    /// One terminal for each turn that started, and nothing of the turn after it.
    Terminals,
    /// Every call has its result before a model can be asked again.
    Pairs,
    /// A call starts at most once, and only as it was approved.
    Starts,
    /// A queued message is delivered once, in order, or withdrawn.
    Queue,
    /// The state is the fold of the log, also after a trip through JSON.
    Fold,
    /// One key, one message.
    Keys,
    /// What a restart finds is repaired or left waiting.
    Recovery,
    /// A cancel keeps what was written.
    Cancel,
    /// The status says what the log says.
    Status,
    /// Nothing in the state grows without limit.
    Bounds,
    /// A turn that is over has no more to say.
    Over,
}

/// What has been read so far.
pub(crate) struct Audit {
    pub(crate) faults: Vec<(Law, String)>,
    /// Calls without a result, in the order of their message.
    pub(crate) calls: Vec<AuditedCall>,
    /// The turn that is open.
    pub(crate) open: Option<TurnId>,
    pub(crate) closed: bool,
    /// Whether the daemon has stopped and not come back, so that the queue rests.
    pub(crate) suspended: bool,
    seq: u64,
    started: HashSet<TurnId>,
    ended: HashSet<TurnId>,
    /// The turn that must start with the next `turn_started`, since a record of it came first.
    due: Option<TurnId>,
    /// The event that must come next.
    owed: Option<&'static str>,
    begun: HashSet<ToolCallId>,
    /// Calls that got a result while they waited: right only if the turn ends there.
    abandoned: Vec<ToolCallId>,
    policy: ApprovalPolicy,
    added: HashSet<MessageId>,
    unanswered: Vec<MessageId>,
    queue: VecDeque<(MessageId, Delivery)>,
    queued: HashSet<MessageId>,
    standing: SessionStatus,
}

/// A call without a result.
pub(crate) struct AuditedCall {
    pub(crate) call: ToolCall,
    /// The call as it was shown when approval was asked for.
    pub(crate) asked: Option<(ToolCall, Rule)>,
    pub(crate) answer: Option<bool>,
    pub(crate) started: bool,
}

impl AuditedCall {
    pub(crate) fn waits(&self) -> bool {
        self.asked.is_some() && self.answer.is_none()
    }
}

impl Audit {
    pub(crate) fn begin(first: &Record) -> Audit {
        let Event::Session(SessionEvent::Created { session }) = &first.event else {
            panic!("a log begins with session_created")
        };
        Audit {
            faults: Vec::new(),
            calls: Vec::new(),
            open: None,
            closed: false,
            suspended: false,
            seq: first.seq,
            started: HashSet::new(),
            ended: HashSet::new(),
            due: None,
            owed: None,
            begun: HashSet::new(),
            abandoned: Vec::new(),
            policy: session.policy.approval.clone(),
            added: HashSet::new(),
            unanswered: Vec::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            standing: session.status,
        }
    }

    /// Notes a fault unless `holds`.
    pub(crate) fn demand(&mut self, law: Law, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.faults.push((law, format!("at seq {}: {}", self.seq, fault())));
        }
    }

    /// Reads one more record.
    pub(crate) fn observe(&mut self, record: &Record) {
        let (name, next) = (record.event.name().as_str(), self.seq + 1);
        self.demand(Law::Fold, record.seq == next, || format!("seq {} where {next} was due", record.seq));
        self.seq = record.seq;
        if let Some(owed) = self.owed.take() {
            self.demand(Law::Status, name == owed, || format!("{name} where {owed} was due"));
        }
        let closed = self.closed && !matches!(record.event, Event::Session(SessionEvent::Updated { .. }));
        self.demand(Law::Status, !closed, || format!("{name} after the session was closed"));
        if let Some(turn) = record.turn_id {
            let over = self.ended.contains(&turn);
            self.demand(Law::Terminals, !over, || format!("{name} of {turn} after its terminal"));
        }
        match &record.event {
            Event::Session(SessionEvent::Created { .. }) => {
                self.demand(Law::Fold, false, || "a second session_created".to_owned())
            }
            Event::Session(SessionEvent::Updated { session }) => {
                self.policy = session.policy.approval.clone()
            }
            Event::Session(SessionEvent::Completed { .. }) => {
                self.closed = true;
                self.demand(Law::Terminals, self.open.is_none(), || "closed with a turn open".to_owned());
                self.standing = SessionStatus::Completed;
            }
            Event::Session(SessionEvent::Failed { .. }) => self.standing = SessionStatus::Failed,
            Event::Session(SessionEvent::Canceled { .. }) => self.standing = SessionStatus::Canceled,
            Event::Message(MessageEvent::Queued { queued, before, .. }) => {
                self.message_queued(queued.message.id, queued.delivery, *before);
            }
            Event::Message(MessageEvent::Withdrawn { message_id, .. }) => {
                let waited = self.take_queued(*message_id).is_some();
                self.queued.remove(message_id);
                self.demand(Law::Queue, waited, || format!("{message_id} withdrawn but not waiting"));
            }
            Event::Message(MessageEvent::Added { message, .. }) => {
                self.message_added(message.id, record.turn_id)
            }
            Event::Turn(TurnEvent::Retried { .. }) => self.due = record.turn_id,
            Event::Turn(TurnEvent::Started { message_ids, .. }) => {
                self.turn_started(record.turn_id, message_ids)
            }
            _ => self.observe_in_turn(record),
        }
    }

    /// What must hold when a command has been dealt with.
    pub(crate) fn settle(&mut self, state: &State) {
        let owed = self.owed.or(self.due.map(|_| "turn_started"));
        self.demand(Law::Status, owed.is_none(), || format!("{owed:?} did not follow"));
        let (abandoned, rests) = (std::mem::take(&mut self.abandoned), self.queue.is_empty());
        self.demand(Law::Starts, abandoned.is_empty(), || {
            format!("{abandoned:?} got results while they waited")
        });
        let blocked = self.open.is_none() && !rests && !self.suspended;
        self.demand(Law::Queue, !blocked, || "messages wait, and no turn is open".to_owned());
        let same = state.queue.iter().map(|q| q.message.id).eq(self.queue.iter().map(|(id, _)| *id));
        self.demand(Law::Queue, same, || "the queue is not what was queued and not yet delivered".to_owned());
        let open = state.turn.as_ref().map(|turn| turn.id);
        self.demand(Law::Terminals, open == self.open, || format!("open in the state: {open:?}"));
        let waits = self.calls.iter().any(AuditedCall::waits);
        let status = match self.open {
            Some(_) if waits => SessionStatus::WaitingApproval,
            Some(_) => SessionStatus::Active,
            None => self.standing,
        };
        let is = state.session.status;
        self.demand(Law::Status, is == status, || format!("status {is:?} where {status:?} was due"));
        let rules = &state.session.policy.approval.rules;
        let same = *rules == self.policy.rules;
        self.demand(Law::Starts, same, || format!("the answers did not make the rules {rules:?}"));
        self.demand(Law::Bounds, is_bounded(state), || "the state is over its limits".to_owned());
    }

    fn message_queued(&mut self, id: MessageId, delivery: Delivery, before: Option<MessageId>) {
        let moved = self.take_queued(id).is_some();
        let fresh = (self.queued.insert(id) || moved) && !self.added.contains(&id);
        self.demand(Law::Queue, fresh, || format!("{id} queued twice"));
        let last = if delivery == Delivery::Interrupt { 0 } else { self.queue.len() };
        let place = match before {
            Some(before) => self.queue.iter().position(|(waiting, _)| *waiting == before),
            None => Some(last),
        };
        self.demand(Law::Queue, place.is_some(), || format!("{id} queued before what does not wait"));
        self.queue.insert(place.unwrap_or(last), (id, delivery));
    }

    fn message_added(&mut self, id: MessageId, turn_id: Option<TurnId>) {
        let first = self.queue.front().is_none_or(|(front, _)| *front == id);
        let delivery = self.take_queued(id);
        let in_turn = self.open.is_some();
        let fresh = self.added.insert(id);
        self.demand(Law::Queue, fresh, || format!("{id} added twice"));
        if in_turn {
            let steers = matches!(delivery, None | Some(Delivery::Steer));
            self.demand(Law::Queue, steers, || {
                format!("{id} was not to steer, and came into a running turn")
            });
            self.demand(Law::Terminals, turn_id == self.open, || {
                format!("{id} added to a turn that is not open")
            });
            return;
        }
        self.demand(Law::Queue, first || delivery.is_none(), || format!("{id} did not wait for its turn"));
        self.unanswered.push(id);
        self.due = turn_id;
        self.standing = if self.closed { self.standing } else { SessionStatus::Active };
    }

    fn take_queued(&mut self, id: MessageId) -> Option<Delivery> {
        let place = self.queue.iter().position(|(queued, _)| *queued == id)?;
        self.queue.remove(place).map(|(_, delivery)| delivery)
    }

    fn turn_started(&mut self, turn_id: Option<TurnId>, message_ids: &[MessageId]) {
        let turn = turn_id.expect("turn_started names its turn");
        let alone = self.open.is_none() && self.started.insert(turn);
        self.demand(Law::Terminals, alone, || format!("{turn} started twice, or beside another"));
        let due = self.due.take().is_none_or(|due| due == turn);
        self.demand(Law::Terminals, due, || format!("{turn} started where another was due"));
        self.demand(Law::Pairs, self.calls.is_empty(), || format!("{turn} started with calls open"));
        let known = message_ids.iter().all(|id| self.added.contains(id));
        self.demand(Law::Queue, known, || format!("{turn} answers messages that were never added"));
        let all = self.unanswered.iter().all(|id| message_ids.contains(id));
        self.demand(Law::Queue, all, || format!("{turn} leaves messages unanswered"));
        self.unanswered.clear();
        self.begun.clear();
        self.open = Some(turn);
        self.standing = SessionStatus::Active;
    }

    fn observe_in_turn(&mut self, record: &Record) {
        let name = record.event.name().as_str();
        let inside = self.open.is_some() && record.turn_id == self.open;
        self.demand(Law::Terminals, inside, || format!("{name} outside its turn"));
        match &record.event {
            Event::Turn(TurnEvent::Completed { .. }) => self.turn_ended(None),
            Event::Turn(TurnEvent::Failed { .. }) => self.turn_ended(Some("session_failed")),
            Event::Turn(TurnEvent::Canceled { .. }) => self.turn_ended(Some("session_canceled")),
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                self.demand(Law::Pairs, self.calls.is_empty(), || {
                    "the model spoke with calls open".to_owned()
                });
                let open = |call: &ToolCall| AuditedCall {
                    call: call.clone(),
                    asked: None,
                    answer: None,
                    started: false,
                };
                self.calls.extend(message.tool_calls().map(open));
            }
            Event::Call(CallEvent::Started { tool_call, kind }) => self.call_started(tool_call, *kind),
            Event::Call(CallEvent::Completed { tool_call, tool_result, .. }) => {
                let place = self.calls.iter().position(|open| open.call.id == tool_call.id);
                self.demand(Law::Pairs, place.is_some(), || format!("a second result for {}", tool_call.id));
                self.demand(Law::Pairs, tool_call.id == tool_result.id, || {
                    "a result of another call".to_owned()
                });
                let done = place.map(|place| self.calls.remove(place));
                self.abandoned.extend(done.filter(AuditedCall::waits).map(|done| done.call.id));
            }
            Event::Approval(ApprovalEvent::Requested { tool_call, rule, .. }) => {
                let asked = self.open_call(&tool_call.id, |call| call.asked.is_none() && !call.started);
                self.demand(Law::Starts, asked, || format!("asked about {} out of order", tool_call.id));
                self.change(&tool_call.id, |call| call.asked = Some((tool_call.clone(), rule.clone())));
            }
            Event::Approval(ApprovalEvent::Granted { tool_call_id, scope, by, .. }) => {
                self.call_answered(tool_call_id, true, by == "rule");
                self.remember(tool_call_id, *scope);
            }
            Event::Approval(ApprovalEvent::Denied { tool_call_id, .. }) => {
                self.call_answered(tool_call_id, false, false)
            }
            _ => {}
        }
    }

    fn turn_ended(&mut self, owed: Option<&'static str>) {
        self.demand(Law::Pairs, self.calls.is_empty(), || "a turn ended with calls open".to_owned());
        self.ended.extend(self.open.take());
        self.calls.clear();
        self.abandoned.clear();
        self.owed = owed;
    }

    fn call_started(&mut self, started: &ToolCall, kind: ToolKind) {
        let id = &started.id;
        let first = self.begun.insert(id.clone());
        self.demand(Law::Starts, first, || format!("{id} started twice"));
        let asks = crate::session_driver::asks(&self.policy, started, kind, true);
        let free = self.open_call(id, |call| call.asked.is_none() && call.answer.is_none() && !asks);
        let granted = self.open_call(id, |call| call.answer == Some(true));
        self.demand(Law::Starts, free || granted, || format!("{id} started without leave"));
        let same = self.open_call(id, |call| call.asked.as_ref().is_none_or(|(asked, _)| asked == started));
        self.demand(Law::Starts, same, || format!("{id} is not the call that was approved"));
        self.change(id, |call| call.started = true);
    }

    fn call_answered(&mut self, id: &ToolCallId, granted: bool, by_rule: bool) {
        let waits = self.open_call(id, |call| call.answer.is_none() && (call.asked.is_some() || by_rule));
        self.demand(Law::Starts, waits, || format!("{id} answered, but did not wait"));
        self.change(id, |call| call.answer = Some(granted));
    }

    /// An answer that holds for longer adds the rule that was shown.
    fn remember(&mut self, id: &ToolCallId, scope: Scope) {
        let shown = self.calls.iter().find(|open| open.call.id == *id).and_then(|open| open.asked.as_ref());
        let rule = shown.map(|(_, rule)| rule.clone());
        if let (Some(rule), Scope::Session | Scope::Always) = (rule, scope)
            && !self.policy.rules.contains(&rule)
        {
            self.policy.rules.push(rule);
        }
    }

    fn open_call(&self, id: &ToolCallId, holds: impl Fn(&AuditedCall) -> bool) -> bool {
        self.calls.iter().any(|open| open.call.id == *id && holds(open))
    }

    fn change(&mut self, id: &ToolCallId, change: impl FnOnce(&mut AuditedCall)) {
        if let Some(open) = self.calls.iter_mut().find(|open| open.call.id == *id) {
            change(open);
        }
    }
}

/// Whether everything that a state holds is within its stated limit.
pub(crate) fn is_bounded(state: &State) -> bool {
    state.queue.len() <= StateLimits::QUEUE
        && state.queue.iter().map(|queued| queued.message.size()).sum::<usize>() <= StateLimits::QUEUE_BYTES
        && state.turns.len() <= StateLimits::TURNS
        && state.keys.len() <= StateLimits::KEYS
        && state.answers.len() <= StateLimits::ANSWERS
        && state.unanswered.len() <= StateLimits::UNANSWERED
        && state.session.policy.approval.rules.len() <= StateLimits::RULES
        && state.turn.as_ref().is_none_or(|turn| turn.calls.len() <= StateLimits::CALLS)
}
