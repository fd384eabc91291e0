//! A stand-in for the engine, to test an agent alone. It decides by the real rules and keeps what it
//! records in memory; it has no disk, no subscribers and no queue of its own.

mod children;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ostler_agent::{
    Agent, CompletedTurn, FailedTurn, RawLogSink, ReportError, TurnContext, TurnLink, TurnRequest,
};
use ostler_types::{
    Accepted, AnswerApproval, CancelTurn, Clock, Command, Conversation, DecisionFacts, Delivery, Delta,
    DeltaKind, Event, EventFor, Message, MessageId, NewSession, Part, PendingApproval, Plan, Policy,
    ProposedCall, RawLine, Record, Refusal, RefusalCode, ReviewAnswer, Role, Scope, SessionChange, SessionId,
    State, SubmitMessage, ToolCall, ToolCallId, TurnId, TurnReport, Verdict, create, decide,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::clock::FixedClock;

pub use children::{child_answered, child_failed};

/// What the host says to an approval: yes or no, and why. `None` leaves it waiting.
type Answerer = Box<dyn Fn(&PendingApproval) -> Option<(Verdict, Option<String>)> + Send>;
type HostReply = oneshot::Sender<Result<Accepted, ReportError>>;

/// One session in memory, in which an agent under test runs turns. Clones are the same host.
#[derive(Clone)]
pub struct TurnHost {
    inner: Arc<Mutex<TurnHostState>>,
    clock: Arc<FixedClock>,
    changes: watch::Sender<u64>,
}

struct TurnHostState {
    state: State,
    records: Vec<Record>,
    deltas: Vec<Delta>,
    artifacts: Vec<(String, Vec<u8>)>,
    files: HashMap<String, Bytes>,
    raw: Vec<RawLine>,
    waiters: Vec<(ToolCallId, HostReply)>,
    auto_approved: HashMap<ToolCallId, ToolCall>,
    answerer: Option<Answerer>,
    canceled: CancellationToken,
    refuses: bool,
    trusted: bool,
    children: children::ScriptedChildren,
}

impl TurnHost {
    /// A session in this directory, of the model `scripted:model`.
    pub fn new(workspace: &str, policy: Policy) -> TurnHost {
        TurnHost::with_session(workspace, |new| NewSession { policy, ..new })
    }

    /// A session in this directory, with other settings.
    pub fn with_session(workspace: &str, set: impl FnOnce(NewSession) -> NewSession) -> TurnHost {
        let clock = Arc::new(FixedClock::default());
        let id = SessionId::new(clock.uuid());
        let new = set(NewSession::new(id, clock.now(), workspace, "scripted:model"));
        let event = create(new).expect("the session is a valid one").remove(0);
        let first = Record { seq: 1, ts: clock.now(), session_id: id, turn_id: None, event };
        let state = State::begin(&first).expect("the record makes a session");
        let held = TurnHostState {
            state,
            records: vec![first],
            deltas: Vec::new(),
            artifacts: Vec::new(),
            files: HashMap::new(),
            raw: Vec::new(),
            waiters: Vec::new(),
            auto_approved: HashMap::new(),
            answerer: None,
            canceled: CancellationToken::new(),
            refuses: false,
            trusted: false,
            children: children::ScriptedChildren::default(),
        };
        TurnHost { inner: Arc::new(Mutex::new(held)), clock, changes: watch::Sender::new(0) }
    }

    /// Lets every approval be answered at once by this, instead of by [`TurnHost::answer`].
    #[must_use]
    pub fn answering(
        self,
        answerer: impl Fn(&PendingApproval) -> Option<(Verdict, Option<String>)> + Send + 'static,
    ) -> TurnHost {
        self.lock().answerer = Some(Box::new(answerer));
        self
    }

    /// Adds a user's message: the next turn, or what the running one is steered by.
    pub fn submit(&self, text: &str, delivery: Delivery) -> TurnId {
        self.submit_message(vec![Part::text(text)], delivery)
    }

    /// Adds a user's message of several parts.
    pub fn submit_parts(&self, parts: Vec<Part>) -> TurnId {
        self.submit_message(parts, Delivery::Queue)
    }

    fn submit_message(&self, parts: Vec<Part>, delivery: Delivery) -> TurnId {
        let turn_id = TurnId::new(self.clock.uuid());
        let message = Message {
            id: MessageId::new(self.clock.uuid()),
            role: Role::User,
            parts,
            created_at: self.clock.now(),
        };
        let (idempotency_key, auto_run, by) = (None, None, "test".to_owned());
        let submit =
            Command::Submit(SubmitMessage { message, turn_id, delivery, auto_run, idempotency_key, by });
        self.command(submit).expect("the message is accepted");
        turn_id
    }

    /// Begins a turn that makes the conversation shorter.
    pub fn compact(&self) {
        let turn_id = TurnId::new(self.clock.uuid());
        self.command(Command::Compact { turn_id }).expect("no turn runs");
    }

    /// Begins a turn that carries out a plan.
    pub fn run_plan(&self, plan: Plan) {
        let turn_id = TurnId::new(self.clock.uuid());
        self.command(Command::RunPlan { turn_id, plan }).expect("no turn runs, and the plan is a good one");
    }

    /// Does what a new process does with a turn that nobody runs any more, and says whether it goes on.
    pub fn recover(&self) -> bool {
        self.command_with_partial(Command::Recover { resumable: true }).expect("recovering is never refused");
        self.state().turn.is_some()
    }

    /// Repeats the last turn, which failed or was canceled.
    pub fn retry(&self) -> Result<(), Refusal> {
        let retry_of = self.state().session.last_turn_id.expect("there was a turn");
        self.command(Command::Retry { retry_of, turn_id: TurnId::new(self.clock.uuid()) }).map(drop)
    }

    /// Runs the open turn with this agent, and records its end. Dropping the future leaves the turn
    /// as a crash would; running it again resumes it.
    pub async fn run(&self, agent: &dyn Agent) -> Result<CompletedTurn, FailedTurn> {
        let (context, mut requests) = self.context();
        let turn_id = context.open_turn.id;
        let mut running = agent.run_turn(context);
        let ended = loop {
            tokio::select! {
                biased;
                // A test that polls by hand can stop between any two requests.
                Some(request) = requests.recv() => {
                    self.request(turn_id, request);
                    tokio::task::yield_now().await;
                }
                ended = &mut running => break ended,
            }
        };
        let report = match ended.clone() {
            Ok(CompletedTurn { stop_reason, verified, verification }) => {
                TurnReport::Completed { stop_reason, verified, verification }
            }
            Err(FailedTurn { error, reason }) => TurnReport::Failed { error, reason },
        };
        // A turn that was canceled is over already, and the report of its end is refused.
        let _ = self.command_with_partial(Command::Report { turn_id, report });
        ended
    }

    /// Stops the running turn, as a person would.
    pub fn cancel(&self) {
        let (by, reason) = ("test".to_owned(), None);
        self.command_with_partial(Command::Cancel(CancelTurn { turn_id: None, by, reason }))
            .expect("canceling is never refused");
        let mut held = self.lock();
        held.canceled.cancel();
        held.waiters.clear();
    }

    /// Answers an approval.
    pub fn answer(&self, id: &str, verdict: Verdict, reason: Option<&str>) -> Result<(), Refusal> {
        self.answer_review(id, verdict, reason, None)
    }

    /// Answers a review.
    pub fn answer_review(
        &self,
        id: &str,
        verdict: Verdict,
        reason: Option<&str>,
        review: Option<ReviewAnswer>,
    ) -> Result<(), Refusal> {
        let turn_id = self.state().turn.map_or(TurnId::new(self.clock.uuid()), |turn| turn.id);
        let (tool_call_id, by) = (ToolCallId(id.to_owned()), "test".to_owned());
        let (scope, reason) = (Scope::Once, reason.map(str::to_owned));
        self.command(Command::Answer(AnswerApproval {
            review,
            option: None,
            turn_id,
            tool_call_id: tool_call_id.clone(),
            verdict,
            scope,
            reason,
            by,
        }))?;
        self.wake(turn_id, &tool_call_id);
        Ok(())
    }

    /// Reports in the place of the open turn's agent, to bring the session where a test wants it.
    pub fn report(&self, report: TurnReport) -> Result<Accepted, Refusal> {
        let turn_id = self.state().turn.map_or(TurnId::new(self.clock.uuid()), |turn| turn.id);
        self.command(Command::Report { turn_id, report })
    }

    /// Refuses to record anything from now on, as a full disk does, or records again.
    pub fn refuse_writes(&self, refuses: bool) {
        self.lock().refuses = refuses;
    }

    /// Trusts the workspace, or no longer.
    pub fn trust(&self, trusted: bool) {
        self.lock().trusted = trusted;
    }

    /// How the session stands.
    pub fn state(&self) -> State {
        self.lock().state.clone()
    }

    /// Everything that was recorded.
    pub fn events(&self) -> Vec<Event> {
        self.lock().records.iter().map(|record| record.event.clone()).collect()
    }

    /// The names of everything that was recorded.
    pub fn names(&self) -> Vec<&'static str> {
        self.lock().records.iter().map(|record| record.event.name().as_str()).collect()
    }

    /// The conversation, as the next turn's agent would be given it.
    pub fn conversation(&self) -> Vec<Arc<Message>> {
        let mut conversation = Conversation::default();
        self.lock().records.iter().for_each(|record| conversation.apply(record));
        conversation.messages()
    }

    /// Everything that was shown as it streamed.
    pub fn deltas(&self) -> Vec<Delta> {
        self.lock().deltas.clone()
    }

    /// What was kept beside the log: where, and what.
    pub fn artifacts(&self) -> Vec<(String, Vec<u8>)> {
        self.lock().artifacts.clone()
    }

    /// Puts a file beside the log, as an upload does.
    pub fn put_file(&self, reference: &str, content: &[u8]) {
        self.lock().files.insert(reference.to_owned(), Bytes::copy_from_slice(content));
    }

    /// What went over the wire, if the session keeps it.
    pub fn raw(&self) -> Vec<RawLine> {
        self.lock().raw.clone()
    }

    /// Changes the session's settings.
    pub fn update(&self, change: SessionChange) {
        self.command(Command::Update(change)).expect("the change is a valid one");
    }

    /// Waits until this many records of a name have been made.
    pub async fn recorded(&self, name: &str, count: usize) {
        self.until(|host| host.names().iter().filter(|recorded| **recorded == name).count() >= count).await;
    }

    /// Waits until something holds of the host.
    pub async fn until(&self, holds: impl Fn(&TurnHost) -> bool) {
        let mut changes = self.changes.subscribe();
        while !holds(self) {
            changes.changed().await.expect("the host lives as long as the wait");
        }
    }

    fn context(&self) -> (TurnContext, mpsc::Receiver<TurnRequest>) {
        let history = self.conversation();
        let (sender, requests) = mpsc::channel(16);
        let (host, running) = (self.clone(), self.state().turn.map(|turn| turn.id));
        let deltas = Arc::new(move |delta: Delta| {
            let mut held = host.lock();
            // Nothing is shown of a turn that is over.
            if held.state.turn.as_ref().map(|turn| turn.id) == running {
                held.deltas.push(delta);
            }
            drop(held);
            host.changed();
        });
        let mut held = self.lock();
        held.canceled = CancellationToken::new();
        held.waiters.clear();
        let open = Arc::new(held.state.turn.clone().expect("a message was submitted before the turn is run"));
        let (session, canceled) = (Arc::new(held.state.session.clone()), held.canceled.clone());
        let host = self.clone();
        let raw: RawLogSink = Arc::new(move |line| host.lock().raw.push(line));
        let raw = held.state.session.raw_log.then_some(raw);
        let link = TurnLink { requests: sender, deltas, raw_log: raw };
        let context = TurnContext::new(session, open, history, canceled, self.clock.clone(), link);
        let children_tokens = Arc::clone(&held.children.tokens);
        (context.trusted(held.trusted).with_children_tokens(children_tokens), requests)
    }

    fn request(&self, turn_id: TurnId, request: TurnRequest) {
        let refuses = self.lock().refuses;
        let full = || ReportError::NotRecorded("the test's disk is full".to_owned());
        match request {
            TurnRequest::Report { reply, .. } if refuses => _ = reply.send(Err(full())),
            TurnRequest::PutArtifact { reply, .. } if refuses => _ = reply.send(Err(full())),
            TurnRequest::Child(request) => self.child_request(turn_id, request),
            TurnRequest::GetFile { reference, reply } => {
                let missing = || ReportError::NotRecorded(format!("there is no file {reference}"));
                _ = reply.send(self.lock().files.get(&reference).cloned().ok_or_else(missing));
            }
            TurnRequest::Report { report, reply } => self.take_report(turn_id, report, reply),
            TurnRequest::PutArtifact { name, content, reply } => {
                let reference = format!("artifacts/{turn_id}/{name}");
                self.lock().artifacts.push((reference.clone(), content));
                _ = reply.send(Ok(reference));
            }
        }
    }

    fn take_report(&self, turn_id: TurnId, report: TurnReport, reply: HostReply) {
        let mut facts = DecisionFacts::default();
        let (proposed, reviews) = match &report {
            TurnReport::CallProposed(ProposedCall { tool_call, .. }) => (Some(tool_call.clone()), false),
            TurnReport::CallStarted { tool_call, .. } => {
                facts.auto_approved = self.lock().auto_approved.remove(&tool_call.id);
                (None, false)
            }
            TurnReport::ReviewRequested { .. } => (None, true),
            _ => (None, false),
        };
        let answer = self.decide_and_record(Command::Report { turn_id, report }, &facts);
        if let (Ok(Accepted::Allowed), Some(call)) = (&answer, &proposed) {
            self.lock().auto_approved.insert(call.id.clone(), call.clone());
        }
        let proposed = proposed.map(|call| call.id);
        let review = || self.state().own_approvals().next().map(|a| a.tool_call_id.clone());
        let proposed = if reviews { review() } else { proposed };
        let (Ok(Accepted::Waiting), Some(id)) = (&answer, proposed) else {
            _ = reply.send(answer.map_err(report_error));
            return;
        };
        self.lock().waiters.push((id.clone(), reply));
        let approval = self.state().pending_approvals().find(|approval| approval.tool_call_id == id).cloned();
        let answered = match (&self.lock().answerer, approval) {
            (Some(answerer), Some(approval)) => answerer(&approval),
            (None, _) | (_, None) => None,
        };
        if let Some((verdict, reason)) = answered {
            self.answer(&id.0, verdict, reason.as_deref()).expect("the approval waits");
        }
    }

    /// Tells an agent that waits what the answer was, in the words of the rules.
    fn wake(&self, turn_id: TurnId, id: &ToolCallId) {
        let turn = self.state().turn.filter(|turn| turn.id == turn_id);
        let reviewed = turn.as_ref().and_then(|turn| turn.reviewed.clone());
        let open = turn.and_then(|turn| turn.call(id).cloned());
        let accepted = match (open, reviewed) {
            (None, Some(reviewed)) => Accepted::Reviewed(Box::new(reviewed)),
            (Some(open), _) => match open.status.clone() {
                ostler_types::CallStatus::Denied { reason } => {
                    open.answer_for_agent(Accepted::Denied { reason }, false)
                }
                _ => open.answer_for_agent(Accepted::Allowed, true),
            },
            (None, None) => Accepted::Allowed,
        };
        let mut held = self.lock();
        if let Some(index) = held.waiters.iter().position(|(waiting, _)| waiting == id) {
            _ = held.waiters.swap_remove(index).1.send(Ok(accepted));
        }
    }

    fn command(&self, command: Command) -> Result<Accepted, Refusal> {
        self.decide_and_record(command, &DecisionFacts::default())
    }

    /// For commands that may end the turn.
    fn command_with_partial(&self, command: Command) -> Result<Accepted, Refusal> {
        let facts = DecisionFacts { partial: self.partial(), ..DecisionFacts::default() };
        self.decide_and_record(command, &facts)
    }

    fn decide_and_record(&self, command: Command, facts: &DecisionFacts) -> Result<Accepted, Refusal> {
        let mut held = self.lock();
        let decision = decide(&held.state, command, facts)?;
        for EventFor { turn_id, event } in decision.events {
            let (seq, session_id) = (held.state.last_seq + 1, held.state.session.id);
            let record = Record { seq, ts: self.clock.now(), session_id, turn_id, event };
            held.state.apply(&record);
            held.records.push(record);
        }
        drop(held);
        self.changed();
        Ok(decision.accepted)
    }

    /// What was shown of a message that was never finished.
    fn partial(&self) -> Option<Message> {
        let deltas = self.deltas();
        // A message that was finished may be shown no longer.
        let finished: Vec<Message> =
            self.lock().records.iter().filter_map(|record| record.event.message(record.ts)).collect();
        let mut parts: Vec<(u32, Part)> = Vec::new();
        let mut id = None;
        for Delta { kind, text, .. } in deltas {
            let (message_id, part, fresh) = match kind {
                DeltaKind::Text { message_id, part } => (message_id, part, Part::text("")),
                DeltaKind::Reasoning { message_id, part } => {
                    (message_id, part, Part::Reasoning { text: String::new(), opaque: None })
                }
                DeltaKind::ToolOutput { .. } => continue,
            };
            if finished.iter().any(|message| message.id == message_id) {
                continue;
            }
            id = Some(message_id);
            if parts.last().is_none_or(|(last, _)| *last != part) {
                parts.push((part, fresh));
            }
            if let Some((_, Part::Text { text: so_far } | Part::Reasoning { text: so_far, .. })) =
                parts.last_mut()
            {
                so_far.push_str(&text);
            }
        }
        let parts = parts.into_iter().map(|(_, part)| part).collect();
        Some(Message { id: id?, role: Role::Assistant, parts, created_at: self.clock.now() })
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, TurnHostState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report_error(refusal: Refusal) -> ReportError {
    if refusal.code == RefusalCode::TurnOver { ReportError::TurnOver } else { ReportError::Refused(refusal) }
}
