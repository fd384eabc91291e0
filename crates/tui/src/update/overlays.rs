//! What lies over everything: opening it, its keys, and what is picked.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_api_types::UndoTurn;
use ostler_types::SessionId;

use super::{command, compose, modes, queue, sessions};
use crate::input::TuiEffect;
use crate::model::{Overlay, Picker, PickerItem, PickerKind, ScrollPosition, TuiModel, title};
use crate::theme::{THEME_NAMES, Theme};
use crate::transcript::Tone;

/// Takes a key for what lies over everything; says whether there is something.
pub(super) fn overlay_key(model: &mut TuiModel, key: KeyEvent, effects: &mut Vec<TuiEffect>) -> bool {
    let Some(overlay) = &mut model.overlay else { return false };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.code == KeyCode::Esc || (control && key.code == KeyCode::Char('c')) {
        if matches!(overlay, Overlay::Find) {
            model.find.clear();
            model.found = None;
        }
        model.overlay = None;
        return true;
    }
    match overlay {
        Overlay::Picker(picker) => {
            if picker_key(picker, key) {
                let (picking, chosen) = (picker.kind, picker.chosen());
                model.overlay = None;
                if let Some(choice) = chosen {
                    picked(model, picking, &choice, effects);
                }
            }
        }
        Overlay::Page { scroll, lines, .. } => {
            if !scroll_key(scroll, lines.len(), key.code) {
                model.overlay = None;
            }
        }
        Overlay::Undo { id, undo, lines, scroll } => {
            if scroll_key(scroll, lines.len(), key.code) {
                return true;
            }
            let (id, turn_id) = (*id, undo.turn_id);
            let force = key.code == KeyCode::Char('f');
            if force || matches!(key.code, KeyCode::Char('y') | KeyCode::Enter) {
                effects.push(TuiEffect::Undo {
                    id,
                    undo: UndoTurn { turn_id, preview: Some(false), force: Some(force) },
                });
            }
            if force || matches!(key.code, KeyCode::Char('y' | 'n') | KeyCode::Enter) {
                model.overlay = None;
            }
        }
        Overlay::Find => find_key(model, key),
        Overlay::Queue { chosen } => {
            let chosen = *chosen;
            queue::queue_key(model, chosen, key, effects);
        }
    }
    true
}

/// Takes a key that scrolls; says whether it was one.
#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
fn scroll_key(scroll: &mut usize, lines: usize, key: KeyCode) -> bool {
    let by: isize = match key {
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::PageUp => -10,
        KeyCode::PageDown | KeyCode::Char(' ') => 10,
        _ => return false,
    };
    *scroll = scroll.saturating_add_signed(by).min(lines.saturating_sub(1));
    true
}

/// Takes a key for a list; says whether something is picked.
#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
fn picker_key(picker: &mut Picker, key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let count = picker.matches().len().max(1);
    match key.code {
        KeyCode::Enter => return true,
        KeyCode::Up => picker.selected = picker.selected.checked_sub(1).unwrap_or(count - 1),
        KeyCode::Down | KeyCode::Tab => picker.selected = (picker.selected + 1) % count,
        KeyCode::PageUp => picker.selected = picker.selected.saturating_sub(10),
        KeyCode::PageDown => picker.selected = (picker.selected + 10).min(count - 1),
        KeyCode::Char('o' | 'n') if control => picker.selected = (picker.selected + 1) % count,
        KeyCode::Char('u') if control => picker.query.clear(),
        KeyCode::Backspace => {
            picker.query.pop();
            picker.selected = 0;
        }
        KeyCode::Char(letter) if !control => {
            picker.query.push(letter);
            picker.selected = 0;
        }
        _ => {}
    }
    false
}

fn picked(model: &mut TuiModel, picking: PickerKind, choice: &PickerItem, effects: &mut Vec<TuiEffect>) {
    match picking {
        PickerKind::Session => sessions::focus(model, choice.value.parse::<SessionId>().ok(), effects),
        PickerKind::Found => {
            sessions::focus(model, choice.value.parse::<SessionId>().ok(), effects);
            // What was searched for stands out there, and enter goes from one place to the next.
            let word = model.searched.split_whitespace().next().unwrap_or_default();
            (model.find, model.found) = (word.to_owned(), None);
            model.overlay = Some(Overlay::Find);
        }
        PickerKind::Model => command::set_model(model, choice.value.clone(), effects),
        PickerKind::Agent => {
            model.next.agent = Some(choice.value.clone());
            sessions::focus(model, None, effects);
            model.notify(Tone::Plain, format!("new sessions will use {}", choice.value));
        }
        PickerKind::Mode => modes::mode_chosen(model, &choice.value, effects),
        PickerKind::Theme => model.theme = Theme::new(&choice.value, model.theme.depth),
        PickerKind::Command => {
            let line = format!("/{}", choice.value);
            if choice.value.ends_with(' ') {
                model.composer_mut().take();
                model.composer_mut().insert(&line);
            } else {
                // What is being written is not lost to a command.
                let kept = model.composer().clone();
                command::run(model, &line, effects);
                if model.composer().is_empty() && !matches!(choice.value.as_str(), "new" | "expand") {
                    *model.composer_mut() = kept;
                }
            }
            compose::complete(model, effects);
        }
    }
}

