//! What each method does. A method knows the engine and nothing of sockets; what a socket has to do because of it
//! is in its [`Answer`].

mod approvals;
mod chat;
mod sessions;

use ostler_engine::EngineError;
use ostler_types::{PendingApproval, SessionId, SessionView};

use super::GatewayState;
use super::frames::{AgentInfo, GatewayHealth, GatewayOutcome, RpcError};
use super::params::GatewayCall;
use super::transcript::not_found;
use super::workspace_agents;

/// What came of a request.
pub(super) struct GatewayReply {
    pub(super) outcome: GatewayOutcome,
    /// The session that was named by it, to be followed from now on.
    pub(super) named: Option<NamedGatewaySession>,
}

/// A session that a client has named, as it stood then.
pub(super) struct NamedGatewaySession {
    pub(super) session: SessionId,
    /// The newest record that the answer knows of.
    pub(super) seq: u64,
    /// What waited for an answer then.
    pub(super) approvals: Vec<PendingApproval>,
}

impl NamedGatewaySession {
    fn from_view(view: &SessionView) -> NamedGatewaySession {
        let (session, seq) = (view.session.id, view.last_seq);
        NamedGatewaySession { session, seq, approvals: view.pending_approvals.clone() }
    }
}

impl From<GatewayOutcome> for GatewayReply {
    fn from(outcome: GatewayOutcome) -> GatewayReply {
        GatewayReply { outcome, named: None }
    }
}

/// Does what is asked.
pub(super) async fn carry_out(door: &GatewayState, call: GatewayCall) -> Result<GatewayReply, RpcError> {
    match call {
        GatewayCall::Health => Ok(GatewayOutcome::Health(health(door)).into()),
        GatewayCall::Agents => Ok(agent_list(door).await.into()),
        GatewayCall::Create { agent_id } => sessions::create(door, agent_id).await,
        GatewayCall::List => sessions::list(door).await,
        GatewayCall::Get { session } => sessions::get(door, session).await,
        GatewayCall::Send { session, message } => chat::send(door, session, message).await,
        GatewayCall::History { session, limit } => chat::history(door, session, limit).await,
        GatewayCall::Abort { run_id } => chat::abort(door, run_id).await,
        GatewayCall::Answer { approval_id, approve, reason } => {
            approvals::answer(door, approval_id, approve, reason).await
        }
        GatewayCall::Approvals => approvals::list(door).await,
    }
}

/// That the daemon is there, and since when.
pub(super) fn health(door: &GatewayState) -> GatewayHealth {
    GatewayHealth { status: "ok", uptime: door.started.elapsed().as_secs() }
}

async fn agent_list(door: &GatewayState) -> GatewayOutcome {
    let settings = &door.settings;
    let usual = settings.models.choose(&settings.policy.model).await.map(|found| found.model);
    let usual = usual.unwrap_or_default();
    let agents = workspace_agents::read_agents(door.engine.runner(), &settings.workspace).await;
    let info = |agent: workspace_agents::WorkspaceAgent| AgentInfo {
        name: agent.id.clone(),
        model: agent.model.unwrap_or_else(|| usual.clone()),
        description: agent.description,
        id: agent.id,
    };
    GatewayOutcome::Agents { agents: agents.into_iter().map(info).collect() }
}

/// How an error of the engine is said here, of a request that names a session.
fn session_error(session: SessionId, error: EngineError) -> RpcError {
    if let EngineError::NotFound = error {
        return RpcError::internal(not_found(session));
    }
    engine_error(error)
}

/// How an error of the engine is said here.
fn engine_error(error: EngineError) -> RpcError {
    let EngineError::Refused(refusal) = error else { return RpcError::internal(error.to_string()) };
    let hint = refusal.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    RpcError::internal(refusal.message + &hint)
}
