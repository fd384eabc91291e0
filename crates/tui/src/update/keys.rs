//! Keys, by what they go to: what lies over everything first, then what completes the word, then what holds
//! everywhere, and last the area that is worked in.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ostler_types::Delivery;

use super::{
    DOUBLE_PRESS_MS, approval_panel, command, compose, fix_focus_area, modes, overlays, queue, scroll,
    sessions,
};
use crate::input::TuiEffect;
use crate::model::{DaemonLinkState, FocusArea, Overlay, ScrollPosition, TuiModel};
use crate::transcript::{EntryKind, Tone};

/// Takes in a key.
pub(super) fn key(model: &mut TuiModel, key: KeyEvent, effects: &mut Vec<TuiEffect>) {
    if key.kind == KeyEventKind::Release {
        return;
    }
    model.clear_seen_notice();
    let taken = overlays::overlay_key(model, key, effects)
        || approval_panel::reason_key(model, key, effects)
        || compose::completion_key(model, key, effects)
        || global_key(model, key, effects);
    if !taken {
        let area = model.area;
        match area {
            FocusArea::Approval if approval_panel::approval_key(model, key, effects) => {}
            FocusArea::Transcript(at) if transcript_key(model, at, key, effects) => {}
            FocusArea::Composer | FocusArea::Approval | FocusArea::Transcript(_) => {
                compose::composer_key(model, key, effects)
            }
        }
    }
    fix_focus_area(model);
}

