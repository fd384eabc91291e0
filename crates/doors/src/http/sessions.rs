//! Sessions: make, list, show, change, close.

use std::path::{Component, Path};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use ostler_engine::EngineError;
use ostler_index::{Filter, Listed};
use ostler_types::{
    Change, Command, Effort, NewSession, Refusal, Session, SessionId, SessionStatus, SessionView,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::ApiError;
use super::extract::{Body, Ids, Params};
use super::policy::PolicyBody;
use super::{HttpDoor, by};

/// How a session is used, when the client does not say.
const DEFAULT_MODE: &str = "serve";

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
    /// What people call it.
    title: Option<String>,
    /// The session that starts it.
    parent_session_id: Option<SessionId>,
    /// `repl`, `serve` or `agent`.
    mode: Option<Mode>,
    /// What it may do by itself.
    #[serde(default, deserialize_with = "ostler_types::optional_object")]
    policy: Option<PolicyBody>,
    /// Asking twice with one key makes one session.
    idempotency_key: Option<String>,
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
    session_id: SessionId,
}

pub(super) async fn create(
    State(door): State<HttpDoor>,
    Body(body): Body<NewSessionBody>,
) -> Result<(StatusCode, Json<Created>), ApiError> {
    let workspace_path = existing_directory(&body.workspace_path).await?;
    refuse_own_data(&door, &workspace_path)?;
    let settings = &door.settings;
    let policy = body.policy.unwrap_or_default().over(settings.policy.clone())?;
    let (model, resolution) = match body.model {
        Some(model) => (model, None),
        None => {
            let resolution = settings.models.choose(&policy.model).await?;
            (resolution.model.clone(), Some(resolution))
        }
    };
    let fallback_models = body.fallback_models.unwrap_or_else(|| settings.fallback_models.clone());
    for name in std::iter::once(&model).chain(&fallback_models) {
        settings.models.check(name)?;
    }
    if let Some(parent) = body.parent_session_id {
        door.engine.view(parent).await.map_err(|error| match error {
            EngineError::NotFound => unknown_parent(parent),
            other => other.into(),
        })?;
    }
    let clock = door.engine.clock();
    let mode = body.mode.map_or(DEFAULT_MODE, |mode| match mode {
        Mode::Repl => "repl",
        Mode::Serve => "serve",
        Mode::Agent => "agent",
    });
    let new = NewSession {
        system_prompt: body.system_prompt,
        agent: body.agent.unwrap_or_else(|| "native".to_owned()),
        resolution,
        fallback_models,
        effort: body.effort,
        raw_log: body.raw_log.unwrap_or(settings.raw_log),
        title: body.title,
        parent_session_id: body.parent_session_id,
        mode: mode.to_owned(),
        auto_run: body.auto_run.unwrap_or(true),
        policy,
        idempotency_key: body.idempotency_key,
        ..NewSession::new(SessionId::new(clock.uuid()), clock.now(), workspace_path, model)
    };
    let session = door.engine.create(new).await?;
    Ok((StatusCode::CREATED, Json(Created { session_id: session.id })))
}

/// Which sessions to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    /// Only those that stand like this.
    status: Option<SessionStatus>,
    /// Only those of this directory.
    workspace: Option<String>,
    /// Only those put away, or only the others.
    archived: Option<bool>,
    /// Only those in which this was said.
    q: Option<String>,
    /// How many at most.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
}

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
pub(super) struct SessionList {
    sessions: Vec<Entry>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    #[serde(flatten)]
    session: Session,
    last_seq: u64,
    /// The place that matches the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
}

pub(super) async fn list(
    State(door): State<HttpDoor>,
    Params(params): Params<ListParams>,
) -> Result<Json<SessionList>, ApiError> {
    let limit = match params.limit {
        None => 50,
        Some(limit @ 1..=200) => limit as usize,
        Some(_) => return Err(ApiError::bad_request("bad_query", "`limit` must be from 1 to 200")),
    };
    let ListParams { status, workspace, archived, q, cursor, .. } = params;
    let filter = Filter { status, workspace, archived, q, cursor, limit, parent: None };
    let listing = door.engine.list(filter).await?;
    let entry = |Listed { session, last_seq, snippet, .. }| Entry { session, last_seq, snippet };
    let sessions = listing.sessions.into_iter().map(entry).collect();
    Ok(Json(SessionList { sessions, next_cursor: listing.next_cursor }))
}

/// A session and its latest state.
#[derive(Serialize, JsonSchema)]
pub(super) struct Shown {
    #[serde(flatten)]
    view: SessionView,
    /// How full the model's window is, as far as it is known.
    context: Context,
    /// Where its files lie.
    log_dir: String,
    /// Whether what lies in its workspace is trusted.
    trusted: bool,
}

