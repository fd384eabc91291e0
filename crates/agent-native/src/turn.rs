//! The loop of a turn: steer, step, run the calls, until the model has no more; then check. A turn that
//! carries out a plan is left to `plan`, one that makes the conversation shorter to `compaction`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use ostler_acceptance::{AcceptanceOutcome, CheckpointTracker, TurnAcceptance, changed_servers};
use ostler_agent::{CompletedTurn, FailedTurn, TurnContext};
use ostler_context::{SystemPrompt, TokenEstimate, shown_context, system_prompt};
use ostler_models::ModelError;
use ostler_runner::{GatheredContext, OfferTools, OfferedTools, ToolSet};
use ostler_types::{
    Accepted, Failure, Message, Part, Purpose, Role, ToolCallId, ToolSpec, TurnReport, Usage, results,
};

use crate::batch::{CallBatch, run_batch};
use crate::loop_tools::LoopTool;
use crate::model_fallback::ModelFallback;
use crate::spending::TurnSpending;
use crate::step::run_step;
use crate::{NativeAgent, compaction, plan, prompts, workspace_context};

/// Why a turn ended that had no steps left.
const MAX_STEPS: &str = "max_steps";

/// A turn at work.
pub(crate) struct NativeTurn<'a> {
    pub(crate) agent: &'a NativeAgent,
    pub(crate) context: &'a TurnContext,
    pub(crate) models: ModelFallback<'a>,
    pub(crate) tools: Arc<ToolSet>,
    /// The tools of the loop itself, which go before those.
    pub(crate) loop_tools: Vec<LoopTool>,
    /// What the model is told of all of them.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// What it is told before anything else.
    pub(crate) system_prompt: String,
    /// How many steps the turn may take.
    max_steps: u32,
    /// The files that the conversation refers to, as far as they have been needed.
    pub(crate) files: Arc<HashMap<String, Bytes>>,
    /// What the model is shown; grows, and is only rewritten by a compaction that is recorded.
    pub(crate) conversation: Vec<Arc<Message>>,
    /// What the provider counted in the last request, and what it was estimated at.
    last_counted_request: Option<(u64, TokenEstimate)>,
    /// Every call id of the session, since an answer must not use one twice.
    pub(crate) call_ids: HashSet<ToolCallId>,
    /// How many results have been reported.
    pub(crate) results: AtomicU64,
    /// How its work is captured, checked and reviewed.
    pub(crate) acceptance: TurnAcceptance<'a>,
    /// What it takes.
    pub(crate) spending: &'a TurnSpending,
    /// What the model is to be told of its tools.
    tools_notice: Option<String>,
    /// What the model is to be told of the workspace.
    pub(crate) pending_context: Option<String>,
    /// Whether the model was told that the state of the git repository follows.
    pub(crate) awaits_git: bool,
}

