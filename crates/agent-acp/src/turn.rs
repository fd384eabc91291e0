//! One turn: prompts go to the agent until its work is checked and accepted, or until the turn is canceled. What happens
//! within a prompt is in `prompt_loop`.

use std::path::Path;
use std::sync::Arc;

use ostler_acceptance::{AcceptanceOutcome, CheckpointTracker, TurnAcceptance};
use ostler_acp::AcceptedContent;
use ostler_agent::{CompletedTurn, FailedTurn, ReportError, TurnContext};
use ostler_types::{Accepted, Message, Purpose, TurnReport};

use crate::AcpAgent;
use crate::failure::failed;
use crate::prompt::{blocks_of, first_prompt};
use crate::prompt_loop::PromptLoop;
use crate::session_opener::open;

/// Runs a turn to its end.
pub(crate) async fn run(
    agent: &AcpAgent,
    context: &TurnContext,
    checkpoints: &CheckpointTracker,
) -> Result<CompletedTurn, FailedTurn> {
    refuse_other_purposes(agent, context)?;
    let canceled = context.canceled.clone();
    let setting_up = async {
        let lease = agent.lease(Path::new(&context.session.workspace_path)).await?;
        let opened = open(&agent.program, &lease.handle, context).await?;
        let accepts = AcceptedContent::from(&lease.handle.initialized.agent_capabilities.prompt_capabilities);
        let prompt = first_prompt(context, &opened.memory, accepts).await;
        // An agent may write whenever it likes and need not say so.
        checkpoints.capture_before_change(context).await?;
        Ok::<_, FailedTurn>((lease, opened, accepts, prompt))
    };
    let (lease, opened, accepts, mut prompt) = tokio::select! {
        biased;
        () = canceled.cancelled() => return Err(ReportError::TurnOver.into()),
        ready = setting_up => ready?,
    };
    let mut prompts = PromptLoop::new(agent, context, lease, opened).await?;
    let mut care =
        TurnAcceptance::begin(context, Arc::clone(&agent.runner), agent.baselines.clone(), checkpoints).await;
    loop {
        let working = async {
            let stop_reason = prompts.run(prompt).await?;
            if checkpoints.can_compare() || prompts.has_calls() {
                care.note_change();
            }
            let follow_up = follow_up(&mut care, context).await?;
            Ok::<_, FailedTurn>((stop_reason, follow_up))
        };
        let worked = tokio::select! {
            biased;
            () = canceled.cancelled() => None,
            worked = working => Some(worked),
        };
        match worked {
            None => {
                prompts.stop().await;
                return Err(ReportError::TurnOver.into());
            }
            Some(Err(error)) => return Err(prompts.fail(error).await),
            Some(Ok((stop_reason, follow_up))) if follow_up.is_empty() => {
                prompts.keep_session();
                return Ok(care.completed_turn(stop_reason));
            }
            Some(Ok((_, follow_up))) => prompt = blocks_of(context, follow_up.iter(), accepts).await,
        }
    }
}

/// Has the work checked and reviewed, and returns the messages of the next prompt; none when the turn can end.
async fn follow_up(care: &mut TurnAcceptance<'_>, context: &TurnContext) -> Result<Vec<Message>, FailedTurn> {
    if let AcceptanceOutcome::Continue(messages) = care.verify_and_review(true).await? {
        return Ok(messages);
    }
    // A message that came in the meantime was promised an answer in this turn.
    match context.report(TurnReport::TakeSteering).await? {
        Accepted::Steering(messages) => Ok(messages),
        _ => Ok(Vec::new()),
    }
}

/// The agent keeps its own conversation, so that it can only answer prompts.
fn refuse_other_purposes(agent: &AcpAgent, context: &TurnContext) -> Result<(), FailedTurn> {
    let name = &agent.program.name;
    let (message, hint) = match &context.open_turn.purpose {
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
