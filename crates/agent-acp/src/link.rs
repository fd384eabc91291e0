//! One running process of an agent: the connection to it, what it can do, and the sessions that it has open.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::schema::InitializeResponse;
use ostler_acp::{Accepts, Offered, from_login_methods, plain};
use ostler_types::{AgentState, SessionId};
use tokio::sync::watch;

use crate::connection::Connection;
use crate::status::AgentInfo;

/// How many sessions a process is remembered to have open. Those that are forgotten are opened anew.
const SESSIONS: usize = 500;

/// A process that takes turns.
pub(crate) struct Link {
    pub(crate) connection: Connection,
    pub(crate) can: InitializeResponse,
    /// How long anything but a turn may take.
    pub(crate) patience: Duration,
    sessions: Mutex<VecDeque<(SessionId, Live)>>,
    /// How it ended, once it has.
    over: watch::Sender<Option<String>>,
    /// Whether it has brought a prompt to its end.
    worked: std::sync::atomic::AtomicBool,
}

/// A session that the process has open.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    /// What the agent calls it.
    pub(crate) id: String,
    pub(crate) state: AgentState,
    pub(crate) offered: Offered,
}

impl Link {
    pub(crate) fn new(connection: Connection, can: InitializeResponse, patience: Duration) -> Link {
        let (over, worked) = (watch::Sender::new(None), std::sync::atomic::AtomicBool::new(false));
        Link { connection, can, patience, sessions: Mutex::default(), over, worked }
    }

    pub(crate) fn info(&self) -> AgentInfo {
        let abilities = &self.can.agent_capabilities;
        let said = self.can.agent_info.as_ref();
        AgentInfo {
            name: said.map(|info| plain(info.title.as_ref().unwrap_or(&info.name), 200)).unwrap_or_default(),
            version: said.map(|info| plain(&info.version, 100)).unwrap_or_default(),
            loads_sessions: abilities.load_session,
            resumes_sessions: abilities.session_capabilities.resume.is_some(),
            lists_sessions: abilities.session_capabilities.list.is_some(),
            accepts: Accepts::from(&abilities.prompt_capabilities),
            mcp_over_http: abilities.mcp_capabilities.http,
            login: from_login_methods(&self.can.auth_methods),
        }
    }

    /// Takes a session out for a turn, if it is open and is still the one that is meant.
    pub(crate) fn take(&self, session: SessionId, agent_session: Option<&str>) -> Option<Live> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let index = sessions.iter().position(|(id, _)| *id == session)?;
        let (_, live) = sessions.remove(index)?;
        Some(live).filter(|live| Some(live.id.as_str()) == agent_session)
    }

    /// Puts it back when the turn is over and the agent agrees that it is.
    pub(crate) fn put_back(&self, session: SessionId, live: Live) {
        self.worked.store(true, std::sync::atomic::Ordering::Relaxed);
        self.put(session, live);
    }

    /// Keeps a session that was opened for a turn that is to come.
    pub(crate) fn put(&self, session: SessionId, live: Live) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.push_back((session, live));
        if sessions.len() > SESSIONS {
            sessions.pop_front();
        }
    }

    pub(crate) fn has_worked(&self) -> bool {
        self.worked.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn set_over(&self, how: String) {
        self.over.send_replace(Some(how));
    }

    /// Waits until it is known how it ended, which takes a moment after the connection is over.
    pub(crate) async fn over(&self) -> String {
        let mut over = self.over.subscribe();
        let known = over.wait_for(Option::is_some).await;
        known.ok().and_then(|how| how.clone()).unwrap_or_else(|| "it ended".to_owned())
    }
}
