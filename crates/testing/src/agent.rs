//! An agent that does what a test says, one closure per turn, and the phrases that such closures are
//! made of. What becomes of the turn is the engine's affair.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_agent::{Agent, CompletedTurn, FailedTurn, ReportError, TurnContext};
use ostler_types::{
    CommandLine, Delta, DeltaKind, Failure, Message, MessageId, Part, Role, SessionId, Subject, ToolCall,
    ToolCallId, ToolKind, ToolResult, TurnId, TurnReport, Usage, Verdict,
};
use serde_json::Value;
use tokio::sync::watch;

/// How a turn goes.
type TurnScript =
    Box<dyn FnOnce(TurnContext) -> BoxFuture<'static, Result<CompletedTurn, FailedTurn>> + Send>;

/// An agent with prepared turns. It panics when it is given more turns than the script foresees,
/// which the engine records as a failure of the turn.
pub struct ScriptedAgent {
    scripts: Mutex<VecDeque<TurnScript>>,
    resumes: bool,
    started: watch::Sender<Vec<TurnId>>,
    ended: watch::Sender<Vec<TurnId>>,
    prepared: Mutex<Vec<SessionId>>,
}

impl ScriptedAgent {
    /// An agent whose turns cannot be picked up after a restart.
    pub fn new() -> Arc<ScriptedAgent> {
        ScriptedAgent::with_resuming(false)
    }

    /// An agent that says that it picks up turns which waited.
    pub fn resuming() -> Arc<ScriptedAgent> {
        ScriptedAgent::with_resuming(true)
    }

    /// Adds how the turn after those before it goes.
    pub fn push<F, R>(&self, turn: F)
    where
        F: FnOnce(TurnContext) -> R + Send + 'static,
        R: Future<Output = Result<CompletedTurn, FailedTurn>> + Send + 'static,
    {
        lock(&self.scripts).push_back(Box::new(|context| turn(context).boxed()));
    }

    /// Adds a turn that says this and is done.
    pub fn push_text(&self, text: &str) {
        let text = text.to_owned();
        self.push(|turn| async move {
            say(&turn, &text).await?;
            done()
        });
    }

    /// The turns that it was given, in order; one that was resumed is in it again.
    pub fn turns(&self) -> Vec<TurnId> {
        self.started.borrow().clone()
    }

    /// The turns that it has returned from, or whose futures were dropped.
    pub fn ended_turns(&self) -> Vec<TurnId> {
        self.ended.borrow().clone()
    }

    /// Waits until it has been given this many turns.
    pub async fn started(&self, count: usize) {
        wait_for_turns(&self.started, count).await;
    }

    /// Waits until this many turns have ended.
    pub async fn ended(&self, count: usize) {
        wait_for_turns(&self.ended, count).await;
    }

    /// The sessions that it was told are being created.
    pub fn prepared(&self) -> Vec<SessionId> {
        lock(&self.prepared).clone()
    }

    fn with_resuming(resumes: bool) -> Arc<ScriptedAgent> {
        let (started, ended) = (watch::Sender::default(), watch::Sender::default());
        Arc::new(ScriptedAgent {
            scripts: Mutex::default(),
            resumes,
            started,
            ended,
            prepared: Mutex::default(),
        })
    }
}

impl Agent for ScriptedAgent {
    fn prepare(&self, session: SessionId, _: &str) {
        lock(&self.prepared).push(session);
    }

    fn run_turn(&self, turn: TurnContext) -> BoxFuture<'_, Result<CompletedTurn, FailedTurn>> {
        let ended = TurnEndGuard { turn_id: turn.open_turn.id, ended: self.ended.clone() };
        self.started.send_modify(|turns| turns.push(ended.turn_id));
        let script = lock(&self.scripts).pop_front();
        async move {
            let _ended = ended;
            let script = script.expect("the agent's script foresees this turn");
            script(turn).await
        }
        .boxed()
    }

    fn can_resume_turns(&self) -> bool {
        self.resumes
    }
}

/// A turn that ended as it should.
pub fn done() -> Result<CompletedTurn, FailedTurn> {
    Ok(CompletedTurn { stop_reason: "end_turn".to_owned(), verified: None, verification: None })
}

