//! Projects: the workspaces that their owner has registered. Sessions belong to them by their workspace.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_api_types::{AddProject, ProjectList, ProjectRemoved, ProjectView};
use ostler_door_kit::{DoorContext, DoorError};
use ostler_engine::Project;
use uuid::Uuid;

use super::extract::{JsonBody, PathParams};

pub(super) async fn list(State(context): State<DoorContext>) -> Result<Json<ProjectList>, DoorError> {
    let projects = context.engine.projects()?.into_iter().map(to_project_view).collect();
    Ok(Json(ProjectList { projects }))
}

pub(super) async fn add(
    State(context): State<DoorContext>,
    JsonBody(body): JsonBody<AddProject>,
) -> Result<(StatusCode, Json<ProjectView>), DoorError> {
    let project = context.engine.add_project(&body.path).await?;
    Ok((StatusCode::CREATED, Json(to_project_view(project))))
}

pub(super) async fn remove(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<String>,
) -> Result<Json<ProjectRemoved>, DoorError> {
    // There is one spelling, as of every id.
    let uuid = Uuid::try_parse(&id).ok().filter(|uuid| uuid.to_string() == id);
    context.engine.remove_project(uuid.unwrap_or_default()).await?;
    Ok(Json(ProjectRemoved { project_id: id }))
}

/// A project, as clients are told of it.
fn to_project_view(Project { id, runner: _, path, name, added_at }: Project) -> ProjectView {
    ProjectView { id: id.to_string(), path, name, added_at }
}
