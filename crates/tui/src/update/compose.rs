//! Writing: editing, completing words, and what happens when it is sent.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_api_types::{CreateSession, InputPart, SendMessage, Speaker};
use ostler_types::{Delivery, SessionId};

use super::{command, fix_focus_area, queue, require_connection};
use crate::input::TuiEffect;
use crate::model::{
    Completion, DaemonLinkState, FirstContent, FocusArea, MAX_HISTORY, OutboxMessage, PendingSession,
    ScrollPosition, TuiModel,
};
use crate::transcript::Tone;

/// Takes a key for what is being written.
#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
pub(super) fn composer_key(model: &mut TuiModel, key: KeyEvent, effects: &mut Vec<TuiEffect>) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    model.area = FocusArea::Composer;
    let cells = crate::view::composer_cells(model);
    let history = std::mem::take(&mut model.history);
    let composer = model.composer_mut();
    let mut send_it = false;
    match key.code {
        KeyCode::Enter if alt || shift || control => composer.insert("\n"),
        KeyCode::Char('j') if control => composer.insert("\n"),
        // A backslash at the end is a line end too, which works in every terminal.
        KeyCode::Enter if composer.raw()[..composer.cursor()].ends_with('\\') => {
            composer.backspace();
            composer.insert("\n");
        }
        KeyCode::Enter => send_it = true,
        KeyCode::Char('a') if control => composer.home(),
        KeyCode::Char('e') if control => composer.end(),
        KeyCode::Char('u') if control => composer.delete_line_before(),
        KeyCode::Char('k') if control => composer.delete_line_after(),
        KeyCode::Char('w') if control => composer.delete_word(),
        KeyCode::Char('h') if control => composer.backspace(),
        KeyCode::Char('b') if alt => composer.word_left(),
        KeyCode::Char('f') if alt => composer.word_right(),
        KeyCode::Backspace if alt || control => composer.delete_word(),
        KeyCode::Backspace if composer.cursor() == 0 && !composer.files.is_empty() => {
            _ = composer.files.pop()
        }
        KeyCode::Backspace => composer.backspace(),
        KeyCode::Delete => composer.delete(),
        KeyCode::Left if control || alt => composer.word_left(),
        KeyCode::Right if control || alt => composer.word_right(),
        KeyCode::Left => composer.left(),
        KeyCode::Right => composer.right(),
        KeyCode::Home => composer.home(),
        KeyCode::End => composer.end(),
        // At the first line up means the one before, at the last down the one after; else they move the cursor.
        KeyCode::Up if composer.is_recalling() || !composer.up(cells) => composer.recall(&history, true),
        KeyCode::Down if composer.is_recalling() || !composer.down(cells) => composer.recall(&history, false),
        KeyCode::Char(letter) if !control && !alt => composer.insert(letter.encode_utf8(&mut [0; 4])),
        _ => {}
    }
    model.history = history;
    if send_it {
        send(model, Delivery::Queue, effects);
    } else {
        complete(model, effects);
    }
}

/// Takes a key for the list of completions; says whether it was one.
#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
pub(super) fn completion_key(model: &mut TuiModel, key: KeyEvent, effects: &mut Vec<TuiEffect>) -> bool {
    let Some(completion) = model.completion.as_mut().filter(|completion| !completion.items.is_empty()) else {
        return false;
    };
    match key.code {
        KeyCode::Up => {
            completion.selected = completion.selected.checked_sub(1).unwrap_or(completion.items.len() - 1);
        }
        KeyCode::Down => completion.selected = (completion.selected + 1) % completion.items.len(),
        KeyCode::Esc => model.completion = None,
        KeyCode::Tab | KeyCode::Enter => {
            let Some(completion) = model.completion.take() else { return false };
            let (item, _) = completion.items[completion.selected.min(completion.items.len() - 1)].clone();
            // A command that is written out is sent rather than completed to itself.
            if key.code == KeyCode::Enter && item.trim_end() == completion.word {
                return false;
            }
            let whole = item.ends_with(' ');
            model.composer_mut().replace_before(completion.from, &item);
            if !whole && key.code == KeyCode::Enter {
                send(model, Delivery::Queue, effects);
            }
        }
        _ => return false,
    }
    true
}

/// Looks what could complete the word at the cursor: a command at the very beginning, a file after an `@`.
pub(super) fn complete(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    let composer = model.composer();
    let before = &composer.raw()[..composer.cursor()];
    let from = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    // A line end is one byte, and so is a space; others do not mark words here.
    let from = if before.is_char_boundary(from) { from } else { before.len() };
    let word = before[from..].to_owned();
    if from == 0 && word.starts_with('/') && !word[1..].contains('/') {
        let items = command::completions(model, &word[1..]);
        model.completion = Some(Completion { from, word, items, selected: 0 });
    } else if let Some(query) = word.strip_prefix('@') {
        let query = query.to_owned();
        let known = model.completion.take().filter(|known| known.from == from && known.word.starts_with('@'));
        let items = known.map(|known| known.items).unwrap_or_default();
        model.completion = Some(Completion { from, word, items, selected: 0 });
        effects.push(TuiEffect::Files { id: model.focus, query });
    } else {
        model.completion = None;
    }
}

