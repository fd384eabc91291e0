//! What a client asks for is done here, and answered in the wire's own words. Listing asks the index and nobody
//! else; no agent is started for it.

use std::path::PathBuf;

use bytes::Bytes;
use ostler_door_kit::websocket::framing;
use ostler_door_kit::{DoorContext, DoorError, SessionRequest, agent_sessions, create_session};
use ostler_engine::{EngineError, Project};
use ostler_index::ListFilter;
use ostler_types::{
    AgentSession, CancelTurn, Command, Delivery, Message, MessageId, Part, Role, Session, SessionChange,
    SessionId, SessionView, SubmitMessage, TurnId,
};

use super::entries::history;
use super::frames::{
    DiscoveredItem, IdeAgentStatus, IdeEntry, IdeFrame, IdeRequest, IdeRequestId, SessionItem, format_time,
};
use super::own_messages::{IdeOwnMessages, OwnMessage};
use super::session_names::{
    NATIVE, UNTITLED, agent_to_cli_type, cli_type_to_agent, find, parse_uuid, session_name,
    title_from_message,
};
use super::{CALLER, agent_status};

/// Sessions in one list: those in which something happened last.
const MAX_LISTED_SESSIONS: usize = 1000;
/// Sessions that are read at a time.
const PAGE: usize = 200;

/// What came of a request.
#[derive(Default)]
pub(super) struct IdeReply {
    pub(super) frames: Vec<Bytes>,
    pub(super) named: Option<Box<NamedIdeSession>>,
}

/// A session that the client is to be told of from now on.
pub(super) struct NamedIdeSession {
    pub(super) session: Session,
    /// What the client calls it.
    pub(super) name: String,
    /// The newest record that it knows of.
    pub(super) after: u64,
    /// What it has been shown of the running turn.
    pub(super) entries: Vec<IdeEntry>,
    /// Whether it begins anew, rather than goes on as it is.
    pub(super) restart: bool,
}

/// What was asked, and by whom.
pub(super) struct IdeRequestContext {
    pub(super) id: Option<IdeRequestId>,
    pub(super) own_messages: IdeOwnMessages,
    /// What the client was told that sessions are called.
    pub(super) known_names: Vec<(SessionId, String)>,
    /// Where an agent is started that is asked for by its name alone.
    pub(super) workspace: Option<String>,
}

/// Carries out a request.
pub(super) async fn carry_out(
    context: &DoorContext,
    asked: &IdeRequestContext,
    request: IdeRequest,
) -> IdeReply {
    let done = match &request {
        IdeRequest::AddProject { path } => add_project(context, asked, path).await,
        IdeRequest::RemoveProject { project_id } => remove_project(context, asked, project_id).await,
        IdeRequest::ListProjects {} => list_projects(context, asked),
        IdeRequest::ListSessions { project_id } => list_sessions(context, asked, project_id).await,
        IdeRequest::Create { project_id, cli_type } => create(context, asked, project_id, cli_type).await,
        IdeRequest::Open { session_id } => open(context, asked, session_id).await.map_err(|error| {
            tracing::debug!(session_id, error, "a session was not opened");
            "Could not load session".to_owned()
        }),
        IdeRequest::Send { session_id, content } => send(context, asked, session_id, content).await,
        IdeRequest::Cancel { session_id } => cancel(context, session_id).await,
        IdeRequest::Archive { session_id } => archive(context, asked, session_id).await,
        IdeRequest::Reconnect { cli_type } => reconnect(context, asked, cli_type).await,
        IdeRequest::Discover { project_id, cli_type } => discover(context, asked, project_id, cli_type).await,
        IdeRequest::Adopt { project_id, session_id } => adopt(context, asked, project_id, session_id).await,
    };
    done.unwrap_or_else(|message| refused(asked.id.clone(), &message))
}

/// The answer to what was not done.
pub(super) fn refused(request_id: Option<IdeRequestId>, message: &str) -> IdeReply {
    let frame = IdeFrame::Error { request_id, message, session_id: None };
    IdeReply { frames: vec![framing::text(&frame)], named: None }
}

type IdeResult = Result<IdeReply, String>;

