//! All sessions at a glance, a line each: which work, which wait for somebody, and what they do. Pure: it is told what
//! is listed and what is recorded, and says what to draw.

use std::collections::HashMap;

use jiff::Timestamp;
use ostler_types::{Cost, EventName, Record, SessionId, SessionView, View, in_one_line};
use unicode_width::UnicodeWidthStr;

use super::formatting::{cut, money, painted};
use super::record_line::event_summary;
use super::session_table::SessionState;
use super::style::{Paint, Style};

/// Sessions that are kept in mind; beyond that, those that rested longest are forgotten.
const MAX_SESSIONS: usize = 500;
/// Columns of a title, at most.
const MAX_TITLE_COLUMNS: usize = 32;
/// Characters of what a session does, before it is cut to the line.
const MAX_ACTIVITY_CHARS: usize = 200;

/// The sessions, and what they do.
#[derive(Debug, Default)]
pub struct Board {
    rows: HashMap<SessionId, BoardRow>,
}

/// How much can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardSize {
    /// Columns.
    pub columns: usize,
    /// Lines.
    pub lines: usize,
}

#[derive(Debug)]
struct BoardRow {
    view: View,
    /// The last event of the session that the board shows, as text.
    activity: String,
}

impl Board {
    /// Whether a session is known.
    pub fn contains(&self, id: SessionId) -> bool {
        self.rows.contains_key(&id)
    }

    /// Takes a session as it is shown or listed, unless more is known already.
    pub fn upsert(&mut self, shown: SessionView) {
        if let Some(row) = self.rows.get_mut(&shown.session.id) {
            row.view.refresh(shown);
            return;
        }
        let (id, view) = (shown.session.id, View::from(shown));
        self.rows.insert(id, BoardRow { view, activity: String::new() });
        self.forget();
    }

    /// Takes what happened.
    pub fn apply(&mut self, record: &Record) {
        if let Some(row) = self.rows.get_mut(&record.session_id) {
            if row.view.apply(record) && is_shown_event(record.event.name()) {
                row.activity = event_summary(&record.event);
            }
        } else if let Some(view) = View::begin(record) {
            self.rows.insert(record.session_id, BoardRow { view, activity: String::new() });
            self.forget();
        }
    }

    /// What to draw, a line each; at most as many as there is room for, and none longer than its line.
    pub fn draw(&self, size: BoardSize, color: bool) -> Vec<String> {
        let mut rows: Vec<(&SessionId, &BoardRow)> =
            self.rows.iter().filter(|(_, row)| !row.is_child()).collect();
        rows.sort_by(|(one, first), (other, second)| {
            (first.status(), second.at(), one).cmp(&(second.status(), first.at(), other))
        });
        let count = |standing| rows.iter().filter(|(_, row)| row.status() == standing).count();
        let head = format!(
            "{} sessions: {} running, {} need approval",
            rows.len(),
            count(SessionState::Running),
            count(SessionState::NeedsApproval)
        );
        let style = Style::new(color);
        let mut lines = vec![painted(style, Paint::Prompt, &cut(&head, size.columns))];
        let room = size.lines.saturating_sub(1);
        let shown = if rows.len() > room { room.saturating_sub(1) } else { rows.len() };
        lines.extend(rows[..shown].iter().map(|(id, row)| row.line(id, size.columns, style)));
        if shown < rows.len() && room > 0 {
            let more = format!("and {} more; see `ostler sessions`", rows.len() - shown);
            lines.push(painted(style, Paint::Dim, &cut(&more, size.columns)));
        }
        lines
    }

    fn forget(&mut self) {
        if self.rows.len() > MAX_SESSIONS
            && let Some(oldest) = self.rows.iter().min_by_key(|(_, row)| row.at()).map(|(id, _)| *id)
        {
            self.rows.remove(&oldest);
        }
    }
}

/// Whether an event changes the text that a row shows for its session.
fn is_shown_event(name: EventName) -> bool {
    matches!(
        name,
        EventName::ToolCallStarted
            | EventName::MessageAdded
            | EventName::ApprovalRequested
            | EventName::ModelWaiting
            | EventName::VerificationStarted
            | EventName::TurnFailed
            | EventName::ModelOutputCompleted
            | EventName::TurnCanceled
            | EventName::SessionCompleted
    )
}

