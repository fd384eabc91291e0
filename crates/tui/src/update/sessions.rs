//! Going from one session to another, and letting go of those that nobody looks at.

use ostler_types::SessionId;

use super::fix_focus_area;
use crate::input::TuiEffect;
use crate::model::{DaemonLinkState, FocusArea, MAX_OPEN, TuiModel};
use crate::view::ClickTarget;

/// Looks at a session, or at the page that begins one. What was being written stays where it was.
pub(super) fn focus(model: &mut TuiModel, id: Option<SessionId>, effects: &mut Vec<TuiEffect>) {
    model.focus = id;
    model.overlay = None;
    model.completion = None;
    model.area = FocusArea::Composer;
    model.find.clear();
    model.found = None;
    model.tidy_drafts();
    let Some(id) = id else { return };
    if let Some(listed) = model.listed_mut(id) {
        listed.unread = false;
    }
    let (now, live) = (model.now, model.link == DaemonLinkState::Live);
    match model.session_mut(id) {
        Some(session) => {
            session.last_used = now;
            session.approval_panel.since = now;
        }
        None if live => effects.push(TuiEffect::Load(id)),
        None => {}
    }
    fix_focus_area(model);
}

/// Looks at the session above or below in the list.
pub(super) fn focus_neighbour(model: &mut TuiModel, up: bool, effects: &mut Vec<TuiEffect>) {
    let ids: Vec<SessionId> = model.list.iter().map(|listed| listed.session().id).collect();
    let at = model.focus.and_then(|focus| ids.iter().position(|id| *id == focus));
    let next = match (at, up) {
        (None, _) => Some(0),
        (Some(0), true) => None,
        (Some(at), true) => Some(at - 1),
        (Some(at), false) => Some(at + 1).filter(|next| *next < ids.len()),
    };
    let next = next.and_then(|next| ids.get(next)).copied();
    focus(model, next.or(model.focus.filter(|_| !up)), effects);
}

/// Looks at a session that waits for an answer, or at one in which something new has happened.
pub(super) fn focus_next_waiting(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    let others = || model.list.iter().filter(|listed| Some(listed.session().id) != model.focus);
    let next = others().find(|listed| listed.waiting() > 0).or_else(|| others().find(|listed| listed.unread));
    if let Some(id) = next.map(|listed| listed.session().id) {
        focus(model, Some(id), effects);
    }
}

/// Lets go of a session that was put away or is gone.
pub(super) fn forget_session(model: &mut TuiModel, id: SessionId, effects: &mut Vec<TuiEffect>) {
    model.list.retain(|listed| listed.session().id != id);
    if model.open.iter().any(|session| session.id == id) {
        model.open.retain(|session| session.id != id);
        effects.push(TuiEffect::Unfollow(id));
    }
    if model.focus == Some(id) {
        focus(model, None, effects);
    }
}

/// Lets go of what was not looked at for the longest time, when too many are open. What is on its way keeps it.
pub(super) fn evict_least_used(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    while model.open.len() > MAX_OPEN {
        let focus = model.focus;
        let idle = model.open.iter().filter(|session| Some(session.id) != focus && session.is_idle());
        let Some(id) = idle.min_by_key(|session| session.last_used).map(|session| session.id) else { return };
        model.open.retain(|session| session.id != id);
        effects.push(TuiEffect::Unfollow(id));
    }
}

/// Something was clicked.
pub(super) fn clicked(model: &mut TuiModel, clicked: ClickTarget, effects: &mut Vec<TuiEffect>) {
    match clicked {
        ClickTarget::Session(id) => focus(model, Some(id), effects),
        ClickTarget::Entry(key) => {
            if let Some(session) = model.focused_mut() {
                session.transcript.toggle(key);
            }
        }
    }
}
