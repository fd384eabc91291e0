//! One tool call: ask, say that it starts, run, say what came of it.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use ostler_agent::{FailedTurn, ReportError, TurnContext};
use ostler_runner::{LinkTarget, OutputSink, Tool, ToolContext, ToolOutcome, Toolbox};
use ostler_types::{
    Delta, DeltaKind, MessageId, Part, RefusalCode, Secrets, Subject, ToolCall, ToolCallId, ToolKind,
    ToolResult, TurnReport, Verdict,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::loop_tools::LoopTool;
use crate::prompts;
use crate::turn::NativeTurn;

/// What a call came to; its result is on disk.
pub(crate) struct FinishedCall {
    pub(crate) result: ToolResult,
    pub(crate) recorded: RecordedCallResult,
    pub(crate) changed: bool,
}

/// Where the log has a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordedCallResult {
    /// The message that carries it.
    pub(crate) message_id: MessageId,
    /// Its place among the results of this turn.
    pub(crate) place: u64,
}

/// Runs one call to its result. Every failure of the call is a result; only a turn that is over, or
/// a log that cannot be written, is an error.
pub(crate) async fn run_tool_call(turn: &NativeTurn<'_>, call: ToolCall) -> Result<FinishedCall, FailedTurn> {
    run_to_result(turn, call, false).await
}

/// Goes on with a call that had started before a restart, because it only waits for another session.
pub(crate) async fn resume_tool_call(
    turn: &NativeTurn<'_>,
    call: ToolCall,
) -> Result<FinishedCall, FailedTurn> {
    run_to_result(turn, call, true).await
}

async fn run_to_result(
    turn: &NativeTurn<'_>,
    mut call: ToolCall,
    has_started: bool,
) -> Result<FinishedCall, FailedTurn> {
    let mut run_time = RunTime::default();
    let (result, changed) = match prepare(turn, &mut call) {
        Ok(target) => run_prepared(turn, call, &target, has_started, &mut run_time).await?,
        Err(why) => (ToolResult::failed(call.id, why), false),
    };
    let duration_ms = run_time.milliseconds();
    let recorded = finish_call(turn, result.clone(), duration_ms).await?;
    Ok(FinishedCall { result, recorded, changed })
}

/// Records a call's result, and says where.
pub(crate) async fn finish_call(
    turn: &NativeTurn<'_>,
    result: ToolResult,
    duration_ms: u64,
) -> Result<RecordedCallResult, FailedTurn> {
    let message_id = turn.context.message_id();
    // Reports are recorded in the order in which they are made, whoever hears of it first. Nothing may be
    // awaited in between.
    let place = turn.results.fetch_add(1, Ordering::Relaxed);
    turn.context.report(TurnReport::CallFinished { result, duration_ms, message_id }).await?;
    Ok(RecordedCallResult { message_id, place })
}

/// Who does what a call asks for.
enum CallTarget {
    Tool(Arc<dyn Tool>),
    LoopTool(LoopTool),
}

impl CallTarget {
    fn kind_of(&self, input: &Value, toolbox: &dyn Toolbox) -> ToolKind {
        match self {
            CallTarget::Tool(tool) => tool.kind_of(input),
            CallTarget::LoopTool(own) => match own.kind_of(input) {
                ToolKind::Read if own.runs_git(input) && !toolbox.confines_programs() => ToolKind::Exec,
                // A policy that asks about what writes asks about a merge, whatever git is confined by.
                kind => kind,
            },
        }
    }

    async fn summary(&self, turn: &NativeTurn<'_>, input: &Value) -> String {
        match self {
            CallTarget::Tool(tool) => {
                let workspaces = turn.agent.runner.workspaces();
                let workspace = turn.context.session.workspace_path.clone();
                let links = workspaces.link_targets(workspace, tool.written_paths(input)).await;
                let links = links.iter().map(LinkTarget::to_string);
                std::iter::once(tool.summary(input)).chain(links).collect::<Vec<_>>().join("; ")
            }
            CallTarget::LoopTool(own) => own.summary_in_turn(turn, input).await,
        }
    }

