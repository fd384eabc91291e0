//! Questions and answers. An approval is part of the state: it waits until somebody answers, and
//! the first answer wins.

use serde_json::Value;

use super::{check_label, turn_event};
use crate::{
    Accepted, AnswerApproval, ApprovalEvent, CallStatus, Decision, DecisionFacts, Event, JudgedCall,
    Judgement, OpenReview, OpenTurn, OptionKind, PendingApproval, ProposedCall, Refusal, RefusalCode,
    ReviewAnswer, Rule, Scope, State, StateLimits, ToolCall, ToolCallId, ToolKind, TurnId, Verdict,
};

/// Takes a client's answer.
pub(super) fn answer(state: &State, answer: AnswerApproval) -> Result<Decision, Refusal> {
    let AnswerApproval { turn_id, tool_call_id, verdict, scope, reason, review, option, by } = answer;
    check_label("reason", reason.as_deref())?;
    let waiting = state.own_approvals().find(|a| a.turn_id == turn_id && a.tool_call_id == tool_call_id);
    let Some(approval) = waiting else {
        if let Some(accepted) = forward_to_child(state, turn_id, &tool_call_id) {
            return Ok(answered(accepted));
        }
        return Err(not_waiting(state, turn_id, &tool_call_id));
    };
    let tool = approval.tool.clone();
    let open = state.turn.as_ref().and_then(|turn| turn.review.as_ref());
    let open = open.filter(|open| open.approval.tool_call_id == tool_call_id);
    match (&review, open) {
        (Some(review), Some(open)) => check_review(review, open)?,
        (Some(_), None) => {
            return Err(Refusal::invalid("not_a_review", format!("call {tool_call_id} is no review")));
        }
        (None, Some(_) | None) => {}
    }
    // A review is of one change, so an answer to it allows no other.
    let scope = if open.is_some() { Scope::Once } else { scope };
    let option = chosen_option(approval, verdict, scope, option)?;
    let child = None;
    let event = match verdict {
        Verdict::Approve => Event::Approval(ApprovalEvent::Granted {
            tool_call_id,
            tool,
            by,
            scope,
            reason,
            review,
            option,
            child,
        }),
        Verdict::Deny => Event::Approval(ApprovalEvent::Denied {
            tool_call_id,
            tool,
            by,
            scope,
            reason,
            review,
            option,
            child,
        }),
    };
    Ok(Decision::done(vec![turn_event(turn_id, event)]))
}

/// Which of the offered answers is meant: the one that is named, or the nearest to a plain yes or no.
fn chosen_option(
    approval: &PendingApproval,
    verdict: Verdict,
    scope: Scope,
    named: Option<String>,
) -> Result<Option<String>, Refusal> {
    let options = &approval.options;
    if let Some(named) = named {
        let Some(option) = options.iter().find(|option| option.id == named) else {
            let names: Vec<&str> = options.iter().map(|option| option.id.as_str()).collect();
            let message = format!("the call does not offer `{named}`; it offers {}", names.join(", "));
            return Err(Refusal::invalid("unknown_option", message));
        };
        if option.kind.allows() != (verdict == Verdict::Approve) {
            let message = format!("`{named}` is not what the action says: one is a yes, the other a no");
            return Err(Refusal::invalid("unknown_option", message));
        }
        return Ok(Some(named));
    }
    let wanted = match (verdict, scope) {
        (Verdict::Approve, Scope::Once) => [OptionKind::AllowOnce, OptionKind::AllowAlways],
        (Verdict::Approve, Scope::Session | Scope::Always) => {
            [OptionKind::AllowAlways, OptionKind::AllowOnce]
        }
        (Verdict::Deny, Scope::Once) => [OptionKind::RejectOnce, OptionKind::RejectAlways],
        (Verdict::Deny, Scope::Session | Scope::Always) => [OptionKind::RejectAlways, OptionKind::RejectOnce],
    };
    let nearest = wanted.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind));
    Ok(nearest.map(|option| option.id.clone()))
}

/// Where a question of a session that this one has started is to be answered. It may be named by the turn
/// of either.
fn forward_to_child(state: &State, turn_id: TurnId, tool_call_id: &ToolCallId) -> Option<Accepted> {
    let mut all = state.children.iter().flat_map(|child| child.approvals.iter().map(|a| (child.turn_id, a)));
    let named = |(parent_turn, a): &(TurnId, &PendingApproval)| {
        a.tool_call_id == *tool_call_id && (a.turn_id == turn_id || *parent_turn == turn_id)
    };
    let (_, approval) = all.find(named)?;
    Some(Accepted::Forward { session_id: approval.session_id, turn_id: approval.turn_id })
}

