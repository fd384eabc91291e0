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

use crate::input::{Effect, Input};
use crate::model::{Area, Link, Model, Place};
use crate::transcript::Tone;

pub use command::COMMANDS;

/// How many records are asked for at a time.
pub(crate) const PAGE: u64 = 200;
/// Within so many milliseconds a key counts as pressed twice.
const TWICE_MS: u64 = 2000;

/// Takes in what happened, and says what is to be done.
pub fn update(model: &mut Model, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    match input {
        Input::Key(key) => keys::key(model, key, &mut effects),
        Input::Paste(text) => keys::paste(model, &text, &mut effects),
        Input::Wheel { up } => scroll(model, if up { 3 } else { -3 }),
        Input::Click { column, row } => crate::view::click(model, column, row)
            .into_iter()
            .for_each(|clicked| sessions::clicked(model, clicked, &mut effects)),
        Input::Resize { columns, rows } => model.size = (columns, rows),
        Input::Tick { now, unix } => tick(model, now, unix, &mut effects),
        Input::Drawn => drawn(model, &mut effects),
        Input::News(news) => news::news(model, news, &mut effects),
        Input::Edited(text) => {
            if let Some(text) = text {
                let composer = model.composer_mut();
                let files = std::mem::take(&mut composer.files);
                *composer = crate::composer::Composer::with(text.trim_end_matches('\n'));
                composer.files = files;
            }
            effects.push(Effect::Redraw);
        }
        Input::Shelled { id, command, output } => {
            compose::shelled(model, id, &command, &output, &mut effects)
        }
    }
    effects
}

/// Scrolls the transcript that is looked at; the view knows by how much that can be.
pub(crate) fn scroll(model: &mut Model, up: isize) {
    if let Some(session) = model.focused_mut() {
        session.scroll += up;
    }
}

fn tick(model: &mut Model, now: u64, unix: i64, effects: &mut Vec<Effect>) {
    (model.now, model.unix) = (now, unix);
    if model.notice.as_ref().is_some_and(|notice| notice.until <= now) {
        model.notice = None;
    }
    let over = |since: Option<u64>| since.filter(|since| now.saturating_sub(*since) < TWICE_MS);
    (model.leaving, model.stopping) = (over(model.leaving), over(model.stopping));
    if model.link != Link::Live {
        return;
    }
    for session in model.open.iter_mut().filter(|session| !session.following && session.follow_at <= now) {
        session.following = true;
        effects.push(Effect::Follow { id: session.id, after: session.transcript.cursor() });
    }
}

/// What the screen has shown to be missing: an older page, or the newest one again.
fn drawn(model: &mut Model, effects: &mut Vec<Effect>) {
    let live = model.link == Link::Live;
    if live {
        let asked = model.pictures.ask().into_iter();
        effects.extend(asked.map(|(id, reference, number)| Effect::Picture { id, reference, number }));
    }
    let Some(session) = model.focused_mut().filter(|_| live) else { return };
    let compare = session.dock.compare(&session.view);
    effects.extend(compare.map(|(of, call)| Effect::Compare { id: session.id, of, call }));
    if session.place == Place::Tail && session.transcript.is_detached() {
        let after = session.transcript.cursor().saturating_sub(PAGE);
        session.begin_after(after);
        session.following = true;
        effects.push(Effect::Follow { id: session.id, after });
        return;
    }
    let wanted =
        session.wants_older && session.transcript.has_older() && !session.loading && session.following;
    session.wants_older = false;
    if wanted {
        session.loading = true;
        let before = session.transcript.first();
        let first = before.saturating_sub(PAGE).max(1);
        effects.push(Effect::Older { id: session.id, first, before });
    }
}

/// Moves the keys to where they make sense after something has changed: a question that has gone takes none.
pub(crate) fn settle_area(model: &mut Model) {
    let asks = model.focused().is_some_and(|session| session.dock.question(&session.view).is_some());
    let left = model.focused().is_some_and(|session| session.dock.left);
    match model.area {
        Area::Dock if !asks => model.area = Area::Composer,
        Area::Transcript(key)
            if model.focused().is_none_or(|session| session.transcript.position(key).is_none()) =>
        {
            model.area = Area::Composer;
        }
        // Somebody who writes is not interrupted; the question waits until it is turned to.
        Area::Composer if asks && !left && model.composer().is_empty() && model.overlay.is_none() => {
            model.area = Area::Dock;
        }
        Area::Composer | Area::Dock | Area::Transcript(_) => {}
    }
}

/// Says that something needs a connection.
pub(crate) fn needs_link(model: &mut Model) -> bool {
    if model.link == Link::Live {
        return true;
    }
    model.notify(Tone::Warn, "there is no connection to the daemon; ctrl+r starts one");
    false
}
