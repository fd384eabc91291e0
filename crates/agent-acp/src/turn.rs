//! One turn: the prompt goes out, what comes back is recorded as it comes, until the agent has stopped or is
//! told to. What is recorded how is in `record`, what a person is asked in `question`, what the agent has us do
//! in `serve`.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    AGENT_METHOD_NAMES, ContentBlock, Error, PromptRequest, PromptResponse, RequestId,
};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ostler_acp::{Accepts, Heard, Piece, Update, from_stop_reason, hear};
use ostler_agent::{Completed, Failed, ReportError, TurnContext};
use ostler_process::Lease;
use ostler_turn_care::{Care, Checkpoints, Next};
use ostler_types::{Accepted, Message, Part, Purpose, RawLine, Report, Role, Usage};
use serde_json::Value;
use tokio::time::Instant;

use crate::AcpAgent;
use crate::calls::Calls;
use crate::connection::Route;
use crate::draft::{Draft, Voice};
use crate::failure::{failed, login_required, wants_login, words};
use crate::inbox::Item;
use crate::link::Live;
use crate::open::{Memory, Opened, open};
use crate::process::AgentProcess;
use crate::prompt::{blocks_of, first_prompt};
use crate::question::{Answered, Postponed};
use crate::serve::Worked;
use crate::terminals::Terminals;

/// How many notices of an agent one turn tells.
const NOTICES: usize = 20;

/// A turn at work.
pub(crate) struct Turn<'a> {
    pub(crate) agent: &'a AcpAgent,
    pub(crate) context: &'a TurnContext,
    pub(crate) lease: Lease<AgentProcess>,
    pub(crate) live: Live,
    pub(crate) route: Route,
    /// The message that is being written.
    pub(crate) draft: Draft,
    pub(crate) calls: Calls,
    /// Whether a batch has begun and not been completed.
    pub(crate) has_batch: bool,
    /// What people are being asked.
    pub(crate) questions: FuturesUnordered<BoxFuture<'static, Answered>>,
    /// What cannot be asked until something else is answered.
    pub(crate) postponed: Vec<Postponed>,
    /// What is being done for the agent.
    pub(crate) works: FuturesUnordered<BoxFuture<'static, Worked>>,
    pub(crate) terminals: Terminals,
    /// The agent's requests that have no answer yet.
    pub(crate) awaiting: Vec<(RequestId, String)>,
    /// What is to be told when nothing is open.
    pub(crate) notices: Vec<String>,
    heard: Heard,
    bytes: usize,
    pub(crate) prompted: Prompted,
}

/// Whether the agent works on a prompt of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompted {
    /// It does not.
    No,
    /// It may, since the prompt is on its way.
    Sending,
    /// It does, and will answer under this number.
    Waiting(i64),
    /// It has ended.
    Gone,
}

/// Runs a turn to its end.
pub(crate) async fn run(
    agent: &AcpAgent,
    context: &TurnContext,
    checkpoints: &Checkpoints,
) -> Result<Completed, Failed> {
    refuse_other_purposes(agent, context)?;
    let canceled = context.canceled.clone();
    let setting_up = async {
        let lease = agent.lease(Path::new(&context.session.workspace_path)).await?;
        let opened = open(&agent.program, &lease.handle, context).await?;
        let accepts = Accepts::from(&lease.handle.can.agent_capabilities.prompt_capabilities);
        let prompt = first_prompt(context, &opened.memory, accepts).await;
        // An agent may write whenever it likes and need not say so.
        checkpoints.before_change(context).await?;
        Ok::<_, Failed>((lease, opened, accepts, prompt))
    };
    let (lease, opened, accepts, mut prompt) = tokio::select! {
        biased;
        () = canceled.cancelled() => return Err(ReportError::Over.into()),
        ready = setting_up => ready?,
    };
    let mut turn = Turn::new(agent, context, lease, opened).await?;
    let mut care =
        Care::begin(context, Arc::clone(&agent.tools), agent.own_checks.clone(), checkpoints).await;
    loop {
        let working = async {
            let stop_reason = turn.prompt(prompt).await?;
            if checkpoints.compares() || turn.calls.len() > 0 {
                care.note_change();
            }
            let told = settle(&mut care, context).await?;
            Ok::<_, Failed>((stop_reason, told))
        };
        let worked = tokio::select! {
            biased;
            () = canceled.cancelled() => None,
            worked = working => Some(worked),
        };
        match worked {
            None => {
                turn.stop_prompt().await;
                return Err(ReportError::Over.into());
            }
            Some(Err(error)) => return Err(turn.give_up(error).await),
            Some(Ok((stop_reason, told))) if told.is_empty() => {
                turn.put_back();
                return Ok(care.completed(stop_reason));
            }
            Some(Ok((_, told))) => prompt = blocks_of(context, told.iter(), accepts).await,
        }
    }
}

