//! A session and its log, driven as an engine would: decide, append, apply. Times and ids count up.
//! What a log must look like is left to [`crate::audit`].

use jiff::Timestamp;
use ostler_types::{
    Accepted, AnswerApproval, ApprovalPolicy, CallEvent, CallStatus, CancelTurn, Command, CommandLine,
    Decision, DecisionFacts, Delivery, Event, Failure, JudgedCall, Message, MessageId, NewSession, OpenCall,
    Part, ProposedCall, Record, Refusal, Role, Scope, SessionId, State, Subject, SubmitMessage, ToolCall,
    ToolCallId, ToolKind, ToolResult, TurnId, TurnReport, Usage, Verdict, create, decide,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::audit::{Audit, Law};

/// A session under test.
pub(crate) struct SessionDriver {
    pub(crate) state: State,
    pub(crate) log: Vec<Record>,
    pub(crate) audit: Audit,
    /// What the engine knows of the next command.
    pub(crate) facts: DecisionFacts,
    /// Calls that the policy let through unasked, under the policy that holds.
    let_through: Vec<ToolCall>,
    counter: u64,
}

impl SessionDriver {
    /// A session that runs every message, with the default policy.
    pub(crate) fn new() -> SessionDriver {
        SessionDriver::with(|_| {})
    }

    /// The same, but for what `change` does to it.
    pub(crate) fn with(change: impl FnOnce(&mut NewSession)) -> SessionDriver {
        let mut new = new_session();
        change(&mut new);
        let (ts, session_id) = (new.at, new.id);
        let event = create(new).expect("the session can be made").remove(0);
        let first = Record { seq: 1, ts, session_id, turn_id: None, event };
        let state = State::begin(&first).expect("session_created begins a state");
        let audit = Audit::begin(&first);
        SessionDriver {
            state,
            log: vec![first],
            audit,
            facts: DecisionFacts::default(),
            let_through: Vec::new(),
            counter: 1000,
        }
    }

    /// Decides a command and records what it led to, checking what holds after every command.
    pub(crate) fn ask(&mut self, command: Command) -> Result<Decision, Refusal> {
        let decision = self.ask_unchecked(command)?;
        let folded = State::fold(&self.log).expect("a log that begins with session_created folds");
        self.audit
            .demand(Law::Fold, folded == self.state, || "the state is not the fold of the log".to_owned());
        let text = serde_json::to_string(&self.state).expect("a state can be written");
        let read: State = serde_json::from_str(&text).expect("a state can be read");
        self.audit.demand(Law::Fold, read == self.state, || format!("the state changed on its way: {text}"));
        Ok(decision)
    }

    /// The same without the checks over the whole log, for long histories.
    pub(crate) fn ask_unchecked(&mut self, command: Command) -> Result<Decision, Refusal> {
        let mut facts = std::mem::take(&mut self.facts);
        let proposed = match &command {
            Command::Report { report: TurnReport::CallProposed(ProposedCall { tool_call, .. }), .. } => {
                Some(tool_call.clone())
            }
            Command::Report { report: TurnReport::CallStarted { tool_call, .. }, .. } => {
                facts.auto_approved = self.let_through.iter().find(|call| call.id == tool_call.id).cloned();
                None
            }
            _ => None,
        };
        let changes_policy = matches!(command, Command::Update(_));
        let decision = decide(&self.state, command, &facts)?;
        if changes_policy {
            self.let_through.clear();
        }
        if decision.accepted == Accepted::Allowed {
            self.let_through.extend(proposed);
        }
        for event in &decision.events {
            self.counter += 1;
            let record = Record {
                seq: self.state.last_seq + 1,
                ts: self.now(),
                session_id: self.state.session.id,
                turn_id: event.turn_id,
                event: event.event.clone(),
            };
            let text = serde_json::to_string(&record).expect("a record can be written");
            let read: Record = serde_json::from_str(&text).expect("a record can be read");
            self.audit.demand(Law::Fold, read == record, || format!("a record changed on its way: {text}"));
            self.state.apply(&record);
            self.audit.observe(&record);
            self.log.push(record);
        }
        self.audit.settle(&self.state);
        Ok(decision)
    }

    /// Whether a call can start without being proposed first.
    pub(crate) fn may_start(&self, call: &ToolCall) -> bool {
        let concerned = self.state.session.policy.approval.may_ask_about(&call.name, kind_of(&call.name));
        !concerned || self.let_through.contains(call)
    }

    /// A command that must be accepted; returns the names of its events.
    pub(crate) fn accept(&mut self, command: Command) -> Vec<&'static str> {
        names(&self.ask(command).expect("the command is accepted"))
    }

    /// A command that must be refused; returns why.
    pub(crate) fn refused(&mut self, command: Command) -> Refusal {
        let before = self.state.clone();
        let refusal = self.ask(command).expect_err("the command is refused");
        assert_eq!(before, self.state);
        refusal
    }

    /// Submits a text for the next turn.
    pub(crate) fn submit(&mut self, text: &str) -> (MessageId, Option<TurnId>) {
        let command = self.submission(text, Delivery::Queue);
        self.submitted(command)
    }

    /// Submits what must be accepted; returns what the client is told.
    pub(crate) fn submitted(&mut self, command: Command) -> (MessageId, Option<TurnId>) {
        match self.ask(command).expect("the message is accepted").accepted {
            Accepted::Message { message_id, turn_id } => (message_id, turn_id),
            other => panic!("a message is answered with its ids, not {other:?}"),
        }
    }

    /// The command that submits a text.
    pub(crate) fn submission(&mut self, text: &str, delivery: Delivery) -> Command {
        let message = self.message(Role::User, vec![Part::text(text)]);
        self.submission_of(message, delivery, None)
    }

    /// The command that submits a message.
    pub(crate) fn submission_of(
        &mut self,
        message: Message,
        delivery: Delivery,
        key: Option<&str>,
    ) -> Command {
        Command::Submit(SubmitMessage {
            message,
            turn_id: self.turn_id(),
            delivery,
            auto_run: None,
            idempotency_key: key.map(str::to_owned),
            by: "ann".to_owned(),
        })
    }

    /// Adds a message without a turn.
    pub(crate) fn add(&mut self, text: &str) -> MessageId {
        let mut command = self.submission(text, Delivery::Queue);
        if let Command::Submit(SubmitMessage { auto_run, .. }) = &mut command {
            *auto_run = Some(false);
        }
        self.submitted(command).0
    }

    /// Reports of the running turn, which must be accepted.
    pub(crate) fn report(&mut self, report: TurnReport) -> Decision {
        let turn_id = self.running();
        self.ask(Command::Report { turn_id, report }).expect("the report is accepted")
    }

    /// Reports of the running turn, which must be refused.
    pub(crate) fn report_refused(&mut self, report: TurnReport) -> Refusal {
        let turn_id = self.running();
        self.refused(Command::Report { turn_id, report })
    }

    /// The model finishes a message with these calls.
    pub(crate) fn step(&mut self, calls: &[ToolCall]) -> Decision {
        let report = self.step_report(calls);
        self.report(report)
    }

    /// The report that the model finished a message with these calls.
    pub(crate) fn step_report(&mut self, calls: &[ToolCall]) -> TurnReport {
        let mut parts = vec![Part::text("let me see")];
        parts.extend(calls.iter().map(|call| Part::ToolCall { call: call.clone() }));
        let message = self.message(Role::Assistant, parts);
        let usage = Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() };
        TurnReport::StepFinished {
            model: "demo:small".to_owned(),
            message,
            stop_reason: "tool_use".to_owned(),
            usage,
        }
    }

    /// The report that a call has its result.
    pub(crate) fn finish(&mut self, id: &str, ok: bool) -> TurnReport {
        let id = ToolCallId(id.to_owned());
        let mut result = ToolResult::failed(id, "it said this");
        if ok {
            result.ok = true;
            result.error = None;
        }
        TurnReport::CallFinished { result, duration_ms: 7, message_id: self.message_id() }
    }

    /// What the model had written when it was stopped.
    pub(crate) fn partial(&mut self) -> Message {
        self.message(Role::Assistant, vec![Part::text("so far")])
    }

    pub(crate) fn message(&mut self, role: Role, parts: Vec<Part>) -> Message {
        Message { id: self.message_id(), role, parts, created_at: self.now() }
    }

    pub(crate) fn turn_id(&mut self) -> TurnId {
        TurnId::new(self.uuid())
    }

    pub(crate) fn message_id(&mut self) -> MessageId {
        MessageId::new(self.uuid())
    }

    /// A number that has not been used.
    pub(crate) fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// The turn that is open.
    pub(crate) fn running(&self) -> TurnId {
        self.state.turn.as_ref().expect("a turn is open").id
    }

    /// The open calls of the running turn; none when no turn is open.
    pub(crate) fn calls(&self) -> &[OpenCall] {
        self.state.turn.as_ref().map_or(&[], |turn| &turn.calls)
    }

    /// How far a call of the running turn is.
    pub(crate) fn status_of(&self, id: &str) -> &CallStatus {
        let open = self.calls().iter().find(|open| open.call.id.0 == id);
        &open.expect("the call is open").status
    }

    fn now(&self) -> Timestamp {
        at(self.counter)
    }

    fn uuid(&mut self) -> Uuid {
        let count = self.count();
        Uuid::from_u128(
            0x0190_0000_0000_7000_8000_0000_0000_0000 | u128::from(count) << 64 | u128::from(count),
        )
    }
}

