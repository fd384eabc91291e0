//! Commands that begin with a slash, by name: also what the command list shows and what completes them.

use ostler_api_types::{InputPart, UndoTurn, UpdateSession};
use ostler_types::Delivery;

use super::{compose, modes, overlays, queue, require_connection, sessions};
use crate::input::TuiEffect;
use crate::model::{Overlay, PickerKind, TuiModel};
use crate::theme::{THEME_NAMES, Theme};
use crate::transcript::{EntryKind, Tone};

/// The commands: name, what follows it, what it does.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("new", "", "start a session (ctrl+n)"),
    ("sessions", "", "switch session (ctrl+o)"),
    ("search", "WORDS", "search all sessions"),
    ("find", "WORDS", "find in this session (ctrl+f)"),
    ("model", "NAME", "choose the model"),
    ("agent", "NAME", "choose the agent of the next session"),
    ("mode", "NAME", "set the approval mode and the agent's own modes (alt+m)"),
    ("steer", "TEXT", "send before the model's next step (ctrl+t)"),
    ("now", "TEXT", "stop the turn and send this instead (ctrl+x)"),
    ("note", "TEXT", "add context for the next turn"),
    ("queue", "", "edit, move or withdraw queued messages"),
    ("stop", "", "stop the turn (esc esc)"),
    ("retry", "", "repeat the last turn"),
    ("undo", "", "revert files to before the last turn that changed them"),
    ("compact", "", "compact the conversation that the model is sent"),
    ("context", "", "show what is in the model's context"),
    ("fork", "", "fork this session"),
    ("rename", "TITLE", "rename this session"),
    ("archive", "", "archive this session"),
    ("close", "", "close this session permanently; it stays readable"),
    ("attach", "FILE", "attach a file or an image"),
    ("copy", "", "copy the last answer"),
    ("expand", "", "expand pasted text (alt+e)"),
    ("editor", "", "open an editor (ctrl+g)"),
    ("fold", "", "fold everything"),
    ("unfold", "", "unfold everything"),
    ("theme", "NAME", "choose the theme"),
    ("mouse", "", "toggle the mouse"),
    ("trust", "", "trust this workspace: use its own settings and checks"),
    ("help", "", "show keys (F1)"),
    ("quit", "", "quit; sessions keep running (ctrl+d)"),
];

/// Commands that begin so, as completions: first ours, then those that the session's agent understands.
pub(super) fn completions(model: &TuiModel, word: &str) -> Vec<(String, String)> {
    let ours = COMMANDS.iter().filter(|(name, _, _)| name.starts_with(word));
    let mut items: Vec<(String, String)> = ours
        .map(|(name, follows, what)| {
            let space = if follows.is_empty() { "" } else { " " };
            (format!("/{name}{space}"), (*what).to_owned())
        })
        .collect();
    let agent = model.focused().and_then(|session| session.view.agent_state());
    let theirs =
        agent.into_iter().flat_map(|agent| &agent.commands).filter(|known| known.name.starts_with(word));
    items.extend(theirs.map(|known| {
        let what = crate::text::sanitize::sanitize_line(&known.description, 120);
        (format!("/{} ", crate::text::sanitize::sanitize_line(&known.name, 60)), what)
    }));
    items
}

/// Does what a line that begins with a slash says; false when it is no command of ours.
pub(super) fn run(model: &mut TuiModel, line: &str, effects: &mut Vec<TuiEffect>) -> bool {
    let (name, rest) = line[1..].split_once(char::is_whitespace).unwrap_or((&line[1..], ""));
    let rest = rest.trim().to_owned();
    if !COMMANDS.iter().any(|(known, _, _)| *known == name) {
        let agent = model.focused().and_then(|session| session.view.agent_state());
        let theirs = agent.is_some_and(|agent| agent.commands.iter().any(|known| known.name == name));
        let path = name.contains('/');
        if !theirs && !path {
            model.notify(Tone::Warn, format!("no command /{name}; ctrl+p lists them"));
            return true;
        }
        return false;
    }
    model.composer_mut().take();
    match name {
        "new" => sessions::focus(model, None, effects),
        "sessions" => overlays::pick_session(model, effects),
        "search" => search(model, &rest, effects),
        "find" if rest.is_empty() => model.overlay = Some(Overlay::Find),
        "find" => {
            (model.find, model.found) = (rest, None);
            overlays::find_next(model, true);
        }
        "agent" if rest.is_empty() => {
            overlays::open_loading_picker(model, PickerKind::Agent, TuiEffect::Agents, effects)
        }
        "agent" => {
            model.next.agent = Some(rest);
            sessions::focus(model, None, effects);
        }
        "model" if rest.is_empty() => {
            overlays::open_loading_picker(model, PickerKind::Model, TuiEffect::Models, effects)
        }
        "model" => set_model(model, rest, effects),
        "theme" if THEME_NAMES.contains(&rest.as_str()) => model.theme = Theme::new(&rest, model.theme.depth),
        "theme" => overlays::pick_theme(model),
        "expand" => model.composer_mut().expand_chips(),
        "editor" => effects.push(TuiEffect::Edit(String::new())),
        "mouse" => {
            model.mouse = !model.mouse;
            effects.push(TuiEffect::Mouse(model.mouse));
        }
        "trust" => effects.push(TuiEffect::Trust(model.current_workspace())),
        "attach" if !rest.is_empty() && model.focus.is_none() => {
            compose::begin_with_file(model, rest, effects)
        }
        "help" => overlays::help(model),
        "quit" => effects.push(TuiEffect::Quit),
        _ => run_session_command(model, name, rest, effects),
    }
    true
}

