//! What happens when something happens: the model changes, and things are asked for. Pure: it draws nothing, waits
//! for nothing and reads no clock.

mod approval_panel;
mod command;
mod compose;
mod daemon_events;
mod keys;
mod modes;
mod overlays;
mod queue;
mod sessions;

use crate::input::{TuiEffect, TuiInput};
use crate::model::{DaemonLinkState, FocusArea, ScrollPosition, TuiModel};
use crate::transcript::Tone;

pub use command::COMMANDS;

/// How many records are asked for at a time.
pub(crate) const PAGE_RECORDS: u64 = 200;
/// Within so many milliseconds a key counts as pressed twice.
const DOUBLE_PRESS_MS: u64 = 2000;

/// Takes in what happened, and says what is to be done.
pub fn update(model: &mut TuiModel, input: TuiInput) -> Vec<TuiEffect> {
    let mut effects = Vec::new();
    match input {
        TuiInput::Key(key) => keys::key(model, key, &mut effects),
        TuiInput::Paste(text) => keys::paste(model, &text, &mut effects),
        TuiInput::Wheel { up } => scroll(model, if up { 3 } else { -3 }),
        TuiInput::Click { column, row } => crate::view::click_target(model, column, row)
            .into_iter()
            .for_each(|clicked| sessions::clicked(model, clicked, &mut effects)),
        TuiInput::Resize { columns, rows } => model.size = (columns, rows),
        TuiInput::Tick { now, unix } => tick(model, now, unix, &mut effects),
        TuiInput::ScreenDrawn => drawn(model, &mut effects),
        TuiInput::News(news) => daemon_events::apply_daemon_event(model, news, &mut effects),
        TuiInput::EditorClosed(text) => {
            if let Some(text) = text {
                let composer = model.composer_mut();
                let files = std::mem::take(&mut composer.files);
                *composer = crate::composer::Composer::with(text.trim_end_matches('\n'));
                composer.files = files;
            }
            effects.push(TuiEffect::Redraw);
        }
        TuiInput::CommandEnded { id, command, output } => {
            compose::command_ended(model, id, &command, &output, &mut effects)
        }
    }
    effects
}

/// Scrolls the transcript that is looked at; the view knows by how much that can be.
pub(crate) fn scroll(model: &mut TuiModel, up: isize) {
    if let Some(session) = model.focused_mut() {
        session.scroll += up;
    }
}

fn tick(model: &mut TuiModel, now: u64, unix: i64, effects: &mut Vec<TuiEffect>) {
    (model.now, model.unix_seconds) = (now, unix);
    if model.notice.as_ref().is_some_and(|notice| notice.until <= now) {
        model.notice = None;
    }
    let over = |since: Option<u64>| since.filter(|since| now.saturating_sub(*since) < DOUBLE_PRESS_MS);
    (model.leave_pressed_at, model.stop_pressed_at) =
        (over(model.leave_pressed_at), over(model.stop_pressed_at));
    if model.link != DaemonLinkState::Live {
        return;
    }
    for session in model.open.iter_mut().filter(|session| !session.following && session.reopen_at <= now) {
        session.following = true;
        effects.push(TuiEffect::Follow { id: session.id, after: session.transcript.cursor() });
    }
}

/// What the screen has shown to be missing: an older page, or the newest one again.
fn drawn(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    let live = model.link == DaemonLinkState::Live;
    if live {
        let asked = model.pictures.take_wanted().into_iter();
        effects.extend(asked.map(|(id, reference, number)| TuiEffect::Picture { id, reference, number }));
    }
    let Some(session) = model.focused_mut().filter(|_| live) else { return };
    let compare = session.approval_panel.call_to_compare(&session.view);
    effects.extend(compare.map(|(of, call)| TuiEffect::Compare { id: session.id, of, call }));
    if session.scroll_position == ScrollPosition::Tail && session.transcript.is_detached() {
        let after = session.transcript.cursor().saturating_sub(PAGE_RECORDS);
        session.begin_after(after);
        session.following = true;
        effects.push(TuiEffect::Follow { id: session.id, after });
        return;
    }
    let wanted =
        session.wants_older && session.transcript.has_older() && !session.loading && session.following;
    session.wants_older = false;
    if wanted {
        session.loading = true;
        let before = session.transcript.first();
        let first = before.saturating_sub(PAGE_RECORDS).max(1);
        effects.push(TuiEffect::Older { id: session.id, first, before });
    }
}

/// Moves the keys to where they make sense after something has changed: a question that has gone takes none.
pub(crate) fn fix_focus_area(model: &mut TuiModel) {
    let asks =
        model.focused().is_some_and(|session| session.approval_panel.question(&session.view).is_some());
    let left = model.focused().is_some_and(|session| session.approval_panel.is_dismissed);
    match model.area {
        FocusArea::Approval if !asks => model.area = FocusArea::Composer,
        FocusArea::Transcript(key)
            if model.focused().is_none_or(|session| session.transcript.position(key).is_none()) =>
        {
            model.area = FocusArea::Composer;
        }
        // Somebody who writes is not interrupted; the question waits until it is turned to.
        FocusArea::Composer if asks && !left && model.composer().is_empty() && model.overlay.is_none() => {
            model.area = FocusArea::Approval;
        }
        FocusArea::Composer | FocusArea::Approval | FocusArea::Transcript(_) => {}
    }
}

/// Says that something needs a connection.
pub(crate) fn require_connection(model: &mut TuiModel) -> bool {
    if model.link == DaemonLinkState::Live {
        return true;
    }
    model.notify(Tone::Warn, "not connected to the daemon; ctrl+r starts one");
    false
}