/// Runs a turn from where it stands to its end.
pub(crate) async fn run(
    agent: &NativeAgent,
    context: &TurnContext,
    checkpoints: &CheckpointTracker,
    spending: &TurnSpending,
) -> Result<CompletedTurn, FailedTurn> {
    if let Purpose::Subtasks { plan } = &context.open_turn.purpose {
        return plan::run_plan(context, spending, plan).await;
    }
    let mut turn = begin(agent, context, checkpoints, spending).await;
    if context.open_turn.purpose == Purpose::Compact {
        return compaction::run_compaction_turn(&mut turn).await;
    }
    let mut steps = context.open_turn.steps;
    let mut in_review = turn.acceptance.was_in_review();
    if let Some(batch) = CallBatch::from_open_turn(&context.open_turn).filter(|_| !in_review) {
        run_batch(&mut turn, batch).await?;
    }
    if steps == 0 && !in_review {
        workspace_context::record_context(&mut turn).await?;
        if let Some(notice) = turn.tools_notice.take() {
            turn.record_message(Role::System, notice).await?;
        }
    }
    loop {
        if steps >= turn.max_steps && !in_review {
            return stop_at_limit(&mut turn).await;
        }
        // The words that end a turn at its limit are a step of their own.
        let mut stop_reason = if steps > turn.max_steps { MAX_STEPS } else { "end_turn" }.to_owned();
        if !in_review {
            take_steering(&mut turn).await?;
            spending.check_budget(context)?;
            ask_to_go_on(&mut turn).await?;
            compaction::make_room(&mut turn).await?;
            let step = run_step(&mut turn).await?;
            stop_reason = step.stop_reason.clone();
            steps += 1;
            // Nothing is left to be done after this answer: it is recorded together with the end of its turn.
            if !step.asks_for_calls() && steps < turn.max_steps && turn.acceptance.has_no_changes() {
                turn.acceptance.verify_and_review(true).await?;
                if step.record_with_turn_end(&mut turn).await? {
                    return Ok(turn.acceptance.completed_turn(stop_reason));
                }
                continue;
            }
            let message = step.record(&mut turn).await?;
            if let Some(batch) = CallBatch::from_message(&message) {
                run_batch(&mut turn, batch).await?;
                workspace_context::record_late_context(&mut turn).await?;
                continue;
            }
        }
        in_review = false;
        let steps_left = steps < turn.max_steps;
        if let AcceptanceOutcome::Continue(told) = turn.acceptance.verify_and_review(steps_left).await? {
            turn.conversation.extend(told.into_iter().map(Arc::new));
            continue;
        }
        // A message that came during the last step was promised an answer in this turn.
        if steps_left && take_steering(&mut turn).await? {
            continue;
        }
        checkpoints.capture_after_turn(context).await?;
        return Ok(turn.acceptance.completed_turn(stop_reason));
    }
}

/// A turn as it stands.
async fn begin<'a>(
    agent: &'a NativeAgent,
    context: &'a TurnContext,
    checkpoints: &'a CheckpointTracker,
    spending: &'a TurnSpending,
) -> NativeTurn<'a> {
    let models = ModelFallback::new(agent, &context.session);
    let conversation = context.history.clone();
    let call_ids =
        conversation.iter().flat_map(|message| message.tool_calls()).map(|call| call.id.clone()).collect();
    let session = &context.session;
    let prepare = async {
        // It notes what open turns have changed, before a server is started that they have changed.
        let baselines = agent.baselines.clone();
        let care = TurnAcceptance::begin(context, Arc::clone(&agent.runner), baselines, checkpoints).await;
        (care, agent.runner.toolbox().offer_tools(offer_request(agent, context).await).await)
    };
    let shown = shown_context(&conversation);
    let awaits_git = shown.awaits_git == Some(true);
    let gather = workspace_context::gather(agent, context, &models, shown);
    let ((care, offered), gathered) = tokio::join!(prepare, gather);
    let (OfferedTools { tools, notice }, GatheredContext { text: bundle, skills }) = (offered, gathered);
    let has_skills = !skills.is_empty();
    let own_tools = LoopTool::for_session(session, has_skills);
    let specs = agent.specs.get(&own_tools, &tools.specs());
    let system_prompt = system_prompt(&SystemPrompt {
        workspace: &session.workspace_path,
        agent_prompt: None,
        session_prompt: session.system_prompt.as_deref(),
        skill_tool: has_skills.then_some(LoopTool::Skill.name()),
    });
    let own_limit = session.budget.and_then(|budget| budget.max_steps);
    NativeTurn {
        agent,
        context,
        models,
        tools,
        loop_tools: own_tools,
        specs,
        system_prompt,
        max_steps: own_limit.unwrap_or(u32::MAX).min(agent.max_steps),
        files: Arc::default(),
        conversation,
        last_counted_request: None,
        call_ids,
        results: AtomicU64::new(0),
        acceptance: care,
        spending,
        tools_notice: notice,
        pending_context: bundle,
        awaits_git,
    }
}

/// The session, as it is offered tools.
async fn offer_request(agent: &NativeAgent, context: &TurnContext) -> OfferTools {
    let (session, open) = (&context.session, &context.open_turn);
    let held_back = match &agent.baselines {
        Some(baselines) if context.trusted => {
            changed_servers(&*agent.runner, baselines, session.runner.as_ref(), &session.workspace_path).await
        }
        Some(_) | None => Vec::new(),
    };
    OfferTools {
        session: Some(session.id),
        workspace: session.workspace_path.clone(),
        trusted: context.trusted,
        held_back: held_back.into_iter().map(|(name, _)| name).collect(),
        tells: open.steps == 0 && open.purpose == Purpose::Answer,
    }
}

