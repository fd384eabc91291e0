//! One running process of an agent: the connection to it, what it can do, and the sessions that it has open.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::schema::InitializeResponse;
use ostler_acp::{AcceptedContent, OfferedSettings, from_login_methods, to_plain_line};
use ostler_types::{AgentState, SessionId};
use tokio::sync::watch;

use crate::connection::AgentConnection;
use crate::status::AcpAgentInfo;

/// How many sessions a process is remembered to have open. Those that are forgotten are opened anew.
const MAX_SESSIONS: usize = 500;

/// A process that takes turns.
pub(crate) struct RunningAgent {
    pub(crate) connection: AgentConnection,
    /// Its answer to `initialize`.
    pub(crate) initialized: InitializeResponse,
    /// How long anything but a turn may take.
    pub(crate) request_timeout: Duration,
    sessions: Mutex<VecDeque<(SessionId, OpenAgentSession)>>,
    /// How it ended, once it has.
    ended: watch::Sender<Option<String>>,
    /// Whether it has brought a prompt to its end.
    has_answered: std::sync::atomic::AtomicBool,
}

/// A session that the process has open.
#[derive(Debug, Clone)]
pub(crate) struct OpenAgentSession {
    /// What the agent calls it.
    pub(crate) id: String,
    pub(crate) state: AgentState,
    pub(crate) offered: OfferedSettings,
}

impl RunningAgent {
    pub(crate) fn new(
        connection: AgentConnection,
        initialized: InitializeResponse,
        patience: Duration,
    ) -> RunningAgent {
        let (ended, has_answered) = (watch::Sender::new(None), std::sync::atomic::AtomicBool::new(false));
        RunningAgent {
            connection,
            initialized,
            request_timeout: patience,
            sessions: Mutex::default(),
            ended,
            has_answered,
        }
    }

    pub(crate) fn info(&self) -> AcpAgentInfo {
        let abilities = &self.initialized.agent_capabilities;
        let said = self.initialized.agent_info.as_ref();
        AcpAgentInfo {
            name: said
                .map(|info| to_plain_line(info.title.as_ref().unwrap_or(&info.name), 200))
                .unwrap_or_default(),
            version: said.map(|info| to_plain_line(&info.version, 100)).unwrap_or_default(),
            loads_sessions: abilities.load_session,
            resumes_sessions: abilities.session_capabilities.resume.is_some(),
            lists_sessions: abilities.session_capabilities.list.is_some(),
            accepts: AcceptedContent::from(&abilities.prompt_capabilities),
            mcp_over_http: abilities.mcp_capabilities.http,
            login: from_login_methods(&self.initialized.auth_methods),
        }
    }

    /// Takes a session out for a turn, if it is open and is still the one that is meant.
    pub(crate) fn take_session(
        &self,
        session: SessionId,
        agent_id: Option<&str>,
    ) -> Option<OpenAgentSession> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let index = sessions.iter().position(|(id, _)| *id == session)?;
        let (_, agent_session) = sessions.remove(index)?;
        (Some(agent_session.id.as_str()) == agent_id).then_some(agent_session)
    }

    /// Keeps a session after a turn that the agent has ended too.
    pub(crate) fn return_session(&self, session: SessionId, agent_session: OpenAgentSession) {
        self.has_answered.store(true, std::sync::atomic::Ordering::Relaxed);
        self.keep_session(session, agent_session);
    }

    /// Keeps a session that was opened for a turn that is to come.
    pub(crate) fn keep_session(&self, session: SessionId, agent_session: OpenAgentSession) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.push_back((session, agent_session));
        if sessions.len() > MAX_SESSIONS {
            sessions.pop_front();
        }
    }

    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn set_ended(&self, how: String) {
        self.ended.send_replace(Some(how));
    }

    /// Waits until it is known how it ended, which takes a moment after the connection is over.
    pub(crate) async fn ended(&self) -> String {
        let mut ended = self.ended.subscribe();
        let known = ended.wait_for(Option::is_some).await;
        known.ok().and_then(|how| how.clone()).unwrap_or_else(|| "it ended".to_owned())
    }
}