/// Files came for a completion, unless the word is another one by now.
pub(super) fn found_files(model: &mut TuiModel, query: &str, paths: Vec<String>) {
    if let Some(completion) = &mut model.completion
        && completion.word.strip_prefix('@') == Some(query)
    {
        let item =
            |path: String| (format!("@{} ", crate::text::sanitize::sanitize_line(&path, 400)), String::new());
        completion.items = paths.into_iter().take(8).map(item).collect();
        completion.selected = 0;
    }
}

/// Sends what is written: a command to us, a command to the shell, or a message.
pub(super) fn send(model: &mut TuiModel, delivery: Delivery, effects: &mut Vec<TuiEffect>) {
    model.completion = None;
    if queue::save_edit(model, effects) {
        return;
    }
    if model.composer().is_empty() || (model.composer().is_blank() && model.composer().files.is_empty()) {
        return;
    }
    let written = model.composer().expanded();
    if let Some(line) = written.trim().strip_prefix('!') {
        let command = line.trim().to_owned();
        model.composer_mut().take();
        remember(model, &written, effects);
        if !command.is_empty() {
            model.notify(Tone::Plain, format!("running {command}"));
            effects.push(TuiEffect::Shell { id: model.focus, workspace: model.current_workspace(), command });
        }
        return;
    }
    if written.starts_with('/') && command::run(model, written.trim(), effects) {
        remember(model, &written, effects);
        return;
    }
    let files = std::mem::take(&mut model.composer_mut().files);
    model.composer_mut().take();
    remember(model, &written, effects);
    let mut parts: Vec<InputPart> = Vec::new();
    if !written.trim().is_empty() {
        parts.push(InputPart::Text { text: written });
    }
    parts.extend(files.into_iter().map(|file| InputPart::attached(file.reference, file.mime_type)));
    submit(model, parts, Some(delivery), None, effects);
    fix_focus_area(model);
}

/// Says something in the session that is looked at, or in a new one.
pub(super) fn submit(
    model: &mut TuiModel,
    parts: Vec<InputPart>,
    delivery: Option<Delivery>,
    auto_run: Option<bool>,
    effects: &mut Vec<TuiEffect>,
) {
    let key = model.new_key();
    let live = model.link == DaemonLinkState::Live;
    let message =
        SendMessage { role: Speaker::User, parts, auto_run, delivery, idempotency_key: Some(key.clone()) };
    match model.focus {
        Some(id) => {
            let Some(session) = model.session_mut(id) else { return };
            session.outbox.push_back(OutboxMessage {
                key: key.clone(),
                message: message.clone(),
                held: !live,
            });
            (session.scroll_position, session.scroll) = (ScrollPosition::Tail, 0);
            if live {
                effects.push(TuiEffect::Send { id, message: Box::new(message), key });
            }
        }
        None => {
            // Whoever does not wait for the file's session says it in one without the file.
            if let Some(PendingSession { first: FirstContent::File(path), .. }) = model.creating.take() {
                model.notify(Tone::Warn, format!("{path} is not attached; /attach it again"));
            }
            let first = FirstContent::Message(message);
            model.creating = Some(PendingSession { key, first, session: None, held: !live });
            create(model, effects);
        }
    }
    if !live {
        model.notify(Tone::Warn, "not connected; the message is sent on reconnection");
    }
}

/// Begins a session with a file that goes with its first message, because files are a session's.
pub(super) fn begin_with_file(model: &mut TuiModel, path: String, effects: &mut Vec<TuiEffect>) {
    if require_connection(model) && model.creating.is_none() {
        let key = model.new_key();
        model.creating =
            Some(PendingSession { key, first: FirstContent::File(path), session: None, held: false });
        create(model, effects);
    }
}

/// Asks for the session of a first message, if there is somebody to ask. Asking twice makes one.
pub(super) fn create(model: &mut TuiModel, effects: &mut Vec<TuiEffect>) {
    let Some(creating) = model.creating.as_ref().filter(|creating| !creating.held) else { return };
    let session = CreateSession {
        workspace_path: model.workspace.clone(),
        agent: model.next.agent.clone(),
        model: model.next.model.clone(),
        idempotency_key: Some(format!("{}-session", creating.key)),
        ..CreateSession::default()
    };
    effects.push(TuiEffect::Create { session: Box::new(session), key: creating.key.clone() });
}

/// Remembers what was sent.
pub(super) fn remember(model: &mut TuiModel, text: &str, effects: &mut Vec<TuiEffect>) {
    let text = text.trim();
    if text.is_empty() || text.len() > 64 << 10 || model.history.last().is_some_and(|last| last == text) {
        return;
    }
    model.history.push(text.to_owned());
    if model.history.len() > MAX_HISTORY {
        model.history.remove(0);
    }
    effects.push(TuiEffect::Remember(text.to_owned()));
}

/// A command of the person's own has ended: the session is told, so that the model knows of it with the next turn.
pub(super) fn command_ended(
    model: &mut TuiModel,
    id: Option<SessionId>,
    command: &str,
    output: &str,
    effects: &mut Vec<TuiEffect>,
) {
    let output = crate::text::sanitize::sanitize(output);
    let text = format!("I ran `{command}`:\n\n```\n{}\n```", output.trim_end());
    let Some(id) = id.filter(|id| model.session(*id).is_some()) else {
        let lines = output.lines().map(str::to_owned).collect();
        model.overlay = Some(crate::model::Overlay::Page { title: format!("$ {command}"), lines, scroll: 0 });
        return;
    };
    let focus = model.focus.replace(id);
    submit(model, vec![InputPart::Text { text }], None, Some(false), effects);
    model.focus = focus;
}