/// A time of the test's own.
pub(crate) fn at(millisecond: u64) -> Timestamp {
    let millisecond = i64::try_from(millisecond).expect("tests are short");
    Timestamp::from_millisecond(1_735_689_600_000 + millisecond).expect("the time is in range")
}

/// What a plain session is made from.
pub(crate) fn new_session() -> NewSession {
    let id = SessionId::new(Uuid::from_u128(0x0190_f3c4_a5b6_7c8d_9e0f_1122_3344_5566));
    NewSession::new(id, at(0), "/work", "demo:small")
}

/// A call of the shell, which the default policy asks about.
pub(crate) fn shell(id: &str, command: &str) -> ToolCall {
    call(id, "shell", json!({"command": command}))
}

/// A call that the default policy does not ask about.
pub(crate) fn read(id: &str) -> ToolCall {
    call(id, "read_file", json!({"path": "a.txt"}))
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> ToolCall {
    ToolCall { id: ToolCallId(id.to_owned()), name: name.to_owned(), input }
}

/// What a tool of that name touches, in these tests.
pub(crate) fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "read_file" => ToolKind::Read,
        "write_file" => ToolKind::Write,
        "web_fetch" => ToolKind::Network,
        _ => ToolKind::Exec,
    }
}

/// What a call acts on, as the tools say it, where each command that could only read does.
pub(crate) fn subject(call: &ToolCall) -> Subject {
    let argument = match call.name.as_str() {
        "shell" => "command",
        "read_file" | "write_file" | "edit_file" => "path",
        "web_fetch" => "url",
        _ => return Subject::Input,
    };
    let Some(text) = call.input.get(argument).and_then(Value::as_str) else { return Subject::Input };
    let is_line = || call.input.as_object().is_some_and(|input| input.len() == 1);
    match call.name.as_str() {
        "shell" if is_line() => command_line(text),
        "shell" => Subject::Input,
        _ => Subject::Argument(text.to_owned()),
    }
}

