//! What can be chosen: agents, models, tools.

use axum::Json;
use axum::extract::State;
use ostler_types::{ToolKind, ToolSpec};
use schemars::JsonSchema;
use serde::Serialize;

use super::HttpDoor;

/// The agents that sessions can have.
#[derive(Serialize, JsonSchema)]
pub(super) struct Agents {
    agents: Vec<Named>,
}

/// The models that sessions can have.
#[derive(Serialize, JsonSchema)]
pub(super) struct Models {
    /// The one that a session gets when it names none.
    default: String,
    models: Vec<Named>,
}

/// Something with a name.
#[derive(Serialize, JsonSchema)]
struct Named {
    name: String,
}

/// The tools of the native agent.
#[derive(Serialize, JsonSchema)]
pub(super) struct Tools {
    tools: Vec<OneTool>,
}

#[derive(Serialize, JsonSchema)]
struct OneTool {
    #[serde(flatten)]
    spec: ToolSpec,
    kind: ToolKind,
}

pub(super) async fn agents(State(door): State<HttpDoor>) -> Json<Agents> {
    Json(Agents { agents: door.engine.agents().into_iter().map(|name| Named { name }).collect() })
}

pub(super) async fn models(State(door): State<HttpDoor>) -> Json<Models> {
    let models = door.settings.models.iter().cloned().map(|name| Named { name }).collect();
    Json(Models { default: door.settings.default_model.clone(), models })
}

pub(super) async fn tools(State(door): State<HttpDoor>) -> Json<Tools> {
    let one = |(spec, kind): &(ToolSpec, ToolKind)| OneTool { spec: spec.clone(), kind: *kind };
    Json(Tools { tools: door.settings.tools.iter().map(one).collect() })
}