/// A review can only be answered for what it shows.
fn check_review(review: &ReviewAnswer, open: &OpenReview) -> Result<(), Refusal> {
    let size: usize = review.comments.iter().map(|comment| comment.text.len()).sum();
    if size > StateLimits::MESSAGE_BYTES / 4 || review.comments.len() > StateLimits::RULES {
        return Err(Refusal::invalid("too_many_comments", "the comments of a review are too long"));
    }
    match review.reject.iter().find(|rejected| !open.paths.contains(&rejected.path)) {
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
    proposed: ProposedCall,
    facts: &DecisionFacts,
) -> Result<Decision, Refusal> {
    let ProposedCall { tool_call, kind, summary, risk, trusted, subject, options } = proposed;
    let open = turn.call(&tool_call.id).ok_or_else(|| unknown_call(&tool_call.id))?;
    match &open.status {
        CallStatus::Proposed => {}
        CallStatus::Granted => return Ok(answered(open.answer_for_agent(Accepted::Allowed, true))),
        CallStatus::Denied { reason } => {
            let denied = Accepted::Denied { reason: reason.clone() };
            return Ok(answered(open.answer_for_agent(denied, false)));
        }
        CallStatus::Waiting { .. } => return Ok(answered(Accepted::Waiting)),
        CallStatus::Started | CallStatus::Done { .. } => return Err(already_started(&tool_call.id)),
    }
    let trusted = trusted && !facts.policy_context.trust_withdrawn;
    let judged = JudgedCall { call: &tool_call, kind, subject: &subject, trusted };
    // A risk and an agent's own answers are for a person, whatever the policy says.
    let because = match state.session.policy.approval.judge(&judged, &facts.policy_context) {
        Judgement::Asks { because } => risk.or(because),
        Judgement::Unasked | Judgement::AllowedByRule if risk.is_some() || !options.is_empty() => risk,
        Judgement::Unasked => return Ok(answered(Accepted::Allowed)),
        Judgement::AllowedByRule => {
            let events = vec![turn_event(turn.id, granted_by_rule(tool_call))];
            return Ok(Decision { events, accepted: Accepted::Allowed });
        }
    };
    let summary = match because {
        Some(because) => format!("{summary}\n{because}"),
        None => summary,
    };
    let rule = Rule::for_call(&tool_call, &subject).in_workspace(&state.session.workspace_key());
    let event =
        Event::Approval(ApprovalEvent::Requested { tool_call, kind, summary, rule, options, child: None });
    Ok(Decision { events: vec![turn_event(turn.id, event)], accepted: Accepted::Waiting })
}

fn granted_by_rule(ToolCall { id, name, .. }: ToolCall) -> Event {
    Event::Approval(ApprovalEvent::Granted {
        tool_call_id: id,
        tool: name,
        by: "rule".to_owned(),
        scope: Scope::Always,
        reason: None,
        review: None,
        option: None,
        child: None,
    })
}

/// Whether the call may start. An agent that did not ask is refused here, whatever it intends.
pub(super) fn may_start(
    state: &State,
    turn: &OpenTurn,
    (call, kind): (&ToolCall, ToolKind),
    facts: &DecisionFacts,
) -> Result<(), Refusal> {
    let open = turn.call(&call.id).ok_or_else(|| unknown_call(&call.id))?;
    match &open.status {
        CallStatus::Granted if !is_same(&open.call, call) => Err(Refusal::conflict(
            RefusalCode::CallNotApproved,
            format!("call {} is not the one that was approved", call.id),
        )),
        CallStatus::Granted => Ok(()),
        // Someone else's agent runs its calls itself, and says so: there is nothing here to hold back.
        CallStatus::Proposed if state.agent.is_some() => Ok(()),
        CallStatus::Proposed if !state.session.policy.approval.may_ask_about(&call.name, kind) => Ok(()),
        // The policy was asked when the call was proposed, and is not asked again.
        CallStatus::Proposed if facts.auto_approved.as_ref().is_some_and(|passed| is_same(passed, call)) => {
            Ok(())
        }
        CallStatus::Proposed | CallStatus::Waiting { .. } | CallStatus::Denied { .. } => {
            Err(Refusal::conflict(
                RefusalCode::CallNotApproved,
                format!("call {} has not been approved", call.id),
            ))
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
        }
        None => Refusal::not_found("turn_not_found", format!("turn {turn_id} is not a turn of this session")),
    }
}

/// Whether two calls do the same. Arguments that begin with `_` are for the loop, not for the tool.
fn is_same(approved: &ToolCall, call: &ToolCall) -> bool {
    approved.name == call.name
        && without_loop_arguments(&approved.input) == without_loop_arguments(&call.input)
}

fn without_loop_arguments(input: &Value) -> Value {
    match input {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !name.starts_with('_'));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => input.clone(),
    }
}
