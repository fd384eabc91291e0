//! Sessions: list, show, change, close. How one is made is in `create`.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use ostler_door_kit::{DoorContext, DoorError, NATIVE, changed_settings, requester};
use ostler_index::{Filter, Listed};
use ostler_types::{
    Change, Command, Effort, MessageId, Session, SessionId, SessionStatus, SessionView, TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::extract::{Body, Ids, Params};
use super::policy::PolicyBody;

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
    /// The turn that runs or waits; null when there is none.
    running_turn_id: Option<TurnId>,
    /// The place that matches the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    /// The message that the snippet is from; absent when it is from the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet_message_id: Option<MessageId>,
}

pub(super) async fn list(
    State(context): State<DoorContext>,
    Params(params): Params<ListParams>,
) -> Result<Json<SessionList>, DoorError> {
    let limit = match params.limit {
        None => 50,
        Some(limit @ 1..=200) => limit as usize,
        Some(_) => return Err(DoorError::bad_request("bad_query", "`limit` must be from 1 to 200")),
    };
    let ListParams { status, workspace, archived, pinned, parent, children, q, cursor, .. } = params;
    // One session may start hundreds; people look for their own.
    let top = parent.is_none() && !children.unwrap_or(false);
    let filter = Filter { status, workspace, archived, pinned, q, cursor, limit, parent, top };
    let listing = context.engine.list(filter).await?;
    let entry = |listed: Listed| {
        let Listed { session, last_seq, running_turn_id, snippet, source } = listed;
        let snippet_message_id = source.map(|source| source.message_id);
        Entry { session, last_seq, running_turn_id, snippet, snippet_message_id }
    };
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
    /// Where its readable files lie.
    log_dir: String,
    /// Whether what lies in its workspace is trusted.
    trusted: bool,
}

/// How full the model's window is.
#[derive(Serialize, JsonSchema)]
struct Context {
    /// Roughly how many tokens the conversation has; null before the first answer.
    tokens: Option<u64>,
    /// How many the model takes; null where that is not known.
    window: Option<u64>,
}

pub(super) async fn show(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
) -> Result<Json<Shown>, DoorError> {
    let view = context.engine.view(id).await?;
    let log_dir = context.engine.readable_folder(&view.session).display().to_string();
    let trusted = context.engine.is_trusted(&view.session.workspace_path);
    let said = view.agent_state.as_ref().and_then(|agent| agent.context_window);
    let window = said.or_else(|| context.settings.models.info(&view.session.model).context_window);
    let context = Context { tokens: view.context_tokens, window };
    Ok(Json(Shown { view, context, log_dir, trusted }))
}

/// What is to change; what is absent stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateBody {
    /// A new title; an empty one removes it.
    title: Option<String>,
    /// Put it away, or back.
    archived: Option<bool>,
    /// Keep it at the head of lists, or no longer.
    pinned: Option<bool>,
    /// Another model, from the next turn on.
    model: Option<String>,
    /// Other models to take its place.
    fallback_models: Option<Vec<String>>,
    /// Another effort, from the next turn on; null leaves it to the model's maker again.
    #[serde(default, deserialize_with = "given")]
    effort: Option<Option<Effort>>,
    /// Begin or stop to keep the traffic with providers, from the next turn on.
    raw_log: Option<bool>,
    /// Begin or stop to keep thinking, times and tokens in `verbose.md`, from now on.
    verbose_log: Option<bool>,
    /// Another policy, from now on.
    #[serde(default, deserialize_with = "ostler_types::optional_object")]
    policy: Option<PolicyBody>,
    /// Other choices among the settings of someone else's agent, from the next turn on; those that are not named stay.
    agent_settings: Option<BTreeMap<String, String>>,
}

pub(super) async fn update(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
    Body(body): Body<UpdateBody>,
) -> Result<Json<Shown>, DoorError> {
    let UpdateBody { title, archived, model, fallback_models, effort, raw_log, verbose_log, policy, .. } =
        body;
    let view = context.engine.view(id).await?;
    let (model, agent_settings) = changed_settings(&view, model, body.agent_settings.unwrap_or_default())?;
    let ours = model.iter().filter(|_| view.session.agent == NATIVE);
    for name in ours.chain(fallback_models.iter().flatten()) {
        context.settings.models.check(name)?;
    }
    let policy = policy.map(|policy| policy.over(view.session.policy)).transpose()?;
    let change = Change {
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
    show(State(context), Ids(id)).await
}

/// A value that is there, be it null: for fields where null means something else than absence.
pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
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
    State(context): State<DoorContext>,
    Ids(session_id): Ids<SessionId>,
    Params(params): Params<CloseParams>,
    headers: HeaderMap,
) -> Result<Json<Closed>, DoorError> {
    let purged = params.purge.unwrap_or(false);
    if purged {
        context.engine.purge(session_id).await?;
    } else {
        context.engine.submit(session_id, Command::Close { by: requester(&headers) }).await?;
    }
    Ok(Json(Closed { session_id, purged }))
}
