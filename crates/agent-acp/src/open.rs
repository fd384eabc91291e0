//! Opens a session in an agent: the one that it has, the one that it kept, or a new one. What an agent replays
//! of a session that it kept has been recorded before, and is not recorded again.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    AGENT_METHOD_NAMES, AuthenticateRequest, Error, ErrorCode, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse,
    ResumeSessionRequest, SetSessionConfigOptionResponse,
};
use ostler_acp::{Offered, SettingRequest, from_login_methods, hear, plain, to_mcp_server};
use ostler_agent::{Failed, TurnContext};
use ostler_types::{AgentState, Report};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Duration, timeout};

use crate::config::AgentProgram;
use crate::connection::{NoAnswer, Route, nobody_there};
use crate::failure::{failed, login_required, no_answer, wants_login, words};
use crate::inbox::{Inbox, Item};
use crate::link::{Link, Live};
use crate::status::AgentSession;

/// How many pages of sessions are asked for, and how many sessions are kept.
const LISTED: (usize, usize) = (20, 1_000);
/// How long a person may take to log in.
const LOGIN_TIME: Duration = Duration::from_secs(600);

/// How long an agent may take to refuse a request that it does not know.
const SETTLE_TIME: Duration = Duration::from_secs(2);

/// A session that is open in its agent.
pub(crate) struct Opened {
    pub(crate) live: Live,
    pub(crate) route: Route,
    pub(crate) memory: Memory,
}

/// What the agent knows of what was said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Memory {
    /// All of it.
    Whole,
    /// Nothing: the session is new to it.
    Nothing,
    /// Nothing any more, for this reason.
    Lost(String),
}

/// Opens the session of a turn, and has it set as the session wants it.
pub(crate) async fn open(
    program: &AgentProgram,
    link: &Link,
    context: &TurnContext,
) -> Result<Opened, Failed> {
    let opening = Opening { program, link, context };
    let mut opened = opening.open().await?;
    opening.choose(&mut opened).await?;
    Ok(opened)
}

struct Opening<'a> {
    program: &'a AgentProgram,
    link: &'a Link,
    context: &'a TurnContext,
}

