//! Turns that answer nobody, and sessions that come from others: compact, divide work, fork.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_door_kit::{DoorContext, DoorError};
use ostler_types::{Budget, Command, Plan, SessionId, Subtask, TurnId, object, optional_object};
use schemars::JsonSchema;
use serde::Deserialize;

use super::create::Created;
use super::extract::{Body, Ids, OptionalBody};
use super::messages::Started;

/// Where to branch off.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ForkBody {
    /// The last turn that both are to share; the last finished one when absent.
    turn_id: Option<TurnId>,
}

pub(super) async fn fork(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
    OptionalBody(body): OptionalBody<ForkBody>,
) -> Result<(StatusCode, Json<Created>), DoorError> {
    let session = context.engine.fork(id, body.turn_id).await?;
    Ok((StatusCode::CREATED, Json(Created { session_id: session.id })))
}

pub(super) async fn compact(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
) -> Result<(StatusCode, Json<Started>), DoorError> {
    let turn_id = TurnId::new(context.engine.clock().uuid());
    context.engine.submit(id, Command::Compact { turn_id }).await?;
    Ok((StatusCode::ACCEPTED, Json(Started { turn_id })))
}

/// Work to be divided among sessions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanBody {
    /// The pieces.
    #[schemars(length(min = 1, max = 200))]
    subtasks: Vec<PieceBody>,
    /// How many may be worked on at once; as many as the daemon allows when absent.
    concurrency: Option<u32>,
}

/// A piece, from an object only.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct PieceBody(#[serde(deserialize_with = "object")] SubtaskBody);

/// One piece of a plan.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubtaskBody {
    /// Its name in the plan.
    #[schemars(length(min = 1, max = 100))]
    id: String,
    /// What it is for, in a line; its name when absent.
    description: Option<String>,
    /// What the session is told to do.
    #[schemars(regex(pattern = r"\S"))]
    prompt: String,
    /// Which agent does it; the parent's when absent.
    agent: Option<String>,
    /// Which model is used; the parent's when absent.
    model: Option<String>,
    /// Whether it works in a git worktree of its own.
    #[serde(default)]
    worktree: bool,
    /// The pieces that must have been completed before.
    #[serde(default)]
    depends_on: Vec<String>,
    /// What it may spend.
    #[serde(default, deserialize_with = "optional_object")]
    budget: Option<Budget>,
}

pub(super) async fn subtasks(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
    Body(body): Body<PlanBody>,
) -> Result<(StatusCode, Json<Started>), DoorError> {
    for PieceBody(piece) in &body.subtasks {
        piece.model.as_deref().map_or(Ok(()), |model| context.settings.models.check(model))?;
    }
    let subtasks = body.subtasks.into_iter().map(|PieceBody(piece)| piece.into()).collect();
    let plan = Plan { subtasks, concurrency: body.concurrency };
    let turn_id = TurnId::new(context.engine.clock().uuid());
    context.engine.submit(id, Command::RunPlan { turn_id, plan }).await?;
    Ok((StatusCode::ACCEPTED, Json(Started { turn_id })))
}

impl From<SubtaskBody> for Subtask {
    fn from(body: SubtaskBody) -> Subtask {
        let SubtaskBody { id, description, prompt, agent, model, worktree, depends_on, budget } = body;
        Subtask { id, description, prompt, agent, model, worktree, depends_on, budget }
    }
}
