//! The loop of a prompt: it waits for what comes next (an update or a request of the agent, an answer of a person, the
//! end of work that is done for the agent), passes it to the recorder, and carries out the actions that the recorder
//! returns. It decides nothing about what is recorded, nor in which order.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use agent_client_protocol::v1::schema::{
    AGENT_METHOD_NAMES, ContentBlock, Error, PromptRequest, PromptResponse, RequestId,
};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ostler_acp::{
    AcpCallOutcome, AcpContentPiece, AcpUpdate, AgentStateChange, apply_update, from_stop_reason,
    to_plain_line,
};
use ostler_agent::{FailedTurn, TurnContext};
use ostler_process::InstanceLease;
use ostler_types::{Message, MessageId, Part, RawLine, Role, ToolCallId, TurnReport, Usage};
use serde_json::Value;

use crate::AcpAgent;
use crate::client_requests::FinishedWork;
use crate::connection::SessionRoute;
use crate::failure::{error_text, failed, login_required, wants_login};
use crate::inbox::InboxItem;
use crate::permission::AnsweredQuestion;
use crate::recorder::action::{RecorderAction, RecorderInput};
use crate::recorder::{AcpRecorder, RecorderSettings, TextKind};
use crate::running_agent::OpenAgentSession;
use crate::session_opener::{AgentMemory, OpenedSession};
use crate::supervised_agent::SupervisedAgent;
use crate::terminals::Terminals;
use crate::tool_result;

/// The prompts of one turn.
pub(crate) struct PromptLoop<'a> {
    pub(crate) agent: &'a AcpAgent,
    pub(crate) context: &'a TurnContext,
    pub(crate) lease: InstanceLease<SupervisedAgent>,
    pub(crate) agent_session: OpenAgentSession,
    pub(crate) route: SessionRoute,
    recorder: AcpRecorder,
    /// Questions that people have not answered.
    pub(crate) questions: FuturesUnordered<BoxFuture<'static, AnsweredQuestion>>,
    /// Work that is being done for the agent.
    pub(crate) work: FuturesUnordered<BoxFuture<'static, FinishedWork>>,
    pub(crate) terminals: Terminals,
    /// Requests of the agent that have no response, by their methods.
    pub(crate) open_requests: Vec<(RequestId, String)>,
    /// Whether the agent's token counts changed since its state was recorded.
    has_new_counts: bool,
    pub(crate) state: PromptState,
}

/// Whether the agent works on a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptState {
    /// It does not.
    Idle,
    /// It may, since the prompt is being sent.
    Sending,
    /// It does, and will answer the request of this number.
    Running(i64),
    /// The agent's process has ended.
    Gone,
}