    async fn subject(&self, input: &Value, workspace: &str) -> Subject {
        match self {
            CallTarget::Tool(tool) => tool.subject(input, Path::new(workspace)).await,
            CallTarget::LoopTool(_) => Subject::Input,
        }
    }

    fn warning(&self, input: &Value, toolbox: &dyn Toolbox) -> Option<String> {
        match self {
            CallTarget::Tool(tool) => tool.warning(input),
            CallTarget::LoopTool(own) if own.runs_git(input) => toolbox.unconfined_warning(),
            CallTarget::LoopTool(_) => None,
        }
    }
}

/// Finds the tool, and takes out of the input what is meant for the loop.
fn prepare(turn: &NativeTurn<'_>, call: &mut ToolCall) -> Result<CallTarget, String> {
    let own =
        turn.loop_tools.iter().find(|own| own.name() == call.name).map(|own| CallTarget::LoopTool(*own));
    let tool = || turn.tools.get(&call.name).map(|tool| CallTarget::Tool(Arc::clone(tool)));
    let target = own.or_else(tool).ok_or_else(|| format!("Unknown skill: {}", call.name))?;
    match &mut call.input {
        Value::Object(input) => input.retain(|name, _| !name.starts_with('_')),
        other => {
            let shown: String =
                other.as_str().map_or_else(|| other.to_string(), str::to_owned).chars().take(200).collect();
            return Err(format!(
                "The arguments are not a JSON object, so nothing was run. Received: {shown}"
            ));
        }
    }
    Ok(target)
}

/// How long a tool has run. The time that a person took to approve the call is not part of it.
#[derive(Default)]
struct RunTime {
    started_at: Option<Instant>,
}

impl RunTime {
    fn start(&mut self) {
        self.started_at = Some(Instant::now());
    }

    fn milliseconds(&self) -> u64 {
        let elapsed = self.started_at.map(|started_at| started_at.elapsed()).unwrap_or_default();
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }
}

async fn run_prepared(
    turn: &NativeTurn<'_>,
    call: ToolCall,
    target: &CallTarget,
    has_started: bool,
    run_time: &mut RunTime,
) -> Result<(ToolResult, bool), FailedTurn> {
    let toolbox = turn.agent.runner.toolbox();
    let kind = target.kind_of(&call.input, toolbox);
    let risk = target.warning(&call.input, toolbox);
    // What a server calls reading is only its word.
    let is_foreign = call.name.starts_with("mcp__");
    let lets_others =
        matches!(target, CallTarget::LoopTool(own) if own.lets_child_change_workspace(&call.input));
    // Git that nothing confines asks like a program, but does not work in this workspace.
    let touches = match target {
        CallTarget::LoopTool(own) => own.kind_of(&call.input),
        CallTarget::Tool(_) => kind,
    };
    let may_change = touches != ToolKind::Read || is_foreign || lets_others;
    if has_started {
        if may_change {
            turn.acceptance.checkpoints().capture_before_change(turn.context).await?;
        }
    } else if let Some(denied) =
        approve_and_start(turn, &call, (target, kind), risk.clone(), may_change).await?
    {
        return Ok((denied, false));
    }
    run_time.start();
    let outcome = match target {
        CallTarget::Tool(tool) => run_tool(turn, &call, tool, risk.is_some()).await,
        CallTarget::LoopTool(own) => own.run(turn, &call).await?,
    };
    let outcome = mask_secrets(&turn.agent.secrets, outcome);
    // Whether a server kept its word can be told where there is something to compare with.
    let has_before = turn.acceptance.checkpoints().can_compare();
    let changes = touches != ToolKind::Read || lets_others || (is_foreign && has_before);
    Ok((result(turn.context, call.id, outcome).await?, changes))
}

