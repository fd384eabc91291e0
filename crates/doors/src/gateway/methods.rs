//! What each method does. A method knows the engine and nothing of sockets; what a socket has to do because of it
//! is in its [`Answer`].

mod approvals;
mod chat;
mod sessions;

use ostler_engine::EngineError;
use ostler_types::{PendingApproval, SessionId, SessionView};

use super::Door;
use super::agents;
use super::frames::{AgentInfo, Health, Outcome, RpcError};
use super::params::Call;
use super::transcript::not_found;

/// What came of a request.
pub(super) struct Answer {
    pub(super) outcome: Outcome,
    /// The session that was named by it, to be followed from now on.
    pub(super) named: Option<Named>,
}

/// A session that a client has named, as it stood then.
pub(super) struct Named {
    pub(super) session: SessionId,
    /// The newest record that the answer knows of.
    pub(super) seq: u64,
    /// What waited for an answer then.
    pub(super) approvals: Vec<PendingApproval>,
}

impl Named {
    fn of(view: &SessionView) -> Named {
        let (session, seq) = (view.session.id, view.last_seq);
        Named { session, seq, approvals: view.pending_approvals.clone() }
    }
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Answer {
        Answer { outcome, named: None }
    }
}

/// Does what is asked.
pub(super) async fn carry_out(door: &Door, call: Call) -> Result<Answer, RpcError> {
    match call {
        Call::Health => Ok(Outcome::Health(health(door)).into()),
        Call::Agents => Ok(agent_list(door).await.into()),
        Call::Create { agent_id } => sessions::create(door, agent_id).await,
        Call::List => sessions::list(door).await,
        Call::Get { session } => sessions::get(door, session).await,
        Call::Send { session, message } => chat::send(door, session, message).await,
        Call::History { session, limit } => chat::history(door, session, limit).await,
        Call::Abort { run_id } => chat::abort(door, run_id).await,
        Call::Answer { approval_id, approve, reason } => {
            approvals::answer(door, approval_id, approve, reason).await
        }
        Call::Approvals => approvals::list(door).await,
    }
}

/// That the daemon is there, and since when.
pub(super) fn health(door: &Door) -> Health {
    Health { status: "ok", uptime: door.started.elapsed().as_secs() }
}

async fn agent_list(door: &Door) -> Outcome {
    let settings = &door.settings;
    let usual = settings.models.choose(&settings.policy.model).await.map(|found| found.model);
    let usual = usual.unwrap_or_default();
    let agents = agents::of_workspace(door.engine.runner(), &settings.workspace).await;
    let info = |agent: agents::Agent| AgentInfo {
        name: agent.id.clone(),
        model: agent.model.unwrap_or_else(|| usual.clone()),
        description: agent.description,
        id: agent.id,
    };
    Outcome::Agents { agents: agents.into_iter().map(info).collect() }
}

/// How an error of the engine is said here, of a request that names a session.
fn of_session(session: SessionId, error: EngineError) -> RpcError {
    if let EngineError::NotFound = error {
        return RpcError::internal(not_found(session));
    }
    failed(error)
}

/// How an error of the engine is said here.
fn failed(error: EngineError) -> RpcError {
    let EngineError::Refused(refusal) = error else { return RpcError::internal(error.to_string()) };
    let hint = refusal.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    RpcError::internal(refusal.message + &hint)
}