impl<'a> PromptLoop<'a> {
    pub(crate) async fn new(
        agent: &'a AcpAgent,
        context: &'a TurnContext,
        lease: InstanceLease<SupervisedAgent>,
        OpenedSession { agent_session, route, memory }: OpenedSession,
    ) -> Result<PromptLoop<'a>, FailedTurn> {
        let settings = RecorderSettings {
            agent: agent.program.name.clone(),
            workspace: PathBuf::from(&context.session.workspace_path),
            turn_bytes: agent.settings.turn_bytes,
            announces_before_asking: agent.program.announces_before_asking,
        };
        let clock = Arc::clone(&context.clock);
        let new_id = Box::new(move || MessageId::new(clock.uuid()));
        let mut prompts = PromptLoop {
            agent,
            context,
            lease,
            agent_session,
            route,
            recorder: AcpRecorder::new(settings, new_id, context.history.iter().map(Arc::as_ref)),
            questions: FuturesUnordered::new(),
            work: FuturesUnordered::new(),
            terminals: Terminals::default(),
            open_requests: Vec::new(),
            has_new_counts: false,
            state: PromptState::Idle,
        };
        if let AgentMemory::Lost(why) = memory {
            let name = &agent.program.name;
            let text = format!(
                "The agent {name} no longer has this session ({why}). It was begun anew there, and the agent was told \
                 what was said so far."
            );
            prompts.add_note(text).await?;
        }
        // The rules of the log let an agent's calls start once the agent is known to them.
        prompts.record_agent().await?;
        Ok(prompts)
    }

    /// Sends a prompt, and records what comes back until the agent has stopped. Returns the reason why it stopped.
    pub(crate) async fn run(&mut self, blocks: Vec<ContentBlock>) -> Result<String, FailedTurn> {
        let request = PromptRequest::new(self.agent_session.id.clone(), blocks);
        if let Some(raw) = self.context.raw() {
            let payload = serde_json::to_value(&request).unwrap_or_default();
            raw(RawLine::Request { endpoint: format!("acp:{}", self.agent.program.name), payload });
        }
        let connection = self.lease.handle.connection.clone();
        self.state = PromptState::Sending;
        let method = AGENT_METHOD_NAMES.session_prompt;
        let Ok(ticket) = connection.request_to(&self.route.inbox, method, &request).await else {
            return Err(self.crashed().await);
        };
        self.state = PromptState::Running(ticket);
        let inbox = self.route.inbox.clone();
        let outcome = loop {
            tokio::select! {
                biased;
                Some(answered) = self.questions.next() => self.take_answer(answered).await?,
                Some(finished) = self.work.next() => self.take_finished_work(finished).await?,
                item = inbox.pop() => match item {
                    InboxItem::Update(update) => self.take_update(update).await?,
                    InboxItem::Request { id, method, params } => self.take_request(id, &method, params).await?,
                    InboxItem::Answer { ticket: answered, outcome } if answered == ticket => break outcome,
                    InboxItem::Answer { .. } => {}
                    InboxItem::Closed => return Err(self.crashed().await),
                },
            }
        };
        self.state = PromptState::Idle;
        self.end(outcome).await
    }

    /// Whether the agent made a call.
    pub(crate) fn has_calls(&self) -> bool {
        self.recorder.has_calls()
    }

    /// Passes an input to the recorder, and carries out what it returns.
    pub(crate) async fn record(&mut self, input: RecorderInput) -> Result<(), FailedTurn> {
        for action in self.recorder.take(input, Instant::now()) {
            self.carry_out(action).await?;
        }
        Ok(())
    }

    /// Carries out one action. When it returns, a report is on disk.
    async fn carry_out(&mut self, action: RecorderAction) -> Result<(), FailedTurn> {
        let report = match action {
            RecorderAction::Show(delta) => {
                self.context.delta(delta);
                return Ok(());
            }
            RecorderAction::RecordMessage { id, parts, stop_reason } => {
                let created_at = self.context.clock.now();
                let message = Message { id, role: Role::Assistant, parts, created_at };
                let (model, stop_reason) = (self.context.session.model.clone(), stop_reason.to_owned());
                TurnReport::StepFinished { model, message, stop_reason, usage: Usage::default() }
            }
            RecorderAction::StartBatch { parallel } => TurnReport::BatchStarted { parallel },
            RecorderAction::StartCall { call: tool_call, kind } => {
                TurnReport::CallStarted { tool_call, kind }
            }
            RecorderAction::FinishCall { id, ok, outcome, announced } => {
                self.finished(id, ok, outcome, announced).await?
            }
            RecorderAction::CompleteBatch => TurnReport::BatchCompleted,
            RecorderAction::Ask { call, kind, asker } => {
                self.ask(call, kind, asker).await;
                return Ok(());
            }
            RecorderAction::Respond { request, response } => {
                self.respond(&request, response).await;
                return Ok(());
            }
            RecorderAction::CarryOut { request, effect, call, is_own } => {
                self.carry_out_effect(request, effect, call, is_own);
                return Ok(());
            }
            RecorderAction::Fail(failure) => return Err(failure),
        };
        self.context.report(report).await?;
        Ok(())
    }

    async fn finished(
        &mut self,
        id: ToolCallId,
        ok: bool,
        mut outcome: AcpCallOutcome,
        announced: Instant,
    ) -> Result<TurnReport, FailedTurn> {
        let printed = outcome.terminals.iter().filter_map(|terminal| self.terminals.printed(terminal));
        let texts = printed.chain([std::mem::take(&mut outcome.text)]).filter(|text| !text.is_empty());
        outcome.text = texts.collect::<Vec<_>>().join("\n");
        let result = tool_result::store(self.context, id, ok, outcome).await?;
        let duration_ms = u64::try_from(announced.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(TurnReport::CallFinished { result, duration_ms, message_id: self.context.message_id() })
    }

    async fn take_update(&mut self, update: AcpUpdate) -> Result<(), FailedTurn> {
        match apply_update(&mut self.agent_session.state, &mut self.agent_session.offered, &update) {
            AgentStateChange::Description => {
                self.has_new_counts = false;
                self.record_agent().await?;
            }
            // Counts change all the time, and are recorded with the next change or at the end.
            AgentStateChange::TokenCounts => self.has_new_counts = true,
            AgentStateChange::Nothing => {}
        }
        let input = match update {
            AcpUpdate::Text { piece, message } => self.content(piece, message).await?,
            AcpUpdate::Thought { text, message } => {
                RecorderInput::Text { kind: TextKind::Reasoning, text, message }
            }
            AcpUpdate::Call(call) => RecorderInput::Call(Box::new((*call).into())),
            AcpUpdate::CallUpdate(update) => RecorderInput::Call(update),
            AcpUpdate::Notice { text } => RecorderInput::Notice(text),
            AcpUpdate::Unknown { kind, .. } => {
                tracing::trace!(kind, "an update that is not known is ignored");
                return Ok(());
            }
            AcpUpdate::Echo { .. }
            | AcpUpdate::Plan(_)
            | AcpUpdate::Commands(_)
            | AcpUpdate::Mode(_)
            | AcpUpdate::Options(_)
            | AcpUpdate::Usage { .. } => return Ok(()),
        };
        self.record(input).await
    }

    /// A piece of the agent's answer. One that is no text is stored beside the log first.
    async fn content(
        &mut self,
        piece: AcpContentPiece,
        message: Option<String>,
    ) -> Result<RecorderInput, FailedTurn> {
        let (kind, mime_type, content) = match piece {
            AcpContentPiece::Text(text) => {
                return Ok(RecorderInput::Text { kind: TextKind::Answer, text, message });
            }
            AcpContentPiece::Link { name, uri } => {
                let text = format!("[{}]({})", to_plain_line(&name, 500), to_plain_line(&uri, 2_000));
                return Ok(RecorderInput::Text { kind: TextKind::Answer, text, message: None });
            }
            AcpContentPiece::Image { mime_type, bytes } => ("image", mime_type, bytes),
            AcpContentPiece::Audio { mime_type, bytes } => ("audio", mime_type, bytes),
            AcpContentPiece::File { mime_type, bytes, .. } => ("file", mime_type, bytes),
        };
        let (name, bytes) = (format!("{kind}_{}", self.context.clock.uuid().simple()), content.len());
        let reference = self.context.put_artifact(name, content).await?;
        let mime_type = to_plain_line(&mime_type, 100);
        let part = match kind {
            "image" => Part::Image { reference, mime_type },
            "audio" => Part::Audio { reference, mime_type },
            _ => Part::File { reference, mime_type },
        };
        Ok(RecorderInput::Part { part, bytes })
    }

    /// Records what the agent says of itself. The engine passes over what it has recorded before.
    async fn record_agent(&mut self) -> Result<(), FailedTurn> {
        self.context.report(TurnReport::AgentUpdated(Box::new(self.agent_session.state.clone()))).await?;
        Ok(())
    }

    /// Adds a note to the conversation.
    async fn add_note(&mut self, text: String) -> Result<(), FailedTurn> {
        let (id, created_at) = (self.context.message_id(), self.context.clock.now());
        let message = Message { id, role: Role::System, parts: vec![Part::text(text)], created_at };
        self.context.report(TurnReport::NoteAdded { message }).await?;
        Ok(())
    }

    /// Ends a prompt that the agent has answered.
    async fn end(&mut self, outcome: Result<Value, Error>) -> Result<String, FailedTurn> {
        let agent = self.agent;
        let name = &agent.program.name;
        if self.recorder.has_questions() {
            let message = format!("the agent {name} stopped while a question of its was open");
            return Err(failed("agent_stopped", message, Some("retry the turn".to_owned())));
        }
        self.end_work().await?;
        self.record(RecorderInput::PromptEnded).await?;
        let answer = outcome.map_err(|error| self.refused(&error))?;
        let usage = usage(&answer);
        let answer: PromptResponse = serde_json::from_value(answer).map_err(|error| {
            let message = format!("the agent ended its turn in a way that is not known: {error}");
            failed("agent_error", message, None)
        })?;
        if usage != Usage::default() {
            let model = self.context.session.model.clone();
            self.context.report(TurnReport::UsageSpent { model, usage }).await?;
        }
        for notice in self.recorder.take_notices() {
            self.add_note(notice).await?;
        }
        if std::mem::take(&mut self.has_new_counts) {
            self.record_agent().await?;
        }
        match from_stop_reason(answer.stop_reason) {
            Some(reason) => Ok(reason.to_owned()),
            // Some agents stop when a call is denied, and say that the turn was canceled.
            None if self.recorder.was_denied() => Ok("denied".to_owned()),
            None => {
                let message = format!("the agent {name} says that the turn was canceled, but nobody did");
                Err(failed("agent_stopped", message, Some("retry the turn".to_owned())))
            }
        }
    }

    fn refused(&self, error: &Error) -> FailedTurn {
        if wants_login(error) {
            let login = ostler_acp::from_login_methods(&self.lease.handle.initialized.auth_methods);
            return login_required(&self.agent.program, &login);
        }
        let name = &self.agent.program.name;
        let message =
            format!("the agent {name} could not answer: {}", self.agent.program.redact(&error_text(error)));
        failed("agent_error", message, Some("what it said so far is kept; retry the turn".to_owned()))
    }
}

/// The tokens that a prompt took, for agents that say so.
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