/// Asks for leave and records that the call starts. Returns the result of a call that was denied.
async fn approve_and_start(
    turn: &NativeTurn<'_>,
    call: &ToolCall,
    (target, kind): (&CallTarget, ToolKind),
    risk: Option<String>,
    may_change: bool,
) -> Result<Option<ToolResult>, FailedTurn> {
    loop {
        let summary = target.summary(turn, &call.input).await;
        let subject = target.subject(&call.input, &turn.context.session.workspace_path).await;
        let (verdict, reason) =
            turn.context.request_approval(call.clone(), kind, summary, risk.clone(), subject).await?;
        if verdict == Verdict::Deny {
            let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            let denied = ToolResult::failed(call.id.clone(), format!("The user denied this call{why}"));
            return Ok(Some(denied));
        }
        if may_change {
            turn.acceptance.checkpoints().capture_before_change(turn.context).await?;
        }
        match turn.context.report(TurnReport::CallStarted { tool_call: call.clone(), kind }).await {
            // The policy was tightened after the call was let through: it has to be asked about after all.
            Err(ReportError::Refused(refusal)) if refusal.code == RefusalCode::CallNotApproved => {}
            Ok(_) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// What a call came to without the daemon's keys: no provider is sent the key of another one, nor a model its own.
fn mask_secrets(secrets: &Secrets, mut outcome: ToolOutcome) -> ToolOutcome {
    if secrets.is_empty() {
        return outcome;
    }
    outcome.text = secrets.mask(&outcome.text).into_owned();
    outcome.details.iter_mut().for_each(|details| secrets.mask_value(details));
    outcome.whole = outcome.whole.map(|whole| secrets.mask_bytes(whole));
    outcome
}

/// Runs the tool. One that panics has failed, like any other.
async fn run_tool(
    turn: &NativeTurn<'_>,
    call: &ToolCall,
    tool: &Arc<dyn Tool>,
    unconfined: bool,
) -> ToolOutcome {
    let context = turn.context;
    let workspace = PathBuf::from(&context.session.workspace_path);
    let shown = output_sink(context.clone(), call.id.clone());
    let mut tool_context = ToolContext::new(workspace, context.session.id, shown);
    // A call that would run unconfined has been put to a person, who knows it.
    tool_context.unconfined = unconfined;
    if call.name == "verify" {
        tool_context.verify_commands = turn.acceptance.check_commands().await.unwrap_or_default();
    }
    // A tool may also break before it has made its future.
    let run = AssertUnwindSafe(async { tool.run(call.input.clone(), tool_context).await });
    run.catch_unwind().await.unwrap_or_else(|_| ToolOutcome::failed(prompts::tool_crashed(&call.name)))
}

/// Shows a tool's output as it comes, each stream with offsets of its own.
fn output_sink(context: TurnContext, id: ToolCallId) -> Arc<OutputSink> {
    let offsets: Mutex<Vec<(&'static str, u64)>> = Mutex::default();
    Arc::new(move |stream, text| {
        let mut offsets = offsets.lock().expect("no code panics while it holds the offsets");
        let index = offsets.iter().position(|(name, _)| *name == stream).unwrap_or_else(|| {
            offsets.push((stream, 0));
            offsets.len() - 1
        });
        let offset = offsets[index].1;
        offsets[index].1 += text.len() as u64;
        drop(offsets);
        let kind = DeltaKind::ToolOutput { tool_call_id: id.clone(), stream: stream.to_owned() };
        context.delta(Delta { kind, offset, text: text.to_owned() });
    })
}

/// The outcome as it is recorded; what is too long for the log goes beside it.
async fn result(
    context: &TurnContext,
    id: ToolCallId,
    outcome: ToolOutcome,
) -> Result<ToolResult, FailedTurn> {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let name: String = id.0.chars().map(safe).take(80).collect();
    let mut artifacts = Vec::new();
    if let Some(whole) = outcome.whole {
        artifacts.push(context.put_artifact(format!("{name}.txt"), whole).await?);
    }
    for (file, content) in outcome.files {
        artifacts.push(context.put_artifact(format!("{name}-{file}"), content).await?);
    }
    let error = (!outcome.ok).then(|| outcome.text.clone());
    let mut parts = vec![Part::text(outcome.text)];
    for (number, (mime_type, content)) in outcome.attachments.into_iter().enumerate() {
        let kind = mime_type.strip_prefix("image/").unwrap_or("bin");
        let reference = context.put_artifact(format!("{name}-{number}.{kind}"), content).await?;
        artifacts.push(reference.clone());
        parts.push(Part::Image { reference, mime_type });
    }
    Ok(ToolResult { id, ok: outcome.ok, parts, error, artifacts, details: outcome.details })
}
