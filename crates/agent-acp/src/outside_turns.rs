//! What an agent is asked beside its turns: which sessions it has, and to log in.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    AGENT_METHOD_NAMES, AuthenticateRequest, ListSessionsRequest, ListSessionsResponse,
};
use ostler_acp::to_plain_line;
use ostler_agent::FailedTurn;
use tokio::time::Duration;

use crate::failure::{failed, no_answer};
use crate::running_agent::RunningAgent;
use crate::status::AcpSessionInfo;

/// How many pages of sessions are asked for, and how many sessions are kept.
const MAX_PAGES_AND_SESSIONS: (usize, usize) = (20, 1_000);
/// How long a person may take to log in.
const LOGIN_TIME: Duration = Duration::from_secs(600);

/// The sessions of a workspace that an agent knows of.
pub(crate) async fn list(
    agent: &str,
    running: &RunningAgent,
    workspace: &Path,
) -> Result<Vec<AcpSessionInfo>, FailedTurn> {
    let mut found = Vec::new();
    if !running.info().lists_sessions {
        return Ok(found);
    }
    let mut cursor = None;
    for _ in 0..MAX_PAGES_AND_SESSIONS.0 {
        let request = ListSessionsRequest::new().cwd(workspace.to_owned()).cursor(cursor.take());
        let answer = running
            .connection
            .request(AGENT_METHOD_NAMES.session_list, &request, running.request_timeout)
            .await;
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
        found.extend(own.map(|session| AcpSessionInfo {
            id: session.session_id.0.to_string(),
            title: session.title.map(|title| to_plain_line(&title, 200)),
            updated_at: session.updated_at.map(|at| to_plain_line(&at, 100)),
            workspace: session.cwd,
        }));
        cursor = answer.next_cursor;
        if cursor.is_none() || found.len() >= MAX_PAGES_AND_SESSIONS.1 {
            break;
        }
    }
    found.truncate(MAX_PAGES_AND_SESSIONS.1);
    Ok(found)
}

/// Has an agent log in.
pub(crate) async fn login(agent: &str, running: &RunningAgent, method: &str) -> Result<(), FailedTurn> {
    let request = AuthenticateRequest::new(method.to_owned());
    let answer = running.connection.request(AGENT_METHOD_NAMES.authenticate, &request, LOGIN_TIME).await;
    answer.map(drop).map_err(|error| no_answer(agent, "log in", &error))
}