impl BoardRow {
    fn status(&self) -> SessionState {
        SessionState::new(self.view.session().status, self.view.running_turn_id().is_some())
    }

    fn at(&self) -> Timestamp {
        self.view.session().updated_at
    }

    /// Whether another session started this one. The board leaves it out, and shows what the other session says of it.
    fn is_child(&self) -> bool {
        self.view.session().parent_session_id.is_some()
    }

    fn line(&self, id: &SessionId, columns: usize, style: Style) -> String {
        let session = self.view.session();
        let (paint, word) = (self.status().paint(), self.status().as_str());
        let cost = session.usage.cost_usd.filter(|cost| *cost > Cost::default());
        let cost = cost.map(|cost| format!("  {}", money(cost))).unwrap_or_default();
        let title = cut(
            &in_one_line(session.title.as_deref().unwrap_or("(no title)"), MAX_ACTIVITY_CHARS),
            MAX_TITLE_COLUMNS,
        );
        let gap = " ".repeat(MAX_TITLE_COLUMNS.saturating_sub(title.width()));
        painted(
            style,
            paint,
            &cut(&format!("{word:<14}  {id}  {title}{gap}{cost}  {}", self.activity), columns),
        )
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::{Record, Session, SessionView};
    use serde_json::{Value, json};
    use unicode_width::UnicodeWidthStr;

    use super::{Board, BoardSize};

    fn session(number: u8, title: &str) -> Session {
        let log = include_str!("../../../../testdata/logs/v1-every-event/events.ndjson");
        let mut created: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        let mut session = created["data"]["session"].take();
        session["id"] = json!(format!("sess_019cadd4669a7e89847f69d1b85501{number:02x}"));
        session["title"] = json!(title);
        serde_json::from_value(session).unwrap()
    }

    fn record(session: &Session, seq: u64, name: &str, data: &Value) -> Record {
        let record = json!({"seq": seq, "ts": "2027-03-02T09:15:09.8Z", "session_id": session.id,
            "turn_id": "turn_019cadd4669a7e89847f69d1b85501ff", "type": name, "data": data});
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn those_that_wait_come_first_and_every_line_fits() {
        let mut board = Board::default();
        let sessions: Vec<Session> =
            (0..6).map(|n| session(n, &format!("{n} 漢字の題名 👩\u{200d}💻 {}", "x".repeat(80)))).collect();
        sessions.iter().for_each(|session| board.upsert(SessionView::new(session.clone(), 1)));
        let started = json!({"message_ids": [], "model": "demo:demo"});
        board.apply(&record(&sessions[3], 2, "turn_started", &started));
        board.apply(&record(&sessions[4], 2, "turn_started", &started));
        let rule = json!({"tool": "shell", "subject": "make"});
        let call = json!({"id": "call_1", "name": "shell", "input": {"command": "make"}});
        let asked = json!({"tool_call": call, "kind": "exec", "summary": "make\u{1b}[2J", "rule": rule});
        board.apply(&record(&sessions[4], 3, "approval_requested", &asked));
        let lines = board.draw(BoardSize { columns: 80, lines: 5 }, false);
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!(lines[0], "6 sessions: 1 running, 1 need approval");
        assert!(
            lines[1].starts_with("needs approval  sess_") && lines[2].starts_with("running         sess_"),
            "{lines:?}"
        );
        assert!(lines[4].starts_with("and 3 more"), "{lines:?}");
        assert!(lines.iter().all(|line| line.width() <= 80 && !line.contains('\u{1b}')), "{lines:?}");
        for lines in 0..4 {
            assert!(board.draw(BoardSize { columns: 10, lines }, false).len() <= lines.max(1));
        }
    }

    #[test]
    fn a_board_stays_small() {
        let mut board = Board::default();
        let mut each = session(0, "x");
        for number in 0..700_u32 {
            each.id = format!("sess_019cadd4669a7e89847f69d1{number:08x}").parse().unwrap();
            board.upsert(SessionView::new(each.clone(), 1));
        }
        assert!(board.rows.len() <= super::MAX_SESSIONS);
    }
}
