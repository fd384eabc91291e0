//! What the daemon says: how sessions stand, what happens in them, and what came of requests.
//!
//! What concerns a session that nobody looks at changes that session and its place in the list, and nothing else:
//! it moves no focus, opens nothing and touches nothing that is being written.

use ostler_api_types::{InputPart, ListedSession, ModelList, SessionWithContext, StoredFile};
use ostler_types::{
    AgentEvent, ApprovalEvent, Event, PendingApproval, Record, SessionEvent, SessionId, SessionView,
    TurnEvent, View, WorkspaceEvent,
};

use super::{PAGE_RECORDS, approval_panel, compose, fix_focus_area, overlays, queue, sessions};
use crate::composer::AttachedFile;
use crate::input::{DaemonNews, TuiEffect};
use crate::model::{
    DaemonLinkState, FirstContent, FollowedSession, OutboxMessage, Overlay, PickerItem, PickerKind,
    SessionListEntry, TuiModel,
};
use crate::stream_line::StreamLine;
use crate::transcript::Tone;

/// Who was away for longer than so many records is shown the end rather than everything between.
const MAX_CATCH_UP_RECORDS: u64 = 2000;
/// How long to wait before a stream is opened again, in milliseconds.
const REOPEN_DELAY_MS: u64 = 500;

/// Takes in what the daemon says.
pub(super) fn apply_daemon_event(model: &mut TuiModel, news: DaemonNews, effects: &mut Vec<TuiEffect>) {
    match news {
        DaemonNews::Connected { note } => connected(model, note, effects),
        DaemonNews::Disconnected { why, starting } => lost(model, &why, starting),
        DaemonNews::Listed { sessions, approvals } => listed(model, sessions, &approvals),
        DaemonNews::Feed(record) => feed(model, &record, effects),
        DaemonNews::Loaded(shown) => loaded(model, *shown, effects),
        DaemonNews::Lines { id, lines } => self::lines(model, id, lines, effects),
        DaemonNews::Ended { id, refused } => ended(model, id, refused),
        DaemonNews::Older { id, first, records } => {
            if let Some(session) = model.session_mut(id) {
                session.loading = false;
                let reaches = records.last().is_none_or(|last| last.seq + 1 >= session.transcript.first());
                if !records.is_empty() && reaches {
                    session.transcript.prepend(first, &records);
                }
            }
        }
        DaemonNews::Created { key, id } => created(model, &key, id, effects),
        DaemonNews::Sent { id, key } => {
            // The record says that it is in; this says that it need not be sent again.
            if let Some(outgoing) = outgoing(model, id, &key) {
                outgoing.held = false;
            }
        }
        DaemonNews::NotSent { id, key, why, later } => not_sent(model, id, &key, &why, later),
        DaemonNews::NotAnswered { id, call, why, over } => {
            approval_panel::answer_refused(model, id, &call, why, over)
        }
        DaemonNews::NotRequeued { id, text, why } => queue::change_refused(model, id, text.as_deref(), &why),
        DaemonNews::Models(models) => models_listed(model, models),
        DaemonNews::Agents(names) => {
            let of = |name: String| PickerItem { value: name.clone(), label: name, detail: String::new() };
            overlays::fill_picker(model, PickerKind::Agent, names.into_iter().map(of).collect());
        }
        DaemonNews::Files { query, paths } => compose::found_files(model, &query, paths),
        DaemonNews::Found { query, sessions } => {
            model.searched = query;
            overlays::found_sessions(model, sessions);
        }
        DaemonNews::Undone { id, turn, preview, undone } => show_undo(model, id, turn, preview, &undone),
        DaemonNews::Context(context) => {
            let lines = crate::view::context_lines(&context);
            model.overlay = Some(Overlay::Page { title: "context".to_owned(), lines, scroll: 0 });
        }
        DaemonNews::Attached { id, file } => attached(model, id, file),
        DaemonNews::Compared { id, call, files } => {
            let dock = model.session_mut(id).map(|session| &mut session.approval_panel);
            if let Some(dock) = dock.filter(|dock| dock.showing.as_ref() == Some(&call)) {
                dock.compared = files;
            }
        }
        DaemonNews::Picture { number, bytes } => {
            if let Some(shown) = model.pictures.note_arrived(number, &bytes, model.size.0) {
                effects.push(TuiEffect::Show { shown, bytes });
            }
        }
        DaemonNews::Notice(text) => model.notify(Tone::Plain, text),
        DaemonNews::Failed(why) => {
            if let Some(Overlay::Picker(picker)) = &model.overlay
                && picker.loading
            {
                model.overlay = None;
            }
            model.notify(Tone::Bad, why);
        }
    }
}

