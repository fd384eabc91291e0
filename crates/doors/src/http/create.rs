//! Making a session: what a client may say of a new one, and what it gets where it says nothing. Also how the
//! pool makes its agents.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_engine::EngineError;
use ostler_types::{
    Budget, Effort, MAX_DEPTH, NewSession, Policy, Refusal, RefusalCode, Resolution, Session, SessionId,
    SessionView,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HttpDoor;
use super::agents::{Foreign, NATIVE};
use super::error::ApiError;
use super::extract::Body;
use super::policy::PolicyBody;

/// How a session is used, when the client does not say.
const DEFAULT_MODE: &str = "serve";

/// What a new session is to be.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSessionBody {
    /// An existing directory, as an absolute path.
    pub(crate) workspace_path: String,
    /// Instructions for the model.
    pub(crate) system_prompt: Option<String>,
    /// Whether a message starts a turn unless it says otherwise; true when absent.
    auto_run: Option<bool>,
    /// Who runs its turns; `native` when absent.
    agent: Option<String>,
    /// Which model, as `provider:model`; found by the model policy when absent.
    pub(crate) model: Option<String>,
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
    pub(crate) parent_session_id: Option<SessionId>,
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

impl NewSessionBody {
    /// A session that an agent keeps, to be taken over.
    pub(crate) fn adopting(workspace_path: String, agent: String, adopt: String) -> NewSessionBody {
        let adopt = Some(adopt);
        NewSessionBody { adopt, ..NewSessionBody::in_workspace(workspace_path, agent) }
    }

    /// A plain session of an agent.
    pub(crate) fn in_workspace(workspace_path: String, agent: String) -> NewSessionBody {
        NewSessionBody { workspace_path, agent: Some(agent), ..NewSessionBody::default() }
    }

    /// A plain agent of the pool.
    pub(crate) fn agent(workspace_path: String, name: String) -> NewSessionBody {
        let (name, mode) = (Some(name), Some(Mode::Agent));
        NewSessionBody { workspace_path, name, mode, ..NewSessionBody::default() }
    }
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
    State(door): State<HttpDoor>,
    Body(body): Body<NewSessionBody>,
) -> Result<(StatusCode, Json<Created>), ApiError> {
    let policy = door.settings.policy.clone();
    let session = make(&door, body, policy).await?;
    Ok((StatusCode::CREATED, Json(Created { session_id: session.id })))
}

/// Makes a session under a policy, as far as the body does not change it.
pub(crate) async fn make(door: &HttpDoor, body: NewSessionBody, policy: Policy) -> Result<Session, ApiError> {
    let workspace_path = existing_directory("workspace_path", &body.workspace_path).await?;
    refuse_own_data(door, "workspace_path", &workspace_path)?;
    body.name.as_deref().map_or(Ok(()), check_name)?;
    let settings = &door.settings;
    let policy = body.policy.unwrap_or_default().over(policy)?;
    let agent = body.agent.unwrap_or_else(|| NATIVE.to_owned());
    let chosen = body.agent_settings.unwrap_or_default();
    let foreign = Foreign::of(door, &agent, body.model.as_deref(), chosen)?;
    if foreign.is_none() && body.adopt.is_some() {
        let message = match agent.as_str() {
            NATIVE => {
                "only a session of someone else's agent can be taken over; name it as `agent`".to_owned()
            }
            _ => {
                format!("no agent called `{agent}` is configured; `ostler agents list` shows those that are")
            }
        };
        return Err(Refusal::invalid("nothing_to_adopt", message).into());
    }
    let (model, resolution, fallback_models) = match &foreign {
        Some(foreign) => (foreign.model(&agent), None, Vec::new()),
        None => {
            let fallbacks = body.fallback_models.unwrap_or_else(|| settings.fallback_models.clone());
            choose(door, body.model, &policy, fallbacks).await?
        }
    };
    let depth = match body.parent_session_id {
        Some(parent) => depth_below(&parent_view(door, parent).await?)?,
        None => 0,
    };
    let log_root = match &body.log_dir {
        Some(directory) => Some(log_directory(door, directory).await?),
        None => None,
    };
    let clock = door.engine.clock();
    let mode = body.mode.map_or(DEFAULT_MODE, |mode| match mode {
        Mode::Repl => "repl",
        Mode::Serve => "serve",
        Mode::Agent => "agent",
    });
    let new = NewSession {
        system_prompt: body.system_prompt,
        agent,
        resolution,
        fallback_models,
        effort: body.effort,
        raw_log: body.raw_log.unwrap_or(settings.raw_log),
        verbose_log: body.verbose_log.unwrap_or(settings.verbose_log),
        log_root,
        title: body.title,
        name: body.name,
        parent_session_id: body.parent_session_id,
        depth,
        budget: body.budget,
        mode: mode.to_owned(),
        auto_run: body.auto_run.unwrap_or(true),
        policy,
        idempotency_key: body.idempotency_key,
        ..NewSession::new(SessionId::new(clock.uuid()), clock.now(), workspace_path, model)
    };
    match foreign {
        Some(foreign) => foreign.make(&door.engine, new, body.adopt).await,
        None => Ok(door.engine.create(new).await?),
    }
}

/// The model that was named, or the one that the policy leads to, with those that take its place.
async fn choose(
    door: &HttpDoor,
    named: Option<String>,
    policy: &Policy,
    fallbacks: Vec<String>,
) -> Result<(String, Option<Resolution>, Vec<String>), ApiError> {
    let models = &door.settings.models;
    let (model, resolution) = match named {
        Some(model) => (model, None),
        None => {
            let resolution = models.choose(&policy.model).await?;
            (resolution.model.clone(), Some(resolution))
        }
    };
    for name in std::iter::once(&model).chain(&fallbacks) {
        models.check(name)?;
    }
    Ok((model, resolution, fallbacks))
}

async fn parent_view(door: &HttpDoor, parent: SessionId) -> Result<SessionView, ApiError> {
    door.engine.view(parent).await.map_err(|error| match error {
        EngineError::NotFound => {
            let message = format!("there is no session {parent} to be its parent");
            Refusal::invalid("unknown_parent", message).into()
        }
        other => other.into(),
    })
}

fn depth_below(parent: &SessionView) -> Result<u32, Refusal> {
    let depth = parent.session.depth.saturating_add(1);
    if depth > MAX_DEPTH {
        let message = format!("there are already {MAX_DEPTH} sessions above the one that starts it");
        return Err(Refusal::conflict("too_deep", message).hint("make it without a parent"));
    }
    Ok(depth)
}

/// The path of a directory that exists, as it really is.
pub(super) async fn existing_directory(field: &str, path: &str) -> Result<String, Refusal> {
    let given = plain_path(field, "bad_workspace", path)?;
    // Links are followed now: trust and rules hold for the directory, not for a name that can be moved.
    let Ok(tidy) = tokio::fs::canonicalize(given).await else {
        return Err(Refusal::invalid(
            RefusalCode::BadWorkspace,
            format!("`{path}` cannot be used: there is no such directory"),
        ));
    };
    match tokio::fs::metadata(&tidy).await {
        Ok(metadata) if metadata.is_dir() => Ok(tidy.to_string_lossy().into_owned()),
        Ok(_) => Err(Refusal::invalid(RefusalCode::BadWorkspace, format!("`{path}` is not a directory"))),
        Err(error) => {
            Err(Refusal::invalid(RefusalCode::BadWorkspace, format!("`{path}` cannot be used: {error}")))
        }
    }
}

/// The directory for readable files, made if it is not there.
async fn log_directory(door: &HttpDoor, path: &str) -> Result<String, Refusal> {
    let given = plain_path("log_dir", "bad_log_dir", path)?;
    refuse_own_data(door, "log_dir", path)?;
    let failed = |error: std::io::Error| {
        Refusal::invalid("bad_log_dir", format!("`{path}` cannot be used: {error}"))
            .hint("name a directory that is there or can be made, and can be written to")
    };
    tokio::fs::create_dir_all(given).await.map_err(failed)?;
    let tidy = tokio::fs::canonicalize(given).await.map_err(failed)?;
    let tidy = tidy.to_string_lossy().into_owned();
    refuse_own_data(door, "log_dir", &tidy)?;
    Ok(tidy)
}

fn plain_path<'a>(field: &str, code: &str, path: &'a str) -> Result<&'a Path, Refusal> {
    let given = Path::new(path);
    let plain = given.components().all(|part| !matches!(part, Component::ParentDir));
    if !given.is_absolute() || !plain || path.contains('\0') {
        return Err(Refusal::invalid(code, format!("`{field}` must be an absolute path without `..`")));
    }
    Ok(given)
}

/// A session that worked in the daemon's own data could change what was recorded.
pub(super) fn refuse_own_data(door: &HttpDoor, field: &str, path: &str) -> Result<(), Refusal> {
    let data = door.engine.data_dir();
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    if Path::new(path).starts_with(data) {
        let code = if field == "log_dir" { "bad_log_dir" } else { "bad_workspace" };
        let message = format!("`{field}` lies in the daemon's own data directory");
        return Err(Refusal::invalid(code, message).hint("name a directory of your own"));
    }
    Ok(())
}

/// A name is part of addresses and of command lines, so it is plain.
pub(crate) fn check_name(name: &str) -> Result<(), Refusal> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.is_empty() || name.len() > 128 || name.starts_with('.') || !name.bytes().all(plain) {
        let message =
            "a name has 1 to 128 letters, digits, dots, dashes and underscores, and no dot at its start";
        return Err(Refusal::invalid("bad_name", message));
    }
    Ok(())
}
