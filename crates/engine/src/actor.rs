//! The actor of one session: takes one input at a time, decides, records, and keeps the right agent
//! running. It goes to sleep when nothing is left to do and nobody looks on.

mod shutdown;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ostler_agent::{ReportError, TurnRequest};
use ostler_eventlog::LogError;
use ostler_types::{
    Accepted, AnswerApproval, Command, Decision, DecisionFacts, Delivery, Message, ProposedCall, Refusal,
    RefusalCode, Scope, SessionView, SubmitMessage, TurnId, TurnReport, Verdict, decide,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::children::ChildWatchers;
use crate::error::EngineError;
use crate::files;
use crate::loaded_session::LoadedSession;
use crate::lost_session::OwnershipLoss;
use crate::session_queries::SubmittedMessage;
use crate::subscriber_queue::SubscriberQueue;
use crate::subscription::Subscription;
use crate::turn::{AgentReturn, RunningTurn};

/// How often the text that streams goes into a draft, at the latest.
const DRAFT_EVERY: Duration = Duration::from_millis(500);
/// How long after the end of a turn `session.json` is written, unless another one has begun.
const DESCRIPTION_DELAY: Duration = Duration::from_secs(1);
/// How often a turn's end is tried again while the disk refuses it.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// All that can happen to a session.
pub(crate) enum ActorInput {
    /// A client asks for something.
    Command { command: Box<Command>, reply: oneshot::Sender<Result<Accepted, EngineError>> },
    /// A client wants to see how it stands.
    View { reply: oneshot::Sender<SessionView> },
    /// A client wants to see what the model is shown.
    Context { reply: oneshot::Sender<Result<Vec<Arc<Message>>, EngineError>> },
    /// A client wants to know what became of a message that it has sent under this key.
    Submitted { key: String, reply: oneshot::Sender<Option<SubmittedMessage>> },
    /// A client wants to follow it.
    Subscribe {
        after: u64,
        queue: Arc<SubscriberQueue>,
        reply: oneshot::Sender<Result<Subscription, EngineError>>,
    },
    /// Its agent reports.
    Turn { turn_id: TurnId, request: Box<TurnRequest> },
    /// Its agent has returned.
    Returned(AgentReturn),
    /// Some time has passed.
    Tick,
    /// Its files are to be removed.
    Purge { reply: oneshot::Sender<Result<(), EngineError>> },
    /// The daemon stops.
    Stop,
}

/// The reason why an actor ended.
pub(crate) enum ActorEnd {
    /// The session sleeps or was removed, or the daemon stops.
    Over,
    /// Another owner has the session, or may have it.
    Lost(OwnershipLoss),
}

/// Runs one session.
pub(crate) struct Actor {
    pub(crate) session: LoadedSession,
    pub(crate) running: Option<RunningTurn>,
    pub(crate) children: ChildWatchers,
    inputs: mpsc::Receiver<ActorInput>,
    /// A turn's end that the disk would not take yet.
    unrecorded: Option<(Command, DecisionFacts)>,
    idle_since: Instant,
    tick_at: Option<Instant>,
    /// Came while the session was about to sleep.
    deferred_input: Option<ActorInput>,
}

impl Actor {
    pub(crate) fn new(session: LoadedSession, inputs: mpsc::Receiver<ActorInput>) -> Actor {
        let children = ChildWatchers::default();
        Actor {
            session,
            running: None,
            children,
            inputs,
            unrecorded: None,
            idle_since: Instant::now(),
            tick_at: None,
            deferred_input: None,
        }
    }

    /// Runs until the session is idle, removed or lost to another owner, or the daemon stops. An actor that lost its
    /// session ends at once: its agent is dropped, and nothing is recorded, settled or written.
    pub(crate) async fn run(mut self) -> ActorEnd {
        Box::pin(self.reconcile_turn()).await;
        let loss = loop {
            if let Some(loss) = self.session.loss() {
                break loss;
            }
            let input = self.next_input().await;
            if self.handle(input).await.is_break() {
                return ActorEnd::Over;
            }
        };
        // The agent is dropped at once, but a merge in progress is awaited.
        drop(self.running.take());
        self.stop_child_watchers().await;
        ActorEnd::Lost(loss)
    }

    async fn next_input(&mut self) -> ActorInput {
        if let Some(early) = self.deferred_input.take() {
            return early;
        }
        // The earliest tick counts, so that a busy session is not too busy for it.
        let patience = match (&self.unrecorded, &self.running) {
            (Some(_), _) => RETRY_EVERY,
            (None, Some(_)) => DRAFT_EVERY,
            (None, None) if !self.session.is_described() => DESCRIPTION_DELAY,
            (None, None) => self.session.shared.idle_timeout(),
        };
        let due = Instant::now() + patience;
        let tick = self.tick_at.map_or(due, |tick| tick.min(due));
        self.tick_at = Some(tick);
        tokio::select! {
            input = self.inputs.recv() => input.unwrap_or(ActorInput::Stop),
            input = RunningTurn::next(&mut self.running) => input,
            () = tokio::time::sleep_until(tick) => {
                self.tick_at = None;
                ActorInput::Tick
            }
        }
    }

    async fn handle(&mut self, input: ActorInput) -> ControlFlow<()> {
        match input {
            ActorInput::Command { command, reply } => Box::pin(self.command(*command, reply)).await,
            ActorInput::View { reply } => _ = reply.send(self.session.state.view()),
            ActorInput::Context { reply } => _ = reply.send(self.context().await),
            ActorInput::Submitted { key, reply } => {
                _ = reply.send(SubmittedMessage::from_state(&self.session.state, &key))
            }
            ActorInput::Subscribe { after, queue, reply } => _ = reply.send(self.subscribe(after, queue)),
            ActorInput::Turn { turn_id, request } => Box::pin(self.turn_request(turn_id, *request)).await,
            ActorInput::Returned(returned) => Box::pin(self.returned(returned)).await,
            ActorInput::Tick => return Box::pin(self.tick()).await,
            ActorInput::Purge { reply } => {
                _ = reply.send(Box::pin(self.purge()).await);
                return ControlFlow::Break(());
            }
            ActorInput::Stop => {
                Box::pin(self.stop()).await;
                return ControlFlow::Break(());
            }
        }
        self.idle_since = Instant::now();
        ControlFlow::Continue(())
    }

    /// Decides, records and answers a client's command. Starting a turn reads the conversation, so it comes after the
    /// answer.
    async fn command(&mut self, command: Command, reply: oneshot::Sender<Result<Accepted, EngineError>>) {
        let mut consequences = CommandEffects::from_command(&command);
        let accepted = self.accept(command).await;
        // A command that names a finished turn does not cancel the children of the running one.
        consequences.cancels_children &= accepted
            .as_ref()
            .is_ok_and(|accepted| !(consequences.names_turn && *accepted == Accepted::Unchanged));
        let is_accepted = accepted.is_ok();
        _ = reply.send(accepted);
        if !is_accepted {
            return;
        }
        if consequences.cancels_children {
            // Children in the background too, even when no turn runs.
            self.cancel_children();
        }
        self.reconcile_turn().await;
        if consequences.changes_policy {
            self.running.iter_mut().for_each(RunningTurn::clear_auto_approved);
            self.notify_policy_changed();
        }
    }

    async fn accept(&mut self, command: Command) -> Result<Accepted, EngineError> {
        self.retry_unrecorded().await?;
        self.remember_rule(&command).await?;
        if let Command::Cancel(cancel) = &command {
            self.force_agent(cancel.turn_id);
        }
        let partial = if ends_turn(&command) { self.session.hub.pause_deltas() } else { None };
        let facts = DecisionFacts { partial, ..DecisionFacts::default() };
        let accepted = self.decide_and_record(command, &facts).await;
        // Nothing is held any more once the turn has ended; if it did not, the text comes late.
        self.session.hub.resume_deltas().iter().for_each(|line| self.session.shared.deltas.publish(line));
        accepted
    }

    /// A second cancel ends the patience with an agent that the first one did not stop.
    fn force_agent(&mut self, turn_id: Option<TurnId>) {
        if let Some(running) = &mut self.running
            && turn_id.is_none_or(|turn_id| turn_id == running.turn_id)
        {
            running.force();
        }
    }

    pub(crate) async fn decide_and_record(
        &mut self,
        command: Command,
        facts: &DecisionFacts,
    ) -> Result<Accepted, EngineError> {
        let Decision { events, accepted } = decide(&self.session.state, command, facts)?;
        self.session.record(events).await?;
        Ok(accepted)
    }

    async fn context(&mut self) -> Result<Vec<Arc<Message>>, EngineError> {
        Ok(self.session.conversation().await?)
    }

    fn subscribe(&self, after: u64, queue: Arc<SubscriberQueue>) -> Result<Subscription, EngineError> {
        let last_seq = self.session.state.last_seq;
        if after > last_seq {
            let message =
                format!("the cursor {after} is ahead of this session, whose newest record is {last_seq}");
            return Err(Refusal::invalid("cursor_ahead", message)
                .hint("read from the start, without a cursor")
                .into());
        }
        let log = self.session.shared.log.clone();
        Ok(Subscription::new(self.session.id, log, self.session.hub.clone(), after, queue))
    }

    /// What the running turn's agent reports.
    async fn turn_request(&mut self, turn_id: TurnId, request: TurnRequest) {
        match request {
            TurnRequest::Report { mut report, reply } => {
                let facts = self.facts_for(&report).await;
                // The same before and after an approval, so that what was agreed to is what starts.
                if let TurnReport::CallProposed(ProposedCall { tool_call, .. })
                | TurnReport::CallStarted { tool_call, .. } = &mut report
                {
                    self.session.shared.secrets.mask_value(&mut tool_call.input);
                }
                if let TurnReport::CallProposed(ProposedCall { subject, .. }) = &mut report {
                    subject.mask(&self.session.shared.secrets);
                }
                let reviews = matches!(report, TurnReport::ReviewRequested { .. });
                let proposed = if let TurnReport::CallProposed(proposed) = &report {
                    Some(proposed.tool_call.clone())
                } else {
                    None
                };
                let answer = self.decide_and_record(Command::Report { turn_id, report }, &facts).await;
                let open = || self.session.state.turn.as_ref()?.review.as_ref();
                let review = || open().map(|review| review.approval.tool_call_id.clone());
                let asked = if reviews { review() } else { proposed.as_ref().map(|call| call.id.clone()) };
                match (answer, asked, &mut self.running) {
                    (Ok(Accepted::Waiting), Some(id), Some(running)) => running.wait_for(id, reply),
                    (answer, _, running) => {
                        if let (Ok(Accepted::Allowed), Some(call), Some(running)) =
                            (&answer, proposed, running)
                        {
                            running.auto_approve(call, self.session.state.turn.as_ref());
                        }
                        _ = reply.send(answer.map_err(report_error));
                    }
                }
            }
            TurnRequest::GetFile { reference, reply } => {
                // Not awaited here: the session goes on while a large file is read.
                let (log, id) = (self.session.shared.log.clone(), self.session.id);
                tokio::spawn(async move {
                    let content = files::read_whole(&*log, id, reference).await;
                    _ = reply.send(content.map_err(|error| ReportError::NotRecorded(error.to_string())));
                });
            }
            TurnRequest::Child(request) => self.child_request(turn_id, request).await,
            TurnRequest::PutArtifact { name, content, reply } => {
                let reference = format!("artifacts/{turn_id}/{name}");
                let content = self.session.shared.secrets.mask_bytes(content);
                let stored = self.session.put_file(reference.clone(), content).await;
                _ = reply
                    .send(stored.map(|()| reference).map_err(|e| ReportError::NotRecorded(e.to_string())));
            }
        }
    }

    /// The facts that the engine adds to an agent's report.
    async fn facts_for(&mut self, report: &TurnReport) -> DecisionFacts {
        let mut facts = DecisionFacts::default();
        if let TurnReport::CallProposed(ProposedCall { tool_call, trusted, .. }) = report {
            let (shared, session) = (&self.session.shared, &self.session.state.session);
            let trusted = *trusted && shared.trust.is_trusted(&session.workspace_key());
            let workspaces = shared.runner.workspaces();
            facts.policy_context =
                shared.rules.policy_context(workspaces, session, &tool_call.name, trusted).await;
        }
        if let (TurnReport::CallStarted { tool_call, .. }, Some(running)) = (report, &mut self.running) {
            facts.auto_approved = running.take_auto_approved(&tool_call.id);
        }
        if let TurnReport::Compacted(compaction) = report {
            facts.first_kept_seq = self.session.seq_after(compaction.to_message_id);
        }
        facts
    }

    /// The agent has returned: the turn ends, unless somebody ended it before.
    async fn returned(&mut self, returned: AgentReturn) {
        self.running = None;
        let open = self.session.state.turn.as_ref().map(|turn| turn.id);
        if open == Some(returned.turn_id) {
            let facts = DecisionFacts { partial: self.session.hub.partial(), ..DecisionFacts::default() };
            self.end_turn(returned.into_command(), facts).await;
        }
        self.reconcile_turn().await;
    }

    /// Records a turn's end. When the disk refuses, it is kept and tried again.
    async fn end_turn(&mut self, command: Command, facts: DecisionFacts) {
        match self.decide_and_record(command.clone(), &facts).await {
            Ok(_) => {}
            Err(EngineError::Refused(refusal)) => {
                self.record_or_keep(AgentReturn::refused(&command, &refusal), DecisionFacts::default()).await;
            }
            Err(error) => self.keep_unrecorded(command, facts, &error),
        }
    }

    /// Whether the end of a turn waits for the disk; until then no agent may run.
    pub(crate) fn has_unrecorded_end(&self) -> bool {
        self.unrecorded.is_some()
    }

    /// Records a turn's end, or keeps it until the disk takes it.
    pub(crate) async fn record_or_keep(&mut self, command: Command, facts: DecisionFacts) {
        if let Err(error) = self.decide_and_record(command.clone(), &facts).await {
            self.keep_unrecorded(command, facts, &error);
        }
    }

    fn keep_unrecorded(&mut self, command: Command, facts: DecisionFacts, error: &EngineError) {
        if self.session.is_lost() {
            return;
        }
        tracing::error!(id = %self.session.id, %error, "a turn's end could not be recorded yet");
        self.unrecorded = Some((command, facts));
    }

    async fn retry_unrecorded(&mut self) -> Result<(), EngineError> {
        let Some((command, facts)) = self.unrecorded.clone() else { return Ok(()) };
        match self.decide_and_record(command, &facts).await {
            Ok(_) | Err(EngineError::Refused(_)) => self.unrecorded = None,
            Err(error) => return Err(error),
        }
        self.reconcile_turn().await;
        Ok(())
    }

    async fn tick(&mut self) -> ControlFlow<()> {
        self.save_drafts(1);
        _ = self.retry_unrecorded().await;
        // Turns that follow each other closely share one `session.json`.
        if self.running.is_none() || self.session.description_is_old() {
            self.session.write_description().await;
        }
        if self.idle_since.elapsed() >= self.session.shared.idle_timeout() {
            if self.is_idle() {
                return self.sleep().await;
            }
            if self.running.is_none() {
                self.session.forget_conversation();
            }
        }
        ControlFlow::Continue(())
    }

    fn save_drafts(&self, least: usize) {
        let Some(epoch) = self.session.epoch() else { return };
        if let Some((turn_id, deltas)) = self.session.hub.unsaved(least) {
            for delta in deltas {
                self.session.shared.log.save_draft(self.session.id, epoch, turn_id, delta);
            }
        }
    }

    /// Keeps the rule of an answer with scope `always`, before the answer is recorded: what the client
    /// is told must hold after a crash.
    async fn remember_rule(&self, command: &Command) -> Result<(), EngineError> {
        let Command::Answer(AnswerApproval {
            turn_id,
            tool_call_id,
            verdict: Verdict::Approve,
            scope: Scope::Always,
            ..
        }) = command
        else {
            return Ok(());
        };
        decide(&self.session.state, command.clone(), &DecisionFacts::default())?;
        let mut pending = self.session.state.own_approvals();
        let asked = pending.find(|a| a.turn_id == *turn_id && a.tool_call_id == *tool_call_id);
        // A review is of one change; there is nothing to remember for others.
        let asked = asked.filter(|approval| !approval.is_review());
        let Some(rule) = asked.map(|approval| approval.rule.clone()) else { return Ok(()) };
        let kept = self.session.shared.rules.add(rule).await;
        kept.map_err(|error| LogError::Io(format!("the rule cannot be remembered: {error}")).into())
    }
}

/// Side effects of an accepted command, besides its records.
struct CommandEffects {
    cancels_children: bool,
    names_turn: bool,
    changes_policy: bool,
}

impl CommandEffects {
    fn from_command(command: &Command) -> CommandEffects {
        CommandEffects {
            cancels_children: matches!(command, Command::Cancel(_)),
            names_turn: matches!(command, Command::Cancel(cancel) if cancel.turn_id.is_some()),
            changes_policy: matches!(command, Command::Update(change) if change.policy.is_some()),
        }
    }
}

/// Whether a command may end the running turn. The partial text is recorded with such a command.
fn ends_turn(command: &Command) -> bool {
    let interrupts = |submit: &SubmitMessage| submit.delivery == Delivery::Interrupt;
    matches!(command, Command::Cancel(_) | Command::Close { .. })
        || matches!(command, Command::Submit(submit) if interrupts(submit))
}

pub(crate) fn report_error(error: EngineError) -> ReportError {
    match error {
        EngineError::Refused(refusal) if refusal.code == RefusalCode::TurnOver => ReportError::TurnOver,
        EngineError::Refused(refusal) => ReportError::Refused(refusal),
        EngineError::Log(LogError::TooLarge { size, limit }) => {
            let message = format!("what was to be recorded has {size} bytes, and {limit} is the limit");
            ReportError::Refused(Refusal::invalid("record_too_large", message))
        }
        EngineError::NotFound
        | EngineError::Log(_)
        | EngineError::Index(_)
        | EngineError::BadCursor
        | EngineError::Rebuilding
        | EngineError::ShuttingDown => ReportError::NotRecorded(error.to_string()),
    }
}