impl Opening<'_> {
    async fn open(&self) -> Result<Opened, Failed> {
        let session = &self.context.session;
        let known = session.agent_session_id.as_deref();
        if let Some(live) = self.link.take(session.id, known) {
            let route = self.route(&live.id);
            return Ok(Opened { live, route, memory: Memory::Whole });
        }
        let Some(known) = known else { return self.begin(Memory::Nothing).await };
        match self.take_up(known).await {
            Ok(opened) => Ok(opened),
            Err(NoAnswer::Refused(error)) if wants_login(&error) => Err(self.login_required().await),
            Err(NoAnswer::Refused(error)) => self.begin(Memory::Lost(words(&error))).await,
            Err(error) => Err(self.failed("take up the session", error).await),
        }
    }

    /// Takes up a session that the agent kept.
    async fn take_up(&self, known: &str) -> Result<Opened, NoAnswer> {
        let abilities = &self.link.can.agent_capabilities;
        let (loads, resumes) = (abilities.load_session, abilities.session_capabilities.resume.is_some());
        if !loads && !resumes {
            let why = Value::String("it does not keep sessions".to_owned());
            return Err(NoAnswer::Refused(Error::method_not_found().data(why)));
        }
        let mut opened = Opened {
            live: self.live(known, Offered::default()),
            route: self.route(known),
            memory: Memory::Whole,
        };
        let cwd = PathBuf::from(&self.context.session.workspace_path);
        let mut answer = Err(NoAnswer::Refused(Error::method_not_found()));
        if resumes {
            let request =
                ResumeSessionRequest::new(known.to_owned(), cwd.clone()).mcp_servers(self.servers());
            answer = self.ask(&mut opened, AGENT_METHOD_NAMES.session_resume, &request).await;
        }
        let is_unknown =
            matches!(&answer, Err(NoAnswer::Refused(error)) if error.code == ErrorCode::MethodNotFound);
        if is_unknown && loads {
            let request = LoadSessionRequest::new(known.to_owned(), cwd).mcp_servers(self.servers());
            answer = self.ask(&mut opened, AGENT_METHOD_NAMES.session_load, &request).await;
        }
        // Agents may answer with nothing at all.
        let answer: LoadSessionResponse = serde_json::from_value(answer?).unwrap_or_default();
        self.let_it_finish(&mut opened).await;
        if answer.modes.is_some() || answer.config_options.is_some() {
            opened.live.offered = Offered::new(answer.modes, answer.config_options);
        }
        opened.live.state.settings = opened.live.offered.settings();
        Ok(opened)
    }

    /// Some agents go on with their replay after they have said that it is over. One more question, which no
    /// agent knows, is answered after that; whether it is known does not matter.
    async fn let_it_finish(&self, opened: &mut Opened) {
        let nothing = serde_json::json!({});
        if timeout(SETTLE_TIME, self.ask(opened, "_ostler/settled", &nothing)).await.is_err() {
            tracing::debug!(agent = self.program.name, "the agent does not answer what it does not know");
        }
    }

    /// Begins a new session.
    async fn begin(&self, memory: Memory) -> Result<Opened, Failed> {
        let cwd = PathBuf::from(&self.context.session.workspace_path);
        let request = NewSessionRequest::new(cwd).mcp_servers(self.servers());
        let method = AGENT_METHOD_NAMES.session_new;
        let answer = match self.link.connection.request(method, &request, self.link.patience).await {
            Ok(answer) => answer,
            Err(NoAnswer::Refused(error)) if wants_login(&error) => return Err(self.login_required().await),
            Err(error) => return Err(self.failed("begin a session", error).await),
        };
        let answer: NewSessionResponse = serde_json::from_value(answer).map_err(|error| {
            let message = format!("the agent {} began a session that has no id: {error}", self.program.name);
            failed("agent_error", message, None)
        })?;
        let id = answer.session_id.0.to_string();
        if id.is_empty() || id.len() > ostler_types::Limits::LABEL_BYTES {
            let message =
                format!("the agent {} named its session in a way that cannot be kept", self.program.name);
            return Err(failed("agent_error", message, None));
        }
        let live = self.live(&id, Offered::new(answer.modes, answer.config_options));
        let route = self.route(&id);
        self.context.report(Report::AgentUpdated(Box::new(live.state.clone()))).await?;
        Ok(Opened { live, route, memory })
    }

    /// Has the agent set as the session wants it. A choice that the agent refuses fails the turn: a mode may be
    /// all that keeps the agent from writing.
    async fn choose(&self, opened: &mut Opened) -> Result<(), Failed> {
        for (name, choice) in &self.context.session.agent_settings {
            let current = |setting: &&ostler_types::AgentSetting| setting.id == *name;
            let offered = opened.live.state.settings.iter().find(current);
            if offered.is_some_and(|setting| setting.current.as_deref() == Some(choice)) {
                continue;
            }
            let Some(request) = opened.live.offered.request(&opened.live.id, name, choice) else {
                tracing::warn!(agent = self.program.name, setting = name, "the agent has no such setting");
                continue;
            };
            let answered = match &request {
                SettingRequest::Mode(request) => {
                    self.ask(opened, AGENT_METHOD_NAMES.session_set_mode, request).await
                }
                SettingRequest::Option(request) => {
                    self.ask(opened, AGENT_METHOD_NAMES.session_set_config_option, request).await
                }
            };
            match (request, answered) {
                (SettingRequest::Mode(_), Ok(_)) => opened.live.offered.set_mode(choice),
                (SettingRequest::Option(_), Ok(answer)) => {
                    if let Ok(answer) = serde_json::from_value::<SetSessionConfigOptionResponse>(answer) {
                        opened.live.offered.set_options(answer.config_options);
                    }
                }
                (_, Err(error)) => {
                    let what = format!("set {} to {}", plain(name, 100), plain(choice, 100));
                    let mut failed = self.failed(&what, error).await;
                    let choices = offered_choices(&opened.live.state, name);
                    failed.error.hint = Some(format!("choose another one for the session: {choices}"));
                    return Err(failed);
                }
            }
            opened.live.state.settings = opened.live.offered.settings();
        }
        Ok(())
    }

    /// Asks something about a session, and hears meanwhile what the agent says of itself. Whatever else it says
    /// before the answer is a replay.
    async fn ask(
        &self,
        Opened { live, route, .. }: &mut Opened,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Value, NoAnswer> {
        let ticket = self.link.connection.request_to(&route.inbox, method, params).await?;
        let answered = async {
            loop {
                match route.inbox.pop().await {
                    Item::Update(update) => _ = hear(&mut live.state, &mut live.offered, &update),
                    Item::Request { id, method, .. } => {
                        self.link.connection.respond(&id, nobody_there(&method)).await;
                    }
                    Item::Answer { ticket: answered, outcome } if answered == ticket => {
                        return outcome.map_err(NoAnswer::Refused);
                    }
                    Item::Answer { .. } => {}
                    Item::Closed => return Err(NoAnswer::Closed),
                }
            }
        };
        timeout(self.link.patience, answered).await.unwrap_or(Err(NoAnswer::TooLate(self.link.patience)))
    }

    /// Has what comes for a session delivered.
    fn route(&self, id: &str) -> Route {
        self.link.connection.route(id, &Inbox::new(self.context.raw()))
    }

    fn live(&self, id: &str, offered: Offered) -> Live {
        let settings = offered.settings();
        let state = AgentState { agent_session_id: Some(id.to_owned()), settings, ..AgentState::default() };
        Live { id: id.to_owned(), state, offered }
    }

    fn servers(&self) -> Vec<McpServer> {
        let abilities = &self.link.can.agent_capabilities.mcp_capabilities;
        self.program.mcp_servers.iter().filter_map(|server| to_mcp_server(server, abilities)).collect()
    }

    /// Says in the session how to log in, and fails the turn.
    async fn login_required(&self) -> Failed {
        let login = from_login_methods(&self.link.can.auth_methods);
        let agent_session_id = self.context.session.agent_session_id.clone();
        let state = AgentState { agent_session_id, login: login.clone(), ..AgentState::default() };
        if let Err(error) = self.context.report(Report::AgentUpdated(Box::new(state))).await {
            return error.into();
        }
        login_required(self.program, &login)
    }

    async fn failed(&self, what: &str, error: NoAnswer) -> Failed {
        match error {
            NoAnswer::Closed => crate::failure::crashed(self.program, &self.link.over().await),
            error => no_answer(&self.program.name, what, &error),
        }
    }
}