#[derive(Serialize, JsonSchema)]
struct Context {
    tokens: Option<u64>,
    window: Option<u64>,
}

pub(super) async fn show(
    State(door): State<HttpDoor>,
    Ids(id): Ids<SessionId>,
) -> Result<Json<Shown>, ApiError> {
    let view = door.engine.view(id).await?;
    let log_dir = door.engine.session_dir(id).display().to_string();
    let trusted = door.engine.is_trusted(&view.session.workspace_path);
    Ok(Json(Shown { view, context: Context { tokens: None, window: None }, log_dir, trusted }))
}

/// What is to change; what is absent stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateBody {
    /// A new title; an empty one removes it.
    title: Option<String>,
    /// Put it away, or back.
    archived: Option<bool>,
    /// Another model, from the next turn on.
    model: Option<String>,
    /// Other models to take its place.
    fallback_models: Option<Vec<String>>,
    /// Another effort, from the next turn on; null leaves it to the model's maker again.
    #[serde(default, deserialize_with = "given")]
    effort: Option<Option<Effort>>,
    /// Begin or stop to keep the traffic with providers, from the next turn on.
    raw_log: Option<bool>,
    /// Another policy, from now on.
    #[serde(default, deserialize_with = "ostler_types::optional_object")]
    policy: Option<PolicyBody>,
}

pub(super) async fn update(
    State(door): State<HttpDoor>,
    Ids(id): Ids<SessionId>,
    Body(body): Body<UpdateBody>,
) -> Result<Json<Shown>, ApiError> {
    let UpdateBody { title, archived, model, fallback_models, effort, raw_log, policy } = body;
    for name in model.iter().chain(fallback_models.iter().flatten()) {
        door.settings.models.check(name)?;
    }
    let policy = match policy {
        Some(policy) => Some(policy.over(door.engine.view(id).await?.session.policy)?),
        None => None,
    };
    let change = Change { title, archived, model, fallback_models, effort, raw_log, policy };
    door.engine.submit(id, Command::Update(change)).await?;
    show(State(door), Ids(id)).await
}

/// A value that is there, be it null: for fields where null means something else than absence.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Whether to remove the session too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseParams {
    /// Remove its files as well.
    purge: Option<bool>,
}

/// The session is closed.
#[derive(Serialize, JsonSchema)]
pub(super) struct Closed {
    session_id: SessionId,
    /// Whether its files are gone too.
    purged: bool,
}

pub(super) async fn close(
    State(door): State<HttpDoor>,
    Ids(session_id): Ids<SessionId>,
    Params(params): Params<CloseParams>,
    headers: HeaderMap,
) -> Result<Json<Closed>, ApiError> {
    let purged = params.purge.unwrap_or(false);
    if purged {
        door.engine.purge(session_id).await?;
    } else {
        door.engine.submit(session_id, Command::Close { by: by(&headers), partial: None }).await?;
    }
    Ok(Json(Closed { session_id, purged }))
}

/// The path of a directory that exists, as it really is.
pub(super) async fn existing_directory(path: &str) -> Result<String, Refusal> {
    let given = Path::new(path);
    let plain = given.components().all(|part| !matches!(part, Component::ParentDir));
    if !given.is_absolute() || !plain || path.contains('\0') {
        let message = "`workspace_path` must be an absolute path without `..`";
        return Err(Refusal::invalid("bad_workspace", message));
    }
    // Links are followed now: trust and rules hold for the directory, not for a name that can be moved.
    let Ok(tidy) = tokio::fs::canonicalize(given).await else {
        return Err(Refusal::invalid(
            "bad_workspace",
            format!("`{path}` cannot be used: there is no such directory"),
        ));
    };
    match tokio::fs::metadata(&tidy).await {
        Ok(metadata) if metadata.is_dir() => Ok(tidy.to_string_lossy().into_owned()),
        Ok(_) => Err(Refusal::invalid("bad_workspace", format!("`{path}` is not a directory"))),
        Err(error) => Err(Refusal::invalid("bad_workspace", format!("`{path}` cannot be used: {error}"))),
    }
}

/// A session that worked in the daemon's own data could change what was recorded.
fn refuse_own_data(door: &HttpDoor, workspace: &str) -> Result<(), Refusal> {
    let data = door.engine.data_dir();
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    if Path::new(workspace).starts_with(data) {
        let message = "`workspace_path` lies in the daemon's own data directory";
        return Err(Refusal::invalid("bad_workspace", message).hint("work in a directory of your own"));
    }
    Ok(())
}

fn unknown_parent(parent: SessionId) -> ApiError {
    Refusal::invalid("unknown_parent", format!("there is no session {parent} to be its parent")).into()
}
