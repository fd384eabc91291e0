//! Answering the question that waits in the session that is looked at.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_types::{FileChange, Scope};

use super::require_connection;
use crate::composer::Composer;
use crate::input::TuiEffect;
use crate::model::{ApprovalAnswer, ApprovalPanel, TuiModel, approval_answers, hunk_count, is_small_screen};
use crate::transcript::Tone;

/// Takes a key for the question; says whether it was one.
#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
pub(super) fn approval_key(model: &mut TuiModel, key: KeyEvent, effects: &mut Vec<TuiEffect>) -> bool {
    let (now, small) = (model.now, is_small_screen(model.size.1));
    let Some(session) = model.focused_mut() else { return false };
    let Some(question) = session.approval_panel.question(&session.view) else { return false };
    let answers = approval_answers(question);
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return false;
    }
    let files = session.reviews.iter().find(|(id, _)| Some(id) == session.approval_panel.showing.as_ref());
    let dock = &mut session.approval_panel;
    if let Some((_, files)) = files.filter(|(_, files)| !files.is_empty())
        && review_key(dock, files, key.code)
    {
        return true;
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
        KeyCode::Char('<') => {
            dock.scroll = dock.scroll.saturating_sub(5);
            return true;
        }
        KeyCode::Char('>') => {
            dock.scroll = dock.scroll.saturating_add(5);
            return true;
        }
        KeyCode::Enter => answers.get(dock.selected).cloned(),
        KeyCode::Char(letter) => {
            // The page denies with a reason on R.
            let key = if letter.eq_ignore_ascii_case(&'r') { 'w' } else { letter.to_ascii_lowercase() };
            let at = answers.iter().position(|answer| answer.key == key);
            // A rule that lasts is not made before it has been seen; where there is little room, that takes a key more.
            if let Some(at) = at.filter(|at| small && *at != dock.selected)
                && answers[at].scope == Scope::Always
            {
                dock.selected = at;
                return true;
            }
            at.map(|at| answers[at].clone())
        }
        _ => None,
    };
    let Some(answer) = chosen else { return false };
    if now.saturating_sub(dock.since) < crate::model::GRACE_MS || dock.is_answer_pending() {
        return true;
    }
    if answer.words {
        dock.reason = Some((answer.key, Composer::default()));
        return true;
    }
    send_answer(model, &answer, None, effects);
    true
}

/// Takes a key for the files and hunks of a review; says whether it was one.
#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
fn review_key(dock: &mut ApprovalPanel, files: &[FileChange], key: KeyCode) -> bool {
    let at = dock.file.min(files.len() - 1);
    let (file, count) = (&files[at], hunk_count(&files[at]));
    match key {
        KeyCode::Left => (dock.file, dock.hunk) = (at.saturating_sub(1), None),
        KeyCode::Right => (dock.file, dock.hunk) = ((at + 1).min(files.len() - 1), None),
        KeyCode::Char('j') => {
            dock.hunk = match dock.hunk {
                None if count > 0 => Some(0),
                None => None,
                Some(hunk) => Some((hunk + 1).min(count.saturating_sub(1))),
            };
        }
        KeyCode::Char('k') => dock.hunk = dock.hunk.and_then(|hunk| hunk.checked_sub(1)),
        KeyCode::Char(' ') => {
            match dock.hunk {
                Some(hunk) => dock.rejected.toggle_hunk(file, hunk),
                None => dock.rejected.toggle_file(&file.path),
            }
            return true;
        }
        _ => return false,
    }
    dock.scroll = 0;
    true
}

/// Takes a key for the words that go with an answer, while they are being written.
#[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
pub(super) fn reason_key(model: &mut TuiModel, key: KeyEvent, effects: &mut Vec<TuiEffect>) -> bool {
    let Some(session) = model.focused_mut() else { return false };
    let Some(question) = session.approval_panel.question(&session.view) else { return false };
    let answers = approval_answers(question);
    let Some((begun, reason)) = session.approval_panel.reason.as_mut() else { return false };
    let answer = answers.into_iter().find(|answer| answer.key == *begun);
    match key.code {
        KeyCode::Esc => session.approval_panel.reason = None,
        KeyCode::Enter => {
            let text = reason.take();
            session.approval_panel.reason = None;
            if let Some(answer) = answer {
                let text = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
                send_answer(model, &answer, text, effects);
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

fn send_answer(
    model: &mut TuiModel,
    answer: &ApprovalAnswer,
    reason: Option<String>,
    effects: &mut Vec<TuiEffect>,
) {
    if !require_connection(model) {
        return;
    }
    let Some(session) = model.focused_mut() else { return };
    let id = session.id;
    let Some(question) = session.approval_panel.question(&session.view) else { return };
    let request = session.approval_panel.request(question, answer, reason);
    session.approval_panel.answered_call = Some(request.tool_call_id.clone());
    session.approval_panel.error = None;
    effects.push(TuiEffect::Answer { id, answer: Box::new(request) });
}

/// An answer was not taken. The question is there again, unless somebody else has answered it.
pub(super) fn answer_refused(
    model: &mut TuiModel,
    id: ostler_types::SessionId,
    call: &str,
    why: String,
    over: bool,
) {
    let now = model.now;
    let Some(session) = model.session_mut(id) else { return };
    if session.approval_panel.answered_call.as_ref().is_some_and(|sent| sent.0 == call) {
        session.approval_panel.answered_call = None;
    }
    if over {
        session.forget_question(call, now);
        model.notify(Tone::Plain, why);
    } else if session.approval_panel.showing.as_ref().is_some_and(|showing| showing.0 == call) {
        session.approval_panel.error = Some(crate::text::sanitize::sanitize_line(&why, 300));
    }
    super::fix_focus_area(model);
}