fn offered_choices(state: &AgentState, name: &str) -> String {
    let setting = state.settings.iter().find(|setting| setting.id == name);
    let choices = setting.map(|setting| setting.choices.iter().map(|choice| choice.id.as_str()).collect());
    choices.map(|choices: Vec<&str>| choices.join(", ")).unwrap_or_default()
}

/// The sessions of a workspace that an agent knows of.
pub(crate) async fn list(agent: &str, link: &Link, workspace: &Path) -> Result<Vec<AgentSession>, Failed> {
    let mut found = Vec::new();
    if !link.info().lists_sessions {
        return Ok(found);
    }
    let mut cursor = None;
    for _ in 0..LISTED.0 {
        let request = ListSessionsRequest::new().cwd(workspace.to_owned()).cursor(cursor.take());
        let answer = link.connection.request(AGENT_METHOD_NAMES.session_list, &request, link.patience).await;
        let answer = answer.map_err(|error| no_answer(agent, "list its sessions", &error))?;
        let answer: ListSessionsResponse = serde_json::from_value(answer).map_err(|error| {
            failed(
                "agent_error",
                format!("the agent {agent} lists its sessions in another way: {error}"),
                None,
            )
        })?;
        // Not every agent minds which workspace was asked for.
        let own = answer.sessions.into_iter().filter(|session| session.cwd == workspace);
        found.extend(own.map(|session| AgentSession {
            id: session.session_id.0.to_string(),
            title: session.title.map(|title| plain(&title, 200)),
            updated_at: session.updated_at.map(|at| plain(&at, 100)),
            workspace: session.cwd,
        }));
        cursor = answer.next_cursor;
        if cursor.is_none() || found.len() >= LISTED.1 {
            break;
        }
    }
    found.truncate(LISTED.1);
    Ok(found)
}

/// Has an agent log in.
pub(crate) async fn login(agent: &str, link: &Link, method: &str) -> Result<(), Failed> {
    let request = AuthenticateRequest::new(method.to_owned());
    let answer = link.connection.request(AGENT_METHOD_NAMES.authenticate, &request, LOGIN_TIME).await;
    answer.map(drop).map_err(|error| no_answer(agent, "log in", &error))
}
