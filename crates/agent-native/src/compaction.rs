//! Makes a conversation shorter: before a step that would fill the model's window, when a provider says that
//! a request is too long, or because somebody asked. What goes and in which words is planned by
//! `ostler_context`; here the model is asked for its notes, and the result is recorded.
//!
//! A model that cannot write the notes does not leave the session stuck: those that may take its place are
//! asked, and when none can, the notes are made from what was called. What the user said is kept either way.

use std::ops::Range;
use std::sync::Arc;

use futures_util::StreamExt;
use ostler_agent::{CompletedTurn, FailedTurn};
use ostler_context::{
    CompactionLimits, CompactionPlan, TokenEstimate, compose_summary, prompt_for_summary, redact, summary_of,
    user_messages,
};
use ostler_models::{ModelError, ModelEvent, ModelRequest};
use ostler_types::{CompactionTrigger, Conversation, Message, NewCompaction, Part, Role, TurnReport};

use crate::step::{FALLBACK_AFTER, report_waiting, stream_cut_error};
use crate::turn::NativeTurn;
use crate::{prompts, workspace_context};

/// A conversation with fewer tokens is not worth a summary.
const MIN_TOKENS: u64 = 500;
/// How much of a model's notes is read.
const MAX_NOTES_BYTES: usize = 256 << 10;
/// The share of a window that the transcript to be summarised may take, in hundredths.
const TRANSCRIPT_PERCENT: u64 = 60;
/// How many calls are listed where no model wrote notes, and how much of each.
const MAX_LISTED_CALLS: usize = 100;
const MAX_LISTED_CHARS: usize = 160;

/// Makes the conversation shorter if the next request would take too much of the model's window. Of a model
/// whose window is not known, the provider has to say so.
pub(crate) async fn make_room(turn: &mut NativeTurn<'_>) -> Result<(), FailedTurn> {
    let info = turn.models.info();
    let Some(window) = info.context_window else { return Ok(()) };
    let percent = turn.agent.context.as_ref().map_or(85, |settings| settings.compact_at_percent);
    // An answer needs room, too.
    let answer = info.max_output_tokens.unwrap_or(0).min(window / 4);
    let limit = (window.saturating_mul(percent.into()) / 100).min(window - answer);
    if turn.request_tokens() < limit {
        return Ok(());
    }
    compact(turn, CompactionTrigger::Threshold).await.map(drop)
}

/// A turn that does nothing else.
pub(crate) async fn run_compaction_turn(turn: &mut NativeTurn<'_>) -> Result<CompletedTurn, FailedTurn> {
    turn.spending.check_budget(turn.context)?;
    let is_shorter = compact(turn, CompactionTrigger::Asked).await?;
    let stop_reason = if is_shorter { "compacted" } else { "nothing_to_compact" }.to_owned();
    Ok(CompletedTurn { stop_reason, verified: None, verification: None })
}

/// Makes the conversation shorter, and says whether there was anything to gain.
pub(crate) async fn compact(
    turn: &mut NativeTurn<'_>,
    trigger: CompactionTrigger,
) -> Result<bool, FailedTurn> {
    let room = CompactionRoom::new(turn, trigger);
    let Some(plan) = CompactionPlan::new(&turn.conversation, &room.limits).filter(|_| room.is_worth_it)
    else {
        return Ok(false);
    };
    let summary = match plan.summarised.clone() {
        Some(range) => Some(summarise(turn, range, &plan, room.transcript).await?),
        None => None,
    };
    let tokens_before = turn.request_tokens();
    let mut compaction = NewCompaction {
        from_message_id: plan.from_message_id,
        to_message_id: plan.to_message_id,
        tokens_before,
        tokens_after: 0,
        trigger,
        summary,
        pruned: plan.pruned,
    };
    let shorter = apply_compaction(&turn.conversation, &compaction);
    compaction.tokens_after = turn.request_tokens_with(&shorter);
    if compaction.tokens_after >= tokens_before {
        return Ok(false);
    }
    let has_summary = compaction.summary.is_some();
    turn.context.report(TurnReport::Compacted(Box::new(compaction))).await?;
    turn.conversation = shorter;
    // What the model was told of the workspace may have gone with the rest. Whoever asked gets no more than
    // what they asked for: the next turn tells it.
    if has_summary && trigger != CompactionTrigger::Asked {
        workspace_context::record_context(turn).await?;
    }
    Ok(true)
}

/// How much room there is, in tokens as they are estimated here.
struct CompactionRoom {
    limits: CompactionLimits,
    /// How long the transcript to be summarised may be.
    transcript: u64,
    is_worth_it: bool,
}

impl CompactionRoom {
    fn new(turn: &NativeTurn<'_>, trigger: CompactionTrigger) -> CompactionRoom {
        let messages = TokenEstimate::of_messages(&turn.conversation).tokens();
        let (estimated, counted) = (turn.estimate_request().tokens().max(1), turn.request_tokens().max(1));
        let fixed = estimated.saturating_sub(messages);
        // The provider's tokens may be longer or shorter than ours.
        let ours = |tokens: u64| (u128::from(tokens) * u128::from(estimated) / u128::from(counted)) as u64;
        let window = turn.models.info().context_window.map(ours);
        let fitting = window.map_or(u64::MAX, |window| CompactionLimits::for_window(window, fixed).target);
        let target = match trigger {
            CompactionTrigger::Threshold => fitting,
            // Whatever the window is said to be, this was too much for it.
            CompactionTrigger::Overflow => fitting.min(messages / 2),
            CompactionTrigger::Asked => fitting.min(messages / 4),
        };
        let transcript =
            window.map_or(messages / 2, |window| window.saturating_mul(TRANSCRIPT_PERCENT) / 100);
        let is_worth_it = messages >= MIN_TOKENS || trigger == CompactionTrigger::Overflow;
        CompactionRoom { limits: CompactionLimits::for_target(target), transcript, is_worth_it }
    }
}