fn models_listed(model: &mut TuiModel, models: ModelList) {
    let of = |info: ostler_types::ModelInfo| PickerItem {
        detail: info.unavailable.clone().unwrap_or_else(|| match info.context_window {
            Some(window) => crate::formatting::tokens(window),
            None => String::new(),
        }),
        label: info.name.clone(),
        value: info.name,
    };
    overlays::fill_picker(model, PickerKind::Model, models.models.into_iter().map(of).collect());
}

/// A file is with the daemon, and goes with the next message.
fn attached(model: &mut TuiModel, id: SessionId, file: StoredFile) {
    let name = crate::text::sanitize::sanitize_line(&file.name, 80);
    model.notify(Tone::Plain, format!("{name} attached to the next message"));
    let file = AttachedFile { name, reference: file.reference, mime_type: file.mime_type };
    model.draft_mut(Some(id)).files.push(file);
}

fn connected(model: &mut TuiModel, note: Option<String>, effects: &mut Vec<TuiEffect>) {
    let again = matches!(model.link, DaemonLinkState::Lost { .. });
    model.link = DaemonLinkState::Live;
    if let Some(note) = note {
        model.notify(Tone::Good, note);
    } else if again {
        model.notify(Tone::Good, "reconnected");
    }
    effects.push(TuiEffect::List);
    effects.extend(model.open.iter().map(|session| TuiEffect::Load(session.id)));
    if let Some(id) = model.focus.filter(|id| model.session(*id).is_none()) {
        effects.push(TuiEffect::Load(id));
    }
    for session in &mut model.open {
        let id = session.id;
        for OutboxMessage { key, message, held } in session.outbox.iter_mut().filter(|outgoing| outgoing.held)
        {
            *held = false;
            effects.push(TuiEffect::Send { id, message: Box::new(message.clone()), key: key.clone() });
        }
    }
    match &mut model.creating {
        Some(creating) if creating.session.is_some() => effects.extend(creating.session.map(TuiEffect::Load)),
        Some(creating) if creating.held => {
            creating.held = false;
            compose::create(model, effects);
        }
        Some(_) | None => {}
    }
}

fn lost(model: &mut TuiModel, why: &str, starting: bool) {
    model.link = DaemonLinkState::Lost { why: crate::text::sanitize::sanitize_line(why, 200), starting };
    for session in &mut model.open {
        (session.following, session.loading) = (false, false);
        session.approval_panel.answered_call = None;
    }
}

fn listed(model: &mut TuiModel, sessions: Vec<ListedSession>, approvals: &[PendingApproval]) {
    let mut before = std::mem::take(&mut model.list);
    for listed in sessions {
        let shown = listed.view(approvals);
        let known = before.iter().position(|known| known.session().id == shown.session.id);
        let mut row = match known.map(|index| before.swap_remove(index)) {
            Some(mut known) => {
                known.view.refresh(shown);
                known
            }
            None => SessionListEntry::new(View::from(shown)),
        };
        // The session's own stream may be ahead of the list, and tells more.
        if let Some(open) = model.open.iter().find(|open| open.id == row.session().id) {
            row.view.refresh(open.view.session_view());
        }
        model.list.push(row);
    }
    if let Some(Overlay::Picker(picker)) = &model.overlay
        && picker.kind == PickerKind::Session
    {
        let items = overlays::session_choices(model);
        overlays::fill_picker(model, PickerKind::Session, items);
    }
}

