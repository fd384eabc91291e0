//! Turns that answer nobody, and sessions that come from others: compact, divide work, fork.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_api_types::{Created, ForkSession, PieceBody, PlanRequest, Started};
use ostler_door_kit::{DoorContext, DoorError};
use ostler_types::{Command, Plan, SessionId, Subtask, TurnId};

use super::extract::{JsonBody, OptionalJsonBody, PathParams};

pub(super) async fn fork(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    OptionalJsonBody(body): OptionalJsonBody<ForkSession>,
) -> Result<(StatusCode, Json<Created>), DoorError> {
    let session = context.engine.fork(id, body.turn_id).await?;
    Ok((StatusCode::CREATED, Json(Created { session_id: session.id })))
}

pub(super) async fn compact(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
) -> Result<(StatusCode, Json<Started>), DoorError> {
    let turn_id = TurnId::new(context.engine.clock().uuid());
    context.engine.submit(id, Command::Compact { turn_id }).await?;
    Ok((StatusCode::ACCEPTED, Json(Started { turn_id })))
}

pub(super) async fn subtasks(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    JsonBody(body): JsonBody<PlanRequest>,
) -> Result<(StatusCode, Json<Started>), DoorError> {
    for PieceBody(piece) in &body.subtasks {
        piece.model.as_deref().map_or(Ok(()), |model| context.settings.models.check(model))?;
    }
    let subtasks = body.subtasks.into_iter().map(Subtask::from).collect();
    let plan = Plan { subtasks, concurrency: body.concurrency };
    let turn_id = TurnId::new(context.engine.clock().uuid());
    context.engine.submit(id, Command::RunPlan { turn_id, plan }).await?;
    Ok((StatusCode::ACCEPTED, Json(Started { turn_id })))
}