/// The conversation after a compaction, by the rule by which the log is read.
fn apply_compaction(messages: &[Arc<Message>], compaction: &NewCompaction) -> Vec<Arc<Message>> {
    let mut conversation = Conversation::default();
    messages.iter().for_each(|message| conversation.push(0, Arc::clone(message)));
    let NewCompaction { to_message_id, summary, pruned, .. } = compaction;
    conversation.compact(0, *to_message_id, summary.as_ref(), pruned);
    conversation.messages()
}

/// The message that takes the place of some others.
async fn summarise(
    turn: &mut NativeTurn<'_>,
    range: Range<usize>,
    plan: &CompactionPlan,
    room: u64,
) -> Result<Message, FailedTurn> {
    let messages = turn.conversation[range].to_vec();
    let notes = match notes_from_first_model(turn, &messages, plan, room).await? {
        Ok(notes) => notes,
        Err(why) => notes_without_model(&messages, &why),
    };
    let earlier = messages.iter().rev().find_map(|message| summary_of(message));
    let composed = compose_summary(&notes, &user_messages(&messages), earlier, plan.summary_tokens);
    let (id, created_at) = (turn.context.message_id(), turn.context.clock.now());
    Ok(Message { id, role: Role::System, parts: vec![Part::text(composed.text)], created_at })
}

/// The notes of the first model of the session's list that writes some; otherwise why none did. Who answers
/// the turn does not change by this: a model may be well enough for that.
async fn notes_from_first_model(
    turn: &mut NativeTurn<'_>,
    messages: &[Arc<Message>],
    plan: &CompactionPlan,
    room: u64,
) -> Result<Result<String, String>, FailedTurn> {
    let models = turn.models.remaining();
    let mut failures = Vec::new();
    for (index, (name, info)) in models.iter().enumerate() {
        let fits = info.context_window.map_or(room, |window| window.saturating_mul(TRANSCRIPT_PERCENT) / 100);
        // The first one's room was worked out with what its provider has counted.
        let room = if index == 0 { room } else { room.min(fits) };
        let prompt = prompt_for_summary(messages, None, plan.summary_tokens, room);
        let is_last = index + 1 == models.len();
        let why = match notes(turn, name, prompt, is_last).await? {
            Ok(notes) if !notes.trim().is_empty() => return Ok(Ok(notes)),
            Ok(_) => "it wrote nothing".to_owned(),
            Err(error) => error.message,
        };
        tracing::warn!(model = name, why, "the model returned an empty summary");
        failures.push(if models.len() == 1 { why } else { format!("{name}: {why}") });
    }
    Ok(Err(failures.join("; ")))
}

/// Asks a model for notes. That it cannot write them is no failure of the turn.
async fn notes(
    turn: &mut NativeTurn<'_>,
    name: &str,
    prompt: String,
    is_last: bool,
) -> Result<Result<String, ModelError>, FailedTurn> {
    let model = match turn.models.model(name) {
        Ok(model) => model,
        Err(error) => return Ok(Err(error)),
    };
    let (id, created_at) = (turn.context.message_id(), turn.context.clock.now());
    let asked = Message { id, role: Role::User, parts: vec![Part::text(prompt)], created_at };
    let hand_over_after = (!is_last).then_some(FALLBACK_AFTER);
    let (raw, asked) = (turn.context.raw(), vec![Arc::new(asked)]);
    let mut events =
        model.stream(ModelRequest { raw, fallback_after: hand_over_after, ..ModelRequest::new(asked) });
    let mut notes = String::new();
    let ended = loop {
        match events.next().await {
            Some(Ok(ModelEvent::Text(text))) => {
                notes.push_str(&text);
                if notes.len() > MAX_NOTES_BYTES {
                    break Ok(notes);
                }
            }
            Some(Ok(ModelEvent::Usage(usage))) => turn.spending.count_running(name, usage),
            Some(Ok(ModelEvent::Waiting { attempt, attempts, wait, error })) => {
                report_waiting(turn, name, (attempt, attempts), wait, &error).await?;
            }
            Some(Ok(ModelEvent::Stop(_))) => break Ok(notes),
            Some(Ok(
                ModelEvent::Reasoning(_)
                | ModelEvent::ReasoningOpaque(_)
                | ModelEvent::CallStarted { .. }
                | ModelEvent::CallInput { .. },
            )) => {}
            Some(Err(error)) => break Err(error),
            None => break Err(stream_cut_error()),
        }
    };
    turn.spending.record_unused(turn.context).await?;
    Ok(ended)
}

/// Notes that no model wrote: the newest calls.
fn notes_without_model(messages: &[Arc<Message>], why: &str) -> String {
    let calls: Vec<_> = messages.iter().flat_map(|message| message.tool_calls()).collect();
    let omitted = calls.len().saturating_sub(MAX_LISTED_CALLS);
    let shown =
        |input: &serde_json::Value| redact(&input.to_string()).chars().take(MAX_LISTED_CHARS).collect();
    let listed: Vec<(String, String)> =
        calls[omitted..].iter().map(|call| (call.name.clone(), shown(&call.input))).collect();
    prompts::summary_without_model(&redact(why), omitted, &listed)
}
