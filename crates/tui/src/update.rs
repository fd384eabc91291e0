//! What happens when something happens: the model changes, and things are asked for. Pure: it draws nothing, waits
//! for nothing and reads no clock.

mod command;
mod compose;
mod docked;
mod keys;
mod modes;
mod news;
mod overlays;
mod queue;
mod sessions;

use crate::input::{TuiEffect, TuiInput};
use crate::model::{DaemonLinkState, FocusArea, ScrollPosition, TuiModel};
use crate::transcript::Tone;

pub use command::COMMANDS;

/// How many records are asked for at a time.
pub(crate) const PAGE: u64 = 200;
/// Within so many milliseconds a key counts as pressed twice.
const TWICE_MS: u64 = 2000;

/// Takes in what happened, and says what is to be done.
pub fn update(model: &mut TuiModel, input: TuiInput) -> Vec<TuiEffect> {
    let mut effects = Vec::new();
    match input {
        TuiInput::Key(key) => keys::key(model, key, &mut effects),
        TuiInput::Paste(text) => keys::paste(model, &text, &mut effects),
        TuiInput::Wheel { up } => scroll(model, if up { 3 } else { -3 }),
        TuiInput::Click { column, row } => crate::view::click(model, column, row)
            .into_iter()
            .for_each(|clicked| sessions::clicked(model, clicked, &mut effects)),
        TuiInput::Resize { columns, rows } => model.size = (columns, rows),
        TuiInput::Tick { now, unix } => tick(model, now, unix, &mut effects),
        TuiInput::Drawn => drawn(model, &mut effects),
        TuiInput::News(news) => news::news(model, news, &mut effects),
        TuiInput::Edited(text) => {
            if let Some(text) = text {
                let composer = model.composer_mut();
                let files = std::mem::take(&mut composer.files);
                *composer = crate::composer::Composer::with(text.trim_end_matches('\n'));
                composer.files = files;
            }
            effects.push(TuiEffect::Redraw);
        }
        TuiInput::Shelled { id, command, output } => {
            compose::shelled(model, id, &command, &output, &mut effects)
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
    (model.now, model.unix) = (now, unix);
    if model.notice.as_ref().is_some_and(|notice| notice.until <= now) {
        model.notice = None;
    }
    let over = |since: Option<u64>| since.filter(|since| now.saturating_sub(*since) < TWICE_MS);
    (model.leaving, model.stopping) = (over(model.leaving), over(model.stopping));
    if model.link != DaemonLinkState::Live {
        return;
    }
    for session in model.open.iter_mut().filter(|session| !session.following && session.follow_at <= now) {
        session.following = true;
        effects.push(TuiEffect::Follow { id: session.id, after: session.transcript.cursor() });
    }
}

/// What the screen has shown to be missing: an older page, or the newest one again.
fn drawn(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    let live = model.link == DaemonLinkState::Live;
    if live {
        let asked = model.pictures.ask().into_iter();
        effects.extend(asked.map(|(id, reference, number)| TuiEffect::Picture { id, reference, number }));
    }
    let Some(session) = model.focused_mut().filter(|_| live) else { return };
    let compare = session.dock.compare(&session.view);
    effects.extend(compare.map(|(of, call)| TuiEffect::Compare { id: session.id, of, call }));
    if session.place == ScrollPosition::Tail && session.transcript.is_detached() {
        let after = session.transcript.cursor().saturating_sub(PAGE);
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
        let first = before.saturating_sub(PAGE).max(1);
        effects.push(TuiEffect::Older { id: session.id, first, before });
    }
}

/// Moves the keys to where they make sense after something has changed: a question that has gone takes none.
pub(crate) fn settle_area(model: &mut TuiModel) {
    let asks = model.focused().is_some_and(|session| session.dock.question(&session.view).is_some());
    let left = model.focused().is_some_and(|session| session.dock.left);
    match model.area {
        FocusArea::Dock if !asks => model.area = FocusArea::Composer,
        FocusArea::Transcript(key)
            if model.focused().is_none_or(|session| session.transcript.position(key).is_none()) =>
        {
            model.area = FocusArea::Composer;
        }
        // Somebody who writes is not interrupted; the question waits until it is turned to.
        FocusArea::Composer if asks && !left && model.composer().is_empty() && model.overlay.is_none() => {
            model.area = FocusArea::Dock;
        }
        FocusArea::Composer | FocusArea::Dock | FocusArea::Transcript(_) => {}
    }
}

/// Says that something needs a connection.
pub(crate) fn needs_link(model: &mut TuiModel) -> bool {
    if model.link == DaemonLinkState::Live {
        return true;
    }
    model.notify(Tone::Warn, "there is no connection to the daemon; ctrl+r starts one");
    false
}
