//! Making a session: what a client may say of a new one. What it gets where it says nothing is the same at all doors.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_door_kit::{DoorContext, DoorError, SessionMode, SessionRequest, make_session};
use ostler_types::{Budget, Effort, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::Body;
use super::policy::PolicyBody;

/// What a new session is to be.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewSessionBody {
    /// An existing directory, as an absolute path.
    workspace_path: String,
    /// Instructions for the model.
    system_prompt: Option<String>,
    /// Whether a message starts a turn unless it says otherwise; true when absent.
    auto_run: Option<bool>,
    /// Who runs its turns; `native` when absent.
    agent: Option<String>,
    /// Which model, as `provider:model`; found by the model policy when absent.
    model: Option<String>,
    /// Models that take its place, in this order, when it cannot begin to answer.
    fallback_models: Option<Vec<String>>,
    /// How much the model thinks; as its maker thinks best when absent.
    effort: Option<Effort>,
    /// Whether the traffic with providers is kept in `raw.jsonl`.
    raw_log: Option<bool>,
    /// Whether thinking, times and tokens are kept in `verbose.md`.
    verbose_log: Option<bool>,
    /// The directory in which its readable files are kept, each session in a folder of its own, instead of beside
    /// its log. An absolute path; made if it is not there.
    log_dir: Option<String>,
    /// What people call it.
    title: Option<String>,
    /// What programs call it, unique among the open sessions.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"))]
    name: Option<String>,
    /// The session that starts it.
    parent_session_id: Option<SessionId>,
    /// What it may spend.
    #[serde(default, deserialize_with = "ostler_types::optional_object")]
    budget: Option<Budget>,
    /// `repl`, `serve` or `agent`.
    mode: Option<Mode>,
    /// What it may do by itself.
    #[serde(default, deserialize_with = "ostler_types::optional_object")]
    policy: Option<PolicyBody>,
    /// Asking twice with one key makes one session.
    idempotency_key: Option<String>,
    /// What is chosen of the settings of someone else's agent, by the agent's own names.
    agent_settings: Option<BTreeMap<String, String>>,
    /// The session of someone else's agent to take over, as the agent calls it. One that was taken over before is
    /// found, and not made again.
    adopt: Option<String>,
}

/// How a session is used.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Repl,
    Serve,
    Agent,
}

/// The new session's id.
#[derive(Serialize, JsonSchema)]
pub(super) struct Created {
    pub(super) session_id: SessionId,
}

pub(super) async fn create(
    State(context): State<DoorContext>,
    Body(mut body): Body<NewSessionBody>,
) -> Result<(StatusCode, Json<Created>), DoorError> {
    let policy = body.policy.take().unwrap_or_default().over(context.settings.policy.clone())?;
    let session = make_session(&context, request(body), policy).await?;
    Ok((StatusCode::CREATED, Json(Created { session_id: session.id })))
}

fn request(body: NewSessionBody) -> SessionRequest {
    SessionRequest {
        workspace_path: body.workspace_path,
        system_prompt: body.system_prompt,
        auto_run: body.auto_run,
        agent: body.agent,
        model: body.model,
        fallback_models: body.fallback_models,
        effort: body.effort,
        raw_log: body.raw_log,
        verbose_log: body.verbose_log,
        log_dir: body.log_dir,
        title: body.title,
        name: body.name,
        parent_session_id: body.parent_session_id,
        budget: body.budget,
        mode: match body.mode {
            Some(Mode::Repl) => SessionMode::Repl,
            Some(Mode::Serve) | None => SessionMode::Serve,
            Some(Mode::Agent) => SessionMode::Agent,
        },
        idempotency_key: body.idempotency_key,
        agent_settings: body.agent_settings.unwrap_or_default(),
        adopt: body.adopt,
    }
}
