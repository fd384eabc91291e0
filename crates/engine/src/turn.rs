//! The agent beside an actor: starting it, hearing it, and making sure that it ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ostler_agent::{Agent, CompletedTurn, FailedTurn, ReportError, TurnContext, TurnLink, TurnRequest};
use ostler_eventlog::Epoch;
use ostler_recorder::RawWriter;
use ostler_types::{
    Accepted, CallStatus, Command, DecisionFacts, Delta, Failure, OpenTurn, Refusal, ToolCall, ToolCallId,
    TurnId, TurnReport,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::actor::{Actor, ActorInput};
use crate::engine::EngineShared;
use crate::hub::Hub;
use crate::masked_streams::MaskedStreams;

/// Reports that may wait for the actor. An agent awaits each, so there are never many.
const MAX_PENDING_REPORTS: usize = 16;
/// Text that goes into a draft at once, without waiting for the clock.
const DRAFT_BYTES: usize = 8 * 1024;
/// How long an agent has to return after it was told that its turn is over.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

type ReportReply = oneshot::Sender<Result<Accepted, ReportError>>;

/// An agent at work on a turn.
pub(crate) struct RunningTurn {
    pub(crate) turn_id: TurnId,
    canceled: CancellationToken,
    requests: mpsc::Receiver<TurnRequest>,
    task: JoinHandle<Result<CompletedTurn, FailedTurn>>,
    /// When an agent that was told to stop is dropped.
    deadline: Option<Instant>,
    /// Tells the agent how many tokens the sessions have spent that it has started.
    children_tokens: Arc<AtomicU64>,
    /// Agents that wait for an approval.
    waiters: HashMap<ToolCallId, ReportReply>,
    /// Calls that the policy let through unasked and that have not started.
    auto_approved: HashMap<ToolCallId, ToolCall>,
    /// Takes the traffic with providers for as long as the agent works.
    raw: Option<RawWriter>,
}

/// How an agent returned.
pub(crate) struct AgentReturn {
    pub(crate) turn_id: TurnId,
    result: Result<CompletedTurn, FailedTurn>,
}

impl Actor {
    /// Keeps the right agent running: none without a turn, and that of the open turn otherwise. An
    /// agent whose turn is over is told, and the next one starts when it has returned, so that two
    /// never touch a workspace at once.
    pub(crate) async fn reconcile_turn(&mut self) {
        let open = self.session.state.turn.as_ref().map(|turn| turn.id);
        let is_held_back =
            self.has_unrecorded_end() || self.session.shared.turns_disabled || self.session.is_lost();
        match &mut self.running {
            Some(running) if Some(running.turn_id) == open => {
                let state = &self.session.state;
                running.children_tokens.store(state.children_usage.tokens(), Ordering::Relaxed);
                if let Some(turn) = &state.turn {
                    running.answer(turn);
                }
            }
            Some(running) => {
                self.session.hub.set_turn(None);
                running.cancel();
            }
            None if is_held_back => {}
            // A turn that cannot start fails, and the next one may have begun by that.
            None if open.is_some() => {
                while self.session.state.turn.is_some()
                    && self.running.is_none()
                    && !self.has_unrecorded_end()
                {
                    if self.session.is_lost() {
                        return;
                    }
                    self.start_turn().await;
                }
            }
            None => self.session.hub.set_turn(None),
        }
        self.reconcile_children();
    }

    /// Starts the agent of the open turn.
    async fn start_turn(&mut self) {
        let Some(open) = self.session.state.turn.clone() else { return };
        let name = self.session.state.session.agent.clone();
        let Some(agent) = self.session.shared.agents.get(&name).cloned() else {
            return self.fail_to_start(open.id, unknown_agent(&name)).await;
        };
        let workspace = self.session.state.session.workspace_path.clone();
        if let Err(refusal) = self.session.shared.runner_of(&self.session.state.session) {
            let Refusal { message, hint, .. } = refusal;
            let error = Failure { code: "unknown_runner".to_owned(), message, hint };
            return self.fail_to_start(open.id, error).await;
        }
        if let Some(why) = self.session.shared.workspace_problem(&workspace).await {
            return self.fail_to_start(open.id, unfit_workspace(&workspace, &why)).await;
        }
        let history = match self.session.conversation().await {
            Ok(history) => history,
            Err(error) => {
                return self.fail_to_start(open.id, unreadable_conversation(&error.to_string())).await;
            }
        };
        self.session.hub.set_turn(Some(open.id));
        let session = Arc::new(self.session.state.session.clone());
        let clock = self.session.shared.clock.clone();
        let (hub, shared) = (self.session.hub.clone(), self.session.shared.clone());
        let trusted = shared.trusts(&session.workspace_key()).await;
        let raw = if session.raw_log { self.raw_writer() } else { None };
        let spent = self.session.state.children_usage.tokens();
        let context = move |open, canceled, link| {
            let context = TurnContext::new(session, Arc::new(open), history, canceled, clock, link);
            context.trusted(trusted).with_children_tokens(Arc::new(AtomicU64::new(spent)))
        };
        self.running =
            Some(RunningTurn::start(agent, open, context, hub, (shared, self.session.epoch()), raw));
    }

    /// Keeps the traffic with providers. That it cannot be kept is no reason not to work.
    fn raw_writer(&self) -> Option<RawWriter> {
        let path = self.session.shared.folders.session_path(self.session.id).join("raw.jsonl");
        let opened = RawWriter::open(path, self.session.shared.clock.clone());
        opened.inspect_err(|error| tracing::warn!(id = %self.session.id, %error, "no raw log")).ok()
    }

    async fn fail_to_start(&mut self, turn_id: TurnId, error: Failure) {
        let reason = error.code.clone();
        let report = TurnReport::Failed { error, reason };
        self.record_or_keep(Command::Report { turn_id, report }, DecisionFacts::default()).await;
    }

    /// Whether this session's agent can pick up a turn that waited.
    pub(crate) fn agent_resumes(&self) -> bool {
        let agent = self.session.shared.agents.get(&self.session.state.session.agent);
        agent.is_some_and(|agent| agent.can_resume_turns())
    }
}

impl RunningTurn {
    fn start(
        agent: Arc<dyn Agent>,
        open: OpenTurn,
        context: impl FnOnce(OpenTurn, CancellationToken, TurnLink) -> TurnContext,
        hub: Arc<Hub>,
        (shared, epoch): (Arc<EngineShared>, Option<Epoch>),
        raw: Option<RawWriter>,
    ) -> RunningTurn {
        let (turn_id, canceled) = (open.id, CancellationToken::new());
        let (sender, requests) = mpsc::channel(MAX_PENDING_REPORTS);
        let sink = raw.as_ref().map(RawWriter::sink);
        let streams = MaskedStreams::default();
        let deltas = Arc::new(move |delta: Delta| {
            if let Some(delta) = streams.mask(&shared.secrets, delta) {
                publish_delta(&hub, &shared, (turn_id, epoch), delta);
            }
        });
        let context = context(open, canceled.clone(), TurnLink { requests: sender, deltas, raw_log: sink });
        let children_tokens = context.children_tokens.clone();
        let task = tokio::spawn(async move { agent.run_turn(context).await });
        let (deadline, waiters, let_through) = (None, HashMap::new(), HashMap::new());
        RunningTurn {
            turn_id,
            canceled,
            requests,
            task,
            deadline,
            children_tokens,
            waiters,
            auto_approved: let_through,
            raw,
        }
    }

    /// What the agent has to say next; for ever silent when there is none.
    pub(crate) async fn next(running: &mut Option<RunningTurn>) -> ActorInput {
        let Some(running) = running else { return std::future::pending().await };
        let turn_id = running.turn_id;
        loop {
            let patience = running.deadline.unwrap_or_else(|| Instant::now() + CANCEL_GRACE);
            tokio::select! {
                biased;
                Some(request) = running.requests.recv() => return ActorInput::Turn { turn_id, request: Box::new(request) },
                joined = &mut running.task => {
                    let result = joined.unwrap_or_else(|error| Err(panicked(&error)));
                    return ActorInput::Returned(AgentReturn { turn_id, result });
                }
                () = tokio::time::sleep_until(patience), if running.deadline.is_some() => {
                    running.deadline = None;
                    running.task.abort();
                }
            }
        }
    }

    /// Lets the agent wait until somebody answers.
    pub(crate) fn wait_for(&mut self, id: ToolCallId, reply: ReportReply) {
        self.waiters.insert(id, reply);
    }

    /// Remembers that the policy let a call through, until it starts. Nothing records that: a turn that is picked up
    /// after a crash proposes its calls again.
    pub(crate) fn auto_approve(&mut self, call: ToolCall, turn: Option<&OpenTurn>) {
        self.auto_approved.retain(|id, _| turn.is_some_and(|turn| turn.call(id).is_some()));
        self.auto_approved.insert(call.id.clone(), call);
    }

    /// Has every call proposed again, because another policy holds now.
    pub(crate) fn clear_auto_approved(&mut self) {
        self.auto_approved.clear();
    }

    /// The call of this id as it was when the policy let it through.
    pub(crate) fn take_auto_approved(&mut self, id: &ToolCallId) -> Option<ToolCall> {
        self.auto_approved.remove(id)
    }

    /// Wakes the waiters whose approvals have been answered.
    fn answer(&mut self, turn: &OpenTurn) {
        if let Some(reviewed) = &turn.reviewed {
            for (_, reply) in self.waiters.drain() {
                _ = reply.send(Ok(Accepted::Reviewed(Box::new(reviewed.clone()))));
            }
        }
        for open in &turn.calls {
            let accepted = match &open.status {
                CallStatus::Granted => open.answer_for_agent(Accepted::Allowed, true),
                CallStatus::Denied { reason } => {
                    open.answer_for_agent(Accepted::Denied { reason: reason.clone() }, false)
                }
                CallStatus::Proposed
                | CallStatus::Waiting { .. }
                | CallStatus::Started
                | CallStatus::Done { .. } => continue,
            };
            if let Some(reply) = self.waiters.remove(&open.call.id) {
                _ = reply.send(Ok(accepted));
            }
        }
    }

    /// Tells the agent that its turn is over; one that does not listen is dropped after a while.
    fn cancel(&mut self) {
        if self.canceled.is_cancelled() {
            return;
        }
        self.canceled.cancel();
        self.waiters.clear();
        self.deadline = Some(Instant::now() + CANCEL_GRACE);
    }

    /// Drops the agent at once if it was told before and has not returned: whoever cancels twice does not
    /// want to wait for one that does not listen.
    pub(crate) fn force(&mut self) {
        if self.canceled.is_cancelled() {
            self.deadline = Some(Instant::now());
        }
    }

    /// Tells it, and waits until it has returned.
    pub(crate) async fn end(mut self) {
        self.cancel();
        self.requests.close();
        while self.requests.recv().await.is_some() {}
        if tokio::time::timeout(CANCEL_GRACE, &mut self.task).await.is_err() {
            self.task.abort();
            _ = (&mut self.task).await;
        }
    }
}

/// An agent whose actor is gone has nobody to report to.
impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.canceled.cancel();
        self.task.abort();
        // Its last lines may have to wait for the disk.
        if let (Some(raw), Ok(runtime)) = (self.raw.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn_blocking(move || drop(raw));
        }
    }
}

