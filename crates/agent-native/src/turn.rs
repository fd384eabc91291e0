//! The loop of a turn: steer, step, run the calls, until the model has no more; then check.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use ostler_agent::{Completed, Failed, TurnContext};
use ostler_models::ModelError;
use ostler_types::{Accepted, Failure, Message, Part, Report, Role, ToolCallId, Usage, results};

use crate::batch::{Batch, run_batch};
use crate::lineup::Lineup;
use crate::step::run_step;
use crate::{NativeAgent, verify};

/// A turn at work.
pub(crate) struct Turn<'a> {
    pub(crate) agent: &'a NativeAgent,
    pub(crate) context: &'a TurnContext,
    pub(crate) models: Lineup<'a>,
    /// The files that the conversation refers to, as far as they have been needed.
    pub(crate) files: Arc<HashMap<String, Bytes>>,
    /// What the model is shown; grows, and is never rewritten.
    pub(crate) conversation: Vec<Arc<Message>>,
    /// Every call id of the session, since an answer must not use one twice.
    pub(crate) call_ids: HashSet<ToolCallId>,
    /// Whether a call may have changed the workspace since it was last checked.
    pub(crate) changed: bool,
}

/// Runs a turn from where it stands to its end.
pub(crate) async fn run(agent: &NativeAgent, context: &TurnContext) -> Result<Completed, Failed> {
    let models = Lineup::of(agent, &context.session);
    let conversation = context.history.clone();
    let call_ids =
        conversation.iter().flat_map(|message| message.tool_calls()).map(|call| call.id.clone()).collect();
    let (files, changed) = (Arc::default(), context.open.changed);
    let mut turn = Turn { agent, context, models, files, conversation, call_ids, changed };
    let (mut steps, mut rounds) = (context.open.steps, context.open.rounds);

    if let Some(batch) = Batch::left_open(&context.open) {
        run_batch(&mut turn, batch).await?;
    }
    loop {
        if steps >= agent.max_steps {
            return stop_at_limit(&mut turn, &mut rounds).await;
        }
        take_steering(&mut turn).await?;
        let (message, stop_reason) = run_step(&mut turn).await?;
        steps += 1;
        if let Some(batch) = Batch::of(&message) {
            run_batch(&mut turn, batch).await?;
            continue;
        }
        match verify::verify(&mut turn, &mut rounds, steps < agent.max_steps).await? {
            verify::Outcome::TryAgain => {}
            // A message that came during the last step was promised an answer in this turn.
            verify::Outcome::Settled(_) if steps < agent.max_steps && take_steering(&mut turn).await? => {}
            verify::Outcome::Settled(verified) => return Ok(Completed { stop_reason, verified }),
        }
    }
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
    let verified = match verify::verify(turn, rounds, false).await? {
        verify::Outcome::Settled(verified) => verified,
        verify::Outcome::TryAgain => None,
    };
    Ok(Completed { stop_reason, verified })
}

/// A model that could not answer ends the turn; the text so far is kept.
pub(crate) fn model_failed(error: &ModelError) -> Failed {
    Failed { error: failure(error), reason: error.code.to_owned() }
}

/// A model's error in the words of the log.
pub(crate) fn failure(error: &ModelError) -> Failure {
    Failure { code: error.code.to_owned(), message: error.message.clone(), hint: error.hint.clone() }
}
