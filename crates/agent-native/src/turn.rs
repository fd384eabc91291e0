//! The loop of a turn: steer, step, run the calls, until the model has no more; then check.

use std::collections::HashSet;
use std::sync::Arc;

use ostler_agent::{Completed, Failed, TurnContext};
use ostler_models::Model;
use ostler_types::{Accepted, Failure, Message, Part, Report, Role, ToolCallId, Usage, results};

use crate::batch::{Batch, run_batch};
use crate::step::run_step;
use crate::{NativeAgent, verify};

/// A turn at work.
pub(crate) struct Turn<'a> {
    pub(crate) agent: &'a NativeAgent,
    pub(crate) context: &'a TurnContext,
    pub(crate) model: Arc<dyn Model>,
    /// What the model is shown; grows, and is never rewritten.
    pub(crate) conversation: Vec<Arc<Message>>,
    /// Every call id of the session, since an answer must not use one twice.
    pub(crate) call_ids: HashSet<ToolCallId>,
    /// Whether a call may have changed the workspace since it was last checked.
    pub(crate) changed: bool,
}

/// Runs a turn from where it stands to its end.
pub(crate) async fn run(agent: &NativeAgent, context: &TurnContext) -> Result<Completed, Failed> {
    let model = (agent.resolve)(&context.session.model).map_err(|error| model_failed(&error))?;
    let conversation = context.history.clone();
    let call_ids =
        conversation.iter().flat_map(|message| message.tool_calls()).map(|call| call.id.clone()).collect();
    let mut turn = Turn { agent, context, model, conversation, call_ids, changed: context.open.changed };
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
    let usage = Usage::default();
    turn.context.report(Report::StepFinished { message, stop_reason: stop_reason.clone(), usage }).await?;
    let verified = match verify::verify(turn, rounds, false).await? {
        verify::Outcome::Settled(verified) => verified,
        verify::Outcome::TryAgain => None,
    };
    Ok(Completed { stop_reason, verified })
}

/// A model that could not answer ends the turn; the text so far is kept.
pub(crate) fn model_failed(error: &ostler_models::ModelError) -> Failed {
    let failure =
        Failure { code: error.code.to_owned(), message: error.message.clone(), hint: error.hint.clone() };
    Failed { error: failure, reason: error.code.to_owned() }
}