/// What happened in some session, for the list and for whoever looks elsewhere.
fn feed(model: &mut TuiModel, record: &Record, effects: &mut Vec<TuiEffect>) {
    let id = record.session_id;
    let away = model.focus != Some(id);
    if let Event::Session(SessionEvent::Created { session }) = &record.event {
        if session.parent_session_id.is_none() && model.listed_mut(id).is_none() {
            let view = View::from(SessionView::new(session.clone(), record.seq));
            model.list.insert(0, SessionListEntry::new(view));
        }
        return;
    }
    let known = model.list.iter().find(|row| row.session().id == id);
    let Some(title) = known.map(|row| model.title_of(row.session())) else { return };
    let Some(row) = model.listed_mut(id).filter(|row| record.seq > row.view.last_seq()) else { return };
    row.view.apply(record);
    if let Event::Session(SessionEvent::Updated { session }) = &record.event
        && session.archived
    {
        sessions::forget_session(model, id, effects);
    } else if record.event.name().ends_turn() {
        row.unread |= away;
        if away {
            effects.push(TuiEffect::Bell);
        }
    } else if let Event::Approval(ApprovalEvent::Requested { summary, .. }) = &record.event {
        row.unread |= away;
        effects.push(TuiEffect::Bell);
        if away {
            let summary = crate::text::sanitize::sanitize_line(summary, 80);
            model.notify(Tone::Warn, format!("{title} needs approval: {summary} (alt+n opens it)"));
        }
    } else if let Event::Workspace(WorkspaceEvent::PatchReviewRequested { waits: true, .. }) = &record.event {
        row.unread |= away;
        effects.push(TuiEffect::Bell);
    }
}

fn loaded(model: &mut TuiModel, shown: SessionWithContext, effects: &mut Vec<TuiEffect>) {
    let (id, last) = (shown.view.session.id, shown.view.last_seq);
    let now = model.now;
    if let Some(session) = model.session_mut(id) {
        let cursor = session.transcript.cursor();
        // Behind what was seen there is another history; far ahead of it the end is what matters.
        if last < cursor.min(session.transcript.first()) || last > cursor + MAX_CATCH_UP_RECORDS {
            session.begin_after(last.saturating_sub(PAGE_RECORDS));
            session.view = View::from(shown.view.clone());
            session.following = false;
        }
        session.refresh(shown, now);
        if !session.following {
            session.following = true;
            effects.push(TuiEffect::Follow { id, after: session.transcript.cursor() });
        }
    } else {
        let mut session = FollowedSession::new(shown, PAGE_RECORDS, now);
        session.following = true;
        effects.push(TuiEffect::Follow { id, after: session.transcript.cursor() });
        if let Some(creating) = model.creating.take_if(|creating| creating.session == Some(id)) {
            match creating.first {
                FirstContent::Message(message) => {
                    let key = creating.key;
                    effects.push(TuiEffect::Send {
                        id,
                        message: Box::new(message.clone()),
                        key: key.clone(),
                    });
                    session.outbox.push_back(OutboxMessage { key, message, held: false });
                }
                FirstContent::File(path) => effects.push(TuiEffect::Attach { id, path }),
            }
        }
        model.open.push(session);
        sessions::evict_least_used(model, effects);
    }
    fix_focus_area(model);
}

fn lines(model: &mut TuiModel, id: SessionId, lines: Vec<StreamLine>, effects: &mut Vec<TuiEffect>) {
    let now = model.now;
    let Some(session) = model.session_mut(id) else { return };
    let mut over = false;
    for line in lines {
        match line {
            StreamLine::Record(record) => {
                let new = record.session_id == id && session.apply(&record, now);
                let ends = matches!(
                    record.event,
                    Event::Turn(
                        TurnEvent::Completed { .. } | TurnEvent::Failed { .. } | TurnEvent::Canceled { .. }
                    ) | Event::Workspace(WorkspaceEvent::CheckpointCreated { .. })
                        | Event::Agent(AgentEvent::ContextCompacted { .. })
                );
                over |= new && ends;
            }
            StreamLine::Delta { session_id, delta } if session_id == id => {
                session.splice(&delta);
            }
            StreamLine::Delta { .. } => {}
            StreamLine::Unknown { seq } => session.skip(seq),
        }
    }
    if over {
        effects.push(TuiEffect::Load(id));
    }
    queue::end_stale_edit(model, id);
    fix_focus_area(model);
}

