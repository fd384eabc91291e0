//! Messages that wait: changed where they stand, moved, steered with, taken back. The daemon's queue is the true one;
//! what is shown follows what it says.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_api_types::{ChangeQueued, InputPart, Waits};
use ostler_types::{Delivery, MessageId, Part, SessionId};

use super::{compose, require_connection};
use crate::composer::Composer;
use crate::input::TuiEffect;
use crate::model::{FocusArea, Overlay, QueuedMessageEdit, TuiModel};
use crate::transcript::Tone;

/// Opens the list of what waits.
pub(super) fn open(model: &mut TuiModel) {
    let first =
        model.focused().and_then(|session| session.view.queue().front()).map(|queued| queued.message.id);
    match first {
        Some(chosen) => model.overlay = Some(Overlay::Queue { chosen }),
        None => model.notify(Tone::Plain, "the queue is empty"),
    }
}

/// Takes a key for the list.
#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
pub(super) fn queue_key(
    model: &mut TuiModel,
    chosen: MessageId,
    key: KeyEvent,
    effects: &mut Vec<TuiEffect>,
) {
    let Some(session) = model.focused() else {
        model.overlay = None;
        return;
    };
    let ids: Vec<MessageId> = session.view.queue().iter().map(|queued| queued.message.id).collect();
    // One that was delivered meanwhile leaves its place to the next.
    let at = ids.iter().position(|id| *id == chosen).unwrap_or(0);
    let Some(queued) = session.view.queue().get(at) else {
        model.overlay = None;
        return;
    };
    let (id, chosen, delivery) = (session.id, queued.message.id, queued.delivery);
    let moves = key.modifiers.intersects(KeyModifiers::SHIFT | KeyModifiers::ALT | KeyModifiers::CONTROL);
    let choose = |model: &mut TuiModel, to: usize| {
        model.overlay = Some(Overlay::Queue { chosen: ids[to.min(ids.len() - 1)] });
    };
    match key.code {
        KeyCode::Up if moves => move_message(model, id, chosen, at, true, effects),
        KeyCode::Down if moves => move_message(model, id, chosen, at, false, effects),
        KeyCode::Char('K') => move_message(model, id, chosen, at, true, effects),
        KeyCode::Char('J') => move_message(model, id, chosen, at, false, effects),
        KeyCode::Up | KeyCode::Char('k') => choose(model, at.saturating_sub(1)),
        KeyCode::Down | KeyCode::Char('j') => choose(model, at + 1),
        KeyCode::Enter | KeyCode::Char('e') => begin_edit(model, chosen),
        KeyCode::Char('s') => {
            let delivery = if delivery == Delivery::Steer { Waits::Queue } else { Waits::Steer };
            let change = ChangeQueued { delivery: Some(delivery), ..ChangeQueued::default() };
            request_change(model, id, chosen, change, effects);
        }
        KeyCode::Char('d') | KeyCode::Delete | KeyCode::Backspace => withdraw(model, id, chosen, effects),
        _ => {}
    }
}

/// Moves one up or down.
fn move_message(
    model: &mut TuiModel,
    id: SessionId,
    message: MessageId,
    at: usize,
    up: bool,
    effects: &mut Vec<TuiEffect>,
) {
    let Some(session) = model.focused() else { return };
    let id_at = |at: usize| session.view.queue().get(at).map(|queued| queued.message.id);
    let before =
        if up { at.checked_sub(1).and_then(id_at).map(Some) } else { id_at(at + 1).map(|_| id_at(at + 2)) };
    if let Some(before) = before {
        request_change(
            model,
            id,
            message,
            ChangeQueued { before: Some(before), ..ChangeQueued::default() },
            effects,
        );
    }
}

/// Takes one back. What it said can be called up again.
fn withdraw(model: &mut TuiModel, id: SessionId, message: MessageId, effects: &mut Vec<TuiEffect>) {
    if !require_connection(model) {
        return;
    }
    let queue = || model.focused().into_iter().flat_map(|session| session.view.queue());
    let text = queue().find(|queued| queued.message.id == message).map(|queued| queued.message.text());
    let next = queue().find(|queued| queued.message.id != message).map(|queued| queued.message.id);
    model.overlay = next.map(|chosen| Overlay::Queue { chosen });
    if let Some(text) = text {
        compose::remember(model, &text, effects);
    }
    effects.push(TuiEffect::Withdraw(id, message));
}

