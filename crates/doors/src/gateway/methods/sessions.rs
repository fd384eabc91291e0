//! Sessions: make, list, show.

use ostler_index::ListFilter;
use ostler_types::{NewSession, Refusal, Resolution, SessionId};

use super::{GatewayReply, NamedGatewaySession, engine_error, session_error};
use crate::gateway::GatewayState;
use crate::gateway::frames::{GatewayOutcome, RpcError, SessionDetail};
use crate::gateway::transcript::{last_run, messages, session_meta};
use crate::gateway::workspace_agents::{self, WorkspaceAgent};

/// Sessions in one list: those in which something happened last.
const MAX_LISTED_SESSIONS: usize = 1000;
/// Sessions that are read at a time.
const PAGE: usize = 200;
/// Messages of one session that are shown at once.
const MAX_MESSAGES: usize = 5000;

/// Makes a session for an agent, in this door's workspace.
pub(super) async fn create(door: &GatewayState, agent_id: Option<String>) -> Result<GatewayReply, RpcError> {
    let settings = &door.settings;
    let agents = workspace_agents::read_agents(door.engine.runner(), &settings.workspace).await;
    let id = agent_id.as_deref().unwrap_or(workspace_agents::DEFAULT_AGENT);
    let Some(agent) = agents.iter().find(|agent| agent.id == id) else {
        let names: Vec<String> = agents.iter().map(|agent| format!("`{}`", agent.id)).collect();
        let message = format!("there is no agent {id:?}, expected one of {}", names.join(", "));
        return Err(RpcError::params(message));
    };
    let new = new_session(door, agent, agent_id.is_some()).await?;
    let session = door.engine.create(new).await.map_err(engine_error)?;
    let view = door.engine.view(session.id).await.map_err(engine_error)?;
    let outcome = GatewayOutcome::Created {
        session_key: session.id.uuid(),
        meta: Box::new(session_meta(&view.session)),
    };
    Ok(GatewayReply { outcome, named: Some(NamedGatewaySession::from_view(&view)) })
}

async fn new_session(
    door: &GatewayState,
    agent: &WorkspaceAgent,
    named: bool,
) -> Result<NewSession, RpcError> {
    let settings = &door.settings;
    let workspace = resolve_workspace(door).await?;
    let (model, resolution) = choose_model(door, agent, named, &workspace).await?;
    let clock = door.engine.clock();
    Ok(NewSession {
        system_prompt: agent.prompt.clone(),
        resolution,
        fallback_models: settings.fallback_models.clone(),
        raw_log: settings.raw_log,
        verbose_log: settings.verbose_log,
        policy: settings.policy.clone(),
        ..NewSession::new(SessionId::new(clock.uuid()), clock.now(), workspace, model)
    })
}

/// The model of an agent's sessions, and how it was found if it was looked for. A workspace that is not trusted can
/// only wish for a model that its owner has and would let be chosen. Whoever has named the agent is told that the wish
/// cannot be had; where nobody has, the usual model takes its place.
async fn choose_model(
    door: &GatewayState,
    agent: &WorkspaceAgent,
    named: bool,
    workspace: &str,
) -> Result<(String, Option<Resolution>), RpcError> {
    let settings = &door.settings;
    let refused = |refusal: Refusal| engine_error(refusal.into());
    let mut policy = settings.policy.model.clone();
    let wish = agent.model_name();
    if let Some(model) = &wish {
        let trusted = door.engine.is_trusted(workspace).await;
        if named || trusted {
            settings.models.check(model).map_err(refused)?;
        }
        if trusted {
            return Ok((model.clone(), None));
        }
        let offered = settings.models.list(false).await;
        if offered.iter().any(|offered| offered.name == *model && offered.unavailable.is_none()) {
            policy.prefer.insert(0, model.clone());
        }
    }
    let resolution = settings.models.choose(&policy).await.map_err(refused)?;
    match wish.filter(|model| named && *model != resolution.model) {
        Some(model) => Err(RpcError::internal(format!(
            "AGENTS.md wishes for the model `{model}`, which cannot be used or is not allowed here (a workspace that is \
             not trusted has the choice of `ostler models` and your model policy; `ostler trust` trusts it)"
        ))),
        None => Ok((resolution.model.clone(), Some(resolution))),
    }
}

/// The directory that sessions of this door work in, as it really is.
async fn resolve_workspace(door: &GatewayState) -> Result<String, RpcError> {
    let configured = &door.settings.workspace;
    let unusable = |why: &str| {
        let path = configured.display();
        RpcError::internal(format!(
            "{path} cannot be worked in: {why}; set `gateway.workspace` to another one"
        ))
    };
    let resolved =
        door.engine.runner().workspaces().resolve_directory(configured.display().to_string()).await;
    let resolved = resolved.map_err(|error| unusable(&error.to_string()))?;
    if resolved.is_own_data {
        return Err(unusable("it lies in the daemon's own data"));
    }
    Ok(resolved.path)
}

/// The sessions of every door, newest first.
pub(super) async fn list(door: &GatewayState) -> Result<GatewayReply, RpcError> {
    let mut sessions = Vec::new();
    let mut cursor = None;
    while sessions.len() < MAX_LISTED_SESSIONS {
        // One session may start hundreds of others; people look for their own.
        let filter =
            ListFilter { limit: PAGE, cursor: cursor.take(), top_level_only: true, ..ListFilter::default() };
        let page = door.engine.list(filter).await.map_err(engine_error)?;
        sessions.extend(page.sessions.iter().map(|listed| session_meta(&listed.session)));
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    sessions.sort_by_key(|session| std::cmp::Reverse((session.created_at, session.key)));
    Ok(GatewayOutcome::Sessions { sessions }.into())
}

/// A session with its conversation.
pub(super) async fn get(door: &GatewayState, session: SessionId) -> Result<GatewayReply, RpcError> {
    let of_session = |error| session_error(session, error);
    let view = door.engine.view(session).await.map_err(of_session)?;
    let messages = messages(&door.engine, &view, MAX_MESSAGES).await.map_err(of_session)?;
    let detail = SessionDetail { session: session_meta(&view.session), messages, last_run: last_run(&view) };
    Ok(GatewayReply {
        outcome: GatewayOutcome::Session(Box::new(detail)),
        named: Some(NamedGatewaySession::from_view(&view)),
    })
}
