//! Approvals: what waits for an answer, and answering.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use ostler_door_kit::{DoorContext, DoorError, requester};
use ostler_types::{
    AnswerApproval, Command, FileChange, PendingApproval, ReviewAnswer, Scope, SessionId, ToolCallId, TurnId,
    Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Body, Ids};

/// An answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    /// The turn that the call belongs to.
    turn_id: TurnId,
    /// The call.
    tool_call_id: ToolCallId,
    /// Yes or no.
    action: Verdict,
    /// For how long; `once` when absent.
    scope: Option<Scope>,
    /// Why; the model sees it when the answer is no.
    reason: Option<String>,
    /// What to put back and what to say, when a patch review is answered.
    #[serde(default, deserialize_with = "ostler_types::optional_object")]
    review: Option<ReviewAnswer>,
    /// Which of the offered answers, when the approval lists some.
    option: Option<String>,
}

/// The answer was taken.
#[derive(Serialize, JsonSchema)]
pub(super) struct Answered {
    tool_call_id: ToolCallId,
    action: Verdict,
}

pub(super) async fn answer(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
    headers: HeaderMap,
    Body(body): Body<AnswerBody>,
) -> Result<Json<Answered>, DoorError> {
    let AnswerBody { turn_id, tool_call_id, action, scope, reason, review, option } = body;
    let command = Command::Answer(AnswerApproval {
        turn_id,
        tool_call_id: tool_call_id.clone(),
        verdict: action,
        scope: scope.unwrap_or_default(),
        reason,
        review,
        option,
        by: requester(&headers),
    });
    context.engine.submit(id, command).await?;
    Ok(Json(Answered { tool_call_id, action }))
}

/// What a call would change that waits for an answer.
#[derive(Serialize, JsonSchema)]
pub(super) struct ApprovalDiff {
    tool_call_id: ToolCallId,
    /// The files as they would become of what they are now; null when that cannot be told, as of a command.
    files: Option<Vec<FileChange>>,
}

pub(super) async fn diff(
    State(context): State<DoorContext>,
    Ids((id, tool_call_id)): Ids<(SessionId, ToolCallId)>,
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

/// Everything that waits.
#[derive(Serialize, JsonSchema)]
pub(super) struct Approvals {
    approvals: Vec<PendingApproval>,
}

pub(super) async fn list(State(context): State<DoorContext>) -> Result<Json<Approvals>, DoorError> {
    Ok(Json(Approvals { approvals: context.engine.approvals().await? }))
}
