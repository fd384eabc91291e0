//! The loop of a turn: steer, step, run the calls, until the model has no more; then check.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use ostler_agent::{Completed, Failed, TurnContext};
use ostler_checkpoint::CheckpointId;
use ostler_models::ModelError;
use ostler_tools::Tools;
use ostler_types::{Accepted, Failure, Message, Part, Report, Role, ToolCallId, Usage, results};

use crate::batch::{Batch, run_batch};
use crate::checkpoint::{self, Checkpoints};
use crate::lineup::Lineup;
use crate::step::run_step;
use crate::verify::Verdict;
use crate::{NativeAgent, review, verify};

/// A turn at work.
pub(crate) struct Turn<'a> {
    pub(crate) context: &'a TurnContext,
    pub(crate) models: Lineup<'a>,
    pub(crate) tools: Arc<Tools>,
    /// The files that the conversation refers to, as far as they have been needed.
    pub(crate) files: Arc<HashMap<String, Bytes>>,
    /// What the model is shown; grows, and is never rewritten.
    pub(crate) conversation: Vec<Arc<Message>>,
    /// Every call id of the session, since an answer must not use one twice.
    pub(crate) call_ids: HashSet<ToolCallId>,
    /// Whether a call may have changed the workspace since it was last checked.
    pub(crate) changed: bool,
    /// The workspace before the turn, and later.
    pub(crate) checkpoints: Checkpoints,
    /// The workspace as it was when it was last checked and held.
    pub(crate) checked: Option<CheckpointId>,
    /// The workspace as it was when it was last reviewed.
    pub(crate) reviewed: Option<CheckpointId>,
}

/// Runs a turn from where it stands to its end.
pub(crate) async fn run(agent: &NativeAgent, context: &TurnContext) -> Result<Completed, Failed> {
    let models = Lineup::of(agent, &context.session);
    let conversation = context.history.clone();
    let call_ids =
        conversation.iter().flat_map(|message| message.tool_calls()).map(|call| call.id.clone()).collect();
    let (files, changed) = (Arc::default(), context.open.changed);
    let workspace = PathBuf::from(&context.session.workspace_path);
    let checkpoints =
        Checkpoints::new(agent.checkpoints.clone(), workspace, context.open.checkpoint.as_deref());
    let (checked, reviewed) = (None, None);
    let tools = tools(agent, &context.session.workspace_path).await;
    let mut turn = Turn {
        context,
        models,
        tools,
        files,
        conversation,
        call_ids,
        changed,
        checkpoints,
        checked,
        reviewed,
    };
    let (mut steps, mut rounds) = (context.open.steps, context.open.rounds);
    let mut verdict = Verdict::default();

    let mut in_review = review::was_open(&context.open);
    if let Some(batch) = Batch::left_open(&context.open).filter(|_| !in_review) {
        run_batch(&mut turn, batch).await?;
    }
    loop {
        if steps >= agent.max_steps && !in_review {
            return stop_at_limit(&mut turn, &mut rounds).await;
        }
        let mut stop_reason = "end_turn".to_owned();
        if !in_review {
            take_steering(&mut turn).await?;
            let (message, reason) = run_step(&mut turn).await?;
            stop_reason = reason;
            steps += 1;
            if let Some(batch) = Batch::of(&message) {
                run_batch(&mut turn, batch).await?;
                continue;
            }
        }
        in_review = false;
        let steps_left = steps < agent.max_steps;
        let verify::Outcome::Settled(latest) = verify::verify(&mut turn, &mut rounds, steps_left).await?
        else {
            continue;
        };
        // What was said of the workspace holds until it changes again.
        verdict = if latest == Verdict::default() { verdict } else { latest };
        if review::review(&mut turn, steps_left).await? {
            continue;
        }
        // A message that came during the last step was promised an answer in this turn.
        if steps_left && take_steering(&mut turn).await? {
            continue;
        }
        checkpoint::after_turn(&turn).await?;
        return Ok(completed(stop_reason, verdict));
    }
}

/// The tools of a turn: those of every session, and those of this workspace.
async fn tools(agent: &NativeAgent, workspace: &str) -> Arc<Tools> {
    let Some(more) = &agent.more_tools else { return Arc::clone(&agent.tools) };
    let more = more(PathBuf::from(workspace)).await;
    if more.is_empty() { Arc::clone(&agent.tools) } else { Arc::new(Tools::clone(&agent.tools).and(more)) }
}

/// Hands the messages that came in the meantime to the model, and says whether there were any.
async fn take_steering(turn: &mut Turn<'_>) -> Result<bool, Failed> {
    let Accepted::Steering(messages) = turn.context.report(Report::TakeSteering).await? else {
        return Ok(false);
    };
    let any = !messages.is_empty();
    turn.conversation.extend(messages.into_iter().map(Arc::new));
    Ok(any)
}

/// The model would go on for ever: say so in its place, and check what it has done.
async fn stop_at_limit(turn: &mut Turn<'_>, rounds: &mut u32) -> Result<Completed, Failed> {
    let message = Message {
        id: turn.context.message_id(),
        role: Role::Assistant,
        parts: vec![Part::text(results::MAX_STEPS)],
        created_at: turn.context.clock.now(),
    };
    let stop_reason = "max_steps".to_owned();
    let (model, usage) = (turn.models.name().to_owned(), Usage::default());
    let report = Report::StepFinished { model, message, stop_reason: stop_reason.clone(), usage };
    turn.context.report(report).await?;
    let verdict = match verify::verify(turn, rounds, false).await? {
        verify::Outcome::Settled(verdict) => verdict,
        verify::Outcome::TryAgain => Verdict::default(),
    };
    checkpoint::after_turn(turn).await?;
    Ok(completed(stop_reason, verdict))
}

fn completed(stop_reason: String, Verdict { verified, note }: Verdict) -> Completed {
    Completed { stop_reason, verified, verification: note }
}

/// A model that could not answer ends the turn; the text so far is kept.
pub(crate) fn model_failed(error: &ModelError) -> Failed {
    Failed { error: failure(error), reason: error.code.to_owned() }
}

/// A model's error in the words of the log.
pub(crate) fn failure(error: &ModelError) -> Failure {
    Failure { code: error.code.to_owned(), message: error.message.clone(), hint: error.hint.clone() }
}
