//! What can be asked of one agent, `send` aside.

use ostler_door_kit::DoorContext;

use ostler_engine::{EngineError, Subscription, SubscriptionItem};
use ostler_types::{
    Accepted, AgentEvent, CancelTurn, Command, Event, EventName, RefusalCode, RefusalKind, SessionId,
    TurnEvent, TurnId,
};
use ostler_types::{ContextKind, ContextSection};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json_rpc::{PoolCall, PoolRpcError};
use super::message_rows::to_row;
use super::send::idempotency_key;

/// Tokens that a model of which nothing is known is taken to have room for, and those of them that are kept for
/// its answer.
const DEFAULT_WINDOW_TOKENS: u64 = 8000;
const ANSWER_RESERVE_TOKENS: u64 = 2000;
/// Messages of one page: when none is asked for, and at most.
const PAGE: u64 = 200;
const MAX_PAGE: u64 = 2000;
/// How often a compaction waits for another turn to end.
const MAX_COMPACT_ATTEMPTS: u32 = 8;
/// How often a message that is about to run is tried to be caught.
const MAX_CANCEL_ATTEMPTS: u32 = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelParams {
    request_id: Value,
}

/// Stops the turn of a request, or takes its message back while it waits.
pub(super) async fn cancel(
    context: &DoorContext,
    id: SessionId,
    call: &PoolCall,
    by: &str,
) -> Result<Value, PoolRpcError> {
    let CancelParams { request_id } = call.params(&["request_id"])?;
    let key = idempotency_key(&request_id)?;
    for _ in 0..MAX_CANCEL_ATTEMPTS {
        let Some(submitted) = context.engine.submitted_message(id, &key).await? else { break };
        if submitted.is_queued {
            let message_id = submitted.message_id;
            match context.engine.submit(id, Command::Withdraw { message_id, by: by.to_owned() }).await {
                Ok(_) => return Ok(json!({"cancelled": true, "request_id": request_id})),
                // Its turn has just begun.
                Err(EngineError::Refused(refusal)) if refusal.kind == RefusalKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            }
        }
        let running = submitted.turn_id.filter(|_| submitted.is_running);
        let Some(turn_id) = running else { break };
        let cancel = Command::Cancel(CancelTurn { turn_id: Some(turn_id), by: by.to_owned(), reason: None });
        if context.engine.submit(id, cancel).await? != Accepted::Unchanged {
            return Ok(json!({"cancelled": true, "request_id": request_id}));
        }
    }
    Ok(json!({"cancelled": false, "request_id": request_id, "reason": "not_found_or_completed"}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParams {}

/// What the model's context holds, in tokens.
pub(super) async fn get_tokens(
    context: &DoorContext,
    id: SessionId,
    call: &PoolCall,
) -> Result<Value, PoolRpcError> {
    let NoParams {} = call.params(&[])?;
    let messages = context.engine.model_context(id).await?;
    let session = context.engine.view(id).await?.session;
    let sections = context.settings.context_meter.measure(&session, &messages);
    let sum = |wanted: fn(ContextKind) -> bool| -> u64 {
        sections.iter().filter(|section| wanted(section.kind)).map(|section| section.tokens).sum()
    };
    let system = sum(|kind| kind == ContextKind::SystemPrompt);
    let tools = sum(|kind| kind == ContextKind::Tools);
    let total = sum(|_| true);
    let model = context.settings.models.info(&session.model);
    let budget = model.context_window.unwrap_or(DEFAULT_WINDOW_TOKENS);
    let reserve = model.max_output_tokens.unwrap_or(ANSWER_RESERVE_TOKENS).min(budget / 4);
    Ok(json!({
        "system": system,
        "tools": tools,
        "messages": total - system - tools,
        "total": total,
        "budget": budget,
        "available": budget - reserve,
    }))
}

pub(super) async fn get_context(
    context: &DoorContext,
    id: SessionId,
    call: &PoolCall,
) -> Result<Value, PoolRpcError> {
    let NoParams {} = call.params(&[])?;
    let messages = context.engine.model_context(id).await?;
    let session = context.engine.view(id).await?.session;
    let is_prompt = |section: &ContextSection| section.kind == ContextKind::SystemPrompt;
    let system_prompt = context.settings.context_meter.measure(&session, &messages).iter().any(is_prompt);
    Ok(json!({"message_count": messages.len(), "system_prompt": system_prompt}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageRangeParams {
    #[serde(default)]
    offset: Value,
    #[serde(default)]
    limit: Value,
}

/// A page of the messages that the model is shown.
pub(super) async fn get_messages(
    context: &DoorContext,
    id: SessionId,
    name: &str,
    call: &PoolCall,
) -> Result<Value, PoolRpcError> {
    let MessageRangeParams { offset, limit } = call.params(&[])?;
    let offset = number(&offset, 0)
        .ok_or_else(|| PoolRpcError::invalid_params("offset must be a non-negative integer"))?;
    let limit = number(&limit, PAGE)
        .filter(|limit| (1..=MAX_PAGE).contains(limit))
        .ok_or_else(|| PoolRpcError::invalid_params("limit must be an integer between 1 and 2000"))?;
    let messages = context.engine.model_context(id).await?;
    let (skipped, taken) =
        (usize::try_from(offset).unwrap_or(usize::MAX), usize::try_from(limit).unwrap_or(0));
    let rows = messages.iter().enumerate().skip(skipped).take(taken);
    let rows: Vec<Value> = rows.map(|(index, message)| to_row(index, message)).collect();
    let total = messages.len();
    Ok(json!({"agent_id": name, "total": total, "offset": offset, "limit": limit, "messages": rows}))
}

fn number(value: &Value, absent: u64) -> Option<u64> {
    if value.is_null() { Some(absent) } else { value.as_u64() }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompactParams {
    /// Taken for true: whoever asks wants it.
    #[serde(default, rename = "force")]
    _force: Option<bool>,
}

/// Makes the conversation shorter, after the turns that were there before.
pub(super) async fn compact(
    context: &DoorContext,
    id: SessionId,
    call: &PoolCall,
) -> Result<Value, PoolRpcError> {
    let CompactParams { .. } = call.params(&[])?;
    let mut tries = 0;
    loop {
        tries += 1;
        let after = context.engine.view(id).await?.last_seq;
        let mut subscription = context.engine.subscribe(id, after).await?;
        let turn_id = TurnId::new(context.engine.clock().uuid());
        match context.engine.submit(id, Command::Compact { turn_id }).await {
            Ok(_) => return wait_for_compaction(subscription, turn_id).await,
            Err(EngineError::Refused(refusal))
                if refusal.code == RefusalCode::TurnRunning && tries < MAX_COMPACT_ATTEMPTS =>
            {
                wait_for_turn_end(&mut subscription).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn wait_for_compaction(mut subscription: Subscription, turn_id: TurnId) -> Result<Value, PoolRpcError> {
    let mut shorter = None;
    while let Some(item) = subscription.next().await? {
        let SubscriptionItem::Record(line) = item else { continue };
        let Ok(record) = line.record() else { continue };
        if record.turn_id != Some(turn_id) {
            continue;
        }
        match record.event {
            Event::Agent(AgentEvent::ContextCompacted { compaction }) => {
                let (before, after) = (compaction.tokens_before, compaction.tokens_after);
                shorter = Some(json!({
                    "compacted": true,
                    "tokens_before": before,
                    "tokens_after": after,
                    "tokens_saved": before.saturating_sub(after),
                }));
            }
            Event::Turn(TurnEvent::Completed { stop_reason, .. }) => {
                return Ok(shorter.unwrap_or_else(|| json!({"compacted": false, "reason": stop_reason})));
            }
            Event::Turn(TurnEvent::Canceled { .. }) => {
                return Ok(json!({"compacted": false, "reason": "cancelled"}));
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => return Err(PoolRpcError::failed(&error)),
            Event::Turn(TurnEvent::Started { .. } | TurnEvent::Retried { .. })
            | Event::Agent(AgentEvent::Updated { .. })
            | Event::Session(_)
            | Event::Message(_)
            | Event::Step(_)
            | Event::Batch(_)
            | Event::Call(_)
            | Event::Approval(_)
            | Event::Workspace(_)
            | Event::Child(_) => {}
        }
    }
    Err(PoolRpcError::internal("the session ended before the compaction did"))
}

/// Waits for the turn that is in the way. Its end is to come, since the subscription is older than the refusal.
async fn wait_for_turn_end(subscription: &mut Subscription) -> Result<(), PoolRpcError> {
    while let Some(item) = subscription.next().await? {
        if let SubscriptionItem::Record(line) = &item
            && line.name().is_some_and(EventName::ends_turn)
        {
            break;
        }
    }
    Ok(())
}

/// Ends the agent. The daemon goes on, since it is there for others too.
pub(super) async fn shutdown(
    context: &DoorContext,
    id: SessionId,
    call: &PoolCall,
    by: String,
) -> Result<Value, PoolRpcError> {
    let NoParams {} = call.params(&[])?;
    context.engine.submit(id, Command::Close { by }).await?;
    Ok(json!({"success": true}))
}
