//! The pool as a whole: make an agent, end one, list them.

use std::collections::HashMap;

use futures_util::{StreamExt, stream};
use ostler_door_kit::{DoorContext, DoorError, SessionMode, SessionRequest, check_name, create_session};
use ostler_engine::EngineError;
use ostler_types::{Command, RefusalCode, Session, SessionId, SessionView};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json_rpc::{PoolCall, PoolRpcError};
use super::presets::PoolPreset;

/// Agents that are listed at most.
const MAX_LISTED_AGENTS: usize = 10_000;
/// Agents that are read from the index at a time.
const PAGE: usize = 500;
/// Agents that are asked how many messages they have at the same time.
const COUNT_CONCURRENCY: usize = 16;
/// How often a name is made up for an agent that has none.
const MAX_NAME_ATTEMPTS: u32 = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateParams {
    agent_id: Option<String>,
    system_prompt: Option<String>,
    model: Option<String>,
    cwd: Option<String>,
    parent_agent_id: Option<String>,
    preset: Option<PoolPreset>,
}

pub(super) async fn create(context: &DoorContext, call: &PoolCall) -> Result<Value, PoolRpcError> {
    let params: CreateParams = call.params(&[])?;
    if let Some(name) = &params.agent_id {
        check_name(name)?;
    }
    let parent = match &params.parent_agent_id {
        Some(name) => Some(find(context, name).await?),
        None => None,
    };
    let mut tries = 0;
    let session = loop {
        tries += 1;
        match try_create(context, &params, parent.as_ref()).await {
            Err(error) if is_taken(&error) => match &params.agent_id {
                Some(name) => {
                    return Err(PoolRpcError::invalid_params(format!("Agent already exists: {name}")));
                }
                None if tries < MAX_NAME_ATTEMPTS => {}
                None => return Err(error.into()),
            },
            made => break made?,
        }
    };
    let name = session.name.unwrap_or_default();
    Ok(json!({"agent_id": name, "url": format!("/agent/{name}")}))
}

async fn try_create(
    context: &DoorContext,
    params: &CreateParams,
    parent: Option<&SessionView>,
) -> Result<Session, DoorError> {
    let parent = parent.map(|view| &view.session);
    let policy = parent.map_or_else(|| context.settings.policy.clone(), |parent| parent.policy.clone());
    let policy = params.preset.unwrap_or(PoolPreset::Trusted).restrict(policy);
    let workspace_path = match (&params.cwd, parent) {
        (Some(cwd), _) => cwd.clone(),
        (None, Some(parent)) => parent.workspace_path.clone(),
        (None, None) => context.settings.workspace.display().to_string(),
    };
    let made_up = || format!("{:08x}", context.engine.clock().uuid().as_u128() & 0xffff_ffff);
    let name = params.agent_id.clone().unwrap_or_else(made_up);
    let request = SessionRequest {
        workspace_path,
        name: Some(name),
        mode: SessionMode::Agent,
        system_prompt: params.system_prompt.clone(),
        model: params.model.clone().or_else(|| parent.map(|parent| parent.model.clone())),
        parent_session_id: parent.map(|parent| parent.id),
        ..SessionRequest::default()
    };
    create_session(context, request, policy).await
}

fn is_taken(error: &DoorError) -> bool {
    error.body.error.code == RefusalCode::NameTaken.as_str()
}

async fn find(context: &DoorContext, name: &str) -> Result<SessionView, PoolRpcError> {
    let id = context.engine.by_name(name).await?;
    let id = id.ok_or_else(|| PoolRpcError::invalid_params(format!("Agent not found: {name}")))?;
    Ok(context.engine.view(id).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DestroyParams {
    agent_id: String,
}

pub(super) async fn destroy(
    context: &DoorContext,
    call: &PoolCall,
    by: String,
) -> Result<Value, PoolRpcError> {
    let DestroyParams { agent_id } = call.params(&["agent_id"])?;
    let success = match context.engine.by_name(&agent_id).await? {
        Some(id) => {
            context.engine.submit(id, Command::Close { by }).await?;
            true
        }
        None => false,
    };
    Ok(json!({"success": success, "agent_id": agent_id}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParams {}

pub(super) async fn list(context: &DoorContext, call: &PoolCall) -> Result<Value, PoolRpcError> {
    let NoParams {} = call.params(&[])?;
    let sessions = named_sessions(context).await?;
    let names: HashMap<SessionId, String> =
        sessions.iter().filter_map(|session| Some((session.id, session.name.clone()?))).collect();
    let mut children: HashMap<SessionId, u64> = HashMap::new();
    for parent in sessions.iter().filter_map(|session| session.parent_session_id) {
        *children.entry(parent).or_default() += 1;
    }
    let row = |session: Session| {
        let parent = session.parent_session_id.and_then(|parent| names.get(&parent));
        let child_count = children.get(&session.id).copied().unwrap_or(0);
        async move {
            // One that is closed or removed meanwhile has none.
            let message_count = match context.engine.model_context(session.id).await {
                Ok(messages) => messages.len(),
                Err(EngineError::NotFound) => 0,
                Err(error) => return Err(error),
            };
            Ok(json!({
                "agent_id": session.name,
                "created_at": session.created_at,
                "message_count": message_count,
                "should_shutdown": false,
                "parent_agent_id": parent,
                "child_count": child_count,
                "model": session.model,
                "last_action_at": session.updated_at,
                "cwd": session.workspace_path,
                "session_id": session.id,
            }))
        }
    };
    let rows: Vec<Result<Value, EngineError>> =
        stream::iter(sessions.into_iter().map(row)).buffered(COUNT_CONCURRENCY).collect().await;
    let agents: Vec<Value> = rows.into_iter().collect::<Result<_, _>>()?;
    Ok(json!({ "agents": agents }))
}

/// The agents that there are, by name.
async fn named_sessions(context: &DoorContext) -> Result<Vec<Session>, EngineError> {
    let mut all: Vec<Session> = Vec::new();
    loop {
        let after = all.last().and_then(|session| session.name.clone()).unwrap_or_default();
        let page = context.engine.named_sessions(&after, PAGE).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last || all.len() >= MAX_LISTED_AGENTS {
            all.truncate(MAX_LISTED_AGENTS);
            return Ok(all);
        }
    }
}
