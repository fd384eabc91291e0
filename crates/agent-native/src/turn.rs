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
use crate::checkpoint::Checkpoints;
use crate::lineup::Lineup;
use crate::review::Reviews;
use crate::step::run_step;
use crate::verify::Verdict;
use crate::{NativeAgent, review, verify};

/// Why a turn ended that had no steps left.
const MAX_STEPS: &str = "max_steps";

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
    pub(crate) checkpoints: &'a Checkpoints,
    /// The workspace as it was when it was last checked and held.
    pub(crate) checked: Option<CheckpointId>,
    /// What was asked about the turn's whole change.
    pub(crate) reviews: Reviews,
}

/// Runs a turn from where it stands to its end.
pub(crate) async fn run(
    agent: &NativeAgent,
    context: &TurnContext,
    checkpoints: &Checkpoints,
) -> Result<Completed, Failed> {
    let mut turn = begin(agent, context, checkpoints).await;
    let (mut steps, mut rounds) = (context.open.steps, context.open.rounds);
    let mut verdict = Verdict::default();

    let mut in_review = turn.reviews.was_open();
    if let Some(batch) = Batch::left_open(&context.open).filter(|_| !in_review) {
        run_batch(&mut turn, batch).await?;
    }
    loop {
        if steps >= agent.max_steps && !in_review {
            return stop_at_limit(&mut turn, &mut rounds).await;
        }
        // The words that end a turn at its limit are a step of their own.
        let mut stop_reason = if steps > agent.max_steps { MAX_STEPS } else { "end_turn" }.to_owned();
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
        turn.checkpoints.after_turn(context).await?;
        return Ok(completed(&turn, stop_reason, verdict));
    }
}

/// A turn as it stands.
async fn begin<'a>(
    agent: &'a NativeAgent,
    context: &'a TurnContext,
    checkpoints: &'a Checkpoints,
) -> Turn<'a> {
    let models = Lineup::of(agent, &context.session);
    let conversation = context.history.clone();
    let call_ids =
        conversation.iter().flat_map(|message| message.tool_calls()).map(|call| call.id.clone()).collect();
    let (files, changed) = (Arc::default(), context.open.changed);
    let (checked, reviews) = (None, Reviews::of(&context.open));
    let tools = tools(agent, &context.session.workspace_path).await;
    Turn { context, models, tools, files, conversation, call_ids, changed, checkpoints, checked, reviews }
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
    let stop_reason = MAX_STEPS.to_owned();
    let (model, usage) = (turn.models.name().to_owned(), Usage::default());
    let report = Report::StepFinished { model, message, stop_reason: stop_reason.clone(), usage };
    turn.context.report(report).await?;
    let verdict = match verify::verify(turn, rounds, false).await? {
        verify::Outcome::Settled(verdict) => verdict,
        verify::Outcome::TryAgain => Verdict::default(),
    };
    review::review(turn, false).await?;
    turn.checkpoints.after_turn(turn.context).await?;
    Ok(completed(turn, stop_reason, verdict))
}

/// The end of a turn, with what there is to say of its check, its review and its undoing.
fn completed(turn: &Turn<'_>, stop_reason: String, Verdict { verified, note }: Verdict) -> Completed {
    let is_outdated = verified == Some(true) && turn.changed;
    let (verified, note) = if is_outdated {
        (None, Some("not verified: files were put back after the check".to_owned()))
    } else {
        (verified, note)
    };
    let mut said: Vec<String> = note.into_iter().collect();
    if turn.reviews.is_unsettled {
        said.push("files changed again after the last review".to_owned());
    }
    said.extend(turn.checkpoints.failure().map(|why| format!("this turn cannot be undone: {why}")));
    let verification = (!said.is_empty()).then(|| said.join("; "));
    Completed { stop_reason, verified, verification }
}

/// A model that could not answer ends the turn; the text so far is kept.
pub(crate) fn model_failed(error: &ModelError) -> Failed {
    Failed { error: failure(error), reason: error.code.to_owned() }
}

/// A model's error in the words of the log.
pub(crate) fn failure(error: &ModelError) -> Failure {
    Failure { code: error.code.to_owned(), message: error.message.clone(), hint: error.hint.clone() }
}
