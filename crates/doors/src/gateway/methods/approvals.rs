//! Approvals: what waits for an answer, and answering. Those of every session are in one list, those of the
//! sessions that a session has started among them.

use ostler_engine::EngineError;
use ostler_types::{AnswerApproval, Command, PendingApproval, Scope, Verdict};
use uuid::Uuid;

use super::{GatewayReply, engine_error};
use crate::gateway::frames::{GatewayOutcome, RpcError, WaitingApproval};
use crate::gateway::translate::{approval_id, approval_request};
use crate::gateway::{CALLER, GatewayState};

/// Approvals in one list.
const MAX_LISTED_APPROVALS: usize = 1000;

/// Everything that waits.
pub(super) async fn list(door: &GatewayState) -> Result<GatewayReply, RpcError> {
    let approvals = pending_approvals(door).await?;
    let info = |approval: &PendingApproval| WaitingApproval {
        request: approval_request(approval),
        session_key: approval.session_id.uuid(),
        run_id: approval.turn_id.uuid(),
        requested_at: approval.requested_at.as_millisecond(),
    };
    Ok(GatewayOutcome::Approvals {
        approvals: approvals.iter().take(MAX_LISTED_APPROVALS).map(info).collect(),
    }
    .into())
}

/// Answers one, for this once.
pub(super) async fn answer(
    door: &GatewayState,
    id: Uuid,
    approve: bool,
    reason: Option<String>,
) -> Result<GatewayReply, RpcError> {
    let over = || RpcError { code: -32602, message: "Approval not found or already resolved".to_owned() };
    let approvals = pending_approvals(door).await?;
    let named = |approval: &&PendingApproval| wire_id(approval) == id;
    let approval = approvals.iter().find(named).ok_or_else(over)?;
    let command = Command::Answer(AnswerApproval {
        turn_id: approval.turn_id,
        tool_call_id: approval.tool_call_id.clone(),
        verdict: if approve { Verdict::Approve } else { Verdict::Deny },
        scope: Scope::Once,
        reason,
        review: None,
        option: None,
        by: CALLER.to_owned(),
    });
    match door.engine.submit(approval.session_id, command).await {
        Ok(_) => Ok(GatewayOutcome::Done { ok: true }.into()),
        Err(EngineError::Refused(_) | EngineError::NotFound) => Err(over()),
        Err(error) => Err(engine_error(error)),
    }
}

/// What waits, once each: a parent lists what its children ask, too.
async fn pending_approvals(door: &GatewayState) -> Result<Vec<PendingApproval>, RpcError> {
    let mut approvals = door.engine.approvals().await.map_err(engine_error)?;
    let mut seen = std::collections::HashSet::new();
    approvals.retain(|approval| seen.insert(wire_id(approval)));
    Ok(approvals)
}

fn wire_id(approval: &PendingApproval) -> Uuid {
    approval_id(approval.turn_id, &approval.tool_call_id)
}
