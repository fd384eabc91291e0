//! Approvals: what waits for an answer, and answering.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use ostler_api_types::{ApprovalAnswerBody, ApprovalAnswered, ApprovalDiff, Approvals};
use ostler_door_kit::{DoorContext, DoorError, caller};
use ostler_types::{AnswerApproval, Command, PendingApproval, SessionId, ToolCallId};

use super::extract::{JsonBody, PathParams};

pub(super) async fn answer(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<ApprovalAnswerBody>,
) -> Result<Json<ApprovalAnswered>, DoorError> {
    let ApprovalAnswerBody { turn_id, tool_call_id, action, scope, reason, review, option } = body;
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

pub(super) async fn diff(
    State(context): State<DoorContext>,
    PathParams((id, tool_call_id)): PathParams<(SessionId, ToolCallId)>,
) -> Result<Json<ApprovalDiff>, DoorError> {
    let view = context.engine.view(id).await?;
    let waits =
        |approval: &&PendingApproval| approval.tool_call_id == tool_call_id && approval.session_id == id;
    let Some(approval) = view.pending_approvals.iter().find(waits) else {
        let message = "no call of this name waits for an answer";
        return Err(DoorError::new(StatusCode::NOT_FOUND, "tool_call_not_found", message)
            .hint("GET /v1/approvals lists those that do"));
    };
    let files = context.settings.previews.preview(&view.session, &approval.tool, &approval.input).await;
    Ok(Json(ApprovalDiff { tool_call_id, files }))
}

pub(super) async fn list(State(context): State<DoorContext>) -> Result<Json<Approvals>, DoorError> {
    Ok(Json(Approvals { approvals: context.engine.approvals().await? }))
}
