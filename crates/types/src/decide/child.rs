//! What a session hears of the sessions that it has started: their questions surface here, and their end.

use super::{session_event, turn_event};
use crate::{
    ApprovalEvent, Child, ChildCall, ChildEvent, ChildOutcome, ChildStatus, ChildUpdate, Decision, Event,
    EventFor, MAX_SESSION_DEPTH, Message, MessageEvent, MessageId, OpenTurn, Part, PendingApproval, Refusal,
    RefusalCode, Role, SessionId, SessionStatus, State, StateLimits, ToolCall, ToolCallId,
};

/// Takes what a child has to say. News of one that is not known, or that is known already, change nothing.
pub(super) fn child_update(state: &State, session_id: SessionId, news: ChildUpdate) -> Decision {
    let Some(child) = state.children.iter().find(|child| child.session_id == session_id) else {
        return Decision::unchanged();
    };
    let events = match news {
        ChildUpdate::Asks(approval) => {
            // Models number their calls alike, so a call is known by its session, too.
            let same = |a: &PendingApproval| {
                a.tool_call_id == approval.tool_call_id && a.session_id == approval.session_id
            };
            let known = child.approvals.iter().any(same);
            if known || child.outcome.is_some() {
                return Decision::unchanged();
            }
            let asks =
                ChildCall { session_id: approval.session_id, turn_id: approval.turn_id, via: session_id };
            let tool_call =
                ToolCall { id: approval.tool_call_id, name: approval.tool, input: approval.input };
            let (kind, summary, rule) = (approval.kind, approval.summary, approval.rule);
            let options = approval.options;
            let asked = Event::Approval(ApprovalEvent::Requested {
                tool_call,
                kind,
                summary,
                rule,
                options,
                child: Some(asks),
            });
            vec![turn_event(child.turn_id, asked)]
        }
        ChildUpdate::Answered { tool_call_id, turn_id, granted, by, scope, reason } => {
            let asked = |a: &&PendingApproval| a.tool_call_id == tool_call_id && a.turn_id == turn_id;
            let Some(approval) = child.approvals.iter().find(asked) else {
                return Decision::unchanged();
            };
            let (tool, via) = (approval.tool.clone(), session_id);
            let asked = ChildCall { session_id: approval.session_id, turn_id, via };
            let (review, option, asked) = (None, None, Some(asked));
            let answered = if granted {
                Event::Approval(ApprovalEvent::Granted {
                    tool_call_id,
                    tool,
                    by,
                    scope,
                    reason,
                    review,
                    option,
                    child: asked,
                })
            } else {
                Event::Approval(ApprovalEvent::Denied {
                    tool_call_id,
                    tool,
                    by,
                    scope,
                    reason,
                    review,
                    option,
                    child: asked,
                })
            };
            vec![turn_event(child.turn_id, answered)]
        }
        ChildUpdate::Ended(outcome) => ended(state, child, outcome),
    };
    Decision::done(events)
}

fn ended(state: &State, child: &Child, mut outcome: ChildOutcome) -> Vec<EventFor> {
    if child.outcome.is_some() {
        return Vec::new();
    }
    shorten(&mut outcome.text);
    let session_id = child.session_id;
    let completed = turn_event(
        child.turn_id,
        Event::Child(ChildEvent::Completed { session_id, outcome: outcome.clone() }),
    );
    let tells = child.background
        && state.turn.is_none()
        && outcome.status != ChildStatus::Canceled
        && state.session.status != SessionStatus::Completed;
    let child = Child { outcome: Some(outcome), ..child.clone() };
    let note = tells.then(|| end_notice(&child, state)).flatten();
    let added =
        |message| session_event(Event::Message(MessageEvent::Added { message, idempotency_key: None }));
    std::iter::once(completed).chain(note.map(added)).collect()
}

/// What the model is told of children that ended while it was not waiting for them.
pub(super) fn end_notices(state: &State) -> Vec<Message> {
    state.children.iter().filter_map(|child| end_notice(child, state)).collect()
}

/// The message that tells of a child's end. Its id follows from the child's, since the rules make none.
fn end_notice(child: &Child, state: &State) -> Option<Message> {
    let outcome = child.outcome.as_ref().filter(|_| child.background)?;
    let how = match outcome.status {
        ChildStatus::Completed => "has finished",
        ChildStatus::Failed => "has failed",
        ChildStatus::Canceled => return None,
    };
    let error = outcome.error.as_ref().map(|error| format!("\n{error}")).unwrap_or_default();
    let text = format!(
        "The task \"{}\" ({}) {how}.{error}\n\n{}",
        child.description, child.session_id, outcome.text
    );
    let created_at = state.session.updated_at;
    Some(Message {
        id: end_notice_id(child.session_id),
        role: Role::System,
        parts: vec![Part::text(text)],
        created_at,
    })
}

/// The id of the message that tells of a child's end.
pub(crate) fn end_notice_id(child: SessionId) -> MessageId {
    MessageId::new(uuid::Uuid::from_u128(child.uuid().as_u128() ^ 1))
}

/// Another session is about to be started.
pub(super) fn start(
    state: &State,
    turn: &OpenTurn,
    session_id: SessionId,
    (tool_call_id, subtask): (Option<ToolCallId>, Option<String>),
    description: String,
    background: bool,
) -> Result<Decision, Refusal> {
    super::check_label("description", Some(&description))?;
    if state.session.depth >= MAX_SESSION_DEPTH {
        let message = format!("a session started by {MAX_SESSION_DEPTH} others above it starts no more");
        return Err(Refusal::conflict("too_deep", message).hint("do the work in this session"));
    }
    let open = state.children.iter().filter(|child| child.outcome.is_none()).count();
    if open >= StateLimits::CHILDREN || state.children.len() >= StateLimits::SUBTASKS + StateLimits::CHILDREN
    {
        let message = format!("this session already waits for {open} others");
        return Err(
            Refusal::conflict(RefusalCode::TooManyChildren, message).hint("wait for some of them to end")
        );
    }
    if let Some(id) = &tool_call_id
        && turn.call(id).is_none()
    {
        return Err(super::approval::unknown_call(id));
    }
    let started =
        Event::Child(ChildEvent::Started { session_id, tool_call_id, subtask, description, background });
    Ok(Decision::done(vec![turn_event(turn.id, started)]))
}

fn shorten(text: &mut String) {
    if text.len() > StateLimits::CHILD_TEXT {
        let cut = text.floor_char_boundary(StateLimits::CHILD_TEXT);
        text.truncate(cut);
        text.push_str("\n[the rest is in the session itself]");
    }
}