/// A command line of which each command that could only read does.
pub(crate) fn command_line(line: &str) -> Subject {
    let reading = ostler_command_line::parse(line);
    let only_reads = vec![true; reading.commands.len()];
    Subject::CommandLine(Box::new(CommandLine::new(line.to_owned(), reading, only_reads)))
}

/// Whether a policy asks about a call.
pub(crate) fn asks(policy: &ApprovalPolicy, call: &ToolCall, kind: ToolKind, trusted: bool) -> bool {
    policy.asks(&JudgedCall { call, kind, subject: &subject(call), trusted })
}

/// An agent's question about a call.
pub(crate) fn propose(call: &ToolCall) -> TurnReport {
    let kind = kind_of(&call.name);
    TurnReport::CallProposed(ProposedCall {
        tool_call: call.clone(),
        kind,
        summary: call.name.clone(),
        risk: None,
        trusted: true,
        subject: subject(call),
        options: Vec::new(),
    })
}

/// An agent's word that a call is about to take effect.
pub(crate) fn start(call: &ToolCall) -> TurnReport {
    TurnReport::CallStarted { tool_call: call.clone(), kind: kind_of(&call.name) }
}

pub(crate) fn completed() -> TurnReport {
    TurnReport::Completed { stop_reason: "end_turn".to_owned(), verified: None, verification: None }
}

pub(crate) fn failed() -> TurnReport {
    TurnReport::Failed { error: failure(), reason: "provider".to_owned() }
}

pub(crate) fn failure() -> Failure {
    Failure {
        code: "provider_down".to_owned(),
        message: "no answer".to_owned(),
        hint: Some("retry".to_owned()),
    }
}

pub(crate) fn cancel() -> Command {
    let (by, reason) = ("ann".to_owned(), Some("enough".to_owned()));
    Command::Cancel(CancelTurn { turn_id: None, by, reason })
}

pub(crate) fn close() -> Command {
    Command::Close { by: "ann".to_owned() }
}

/// An answer by `by`, for this call only.
pub(crate) fn answer(turn_id: TurnId, id: &str, verdict: Verdict, by: &str) -> Command {
    let tool_call_id = ToolCallId(id.to_owned());
    Command::Answer(AnswerApproval {
        turn_id,
        tool_call_id,
        verdict,
        scope: Scope::Once,
        reason: None,
        review: None,
        option: None,
        by: by.to_owned(),
    })
}

pub(crate) fn names(decision: &Decision) -> Vec<&'static str> {
    decision.events.iter().map(|event| event.event.name().as_str()).collect()
}

/// The texts of the tool results among these events, by call.
pub(crate) fn result_texts(decision: &Decision) -> Vec<(String, String)> {
    let text = |event: &Event| match event {
        Event::Call(CallEvent::Completed { tool_call, tool_result, .. }) => {
            Some((tool_call.id.0.clone(), tool_result.text()))
        }
        _ => None,
    };
    decision.events.iter().filter_map(|event| text(&event.event)).collect()
}
