//! Opens a session in an agent: the one that it has, the one that it kept, or a new one. What an agent replays
//! of a session that it kept has been recorded before, and is not recorded again.

use std::collections::BTreeMap;
use std::path::Path;

use agent_client_protocol::v1::schema::{
    AGENT_METHOD_NAMES, Error, ErrorCode, LoadSessionRequest, LoadSessionResponse, McpServer,
    NewSessionRequest, NewSessionResponse, ResumeSessionRequest, SetSessionConfigOptionResponse,
};
use ostler_acp::{
    OfferedSettings, SessionReplay, SettingRequest, apply_update, from_login_methods, to_mcp_server,
    to_plain_line,
};
use ostler_agent::{FailedTurn, RawLogSink, TurnContext};
use ostler_types::{AgentState, Role, TurnReport};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Duration, timeout};

use crate::config::AgentProgram;
use crate::connection::{NoAnswer, SessionRoute, no_turn_response};
use crate::failure::{LOGIN_REQUIRED, error_text, failed, login_required, no_answer, wants_login};
use crate::inbox::{Inbox, InboxItem};
use crate::running_agent::{OpenAgentSession, RunningAgent};

/// How long an agent may take to refuse a request that it does not know.
const REPLAY_END_TIMEOUT: Duration = Duration::from_secs(2);

/// A session that is open in its agent.
pub(crate) struct OpenedSession {
    pub(crate) agent_session: OpenAgentSession,
    pub(crate) route: SessionRoute,
    pub(crate) memory: AgentMemory,
}

/// What the agent knows of what was said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AgentMemory {
    /// All of it.
    Complete,
    /// Nothing: the session is new to it.
    Nothing,
    /// Nothing any more, for this reason.
    Lost(String),
}

/// Opens the session of a turn, and has it set as the session wants it.
pub(crate) async fn open(
    program: &AgentProgram,
    running: &RunningAgent,
    context: &TurnContext,
) -> Result<OpenedSession, FailedTurn> {
    let session = &context.session;
    let workspace = Path::new(&session.workspace_path);
    let opening = SessionOpener { program, running, workspace, raw: context.raw() };
    let known = session.agent_session_id.as_deref();
    let mut opened = match running.take_session(session.id, known) {
        Some(agent_session) => OpenedSession {
            route: opening.route(&agent_session.id),
            agent_session,
            memory: AgentMemory::Complete,
        },
        None => match opening.open(known, has_begun(context)).await {
            Ok(opened) => opened,
            Err(error) => return Err(opening.report_login(context, error).await),
        },
    };
    if opened.memory == AgentMemory::Complete && !has_begun(context) {
        // It was begun, but has not been told anything yet.
        opened.memory = AgentMemory::Nothing;
    }
    if opened.memory != AgentMemory::Complete {
        // By what the agent calls it the session is found again, whatever comes of the turn.
        context.report(TurnReport::AgentUpdated(Box::new(opened.agent_session.state.clone()))).await?;
    }
    opening.apply_settings(&mut opened, &session.agent_settings).await?;
    Ok(opened)
}

/// Whether the agent has answered before.
fn has_begun(context: &TurnContext) -> bool {
    context.history.iter().any(|message| message.role == Role::Assistant)
}

/// Opens sessions of one workspace in an agent.
pub(crate) struct SessionOpener<'a> {
    pub(crate) program: &'a AgentProgram,
    pub(crate) running: &'a RunningAgent,
    pub(crate) workspace: &'a Path,
    pub(crate) raw: Option<RawLogSink>,
}