fn ended(model: &mut TuiModel, id: SessionId, refused: Option<String>) {
    let again = model.now + REOPEN_DELAY_MS;
    if let Some(session) = model.session_mut(id) {
        (session.following, session.reopen_at) = (false, again);
        if refused.is_some() {
            // Nothing that waits would help; looking at it anew may.
            session.reopen_at = u64::MAX;
        }
    }
    if let Some(why) = refused {
        model.notify(Tone::Bad, why);
    }
}

fn created(model: &mut TuiModel, key: &str, id: SessionId, effects: &mut Vec<TuiEffect>) {
    let here = model.focus.is_none();
    let Some(creating) = model.creating.as_mut().filter(|creating| creating.key == key) else { return };
    creating.session = Some(id);
    // Whoever has gone elsewhere in the meantime is left there.
    if here {
        let draft = std::mem::take(model.draft_mut(None));
        *model.draft_mut(Some(id)) = draft;
        sessions::focus(model, Some(id), effects);
    } else {
        effects.push(TuiEffect::Load(id));
    }
    model.next = crate::model::NextSession::default();
}

fn outgoing<'a>(model: &'a mut TuiModel, id: SessionId, key: &str) -> Option<&'a mut OutboxMessage> {
    model.session_mut(id)?.outbox.iter_mut().find(|outgoing| outgoing.key == key)
}

/// A message that could not be delivered waits for a connection; one that was refused is given back.
fn not_sent(model: &mut TuiModel, id: Option<SessionId>, key: &str, why: &str, later: bool) {
    let mut refused = None;
    match id {
        Some(id) if later => {
            if let Some(outgoing) = outgoing(model, id, key) {
                outgoing.held = true;
            }
        }
        Some(id) => {
            let outbox = model.session_mut(id).map(|session| &mut session.outbox);
            refused = outbox.and_then(|outbox| {
                let at = outbox.iter().position(|outgoing| outgoing.key == key)?;
                outbox.remove(at).map(|outgoing| outgoing.message)
            });
        }
        None if later => {
            if let Some(creating) = model.creating.as_mut().filter(|creating| creating.key == key) {
                creating.held = true;
            }
        }
        None => {
            refused =
                match model.creating.take_if(|creating| creating.key == key).map(|creating| creating.first) {
                    Some(FirstContent::Message(message)) => Some(message),
                    Some(FirstContent::File(_)) | None => None,
                }
        }
    }
    if let Some(message) = refused {
        let texts: Vec<&str> = message.parts.iter().filter_map(InputPart::as_text).collect();
        let draft = model.draft_mut(id);
        if draft.is_empty() {
            draft.insert(&texts.join("\n"));
        }
    }
    if !later {
        model.notify(Tone::Bad, format!("not sent: {why}"));
    }
}

fn show_undo(
    model: &mut TuiModel,
    id: SessionId,
    turn_id: ostler_types::TurnId,
    preview: bool,
    undone: &ostler_api_types::Undone,
) {
    if !preview {
        let files = undone.restored.len() + undone.recreated.len() + undone.deleted.len();
        let left = undone.conflicts.len() + undone.left_out.len();
        let left = if left > 0 { format!("; {left} skipped") } else { String::new() };
        model.notify(
            Tone::Good,
            format!("reverted {}{left}", crate::formatting::counted(files as u64, "file")),
        );
        return;
    }
    let undo = ostler_api_types::UndoTurn { turn_id, preview: Some(false), force: Some(false) };
    let lines = crate::view::undo_lines(undone);
    model.notice = None;
    model.overlay = Some(Overlay::Undo { id, undo, lines, scroll: 0 });
}
