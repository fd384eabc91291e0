//! What can be chosen: models, tools.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use ostler_api_types::{ModelList, OneTool, ToolList};
use ostler_door_kit::{DoorContext, DoorError, existing_directory};
use ostler_types::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::QueryParams;

/// How to list models.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelParams {
    /// Ask the servers anew, rather than tell what they said last.
    refresh: Option<bool>,
}

/// Whose tools to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolParams {
    /// Also those that sessions of this directory get from servers.
    workspace_path: Option<String>,
}

pub(super) async fn models(
    State(context): State<DoorContext>,
    QueryParams(params): QueryParams<ModelParams>,
) -> Result<Json<ModelList>, DoorError> {
    let settings = &context.settings;
    let models = settings.models.list(params.refresh.unwrap_or(false)).await;
    let (default, no_default) = match settings.models.choose(&settings.policy.model).await {
        Ok(resolution) => (Some(resolution), None),
        Err(Refusal { message, .. }) => (None, Some(message)),
    };
    Ok(Json(ModelList { default, no_default, models }))
}

pub(super) async fn tools(
    State(context): State<DoorContext>,
    QueryParams(params): QueryParams<ToolParams>,
) -> Result<Json<ToolList>, DoorError> {
    let settings = &context.settings;
    let mut tools = settings.tools.clone();
    if let Some(workspace) = params.workspace_path {
        let workspace = existing_directory(&context, "workspace_path", &workspace).await?;
        let trusted = context.engine.is_trusted(&workspace).await;
        tools.extend(settings.servers.tools(PathBuf::from(workspace), trusted).await);
    }
    let tools = tools.into_iter().map(|(spec, kind)| OneTool { spec, kind }).collect();
    let object = |value| if let serde_json::Value::Object(object) = value { Some(object) } else { None };
    let servers = settings.servers.status().into_iter().filter_map(object).collect();
    Ok(Json(ToolList { tools, servers }))
}