/// Hands the messages that came in the meantime to the model, and says whether there were any.
async fn take_steering(turn: &mut NativeTurn<'_>) -> Result<bool, FailedTurn> {
    let Accepted::Steering(messages) = turn.context.report(TurnReport::TakeSteering).await? else {
        return Ok(false);
    };
    let any = !messages.is_empty();
    turn.conversation.extend(messages.into_iter().map(Arc::new));
    Ok(any)
}

/// A conversation in which the model spoke last, as after an answer that was stopped, needs somebody to say
/// something. It is recorded, so that every later request says it too.
async fn ask_to_go_on(turn: &mut NativeTurn<'_>) -> Result<(), FailedTurn> {
    let last = turn.conversation.last();
    let has_spoken =
        last.is_some_and(|last| last.role == Role::Assistant && last.tool_calls().next().is_none());
    if has_spoken { turn.record_message(Role::User, prompts::CONTINUE.to_owned()).await } else { Ok(()) }
}

impl NativeTurn<'_> {
    /// Tells the model something that nobody said.
    pub(crate) async fn record_message(&mut self, role: Role, text: String) -> Result<(), FailedTurn> {
        let (id, created_at) = (self.context.message_id(), self.context.clock.now());
        let message = Message { id, role, parts: vec![Part::text(text)], created_at };
        self.context.report(TurnReport::NoteAdded { message: message.clone() }).await?;
        self.conversation.push(Arc::new(message));
        Ok(())
    }

    /// Notes what the provider counted in the request that was just answered, before the answer is added.
    pub(crate) fn note_counted_tokens(&mut self, counted: u64) {
        if counted > 0 {
            self.last_counted_request = Some((counted, self.estimate_request()));
        }
    }

    /// Roughly how many tokens the next request has, in the provider's own count where it is known.
    pub(crate) fn request_tokens(&self) -> u64 {
        self.request_tokens_with(&self.conversation)
    }

    /// The same if the conversation were this one.
    pub(crate) fn request_tokens_with(&self, conversation: &[Arc<Message>]) -> u64 {
        let now = TokenEstimate::of_request(Some(&self.system_prompt), conversation, &self.specs);
        let calibrated = |(counted, then)| TokenEstimate::calibrated(counted, then, now);
        self.last_counted_request.map_or(now, calibrated).tokens()
    }

    /// The same by our own count.
    pub(crate) fn estimate_request(&self) -> TokenEstimate {
        TokenEstimate::of_request(Some(&self.system_prompt), &self.conversation, &self.specs)
    }
}

/// The model would go on for ever: say so in its place, and check what it has done.
async fn stop_at_limit(turn: &mut NativeTurn<'_>) -> Result<CompletedTurn, FailedTurn> {
    let message = Message {
        id: turn.context.message_id(),
        role: Role::Assistant,
        parts: vec![Part::text(results::MAX_STEPS)],
        created_at: turn.context.clock.now(),
    };
    let stop_reason = MAX_STEPS.to_owned();
    let (model, usage) = (turn.models.current_name().to_owned(), Usage::default());
    let report = TurnReport::StepFinished { model, message, stop_reason: stop_reason.clone(), usage };
    turn.context.report(report).await?;
    turn.acceptance.verify_and_review(false).await?;
    turn.acceptance.checkpoints().capture_after_turn(turn.context).await?;
    Ok(turn.acceptance.completed_turn(stop_reason))
}

/// A model that could not answer ends the turn; the text so far is kept.
pub(crate) fn failed_by_model(error: &ModelError) -> FailedTurn {
    FailedTurn { error: to_failure(error), reason: error.code.to_owned() }
}

/// A model's error in the words of the log.
pub(crate) fn to_failure(error: &ModelError) -> Failure {
    Failure { code: error.code.to_owned(), message: error.message.clone(), hint: error.hint.clone() }
}
