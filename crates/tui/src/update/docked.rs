//! Answering the question that waits in the session that is looked at.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::needs_link;
use crate::composer::Composer;
use crate::input::Effect;
use crate::model::{Answer, Model, choices};
use crate::transcript::Tone;

/// Takes a key for the question; says whether it was one.
pub(super) fn key(model: &mut Model, key: KeyEvent, effects: &mut Vec<Effect>) -> bool {
    let now = model.now;
    let Some(session) = model.focused_mut() else { return false };
    let Some(question) = session.dock.question(&session.approvals) else { return false };
    let answers = choices(question);
    let files = session.reviews.iter().find(|(id, _)| Some(id) == session.dock.showing.as_ref());
    let files: Vec<String> =
        files.map(|(_, files)| files.iter().map(|file| file.path.clone()).collect()).unwrap_or_default();
    let dock = &mut session.dock;
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return false;
    }
    let chosen = match key.code {
        KeyCode::Up => {
            dock.selected = dock.selected.checked_sub(1).unwrap_or(answers.len().saturating_sub(1));
            return true;
        }
        KeyCode::Down => {
            dock.selected = (dock.selected + 1) % answers.len().max(1);
            return true;
        }
        KeyCode::Left => {
            (dock.file, dock.scroll) = (dock.file.saturating_sub(1), 0);
            return true;
        }
        KeyCode::Right => {
            (dock.file, dock.scroll) = ((dock.file + 1).min(files.len().saturating_sub(1)), 0);
            return true;
        }
        KeyCode::Char(' ') if !files.is_empty() => {
            let path = files[dock.file.min(files.len() - 1)].clone();
            match dock.rejected.iter().position(|rejected| *rejected == path) {
                Some(at) => _ = dock.rejected.remove(at),
                None => dock.rejected.push(path),
            }
            return true;
        }
        KeyCode::Char('<') => {
            dock.scroll = dock.scroll.saturating_sub(5);
            return true;
        }
        KeyCode::Char('>') => {
            dock.scroll = dock.scroll.saturating_add(5);
            return true;
        }
        KeyCode::Enter => answers.get(dock.selected).cloned(),
        KeyCode::Char(letter) => answers.into_iter().find(|answer| answer.key == letter.to_ascii_lowercase()),
        _ => None,
    };
    let Some(answer) = chosen else { return false };
    if now.saturating_sub(dock.since) < crate::model::GRACE_MS || dock.is_sent() {
        return true;
    }
    if answer.words {
        dock.reason = Some((answer.key, Composer::default()));
        return true;
    }
    give(model, &answer, None, effects);
    true
}

/// Takes a key for the words that go with an answer, while they are being written.
pub(super) fn reason_key(model: &mut Model, key: KeyEvent, effects: &mut Vec<Effect>) -> bool {
    let Some(session) = model.focused_mut() else { return false };
    let Some(question) = session.dock.question(&session.approvals) else { return false };
    let answers = choices(question);
    let Some((begun, reason)) = session.dock.reason.as_mut() else { return false };
    let answer = answers.into_iter().find(|answer| answer.key == *begun);
    match key.code {
        KeyCode::Esc => session.dock.reason = None,
        KeyCode::Enter => {
            let text = reason.take();
            session.dock.reason = None;
            if let Some(answer) = answer {
                let text = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
                give(model, &answer, text, effects);
            }
        }
        KeyCode::Backspace => reason.backspace(),
        KeyCode::Delete => reason.delete(),
        KeyCode::Left => reason.left(),
        KeyCode::Right => reason.right(),
        KeyCode::Home => reason.home(),
        KeyCode::End => reason.end(),
        KeyCode::Char(letter) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            reason.insert(letter.encode_utf8(&mut [0; 4]));
        }
        _ => return false,
    }
    true
}

fn give(model: &mut Model, answer: &Answer, reason: Option<String>, effects: &mut Vec<Effect>) {
    if !needs_link(model) {
        return;
    }
    let Some(session) = model.focused_mut() else { return };
    let id = session.id;
    let Some(question) = session.dock.question(&session.approvals) else { return };
    let request = session.dock.request(question, answer, reason);
    session.dock.sent = Some(request.tool_call_id.clone());
    session.dock.error = None;
    effects.push(Effect::Answer { id, answer: Box::new(request), option: answer.option.clone() });
}

/// An answer was not taken. The question is there again, unless somebody else has answered it.
pub(super) fn not_answered(
    model: &mut Model,
    id: ostler_types::SessionId,
    call: &str,
    why: String,
    over: bool,
) {
    let Some(session) = model.session_mut(id) else { return };
    if session.dock.sent.as_ref().is_some_and(|sent| sent.0 == call) {
        session.dock.sent = None;
    }
    if over {
        session.approvals.retain(|approval| approval.tool_call_id.0 != call);
        let now = model.now;
        if let Some(session) = model.session_mut(id) {
            session.dock.settle(&session.approvals, now);
        }
        model.notify(Tone::Plain, why);
    } else if session.dock.showing.as_ref().is_some_and(|showing| showing.0 == call) {
        session.dock.error = Some(crate::text::clean::in_one_line(&why, 300));
    }
    super::settle_area(model);
}