impl SessionOpener<'_> {
    /// Opens the session that the agent calls so, or a new one where it has lost it or never had it.
    async fn open(&self, known: Option<&str>, has_begun: bool) -> Result<OpenedSession, FailedTurn> {
        let Some(known) = known else { return self.begin(AgentMemory::Nothing).await };
        match self.load_or_resume(known, None).await {
            Ok(opened) => Ok(opened),
            Err(NoAnswer::Refused(error)) if wants_login(&error) => Err(self.login_required()),
            // Many agents do not keep a session in which nothing was said.
            Err(NoAnswer::Refused(_)) if !has_begun => self.begin(AgentMemory::Nothing).await,
            Err(NoAnswer::Refused(error)) => self.begin(AgentMemory::Lost(error_text(&error))).await,
            Err(error) => Err(self.to_failed("take up the session", error).await),
        }
    }

    /// Takes up a session that was begun elsewhere, and hears what was said in it where the agent tells.
    pub(crate) async fn adopt(
        &self,
        known: &str,
        replay: &mut SessionReplay,
    ) -> Result<OpenedSession, FailedTurn> {
        match self.load_or_resume(known, Some(replay)).await {
            Ok(opened) => Ok(opened),
            Err(NoAnswer::Refused(error)) if wants_login(&error) => Err(self.login_required()),
            Err(error) => Err(self.to_failed("take up the session", error).await),
        }
    }

    /// Takes up a session that the agent kept.
    async fn load_or_resume(
        &self,
        known: &str,
        mut replay: Option<&mut SessionReplay>,
    ) -> Result<OpenedSession, NoAnswer> {
        let abilities = &self.running.initialized.agent_capabilities;
        let (loads, resumes) = (abilities.load_session, abilities.session_capabilities.resume.is_some());
        if !loads && !resumes {
            let why = Value::String("it does not keep sessions".to_owned());
            return Err(NoAnswer::Refused(Error::method_not_found().data(why)));
        }
        let mut opened = OpenedSession {
            agent_session: self.new_session(known, OfferedSettings::default()),
            route: self.route(known),
            memory: AgentMemory::Complete,
        };
        let mut answer = Err(NoAnswer::Refused(Error::method_not_found()));
        // Only the other way tells what was said before.
        if resumes && !(loads && replay.is_some()) {
            let request =
                ResumeSessionRequest::new(known.to_owned(), self.workspace).mcp_servers(self.servers());
            answer = self.request(&mut opened, AGENT_METHOD_NAMES.session_resume, &request, None).await;
        }
        let is_unknown =
            matches!(&answer, Err(NoAnswer::Refused(error)) if error.code == ErrorCode::MethodNotFound);
        if is_unknown && loads {
            let request =
                LoadSessionRequest::new(known.to_owned(), self.workspace).mcp_servers(self.servers());
            let method = AGENT_METHOD_NAMES.session_load;
            answer = self.request(&mut opened, method, &request, replay.as_deref_mut()).await;
        }
        // Agents may answer with nothing at all.
        let answer: LoadSessionResponse = serde_json::from_value(answer?).unwrap_or_default();
        self.await_replay_end(&mut opened, replay).await;
        if answer.modes.is_some() || answer.config_options.is_some() {
            opened.agent_session.offered = OfferedSettings::new(answer.modes, answer.config_options);
        }
        opened.agent_session.state.settings = opened.agent_session.offered.settings();
        self.apply_ask_setting(&mut opened).await;
        Ok(opened)
    }

    /// Some agents go on with their replay after they have said that it is over. One more question, which no
    /// agent knows, is answered after that; whether it is known does not matter.
    async fn await_replay_end(&self, opened: &mut OpenedSession, replay: Option<&mut SessionReplay>) {
        let nothing = serde_json::json!({});
        if timeout(REPLAY_END_TIMEOUT, self.request(opened, "_ostler/settled", &nothing, replay))
            .await
            .is_err()
        {
            tracing::debug!(agent = self.program.name, "the agent does not answer what it does not know");
        }
    }

    /// Begins a new session.
    pub(crate) async fn begin(&self, memory: AgentMemory) -> Result<OpenedSession, FailedTurn> {
        let request = NewSessionRequest::new(self.workspace).mcp_servers(self.servers());
        let method = AGENT_METHOD_NAMES.session_new;
        let answer =
            match self.running.connection.request(method, &request, self.running.request_timeout).await {
                Ok(answer) => answer,
                Err(NoAnswer::Refused(error)) if wants_login(&error) => return Err(self.login_required()),
                Err(error) => return Err(self.to_failed("begin a session", error).await),
            };
        let answer: NewSessionResponse = serde_json::from_value(answer).map_err(|error| {
            let message = format!("the agent {} began a session that has no id: {error}", self.program.name);
            failed("agent_error", message, None)
        })?;
        let id = answer.session_id.0.to_string();
        if id.is_empty() || id.len() > ostler_types::StateLimits::LABEL_BYTES {
            let message =
                format!("the agent {} named its session in a way that cannot be kept", self.program.name);
            return Err(failed("agent_error", message, None));
        }
        let agent_session = self.new_session(&id, OfferedSettings::new(answer.modes, answer.config_options));
        let route = self.route(&id);
        let mut opened = OpenedSession { agent_session, route, memory };
        self.apply_ask_setting(&mut opened).await;
        Ok(opened)
    }

    /// Has the agent ask a person before it acts, where it offers that and would not by itself.
    async fn apply_ask_setting(&self, opened: &mut OpenedSession) {
        let Some((name, choice)) = &self.program.ask_setting else { return };
        let is_it = |setting: &&ostler_types::AgentSetting| setting.id == *name;
        let offered = opened.agent_session.state.settings.iter().find(is_it);
        if !offered.is_some_and(|setting| setting.choices.iter().any(|offered| offered.id == *choice)) {
            return;
        }
        let wanted = BTreeMap::from([(name.clone(), choice.clone())]);
        if let Err(error) = self.apply_settings(opened, &wanted).await {
            tracing::warn!(
                agent = self.program.name,
                reason = error.reason,
                "the agent may act without asking"
            );
        }
    }

    /// Has the agent set as the session wants it. A choice that the agent refuses fails the turn: a mode may be
    /// all that keeps the agent from writing.
    pub(crate) async fn apply_settings(
        &self,
        opened: &mut OpenedSession,
        wanted: &BTreeMap<String, String>,
    ) -> Result<(), FailedTurn> {
        for (name, choice) in wanted {
            let current = |setting: &&ostler_types::AgentSetting| setting.id == *name;
            let offered = opened.agent_session.state.settings.iter().find(current);
            if offered.is_some_and(|setting| setting.current.as_deref() == Some(choice)) {
                continue;
            }
            let Some(request) = opened.agent_session.offered.request(&opened.agent_session.id, name, choice)
            else {
                tracing::warn!(agent = self.program.name, setting = name, "the agent has no such setting");
                continue;
            };
            let answered = match &request {
                SettingRequest::Mode(request) => {
                    self.request(opened, AGENT_METHOD_NAMES.session_set_mode, request, None).await
                }
                SettingRequest::Option(request) => {
                    self.request(opened, AGENT_METHOD_NAMES.session_set_config_option, request, None).await
                }
            };
            match (request, answered) {
                (SettingRequest::Mode(_), Ok(_)) => opened.agent_session.offered.set_mode(choice),
                (SettingRequest::Option(_), Ok(answer)) => {
                    if let Ok(answer) = serde_json::from_value::<SetSessionConfigOptionResponse>(answer) {
                        opened.agent_session.offered.set_options(answer.config_options);
                    }
                }
                (_, Err(error)) => {
                    let what = format!("set {} to {}", to_plain_line(name, 100), to_plain_line(choice, 100));
                    let mut failed = self.to_failed(&what, error).await;
                    let choices = offered_choices(&opened.agent_session.state, name);
                    failed.error.hint = Some(format!("choose another one for the session: {choices}"));
                    return Err(failed);
                }
            }
            opened.agent_session.state.settings = opened.agent_session.offered.settings();
        }
        Ok(())
    }

    /// Asks something about a session, and hears meanwhile what the agent says of itself. Whatever else it says
    /// before the answer is a replay.
    async fn request(
        &self,
        OpenedSession { agent_session, route, .. }: &mut OpenedSession,
        method: &str,
        params: &impl Serialize,
        mut replay: Option<&mut SessionReplay>,
    ) -> Result<Value, NoAnswer> {
        let ticket = self.running.connection.request_to(&route.inbox, method, params).await?;
        let answered = async {
            loop {
                match route.inbox.pop().await {
                    InboxItem::Update(update) => {
                        if let Some(replay) = &mut replay {
                            replay.add_update(&update);
                        }
                        _ = apply_update(&mut agent_session.state, &mut agent_session.offered, &update);
                    }
                    InboxItem::Request { id, method, .. } => {
                        self.running.connection.respond(&id, no_turn_response(&method)).await;
                    }
                    InboxItem::Answer { ticket: answered, outcome } if answered == ticket => {
                        return outcome.map_err(NoAnswer::Refused);
                    }
                    InboxItem::Answer { .. } => {}
                    InboxItem::Closed => return Err(NoAnswer::Closed),
                }
            }
        };
        timeout(self.running.request_timeout, answered)
            .await
            .unwrap_or(Err(NoAnswer::TooLate(self.running.request_timeout)))
    }

    /// Has what comes for a session delivered.
    fn route(&self, id: &str) -> SessionRoute {
        self.running.connection.route(id, &Inbox::new(self.raw.clone()))
    }

    fn new_session(&self, id: &str, offered: OfferedSettings) -> OpenAgentSession {
        let settings = offered.settings();
        let state = AgentState { agent_session_id: Some(id.to_owned()), settings, ..AgentState::default() };
        OpenAgentSession { id: id.to_owned(), state, offered }
    }

    fn servers(&self) -> Vec<McpServer> {
        let abilities = &self.running.initialized.agent_capabilities.mcp_capabilities;
        self.program.mcp_servers.iter().filter_map(|server| to_mcp_server(server, abilities)).collect()
    }

    fn login_required(&self) -> FailedTurn {
        login_required(self.program, &from_login_methods(&self.running.initialized.auth_methods))
    }

    /// Says in the session how to log in, where that is what is missing.
    async fn report_login(&self, context: &TurnContext, error: FailedTurn) -> FailedTurn {
        if error.reason != LOGIN_REQUIRED {
            return error;
        }
        let login = from_login_methods(&self.running.initialized.auth_methods);
        let agent_session_id = context.session.agent_session_id.clone();
        let state = AgentState { agent_session_id, login, ..AgentState::default() };
        match context.report(TurnReport::AgentUpdated(Box::new(state))).await {
            Ok(_) => error,
            Err(over) => over.into(),
        }
    }

    async fn to_failed(&self, what: &str, error: NoAnswer) -> FailedTurn {
        match error {
            NoAnswer::Closed => crate::failure::crashed(self.program, &self.running.ended().await),
            error => no_answer(&self.program.name, what, &error),
        }
    }
}

fn offered_choices(state: &AgentState, name: &str) -> String {
    let setting = state.settings.iter().find(|setting| setting.id == name);
    let choices = setting.map(|setting| setting.choices.iter().map(|choice| choice.id.as_str()).collect());
    choices.map(|choices: Vec<&str>| choices.join(", ")).unwrap_or_default()
}