/// Has the work checked and reviewed, and returns what the agent is to be told next; nothing when the turn can end.
async fn settle(care: &mut Care<'_>, context: &TurnContext) -> Result<Vec<Message>, Failed> {
    if let Next::GoOn(told) = care.settle(true).await? {
        return Ok(told);
    }
    // A message that came in the meantime was promised an answer in this turn.
    match context.report(Report::TakeSteering).await? {
        Accepted::Steering(messages) => Ok(messages),
        _ => Ok(Vec::new()),
    }
}

/// The agent keeps its own conversation, so that only prompts can be its business.
fn refuse_other_purposes(agent: &AcpAgent, context: &TurnContext) -> Result<(), Failed> {
    let name = &agent.program.name;
    let (message, hint) = match &context.open.purpose {
        Purpose::Answer => return Ok(()),
        Purpose::Compact => (
            format!("the agent {name} keeps its own conversation, which cannot be made shorter from here"),
            "send it its own command for that, if it has one",
        ),
        Purpose::Subtasks { .. } => (
            format!("the agent {name} does not carry out plans"),
            "run the plan in a session of the native agent",
        ),
    };
    Err(failed("not_supported", message, Some(hint.to_owned())))
}

impl<'a> Turn<'a> {
    async fn new(
        agent: &'a AcpAgent,
        context: &'a TurnContext,
        lease: Lease<AgentProcess>,
        Opened { live, route, memory }: Opened,
    ) -> Result<Turn<'a>, Failed> {
        let turn = Turn {
            agent,
            context,
            lease,
            live,
            route,
            draft: Draft::default(),
            calls: Calls::after(context.history.iter().map(Arc::as_ref)),
            has_batch: false,
            questions: FuturesUnordered::new(),
            postponed: Vec::new(),
            works: FuturesUnordered::new(),
            terminals: Terminals::default(),
            awaiting: Vec::new(),
            notices: Vec::new(),
            heard: Heard::Something,
            bytes: 0,
            prompted: Prompted::No,
        };
        if let Memory::Lost(why) = memory {
            let name = &agent.program.name;
            let text = format!(
                "The agent {name} no longer has this session ({why}). It was begun anew there, and the agent was told \
                 what was said so far."
            );
            tell(context, text).await?;
        }
        Ok(turn)
    }

    /// Sends a prompt, and records what comes back until the agent has stopped. Returns why it did.
    async fn prompt(&mut self, blocks: Vec<ContentBlock>) -> Result<String, Failed> {
        let request = PromptRequest::new(self.live.id.clone(), blocks);
        if let Some(raw) = self.context.raw() {
            let payload = serde_json::to_value(&request).unwrap_or_default();
            raw(RawLine::Request { endpoint: format!("acp:{}", self.agent.program.name), payload });
        }
        let connection = self.lease.handle.connection.clone();
        self.prompted = Prompted::Sending;
        let method = AGENT_METHOD_NAMES.session_prompt;
        let Ok(ticket) = connection.request_to(&self.route.inbox, method, &request).await else {
            return Err(self.crashed().await);
        };
        self.prompted = Prompted::Waiting(ticket);
        let inbox = self.route.inbox.clone();
        let outcome = loop {
            tokio::select! {
                biased;
                Some(answered) = self.questions.next() => self.answered(answered).await?,
                Some(worked) = self.works.next() => self.worked(worked).await?,
                item = inbox.pop() => match item {
                    Item::Update(update) => self.update(update).await?,
                    Item::Request { id, method, params } => self.serve(id, &method, params).await?,
                    Item::Answer { ticket: answered, outcome } if answered == ticket => break outcome,
                    Item::Answer { .. } => {}
                    Item::Closed => return Err(self.crashed().await),
                },
                // Whatever has come in goes first: it may be the question that is waited for.
                () = due(self.calls.due()) => self.go_on(false).await?,
            }
            if inbox.is_empty() {
                self.go_on(true).await?;
                self.report_state(Heard::Something).await?;
            }
        };
        self.prompted = Prompted::No;
        self.ended(outcome).await
    }

    /// What an update says.
    async fn update(&mut self, update: Update) -> Result<(), Failed> {
        let heard = hear(&mut self.live.state, &mut self.live.offered, &update);
        if heard != Heard::Nothing && self.heard != Heard::Something {
            self.heard = heard;
        }
        match update {
            Update::Text { piece: Piece::Text(text), message } => {
                self.say(Voice::Answer, text, message).await
            }
            Update::Text { piece, .. } => self.say_piece(piece).await,
            Update::Thought { text, message } => self.say(Voice::Thinking, text, message).await,
            Update::Call(call) => self.hear_call((*call).into()).await.map(drop),
            Update::CallUpdate(update) => self.hear_call(*update).await.map(drop),
            Update::Notice { text } => {
                if self.notices.len() < NOTICES {
                    self.notices.push(format!("The agent says: {text}"));
                }
                Ok(())
            }
            Update::Unknown { kind, .. } => {
                tracing::trace!(kind, "an update that is not known is ignored");
                Ok(())
            }
            Update::Echo { .. }
            | Update::Plan(_)
            | Update::Commands(_)
            | Update::Mode(_)
            | Update::Options(_)
            | Update::Usage { .. } => Ok(()),
        }
    }

    /// Counts what the agent says; one that never ends must end here.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), Failed> {
        self.bytes += bytes;
        let limit = self.agent.settings.turn_bytes;
        if self.bytes <= limit && self.calls.len() <= MAXIMUM_CALLS {
            return Ok(());
        }
        let message = format!(
            "the agent said more than {limit} bytes or made more than {MAXIMUM_CALLS} calls in one turn, and was stopped"
        );
        Err(failed(
            "answer_too_long",
            message,
            Some("what it said so far is kept; ask for less at once".to_owned()),
        ))
    }

    /// Records how the agent stands, if it has said as much or more of it.
    async fn report_state(&mut self, at_least: Heard) -> Result<(), Failed> {
        let is_due = match (self.heard, at_least) {
            (Heard::Something, _) | (Heard::OnlyNumbers, Heard::OnlyNumbers) => true,
            (Heard::Nothing, _) | (Heard::OnlyNumbers, Heard::Something | Heard::Nothing) => false,
        };
        if is_due {
            self.heard = Heard::Nothing;
            self.context.report(Report::AgentUpdated(Box::new(self.live.state.clone()))).await?;
        }
        Ok(())
    }

    /// The end of a prompt: whatever is open gets its end too.
    async fn ended(&mut self, outcome: Result<Value, Error>) -> Result<String, Failed> {
        if self.calls.is_asking() || !self.postponed.is_empty() {
            let message =
                format!("the agent {} stopped while a question of its was open", self.agent.program.name);
            return Err(failed("agent_stopped", message, Some("retry the turn".to_owned())));
        }
        self.end_works().await?;
        self.end_open_calls().await?;
        let answer = outcome.map_err(|error| self.refused(&error))?;
        let usage = usage(&answer);
        let answer: PromptResponse = serde_json::from_value(answer).map_err(|error| {
            failed(
                "agent_error",
                format!("the agent ended its turn in a way that is not known: {error}"),
                None,
            )
        })?;
        if usage != Usage::default() {
            let model = self.context.session.model.clone();
            self.context.report(Report::UsageSpent { model, usage }).await?;
        }
        for notice in std::mem::take(&mut self.notices) {
            tell(self.context, notice).await?;
        }
        self.report_state(Heard::OnlyNumbers).await?;
        match from_stop_reason(answer.stop_reason) {
            Some(reason) => Ok(reason.to_owned()),
            // Some agents stop at a no, and call that canceled.
            None if self.calls.was_denied() => Ok("denied".to_owned()),
            None => {
                let message = format!(
                    "the agent {} says that the turn was canceled, but nobody did",
                    self.agent.program.name
                );
                Err(failed("agent_stopped", message, Some("retry the turn".to_owned())))
            }
        }
    }

    fn refused(&self, error: &Error) -> Failed {
        if wants_login(error) {
            let login = ostler_acp::from_login_methods(&self.lease.handle.can.auth_methods);
            return login_required(&self.agent.program, &login);
        }
        let name = &self.agent.program.name;
        let message =
            format!("the agent {name} could not answer: {}", self.agent.program.redact(&words(error)));
        failed("agent_error", message, Some("what it said so far is kept; retry the turn".to_owned()))
    }
}

/// Returns at that time, or never.
async fn due(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Adds something to the conversation that nobody said.
async fn tell(context: &TurnContext, text: String) -> Result<(), Failed> {
    let (id, created_at) = (context.message_id(), context.clock.now());
    let message = Message { id, role: Role::System, parts: vec![Part::text(text)], created_at };
    context.report(Report::Told { message }).await?;
    Ok(())
}

/// How many calls one turn may make.
const MAXIMUM_CALLS: usize = 4_096;

/// What a prompt took, for agents that say so.
fn usage(answer: &Value) -> Usage {
    let count = |name: &str| answer.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
    let (read, written) = (count("cachedReadTokens").unwrap_or(0), count("cachedWriteTokens").unwrap_or(0));
    Usage {
        input_tokens: count("inputTokens").map_or(0, |own| own.saturating_add(read).saturating_add(written)),
        output_tokens: count("outputTokens").unwrap_or(0),
        cached_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: count("thoughtTokens").unwrap_or(0),
        cost_usd: None,
    }
}
