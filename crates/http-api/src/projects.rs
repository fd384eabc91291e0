//! Projects: the workspaces that their owner has registered. Sessions belong to them by their workspace.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use ostler_door_kit::{DoorContext, DoorError};
use ostler_engine::Project;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::extract::{Body, Ids};

/// The projects, in the order in which they were added.
#[derive(Serialize, JsonSchema)]
pub(super) struct ProjectList {
    projects: Vec<ProjectView>,
}

/// A registered workspace.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Project")]
pub(super) struct ProjectView {
    /// Its id, a UUID with hyphens.
    id: String,
    /// The directory, as it really is.
    path: String,
    /// The last part of the path.
    name: String,
    /// When it was registered.
    added_at: Timestamp,
}

/// The directory to register.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectBody {
    /// An existing directory, as an absolute path.
    path: String,
}

/// The project is off the list.
#[derive(Serialize, JsonSchema)]
pub(super) struct ProjectRemoved {
    project_id: String,
}

pub(super) async fn list(State(context): State<DoorContext>) -> Result<Json<ProjectList>, DoorError> {
    let projects = context.engine.projects()?.into_iter().map(ProjectView::from).collect();
    Ok(Json(ProjectList { projects }))
}

pub(super) async fn add(
    State(context): State<DoorContext>,
    Body(body): Body<ProjectBody>,
) -> Result<(StatusCode, Json<ProjectView>), DoorError> {
    let project = context.engine.add_project(&body.path).await?;
    Ok((StatusCode::CREATED, Json(project.into())))
}

pub(super) async fn remove(
    State(context): State<DoorContext>,
    Ids(id): Ids<String>,
) -> Result<Json<ProjectRemoved>, DoorError> {
    // There is one spelling, as of every id.
    let uuid = Uuid::try_parse(&id).ok().filter(|uuid| uuid.to_string() == id);
    context.engine.remove_project(uuid.unwrap_or_default()).await?;
    Ok(Json(ProjectRemoved { project_id: id }))
}

impl From<Project> for ProjectView {
    fn from(Project { id, path, name, added_at }: Project) -> ProjectView {
        ProjectView { id: id.to_string(), path, name, added_at }
    }
}