fn reply_with(frame: &IdeFrame<'_>) -> IdeReply {
    IdeReply { frames: vec![framing::text(frame)], named: None }
}

/// What went wrong, in the wire's words where it has some.
fn error_text(error: EngineError) -> String {
    match error {
        EngineError::NotFound => "Session not found".to_owned(),
        EngineError::Refused(refusal) => refusal.message,
        other @ (EngineError::Log(_)
        | EngineError::Index(_)
        | EngineError::BadCursor
        | EngineError::Rebuilding
        | EngineError::ShuttingDown) => other.to_string(),
    }
}

async fn add_project(context: &DoorContext, asked: &IdeRequestContext, path: &str) -> IdeResult {
    let project = context.engine.add_project(path).await.map_err(error_text)?.into();
    Ok(reply_with(&IdeFrame::ProjectAdded { project, request_id: asked.id.clone() }))
}

async fn remove_project(context: &DoorContext, asked: &IdeRequestContext, project_id: &str) -> IdeResult {
    let id = parse_uuid(project_id).ok_or("Project not found")?;
    context.engine.remove_project(id).await.map_err(error_text)?;
    Ok(reply_with(&IdeFrame::ProjectRemoved { project_id, request_id: asked.id.clone() }))
}

fn list_projects(context: &DoorContext, asked: &IdeRequestContext) -> IdeResult {
    let projects = context.engine.projects().map_err(error_text)?.into_iter().map(Into::into).collect();
    Ok(reply_with(&IdeFrame::Projects { projects, request_id: asked.id.clone() }))
}

/// The project with this id, if any.
fn find_project(context: &DoorContext, project_id: &str) -> Result<Option<Project>, String> {
    let id = parse_uuid(project_id);
    let projects = context.engine.projects().map_err(error_text)?;
    Ok(projects.into_iter().find(|project| Some(project.id) == id))
}