/// Commands about the session that is looked at.
fn run_session_command(model: &mut TuiModel, name: &str, rest: String, effects: &mut Vec<TuiEffect>) {
    let Some(session) = model.focused() else {
        model.notify(Tone::Warn, format!("/{name} needs a session; start or open one first"));
        return;
    };
    let id = session.id;
    match name {
        "steer" | "now" | "note" if rest.is_empty() => {
            model.notify(Tone::Warn, format!("usage: /{name} TEXT"));
        }
        "steer" => {
            compose::submit(model, vec![InputPart::Text { text: rest }], Some(Delivery::Steer), None, effects)
        }
        "now" => compose::submit(
            model,
            vec![InputPart::Text { text: rest }],
            Some(Delivery::Interrupt),
            None,
            effects,
        ),
        "note" => compose::submit(model, vec![InputPart::Text { text: rest }], None, Some(false), effects),
        "queue" => queue::open(model),
        "mode" if rest.is_empty() => modes::pick_mode(model),
        "mode" => modes::set_mode(model, &rest, effects),
        "copy" => {
            let text = session.transcript.last_answer().unwrap_or_default().to_owned();
            effects.push(TuiEffect::Copy(text));
            model.notify(Tone::Plain, "copied the last answer");
        }
        "fold" | "unfold" => {
            let fold = name == "fold";
            if let Some(session) = model.focused_mut() {
                session.transcript.fold_all(fold, |_| true);
            }
        }
        _ => run_daemon_command(model, name, rest, id, effects),
    }
}

/// Commands that the daemon carries out.
fn run_daemon_command(
    model: &mut TuiModel,
    name: &str,
    rest: String,
    id: ostler_types::SessionId,
    effects: &mut Vec<TuiEffect>,
) {
    if !require_connection(model) {
        return;
    }
    let Some(session) = model.focused() else { return };
    let (repeatable, undoable) = (session.retryable_turn(), session.undoable_turn());
    match name {
        "stop" => effects.push(TuiEffect::Cancel(id)),
        "retry" => match repeatable {
            Some(turn) => effects.push(TuiEffect::Retry(id, turn)),
            None => model.notify(Tone::Warn, "the last turn neither failed nor was canceled"),
        },
        "undo" => match undoable {
            Some(turn_id) => {
                model.notify(Tone::Plain, "checking what would change…");
                effects.push(TuiEffect::Undo {
                    id,
                    undo: UndoTurn { turn_id, preview: Some(true), force: Some(false) },
                });
            }
            None => model.notify(Tone::Warn, "no turn of this session changed files"),
        },
        "compact" => effects.push(TuiEffect::Compact(id)),
        "context" => effects.push(TuiEffect::Context(id)),
        "fork" => effects.push(TuiEffect::Fork(id)),
        "rename" => {
            effects.push(TuiEffect::Update(
                id,
                Box::new(UpdateSession { title: Some(rest), ..UpdateSession::default() }),
            ));
        }
        "archive" => {
            effects.push(TuiEffect::Update(
                id,
                Box::new(UpdateSession { archived: Some(true), ..UpdateSession::default() }),
            ));
            sessions::forget_session(model, id, effects);
        }
        "close" => effects.push(TuiEffect::Close(id)),
        "attach" if rest.is_empty() => model.notify(Tone::Warn, "usage: /attach FILE"),
        "attach" => effects.push(TuiEffect::Attach { id, path: rest }),
        _ => {}
    }
}

/// Chooses the model of the session that is looked at, or of the next one.
pub(super) fn set_model(model: &mut TuiModel, name: String, effects: &mut Vec<TuiEffect>) {
    let focus = model.focus;
    match focus {
        Some(id) if require_connection(model) => {
            let update = UpdateSession { model: Some(name.clone()), ..UpdateSession::default() };
            effects.push(TuiEffect::Update(id, Box::new(update)));
            model.notify(Tone::Plain, format!("{name} will be used from the next turn"));
        }
        Some(_) => {}
        None => model.next.model = Some(name),
    }
}

fn search(model: &mut TuiModel, words: &str, effects: &mut Vec<TuiEffect>) {
    if words.is_empty() {
        model.notify(Tone::Warn, "usage: /search WORDS");
    } else if require_connection(model) {
        overlays::open_loading_picker(model, PickerKind::Found, TuiEffect::Search(words.to_owned()), effects);
    }
}

/// Folds all thinking, or unfolds it if all of it is folded.
pub(super) fn toggle_thinking(model: &mut TuiModel) {
    let Some(session) = model.focused_mut() else { return };
    let is_thinking = |kind: &EntryKind| matches!(kind, EntryKind::Thinking(_));
    let open =
        session.transcript.entries().iter().any(|entry| is_thinking(&entry.kind) && !entry.is_folded());
    session.transcript.fold_all(open, is_thinking);
}