/// A turn that failed for this reason.
pub fn failed(reason: &str) -> Result<CompletedTurn, FailedTurn> {
    let error = Failure { code: reason.to_owned(), message: format!("failed: {reason}"), hint: None };
    Err(FailedTurn { error, reason: reason.to_owned() })
}

/// Streams a text in one piece, and finishes the message.
pub async fn say(turn: &TurnContext, text: &str) -> Result<MessageId, ReportError> {
    let id = turn.message_id();
    stream(turn, id, 0, text);
    finish(turn, id, vec![Part::text(text)]).await
}

/// Shows a piece of a message's first part.
pub fn stream(turn: &TurnContext, message_id: MessageId, offset: usize, text: &str) {
    let (kind, offset) = (DeltaKind::Text { message_id, part: 0 }, offset as u64);
    turn.delta(Delta { kind, offset, text: text.to_owned() });
}

/// Finishes a message of the model.
pub async fn finish(turn: &TurnContext, id: MessageId, parts: Vec<Part>) -> Result<MessageId, ReportError> {
    let message = Message { id, role: Role::Assistant, parts, created_at: turn.clock.now() };
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    let (model, stop_reason) = (turn.session.model.clone(), "end_turn".to_owned());
    turn.report(TurnReport::StepFinished { model, message, stop_reason, usage }).await?;
    Ok(id)
}

/// Asks for one call in a message of its own, and begins its batch.
pub async fn propose(
    turn: &TurnContext,
    id: &str,
    tool: &str,
    input: Value,
) -> Result<ToolCall, ReportError> {
    let call = ToolCall { id: ToolCallId(id.to_owned()), name: tool.to_owned(), input };
    finish(turn, turn.message_id(), vec![Part::ToolCall { call: call.clone() }]).await?;
    turn.report(TurnReport::BatchStarted { parallel: false }).await?;
    Ok(call)
}

/// What a call of ours acts on, where all that could only read does: the tools themselves are not here.
pub fn subject(call: &ToolCall) -> Subject {
    let argument = match call.name.as_str() {
        "shell" => "command",
        "read_file" | "write_file" | "edit_file" => "path",
        "web_fetch" => "url",
        _ => return Subject::Input,
    };
    let Some(text) = call.input.get(argument).and_then(Value::as_str) else { return Subject::Input };
    let is_line = call.input.as_object().is_some_and(|input| input.len() == 1);
    match call.name.as_str() {
        "shell" if is_line => {
            let reading = ostler_command_line::parse(text);
            let only_reads = vec![true; reading.commands.len()];
            Subject::CommandLine(Box::new(CommandLine::new(text.to_owned(), reading, only_reads)))
        }
        "shell" => Subject::Input,
        _ => Subject::Argument(text.to_owned()),
    }
}

/// Waits for leave to run a call, then starts it and ends it with a result that says `ran`, or that
/// it was denied. Returns whether it ran.
pub async fn run_call(turn: &TurnContext, call: &ToolCall, kind: ToolKind) -> Result<bool, ReportError> {
    let (verdict, _) =
        turn.request_approval(call.clone(), kind, format!("run {}", call.name), None, subject(call)).await?;
    let ran = verdict == Verdict::Approve;
    if ran {
        turn.report(TurnReport::CallStarted { tool_call: call.clone(), kind }).await?;
    }
    let text = if ran { "ran" } else { "denied" };
    let result = ToolResult { ok: ran, error: None, ..ToolResult::failed(call.id.clone(), text) };
    turn.report(TurnReport::CallFinished { result, duration_ms: 1, message_id: turn.message_id() }).await?;
    turn.report(TurnReport::BatchCompleted).await?;
    Ok(ran)
}

/// Counts a turn as ended when its future is dropped, at its end or before.
struct TurnEndGuard {
    turn_id: TurnId,
    ended: watch::Sender<Vec<TurnId>>,
}

impl Drop for TurnEndGuard {
    fn drop(&mut self) {
        self.ended.send_modify(|turns| turns.push(self.turn_id));
    }
}

async fn wait_for_turns(turns: &watch::Sender<Vec<TurnId>>, count: usize) {
    let mut turns = turns.subscribe();
    turns.wait_for(|turns| turns.len() >= count).await.expect("the sender lives as long as the agent");
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