async fn list_sessions(context: &DoorContext, asked: &IdeRequestContext, project_id: &str) -> IdeResult {
    let mut sessions = Vec::new();
    if let Some(project) = find_project(context, project_id)? {
        let filter = ListFilter {
            workspace: Some(project.workspace_key()),
            archived: Some(false),
            top_level_only: true,
            limit: PAGE,
            ..ListFilter::default()
        };
        let mut cursor = None;
        while sessions.len() < MAX_LISTED_SESSIONS {
            let page =
                context.engine.list(ListFilter { cursor, ..filter.clone() }).await.map_err(error_text)?;
            sessions.extend(page.sessions.iter().map(|listed| session_item(asked, &listed.session)));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
    }
    Ok(reply_with(&IdeFrame::Sessions { project_id, sessions, request_id: asked.id.clone() }))
}

fn session_item(asked: &IdeRequestContext, session: &Session) -> SessionItem {
    let told = asked.known_names.iter().find(|(id, _)| *id == session.id).map(|(_, name)| name.clone());
    SessionItem {
        id: told.unwrap_or_else(|| session_name(session)),
        title: session.title.clone().unwrap_or_else(|| UNTITLED.to_owned()),
        last_active_at: format_time(session.updated_at),
        cli_type: agent_to_cli_type(&session.agent).to_owned(),
    }
}

async fn create(
    context: &DoorContext,
    asked: &IdeRequestContext,
    project_id: &str,
    cli_type: &str,
) -> IdeResult {
    let workspace = find_project(context, project_id)?.ok_or("Project not found")?.path;
    let missing = || format!("Could not start {cli_type}. Check that it's installed.");
    let agent = cli_type_to_agent(cli_type)
        .filter(|agent| context.engine.agents().iter().any(|known| known == agent));
    let agent = agent.ok_or_else(missing)?;
    if let Some(agents) = context.third_party(agent) {
        let connected = agents.connect(agent, PathBuf::from(&workspace)).await;
        connected.map_err(|failure| format!("{} ({})", missing(), failure.message))?;
    }
    let agent = Some(agent.to_owned());
    let request = SessionRequest { workspace_path: workspace, agent, ..SessionRequest::default() };
    let made = create_session(context, request, context.settings.policy.clone()).await;
    let session = made.map_err(|DoorError { body, .. }| body.error.message)?;
    let view = context.engine.view(session.id).await.map_err(error_text)?;
    let name = session_name(&session);
    let frame = IdeFrame::Created { session_id: &name, project_id, request_id: asked.id.clone() };
    let frames = vec![framing::text(&frame)];
    Ok(IdeReply { frames, named: Some(NamedIdeSession::from_view(view, name, Vec::new(), true)) })
}

/// The sessions that an agent keeps itself. They are looked for only when somebody asks.
async fn discover(
    context: &DoorContext,
    asked: &IdeRequestContext,
    project_id: &str,
    cli_type: &str,
) -> IdeResult {
    let workspace = find_project(context, project_id)?.ok_or("Project not found")?.path;
    let agent = cli_type_to_agent(cli_type).filter(|agent| *agent != NATIVE);
    let agent = agent.ok_or_else(|| format!("Could not connect to {cli_type}"))?;
    let kept = agent_sessions(context, agent, workspace).await.map_err(|error| error.body.error.message)?;
    let item = |session: AgentSession| DiscoveredItem {
        id: format!("{cli_type}:{}", session.agent_session_id),
        title: session.title.unwrap_or_else(|| UNTITLED.to_owned()),
        last_active_at: session.updated_at,
        adopted: session.session_id.is_some(),
    };
    let sessions = kept.into_iter().map(item).collect();
    Ok(reply_with(&IdeFrame::Discovered { project_id, cli_type, sessions, request_id: asked.id.clone() }))
}

/// Takes over one of them; from then on it is a session like the others.
async fn adopt(context: &DoorContext, asked: &IdeRequestContext, project_id: &str, name: &str) -> IdeResult {
    let workspace = find_project(context, project_id)?.ok_or("Project not found")?.path;
    let (cli_type, own) = name.split_once(':').ok_or("Session not found")?;
    let agent = cli_type_to_agent(cli_type).filter(|agent| *agent != NATIVE).ok_or("Session not found")?;
    let request = SessionRequest {
        workspace_path: workspace,
        agent: Some(agent.to_owned()),
        adopt: Some(own.to_owned()),
        ..SessionRequest::default()
    };
    let made = create_session(context, request, context.settings.policy.clone()).await;
    let session = made.map_err(|DoorError { body, .. }| body.error.message)?;
    let view = context.engine.view(session.id).await.map_err(error_text)?;
    let frame = IdeFrame::Created { session_id: name, project_id, request_id: asked.id.clone() };
    let frames = vec![framing::text(&frame)];
    Ok(IdeReply { frames, named: Some(NamedIdeSession::from_view(view, name.to_owned(), Vec::new(), true)) })
}

async fn open(context: &DoorContext, asked: &IdeRequestContext, name: &str) -> IdeResult {
    let view = find(&context.engine, name).await.map_err(error_text)?;
    let mut entries = history(&context.engine, &view).await.map_err(error_text)?;
    let frame = IdeFrame::History { session_id: name, entries: &entries, request_id: asked.id.clone() };
    let frames = vec![framing::text(&frame)];
    // What waits for its turn comes last, and is not of the running one.
    entries.truncate(entries.len().saturating_sub(view.queue.len()));
    let of_turn = if view.running_turn_id.is_some() { entries } else { Vec::new() };
    Ok(IdeReply { frames, named: Some(NamedIdeSession::from_view(view, name.to_owned(), of_turn, true)) })
}

async fn send(context: &DoorContext, asked: &IdeRequestContext, name: &str, content: &str) -> IdeResult {
    // Whoever sends is told what happens from here on, so this comes first.
    let view = find(&context.engine, name).await.map_err(error_text)?;
    let id = view.session.id;
    let clock = context.engine.clock();
    let (message_id, turn_id) = (MessageId::new(clock.uuid()), TurnId::new(clock.uuid()));
    let parts = vec![Part::text(content)];
    let command = Command::Submit(SubmitMessage {
        message: Message { id: message_id, role: Role::User, parts, created_at: clock.now() },
        turn_id,
        delivery: Delivery::Queue,
        auto_run: Some(true),
        idempotency_key: None,
        by: CALLER.to_owned(),
    });
    // The title comes first, so that it is this one and not what the engine would make of the message.
    let title = if view.session.title.is_none() { title_from_message(content) } else { String::new() };
    if !title.is_empty() {
        set_title(context, id, title.clone()).await;
    }
    asked.own_messages.add(OwnMessage { message_id, turn_id, request_id: asked.id.clone() });
    if let Err(error) = context.engine.submit(id, command).await {
        asked.own_messages.remove_by_turn(turn_id);
        if !title.is_empty() {
            set_title(context, id, String::new()).await;
        }
        return Err(error_text(error));
    }
    Ok(IdeReply {
        frames: Vec::new(),
        named: Some(NamedIdeSession::from_view(view, name.to_owned(), Vec::new(), false)),
    })
}

/// Gives a session a title, or takes it. That this may fail keeps no message from being sent.
async fn set_title(context: &DoorContext, id: SessionId, title: String) {
    let change = SessionChange { title: Some(title), ..SessionChange::default() };
    if let Err(error) = context.engine.submit(id, Command::Update(change)).await {
        tracing::debug!(%id, %error, "the session gets no title");
    }
}

/// Stops the running turn, which is told by its end. Where none runs, nothing is said.
async fn cancel(context: &DoorContext, name: &str) -> IdeResult {
    let view = find(&context.engine, name).await.map_err(error_text)?;
    let command = Command::Cancel(CancelTurn { turn_id: None, by: CALLER.to_owned(), reason: None });
    context.engine.submit(view.session.id, command).await.map_err(error_text)?;
    Ok(IdeReply::default())
}

async fn archive(context: &DoorContext, asked: &IdeRequestContext, name: &str) -> IdeResult {
    let view = find(&context.engine, name).await.map_err(error_text)?;
    let change = SessionChange { archived: Some(true), ..SessionChange::default() };
    context.engine.submit(view.session.id, Command::Update(change)).await.map_err(error_text)?;
    Ok(reply_with(&IdeFrame::Archived { session_id: name, request_id: asked.id.clone() }))
}

/// Starts an agent again that is not there.
async fn reconnect(context: &DoorContext, asked: &IdeRequestContext, cli_type: &str) -> IdeResult {
    let unknown = || format!("Could not connect to {cli_type}");
    let agent = cli_type_to_agent(cli_type)
        .filter(|agent| context.engine.agents().iter().any(|known| known == agent));
    let agent = agent.ok_or_else(unknown)?;
    let said = |status, request_id| framing::text(&IdeFrame::AgentStatus { cli_type, status, request_id });
    let is_connected = agent_status(context, agent) == Some(IdeAgentStatus::Connected);
    let Some(agents) = context.third_party(agent).filter(|_| !is_connected) else {
        return Ok(IdeReply { frames: vec![said(IdeAgentStatus::Connected, asked.id.clone())], named: None });
    };
    let first = || Some(context.engine.projects().ok()?.into_iter().next()?.path);
    let workspace = asked.workspace.clone().or_else(first).map(PathBuf::from);
    let workspace = workspace.unwrap_or_else(|| context.settings.workspace.clone());
    let mut frames = vec![said(IdeAgentStatus::Reconnecting, None)];
    match agents.connect(agent, workspace).await {
        Ok(()) => frames.push(said(IdeAgentStatus::Connected, asked.id.clone())),
        Err(failure) => {
            tracing::debug!(agent, error = failure.message, "an agent was not started");
            frames.push(said(IdeAgentStatus::Disconnected, None));
            frames.extend(refused(asked.id.clone(), &unknown()).frames);
        }
    }
    Ok(IdeReply { frames, named: None })
}

impl NamedIdeSession {
    fn from_view(
        view: SessionView,
        name: String,
        entries: Vec<IdeEntry>,
        anew: bool,
    ) -> Box<NamedIdeSession> {
        Box::new(NamedIdeSession {
            session: view.session,
            name,
            after: view.last_seq,
            entries,
            restart: anew,
        })
    }
}
