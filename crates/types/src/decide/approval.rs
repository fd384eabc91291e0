//! Questions and answers. An approval is part of the state: it waits until somebody answers, and
//! the first answer wins.

use serde_json::Value;

use super::{label, of_turn};
use crate::{
    Accepted, CallStatus, Command, Decision, Event, Limits, OpenTurn, PATCH_REVIEW, PendingApproval, Refusal,
    ReviewAnswer, Rule, Scope, State, ToolCall, ToolCallId, ToolKind, TurnId, Verdict,
};

/// Takes a client's answer.
pub(super) fn answer(state: &State, command: Command) -> Result<Decision, Refusal> {
    let Command::Answer { turn_id, tool_call_id, verdict, scope, reason, review, by } = command else {
        unreachable!("decide hands only Answer to answer")
    };
    label("reason", reason.as_deref())?;
    let waiting = state.pending_approvals().find(|a| a.turn_id == turn_id && a.tool_call_id == tool_call_id);
    let Some(approval) = waiting else {
        return Err(not_waiting(state, turn_id, &tool_call_id));
    };
    let tool = approval.tool.clone();
    let is_review = tool == PATCH_REVIEW;
    if review.is_some() && !is_review {
        return Err(Refusal::invalid("not_a_review", format!("call {tool_call_id} is no review")));
    }
    check_review(review.as_ref(), approval)?;
    // A review is of one change, so an answer to it allows no other.
    let scope = if is_review { Scope::Once } else { scope };
    let event = match verdict {
        Verdict::Approve => Event::ApprovalGranted { tool_call_id, tool, by, scope, reason, review },
        Verdict::Deny => Event::ApprovalDenied { tool_call_id, tool, by, scope, reason, review },
    };
    Ok(Decision::done(vec![of_turn(turn_id, event)]))
}

/// A review can only be answered for what it shows.
fn check_review(review: Option<&ReviewAnswer>, approval: &PendingApproval) -> Result<(), Refusal> {
    let Some(review) = review else { return Ok(()) };
    let size: usize = review.comments.iter().map(|comment| comment.text.len()).sum();
    if size > Limits::MESSAGE_BYTES / 4 || review.comments.len() > Limits::RULES {
        return Err(Refusal::invalid("too_many_comments", "the comments of a review are too long"));
    }
    let files = approval.input["files"].as_array();
    let shown = |path: &str| files.is_some_and(|files| files.iter().any(|file| file["path"] == path));
    match review.reject.iter().find(|rejected| !shown(&rejected.path)) {
        Some(unknown) => Err(Refusal::invalid(
            "unknown_file",
            format!("the review does not show a file `{}`", unknown.path),
        )),
        None => Ok(()),
    }
}

/// Takes an agent's question: may this call run?
pub(super) fn propose(
    state: &State,
    turn: &OpenTurn,
    (tool_call, kind, summary): (ToolCall, ToolKind, String),
    standing: bool,
    (risk, trusted): (Option<String>, bool),
) -> Result<Decision, Refusal> {
    let open = turn.call(&tool_call.id).ok_or_else(|| unknown_call(&tool_call.id))?;
    match &open.status {
        CallStatus::Proposed => {}
        CallStatus::Granted => return Ok(answered(Accepted::Allowed)),
        CallStatus::Denied { reason } => return Ok(answered(Accepted::Denied { reason: reason.clone() })),
        CallStatus::Waiting { .. } => return Ok(answered(Accepted::Waiting)),
        CallStatus::Started | CallStatus::Done { .. } => return Err(already_started(&tool_call.id)),
    }
    if risk.is_none() && !state.session.policy.approval.asks(&tool_call, kind, trusted) {
        return Ok(answered(Accepted::Allowed));
    }
    let (event, accepted) = if standing && risk.is_none() {
        let (tool_call_id, tool, by) = (tool_call.id, tool_call.name, "rule".to_owned());
        let granted = Event::ApprovalGranted {
            tool_call_id,
            tool,
            by,
            scope: Scope::Always,
            reason: None,
            review: None,
        };
        (granted, Accepted::Allowed)
    } else {
        let summary = match risk {
            Some(risk) => format!("{summary}\n{risk}"),
            None => summary,
        };
        let rule = Rule::of(&tool_call).within(&state.session.workspace_path);
        (Event::ApprovalRequested { tool_call, kind, summary, rule }, Accepted::Waiting)
    };
    Ok(Decision { events: vec![of_turn(turn.id, event)], accepted })
}

/// Whether the call may start. An agent that did not ask is refused here, whatever it intends.
pub(super) fn may_start(
    state: &State,
    turn: &OpenTurn,
    call: &ToolCall,
    kind: ToolKind,
) -> Result<(), Refusal> {
    let open = turn.call(&call.id).ok_or_else(|| unknown_call(&call.id))?;
    match &open.status {
        CallStatus::Granted if !is_same(&open.call, call) => Err(Refusal::conflict(
            "call_not_approved",
            format!("call {} is not the one that was approved", call.id),
        )),
        CallStatus::Granted => Ok(()),
        // Whether the workspace is trusted was asked about when the call was proposed.
        CallStatus::Proposed if !state.session.policy.approval.asks(call, kind, true) => Ok(()),
        CallStatus::Proposed | CallStatus::Waiting { .. } | CallStatus::Denied { .. } => {
            Err(Refusal::conflict("call_not_approved", format!("call {} has not been approved", call.id)))
        }
        CallStatus::Started | CallStatus::Done { .. } => Err(already_started(&call.id)),
    }
}

pub(super) fn unknown_call(id: &ToolCallId) -> Refusal {
    Refusal::not_found("tool_call_not_found", format!("the running turn has no open call {id}"))
}

fn already_started(id: &ToolCallId) -> Refusal {
    Refusal::conflict("call_already_started", format!("call {id} has already started"))
}

fn answered(accepted: Accepted) -> Decision {
    Decision { events: Vec::new(), accepted }
}

fn not_waiting(state: &State, turn_id: TurnId, tool_call_id: &ToolCallId) -> Refusal {
    let earlier =
        state.answers.iter().rev().find(|a| a.turn_id == turn_id && a.tool_call_id == *tool_call_id);
    match earlier {
        Some(earlier) => {
            let how = if earlier.granted { "approved" } else { "denied" };
            Refusal::conflict("already_answered", format!("call {tool_call_id} was {how} by {}", earlier.by))
        }
        None if state.turns.iter().any(|turn| turn.id == turn_id) => {
            Refusal::conflict("not_waiting", format!("call {tool_call_id} does not wait for an answer"))
                .hint("GET /v1/approvals lists those that do")
        }
        None => Refusal::not_found("turn_not_found", format!("turn {turn_id} is not a turn of this session")),
    }
}

/// Whether two calls do the same. Arguments that begin with `_` are for the loop, not for the tool.
fn is_same(approved: &ToolCall, call: &ToolCall) -> bool {
    approved.name == call.name && for_tool(&approved.input) == for_tool(&call.input)
}

fn for_tool(input: &Value) -> Value {
    match input {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !name.starts_with('_'));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        other => other.clone(),
    }
}