/// Opens a list that is still to come, and asks for it.
pub(super) fn open_loading_picker(
    model: &mut TuiModel,
    picking: PickerKind,
    effect: TuiEffect,
    effects: &mut Vec<TuiEffect>,
) {
    model.overlay = Some(Overlay::Picker(Picker { loading: true, ..Picker::new(picking, Vec::new()) }));
    effects.push(effect);
}

/// What was asked for is here, if it is still wanted.
pub(super) fn fill_picker(model: &mut TuiModel, picking: PickerKind, items: Vec<PickerItem>) {
    if let Some(Overlay::Picker(picker)) = &mut model.overlay
        && picker.kind == picking
    {
        (picker.items, picker.loading) = (items, false);
    }
}

/// The list of sessions, those that want something first.
pub(super) fn pick_session(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    effects.push(TuiEffect::List);
    let mut picker = Picker::new(PickerKind::Session, session_choices(model));
    // The one that is looked at is the last to be wanted.
    picker.selected = usize::from(picker.items.len() > 1 && model.focus.is_some());
    model.overlay = Some(Overlay::Picker(picker));
}

/// The sessions as choices.
pub(super) fn session_choices(model: &TuiModel) -> Vec<PickerItem> {
    let new =
        PickerItem { value: String::new(), label: "+ new session".to_owned(), detail: "ctrl+n".to_owned() };
    let of = |listed: &crate::model::SessionListEntry| {
        let id = listed.session().id;
        let place = crate::formatting::short_path(&listed.session().workspace_path, model.home.as_deref());
        let ago = crate::formatting::ago(model.unix_seconds - listed.session().updated_at.as_second());
        let draft = if model.draft(Some(id)).is_some() { " · draft" } else { "" };
        let label = format!("{} {}", crate::view::status_mark(listed), model.title_of(listed.session()));
        PickerItem { value: id.to_string(), label, detail: format!("{place} · {ago}{draft}") }
    };
    std::iter::once(new).chain(model.list.iter().map(of)).collect()
}

/// The commands.
pub(super) fn pick_command(model: &mut TuiModel) {
    let of = |(name, follows, what): &(&str, &str, &str)| PickerItem {
        value: if follows.is_empty() { (*name).to_owned() } else { format!("{name} ") },
        label: format!("/{name} {follows}"),
        detail: (*what).to_owned(),
    };
    let items = super::COMMANDS.iter().map(of).collect();
    model.overlay = Some(Overlay::Picker(Picker::new(PickerKind::Command, items)));
}

/// The themes.
pub(super) fn pick_theme(model: &mut TuiModel) {
    let about = ["for dark screens", "for light screens", "the terminal's own sixteen", "without colours"];
    let of = |(name, about): (&str, &str)| PickerItem {
        value: name.to_owned(),
        label: name.to_owned(),
        detail: about.to_owned(),
    };
    let items = THEME_NAMES.into_iter().zip(about).map(of).collect();
    model.overlay = Some(Overlay::Picker(Picker::new(PickerKind::Theme, items)));
}

/// The keys.
pub(super) fn help(model: &mut TuiModel) {
    let lines = crate::view::HELP.lines().map(str::to_owned).collect();
    model.overlay = Some(Overlay::Page { title: "keys".to_owned(), lines, scroll: 0 });
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
fn find_key(model: &mut TuiModel, key: KeyEvent) {
    match key.code {
        KeyCode::Enter | KeyCode::Up => find_next(model, true),
        KeyCode::Down => find_next(model, false),
        KeyCode::Backspace => {
            model.find.pop();
            model.found = None;
        }
        KeyCode::Char(letter) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
            model.find.push(letter);
            model.found = None;
        }
        _ => {}
    }
}

/// Goes to the next place, upwards or downwards, at which what is searched for stands.
pub(super) fn find_next(model: &mut TuiModel, up: bool) {
    let query = model.find.to_lowercase();
    let last = model.found;
    let Some(session) = model.focused_mut().filter(|_| !query.is_empty()) else { return };
    let entries = session.transcript.entries();
    // What fits on the screen is not scrolled, so the place that was found last counts before the scroll position.
    let at = match (last.and_then(|key| session.transcript.position(key)), session.scroll_position) {
        (Some(at), _) => Some(at),
        (None, ScrollPosition::At { key, .. }) => session.transcript.position(key),
        (None, ScrollPosition::Tail) => None,
    };
    let has = |index: &usize| entries[*index].text().to_lowercase().contains(&query);
    let found = match (at, up) {
        (at, true) => (0..at.unwrap_or(entries.len())).rev().find(has),
        (Some(at), false) => (at + 1..entries.len()).find(has),
        (None, false) => None,
    };
    match found.map(|index| entries[index].key) {
        Some(key) => {
            session.transcript.unfold(key);
            session.scroll_position = ScrollPosition::At { key, line: 0 };
            model.found = Some(key);
        }
        None if up && session.transcript.has_older() => {
            session.wants_older = true;
            model.notify(Tone::Plain, "not found yet; loading older messages, press enter to continue");
        }
        None => model.notify(Tone::Plain, "no more matches"),
    }
}

/// Sessions in which something was said, as choices.
pub(super) fn found_sessions(model: &mut TuiModel, sessions: Vec<ostler_api_types::ListedSession>) {
    let of = |listed: ostler_api_types::ListedSession| PickerItem {
        value: listed.session.id.to_string(),
        label: title(&listed.session),
        detail: crate::text::sanitize::sanitize_line(listed.snippet.as_deref().unwrap_or(""), 200),
    };
    fill_picker(model, PickerKind::Found, sessions.into_iter().map(of).collect());
}
