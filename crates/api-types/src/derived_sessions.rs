//! Sessions that come from others: forks and divided work.

use ostler_types::{Budget, Subtask, TurnId, object, optional_object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where to branch off.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ForkBody")]
#[serde(deny_unknown_fields, default)]
pub struct ForkSession {
    /// The last turn that both are to share; the last finished one when absent.
    pub turn_id: Option<TurnId>,
}

/// Work to be divided among sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PlanBody")]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The pieces.
    #[schemars(length(min = 1, max = 200))]
    pub subtasks: Vec<PieceBody>,
    /// How many may be worked on at once; as many as the daemon allows when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

/// A piece, from an object only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PieceBody(#[serde(deserialize_with = "object")] pub SubtaskBody);

/// One piece of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubtaskBody {
    /// Its name in the plan.
    #[schemars(length(min = 1, max = 100))]
    pub id: String,
    /// What it is for, in a line; its name when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the session is told to do.
    #[schemars(regex(pattern = r"\S"))]
    pub prompt: String,
    /// Which agent does it; the parent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which model is used; the parent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it works in a git worktree of its own.
    #[serde(default)]
    pub worktree: bool,
    /// The pieces that must have been completed before.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// What it may spend.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = null))]
    pub budget: Option<Budget>,
}

impl From<PieceBody> for Subtask {
    fn from(PieceBody(body): PieceBody) -> Subtask {
        let SubtaskBody { id, description, prompt, agent, model, worktree, depends_on, budget } = body;
        Subtask { id, description, prompt, agent, model, worktree, depends_on, budget }
    }
}