impl AgentReturn {
    /// The report that ends the turn.
    pub(crate) fn into_command(self) -> Command {
        let report = match self.result {
            Ok(CompletedTurn { stop_reason, verified, verification }) => {
                TurnReport::Completed { stop_reason, verified, verification }
            }
            Err(FailedTurn { error, reason }) => TurnReport::Failed { error, reason },
        };
        Command::Report { turn_id: self.turn_id, report }
    }

    /// The end of a turn whose agent said that it was done when the rules say that it was not.
    pub(crate) fn refused(command: &Command, refusal: &Refusal) -> Command {
        let Command::Report { turn_id, .. } = command else { return command.clone() };
        let error = Failure {
            code: "agent_error".to_owned(),
            message: format!("the agent ended its turn too early: {refusal}"),
            hint: Some("this is a fault of the agent; retry the turn".to_owned()),
        };
        let report = TurnReport::Failed { error, reason: "agent_error".to_owned() };
        Command::Report { turn_id: *turn_id, report }
    }
}

/// Shows a delta to those who look at this session or at all, and keeps it in a draft now and then.
fn publish_delta(hub: &Hub, shared: &EngineShared, (turn_id, epoch): (TurnId, Option<Epoch>), delta: Delta) {
    let Some(line) = hub.publish_delta(turn_id, delta) else { return };
    shared.deltas.publish(&line);
    if let (Some(epoch), Some((turn_id, deltas))) = (epoch, hub.unsaved(DRAFT_BYTES)) {
        for delta in deltas {
            shared.log.save_draft(hub.session_id(), epoch, turn_id, delta);
        }
    }
}

fn unknown_agent(name: &str) -> Failure {
    Failure {
        code: "unknown_agent".to_owned(),
        message: format!("this daemon has no agent called `{name}`"),
        hint: Some("choose one of the agents that this daemon has".to_owned()),
    }
}

fn unfit_workspace(workspace: &str, why: &str) -> Failure {
    let hint = "the session can be read and exported; import it with a workspace of your own to go on";
    Failure {
        code: "bad_workspace".to_owned(),
        message: format!("no turn runs in `{workspace}`: {why}"),
        hint: Some(hint.to_owned()),
    }
}

fn unreadable_conversation(why: &str) -> Failure {
    let hint = Some("`ostler doctor` checks the logs".to_owned());
    Failure {
        code: "log_unreadable".to_owned(),
        message: format!("the conversation cannot be read: {why}"),
        hint,
    }
}

fn panicked(error: &tokio::task::JoinError) -> FailedTurn {
    let message = format!("the agent stopped working: {error}");
    let hint = Some("this is a fault in the agent; retry the turn".to_owned());
    FailedTurn {
        error: Failure { code: "agent_panicked".to_owned(), message, hint },
        reason: "agent_panicked".to_owned(),
    }
}
