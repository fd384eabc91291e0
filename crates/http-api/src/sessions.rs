//! Sessions: list, show, change, close. How one is made is in `create`.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use ostler_api_types::{
    ContextUsage, ListedSession, SessionClosed, SessionPage, SessionWithContext, UpdateSession,
};
use ostler_door_kit::{DoorContext, DoorError, NATIVE, caller, changed_settings};
use ostler_index::{IndexedSession, ListFilter};
use ostler_types::{Command, SessionChange, SessionId, SessionStatus};
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{JsonBody, PathParams, QueryParams};
use super::policy::apply_changes;

/// How many messages a session can bring along. Older ones come in pages from the route of the messages.
const MAX_INCLUDED_MESSAGES: usize = 200;

/// Which sessions to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionListParams {
    /// Only those that stand like this.
    status: Option<SessionStatus>,
    /// Only those of this directory.
    workspace: Option<String>,
    /// Only those put away, or only the others.
    archived: Option<bool>,
    /// Only those kept at the head of lists, or only the others.
    pinned: Option<bool>,
    /// Only those that this session has started.
    parent: Option<SessionId>,
    /// Those that other sessions have started, too; false when absent.
    children: Option<bool>,
    /// Only those in which this was said.
    q: Option<String>,
    /// How many at most.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
}

pub(super) async fn list(
    State(context): State<DoorContext>,
    QueryParams(params): QueryParams<SessionListParams>,
) -> Result<Json<SessionPage>, DoorError> {
    let limit = match params.limit {
        None => 50,
        Some(limit @ 1..=200) => limit as usize,
        Some(_) => return Err(DoorError::bad_request("bad_query", "`limit` must be from 1 to 200")),
    };
    let SessionListParams { status, workspace, archived, pinned, parent, children, q, cursor, .. } = params;
    // One session may start hundreds; people look for their own.
    let top = parent.is_none() && !children.unwrap_or(false);
    let filter =
        ListFilter { status, workspace, archived, pinned, q, cursor, limit, parent, top_level_only: top };
    let listing = context.engine.list(filter).await?;
    let entry = |listed: IndexedSession| {
        let IndexedSession { session, last_seq, running_turn_id, snippet, source } = listed;
        let snippet_message_id = source.map(|source| source.message_id);
        ListedSession { session, last_seq, running_turn_id, snippet, snippet_message_id }
    };
    let sessions = listing.sessions.into_iter().map(entry).collect();
    Ok(Json(SessionPage { sessions, next_cursor: listing.next_cursor }))
}

/// What to add to a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionParams {
    /// `messages` adds the newest messages.
    include: Option<SessionPart>,
}

/// What can be added to a session.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SessionPart {
    Messages,
}

pub(super) async fn show(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    QueryParams(params): QueryParams<SessionParams>,
) -> Result<Json<SessionWithContext>, DoorError> {
    let mut shown = session_with_context(&context, id).await?;
    if let Some(SessionPart::Messages) = params.include {
        shown.messages = Some(context.engine.messages(id, None, MAX_INCLUDED_MESSAGES).await?.messages);
    }
    Ok(Json(shown))
}

async fn session_with_context(context: &DoorContext, id: SessionId) -> Result<SessionWithContext, DoorError> {
    let view = context.engine.view(id).await?;
    let log_dir = context.engine.readable_folder(&view.session).display().to_string();
    let trusted = context.engine.is_trusted(&view.session.workspace_key()).await;
    let said = view.agent_state.as_ref().and_then(|agent| agent.context_window);
    let window = said.or_else(|| context.settings.models.info(&view.session.model).context_window);
    let context = ContextUsage { tokens: view.context_tokens, window };
    Ok(SessionWithContext { view, context, log_dir, trusted, messages: None })
}

pub(super) async fn update(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    JsonBody(body): JsonBody<UpdateSession>,
) -> Result<Json<SessionWithContext>, DoorError> {
    let UpdateSession {
        title, archived, model, fallback_models, effort, raw_log, verbose_log, policy, ..
    } = body;
    let view = context.engine.view(id).await?;
    let (model, agent_settings) = changed_settings(&view, model, body.agent_settings.unwrap_or_default())?;
    let ours = model.iter().filter(|_| view.session.agent == NATIVE);
    for name in ours.chain(fallback_models.iter().flatten()) {
        context.settings.models.check(name)?;
    }
    let policy = policy.map(|changes| apply_changes(view.session.policy, changes)).transpose()?;
    let change = SessionChange {
        title,
        archived,
        model,
        fallback_models,
        effort,
        raw_log,
        verbose_log,
        policy,
        agent_settings,
        pinned: body.pinned,
    };
    context.engine.submit(id, Command::Update(change)).await?;
    session_with_context(&context, id).await.map(Json)
}

/// Whether to remove the session too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseParams {
    /// Remove its files as well.
    purge: Option<bool>,
}

pub(super) async fn close(
    State(context): State<DoorContext>,
    PathParams(session_id): PathParams<SessionId>,
    QueryParams(params): QueryParams<CloseParams>,
    headers: HeaderMap,
) -> Result<Json<SessionClosed>, DoorError> {
    let purged = params.purge.unwrap_or(false);
    if purged {
        context.engine.purge(session_id).await?;
    } else {
        context.engine.submit(session_id, Command::Close { by: caller(&headers) }).await?;
    }
    Ok(Json(SessionClosed { session_id, purged }))
}
