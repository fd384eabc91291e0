//! Approvals: what waits for an answer, and answering.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use ostler_api_types::{ApprovalAnswerBody, ApprovalAnswered, ApprovalDiff, Approvals};
use ostler_door_kit::{DoorContext, DoorError, caller};
use ostler_types::{AnswerApproval, Command, PendingApproval, SessionId, ToolCallId, TurnId};

use super::extract::{JsonBody, PathParams};

pub(super) async fn answer(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<ApprovalAnswerBody>,
) -> Result<Json<ApprovalAnswered>, DoorError> {
    let ApprovalAnswerBody { turn_id, tool_call_id, action, scope, reason, review, option } = body;
    let turn_id = match turn_id {
        Some(turn_id) => turn_id,
        None => turn_of_pending_call(&context, id, &tool_call_id).await?,
    };
    let command = Command::Answer(AnswerApproval {
        turn_id,
        tool_call_id: tool_call_id.clone(),
        verdict: action,
        scope: scope.unwrap_or_default(),
        reason,
        review,
        option,
        by: caller(&headers),
    });
    context.engine.submit(id, command).await?;
    Ok(Json(ApprovalAnswered { tool_call_id, action }))
}

/// The turn of the only pending call of this id. A call that is not pending is looked for in the newest turn, so that the
/// refusal says who answered it.
async fn turn_of_pending_call(
    context: &DoorContext,
    id: SessionId,
    tool_call_id: &ToolCallId,
) -> Result<TurnId, DoorError> {
    let view = context.engine.view(id).await?;
    let pending = view.pending_approvals.iter().filter(|approval| approval.tool_call_id == *tool_call_id);
    let turns: BTreeSet<TurnId> = pending.map(|approval| approval.turn_id).collect();
    if turns.len() > 1 {
        let message = format!("several turns have a pending call {tool_call_id}");
        return Err(DoorError::new(StatusCode::CONFLICT, "ambiguous_call", message)
            .hint("name one of them as `turn_id`; GET /v1/approvals lists them"));
    }
    let newest = view.turns.last().map(|turn| turn.id);
    turns.first().copied().or(view.running_turn_id).or(newest).ok_or_else(call_not_found)
}

fn call_not_found() -> DoorError {
    let message = "no call of this name waits for an answer";
    DoorError::new(StatusCode::NOT_FOUND, "tool_call_not_found", message)
        .hint("GET /v1/approvals lists those that do")
}

pub(super) async fn diff(
    State(context): State<DoorContext>,
    PathParams((id, tool_call_id)): PathParams<(SessionId, ToolCallId)>,
) -> Result<Json<ApprovalDiff>, DoorError> {
    let view = context.engine.view(id).await?;
    let waits =
        |approval: &&PendingApproval| approval.tool_call_id == tool_call_id && approval.session_id == id;
    let Some(approval) = view.pending_approvals.iter().find(waits) else { return Err(call_not_found()) };
    let files = context.settings.previews.preview(&view.session, &approval.tool, &approval.input).await;
    Ok(Json(ApprovalDiff { tool_call_id, files }))
}

pub(super) async fn list(State(context): State<DoorContext>) -> Result<Json<Approvals>, DoorError> {
    Ok(Json(Approvals { approvals: context.engine.approvals().await? }))
}