fn request_change(
    model: &mut TuiModel,
    id: SessionId,
    message: MessageId,
    change: ChangeQueued,
    effects: &mut Vec<TuiEffect>,
) {
    if require_connection(model) {
        model.overlay = Some(Overlay::Queue { chosen: message });
        effects.push(TuiEffect::Requeue { id, message, change: Box::new(change), text: None });
    }
}

/// Begins to change what one says. What is being written is parked meanwhile.
fn begin_edit(model: &mut TuiModel, message: MessageId) {
    model.overlay = None;
    let Some(session) = model.focused() else { return };
    let Some(queued) = session.view.queue().iter().find(|queued| queued.message.id == message) else {
        return;
    };
    let text = queued.message.text();
    // Who goes from one to the next still has the draft from before the first.
    let before = model.focused_mut().and_then(|session| session.queue_edit.take());
    let written = std::mem::replace(model.composer_mut(), Composer::with(&text));
    let parked = before.map_or(written, |before| before.parked);
    if let Some(session) = model.focused_mut() {
        session.queue_edit = Some(QueuedMessageEdit { message, parked });
    }
    model.completion = None;
    model.area = FocusArea::Composer;
}

/// Puts what was written in the place of what the message said; false when none is being changed.
pub(super) fn save_edit(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) -> bool {
    let Some(message) =
        model.focused().and_then(|session| session.queue_edit.as_ref()).map(|editing| editing.message)
    else {
        return false;
    };
    if model.composer().is_blank() {
        model.notify(Tone::Warn, "a message cannot be empty; /queue withdraws it, esc keeps it unchanged");
        return true;
    }
    if !require_connection(model) {
        return true;
    }
    let text = model.composer().expanded();
    let Some(session) = model.focused() else { return true };
    let id = session.id;
    let queued = session.view.queue().iter().find(|queued| queued.message.id == message);
    let others = queued.into_iter().flat_map(|queued| &queued.message.parts);
    let others =
        others.filter(|part| !matches!(part, Part::Text { .. })).cloned().filter_map(InputPart::from_part);
    let parts = std::iter::once(InputPart::Text { text: text.clone() }).chain(others).collect();
    cancel_edit(model);
    let change = Box::new(ChangeQueued { parts: Some(parts), ..ChangeQueued::default() });
    effects.push(TuiEffect::Requeue { id, message, change, text: Some(text) });
    true
}

/// Leaves the message as it is, and gives the draft back; false when none is being changed.
pub(super) fn cancel_edit(model: &mut TuiModel) -> bool {
    let Some(editing) = model.focused_mut().and_then(|session| session.queue_edit.take()) else {
        return false;
    };
    *model.composer_mut() = editing.parked;
    true
}

/// A message that is being changed and does not wait any more: what was written of it is a draft from now on.
pub(super) fn end_stale_edit(model: &mut TuiModel, id: SessionId) {
    let Some(session) = model.session_mut(id) else { return };
    let waits = |message: MessageId| session.view.queue().iter().any(|queued| queued.message.id == message);
    if session.queue_edit.as_ref().is_none_or(|editing| waits(editing.message)) {
        return;
    }
    let Some(editing) = session.queue_edit.take() else { return };
    restore_draft(model, id, &editing.parked.expanded());
    model.notify(Tone::Warn, "already sent; your text is now a new message");
}

/// A change was not taken: what was written is not lost.
pub(super) fn change_refused(model: &mut TuiModel, id: SessionId, text: Option<&str>, why: &str) {
    if let Some(text) = text {
        restore_draft(model, id, text);
    }
    model.notify(Tone::Bad, why);
}

fn restore_draft(model: &mut TuiModel, id: SessionId, text: &str) {
    let draft = model.draft_mut(Some(id));
    if !text.trim().is_empty() {
        let gap = if draft.is_blank() { "" } else { "\n\n" };
        draft.go_to(usize::MAX);
        draft.insert(&format!("{gap}{text}"));
    }
}