/// Takes in what was pasted.
pub(super) fn paste(model: &mut TuiModel, text: &str, effects: &mut Vec<TuiEffect>) {
    match &mut model.overlay {
        Some(Overlay::Picker(picker)) => {
            picker.query.push_str(&crate::text::sanitize::sanitize_line(text, 200));
            picker.selected = 0;
        }
        Some(Overlay::Find) => {
            model.find.push_str(&crate::text::sanitize::sanitize_line(text, 200));
            model.found = None;
        }
        Some(Overlay::Page { .. } | Overlay::Undo { .. } | Overlay::Queue { .. }) => {}
        None => {
            if let Some((_, reason)) =
                model.focused_mut().and_then(|session| session.approval_panel.reason.as_mut())
            {
                reason.paste(text);
                return;
            }
            model.area = FocusArea::Composer;
            model.composer_mut().paste(text);
            compose::complete(model, effects);
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
fn global_key(model: &mut TuiModel, key: KeyEvent, effects: &mut Vec<TuiEffect>) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let page = isize::try_from(model.size.1 / 2).unwrap_or(10).max(1);
    match key.code {
        KeyCode::Char('c') if control => interrupt(model, effects),
        KeyCode::Char('d') if control && model.composer().is_empty() => effects.push(TuiEffect::Quit),
        KeyCode::Char('z') if control => effects.push(TuiEffect::Suspend),
        KeyCode::Char('l') if control => effects.push(TuiEffect::Redraw),
        KeyCode::Char('n') if control => sessions::focus(model, None, effects),
        KeyCode::Char('o') if control => overlays::pick_session(model, effects),
        KeyCode::Char('p') if control => overlays::pick_command(model),
        KeyCode::Char('f') if control => model.overlay = Some(Overlay::Find),
        KeyCode::Char('b') if control => model.sidebar = Some(!model.shows_sidebar()),
        KeyCode::Char('g') if control => effects.push(TuiEffect::Edit(model.composer().expanded())),
        KeyCode::Char('r') if control => reconnect(model, effects),
        KeyCode::Char('t') if control => compose::send(model, Delivery::Steer, effects),
        KeyCode::Char('x') if control => compose::send(model, Delivery::Interrupt, effects),
        KeyCode::Char('n') if alt => sessions::focus_next_waiting(model, effects),
        KeyCode::Up if alt => sessions::focus_neighbour(model, true, effects),
        KeyCode::Down if alt => sessions::focus_neighbour(model, false, effects),
        KeyCode::Char('e') if alt => model.composer_mut().expand_chips(),
        KeyCode::Char('t') if alt => command::toggle_thinking(model),
        KeyCode::Char('m') if alt => modes::pick_mode(model),
        KeyCode::F(1) => overlays::help(model),
        KeyCode::PageUp => scroll(model, page),
        KeyCode::PageDown => scroll(model, -page),
        KeyCode::Home if control => scroll(model, isize::MAX / 2),
        KeyCode::End if control => scroll_to_end(model),
        KeyCode::Tab | KeyCode::BackTab => next_area(model, key.code == KeyCode::BackTab),
        KeyCode::Esc => escape(model, effects),
        _ => return false,
    }
    true
}

/// Ctrl+C: clears what is written, else stops the turn, else leaves when it is pressed twice.
fn interrupt(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    if !model.composer().is_empty() {
        let text = model.composer_mut().take();
        compose::remember(model, &text, effects);
        model.completion = None;
        return;
    }
    if let Some(session) = model.focused().filter(|session| session.running.is_some()) {
        effects.push(TuiEffect::Cancel(session.id));
        model.notify(Tone::Plain, "stopping the turn; the partial answer is kept");
        return;
    }
    if model.leave_pressed_at.is_some_and(|since| model.now.saturating_sub(since) < DOUBLE_PRESS_MS) {
        effects.push(TuiEffect::Quit);
        return;
    }
    model.leave_pressed_at = Some(model.now);
    model.notify(Tone::Plain, "press ctrl+c again to quit; sessions keep running");
}

/// Esc: back to what is being written, and from there, pressed twice, it stops the turn.
fn escape(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    if model.area != FocusArea::Composer {
        model.area = FocusArea::Composer;
        if let Some(session) = model.focused_mut() {
            session.approval_panel.is_dismissed = true;
        }
        return;
    }
    if queue::cancel_edit(model) {
        return;
    }
    if !model.find.is_empty() {
        model.find.clear();
        model.found = None;
        return;
    }
    let Some(id) = model.focused().filter(|session| session.running.is_some()).map(|session| session.id)
    else {
        scroll_to_end(model);
        return;
    };
    if model.stop_pressed_at.take().is_some() {
        effects.push(TuiEffect::Cancel(id));
        model.notify(Tone::Plain, "stopping the turn; the partial answer is kept");
    } else {
        model.stop_pressed_at = Some(model.now);
        model.notify(Tone::Plain, "press esc again to stop the turn");
    }
}

fn reconnect(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    match &model.link {
        DaemonLinkState::Live => effects.push(TuiEffect::List),
        DaemonLinkState::Connecting | DaemonLinkState::Lost { .. } => {
            effects.push(TuiEffect::Connect { start: true })
        }
    }
}

fn scroll_to_end(model: &mut TuiModel) {
    if let Some(session) = model.focused_mut() {
        (session.scroll_position, session.scroll) = (ScrollPosition::Tail, 0);
    }
}

/// Tab: from what is written to the question, to what was said, and around.
fn next_area(model: &mut TuiModel, back: bool) {
    let Some(session) = model.focused() else { return };
    let asks = session.approval_panel.question(&session.view).is_some();
    let last = session.transcript.entries().back().map(|entry| entry.key);
    let transcript = last.map_or(FocusArea::Composer, FocusArea::Transcript);
    model.area = match (model.area, back) {
        (FocusArea::Composer, false) if asks => FocusArea::Approval,
        (FocusArea::Composer, false) | (FocusArea::Approval, false) => transcript,
        (FocusArea::Composer, true) => transcript,
        (FocusArea::Transcript(_), true) if asks => FocusArea::Approval,
        (FocusArea::Transcript(_), _) | (FocusArea::Approval, true) => FocusArea::Composer,
    };
}

/// Keys while an entry of the transcript is chosen.
#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
fn transcript_key(model: &mut TuiModel, at: u64, key: KeyEvent, effects: &mut Vec<TuiEffect>) -> bool {
    let third = isize::try_from(model.size.1 / 3).unwrap_or(3);
    let Some(session) = model.focused_mut() else { return false };
    let entries = session.transcript.entries();
    let Some(index) = session.transcript.position(at) else { return false };
    let go = |index: usize| entries.get(index).map(|entry| entry.key);
    let next = match key.code {
        KeyCode::Up | KeyCode::Char('k') => go(index.saturating_sub(1)),
        KeyCode::Down | KeyCode::Char('j') => go(index + 1),
        KeyCode::Home | KeyCode::Char('g') => go(0),
        KeyCode::End | KeyCode::Char('G') => go(entries.len().saturating_sub(1)),
        KeyCode::Enter | KeyCode::Char(' ') => {
            session.transcript.toggle(at);
            return true;
        }
        KeyCode::Char('y') => {
            let text = session.transcript.get(at).map(|entry| entry.text()).unwrap_or_default();
            effects.push(TuiEffect::Copy(text));
            model.notify(Tone::Plain, "copied");
            return true;
        }
        KeyCode::Char('c') => {
            let child = session.transcript.get(at).and_then(|entry| match &entry.kind {
                EntryKind::ToolCall(call) => call.child,
                EntryKind::User { .. }
                | EntryKind::SystemMessage { .. }
                | EntryKind::Answer(_)
                | EntryKind::Thinking(_)
                | EntryKind::Check { .. }
                | EntryKind::Review { .. }
                | EntryKind::Note { .. }
                | EntryKind::End { .. } => None,
            });
            if let Some(child) = child {
                sessions::focus(model, Some(child), effects);
            }
            return true;
        }
        _ => return false,
    };
    if let Some(next) = next {
        session.scroll_position = ScrollPosition::At { key: next, line: 0 };
        session.scroll = third;
        model.area = FocusArea::Transcript(next);
    } else if key.code == KeyCode::Down {
        model.area = FocusArea::Composer;
        scroll_to_end(model);
    }
    true
}
