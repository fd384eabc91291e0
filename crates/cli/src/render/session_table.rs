//! The table of `ostler sessions`, and the words for the states of sessions. Pure.

use jiff::Timestamp;
use ostler_types::{Cost, Session, SessionStatus, in_one_line};
use unicode_width::UnicodeWidthStr;

use super::formatting::{age, cut, money, painted};
use super::style::{Paint, Style};

/// Columns of a project, a model and a title at most, where the table is cut to a terminal.
const MAX_PROJECT_COLUMNS: usize = 16;
const MAX_MODEL_COLUMNS: usize = 24;
/// Columns that a title has at least.
const MIN_TITLE_COLUMNS: usize = 12;
/// Digits of an id at least.
const MIN_ID_DIGITS: usize = 10;
/// Characters of a title that are looked at.
const MAX_TITLE_CHARS: usize = 200;

/// The state of a session in one word, those first that need attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionState {
    /// A tool call waits for an answer.
    NeedsApproval,
    /// A turn is running.
    Running,
    /// The last turn failed.
    Failed,
    /// Nothing happens until somebody sends a message.
    Idle,
    /// It takes no more messages.
    Closed,
}

impl SessionState {
    /// The state of a session, of which is known whether a turn runs.
    pub fn new(status: SessionStatus, is_running: bool) -> SessionState {
        match status {
            SessionStatus::WaitingApproval => SessionState::NeedsApproval,
            SessionStatus::Completed => SessionState::Closed,
            SessionStatus::Active | SessionStatus::Canceled | SessionStatus::Failed if is_running => {
                SessionState::Running
            }
            SessionStatus::Failed => SessionState::Failed,
            SessionStatus::Active | SessionStatus::Canceled => SessionState::Idle,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionState::NeedsApproval => "needs approval",
            SessionState::Running => "running",
            SessionState::Failed => "failed",
            SessionState::Idle => "idle",
            SessionState::Closed => "closed",
        }
    }

    pub(super) fn paint(self) -> Paint {
        match self {
            SessionState::NeedsApproval => Paint::Question,
            SessionState::Running => Paint::Tool,
            SessionState::Failed => Paint::Bad,
            SessionState::Idle => Paint::Plain,
            SessionState::Closed => Paint::Dim,
        }
    }
}

/// A session of the table.
#[derive(Debug)]
pub struct SessionRow {
    /// The session.
    pub session: Session,
    /// Its state.
    pub state: SessionState,
    /// The place that a search has found.
    pub snippet: Option<String>,
}

/// The table for a terminal of so many columns: a header, and lines that are numbered and cut.
pub fn session_table(rows: &[SessionRow], now: Timestamp, columns: usize, color: bool) -> String {
    let style = Style::new(color);
    let digits = id_digits(rows);
    let heads = ["#", "ID", "STATE", "AGE", "PROJECT", "MODEL", "COST"].map(str::to_owned);
    let cells: Vec<[String; 7]> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let id = row.session.id.to_string();
            [
                (at + 1).to_string(),
                id.trim_start_matches("sess_").chars().take(digits).collect(),
                row.state.as_str().to_owned(),
                age(now, row.session.updated_at),
                cut(&project(&row.session), MAX_PROJECT_COLUMNS),
                cut(&in_one_line(&row.session.model, MAX_TITLE_CHARS), MAX_MODEL_COLUMNS),
                cost(&row.session),
            ]
        })
        .collect();
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| cells.iter().chain([&heads]).map(|line| line[column].width()).max().unwrap_or(0))
        .collect();
    let line = |cells: &[String; 7]| -> String {
        cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}  ", " ".repeat(width - cell.width())))
            .collect()
    };
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let room = columns.saturating_sub(taken).max(MIN_TITLE_COLUMNS);
    let mut out = painted(style, Paint::Dim, format!("{}TITLE", line(&heads)).trim_end());
    out.push('\n');
    for (row, cells) in rows.iter().zip(&cells) {
        out += &painted(
            style,
            row.state.paint(),
            &format!("{}{}", line(cells), cut(&title(&row.session), room)),
        );
        out.push('\n');
        if let Some(snippet) = &row.snippet {
            let snippet = cut(&in_one_line(snippet, MAX_TITLE_CHARS), columns.saturating_sub(4));
            out += &painted(style, Paint::Dim, &format!("    {snippet}"));
            out.push('\n');
        }
    }
    out
}

/// A session in a line for a pipe: its whole id first, nothing cut, columns apart by two spaces.
pub fn session_line(row: &SessionRow) -> String {
    let session = &row.session;
    let at = session.updated_at.to_string();
    let at = at.get(..16).unwrap_or(&at).replace('T', " ");
    let (project, cost) = (project(session), cost(session));
    let cost = if cost.is_empty() { "-".to_owned() } else { cost };
    let state = row.state.as_str();
    format!("{}  {state:<14}  {at}  {project}  {}  {cost}  {}", session.id, session.model, title(session))
}

/// The title of a session, on one line.
pub fn title(session: &Session) -> String {
    let title = session.title.as_deref().or(session.name.as_deref()).unwrap_or("(no title)");
    in_one_line(title, MAX_TITLE_CHARS)
}

fn project(session: &Session) -> String {
    let path = session.workspace_path.trim_end_matches('/');
    in_one_line(path.rsplit('/').next().unwrap_or(path), MAX_TITLE_CHARS)
}

fn cost(session: &Session) -> String {
    let cost = session.usage.cost_usd.filter(|cost| *cost > Cost::default());
    cost.map(money).unwrap_or_default()
}

/// As many digits of the ids as tell them apart.
fn id_digits(rows: &[SessionRow]) -> usize {
    let mut ids: Vec<String> =
        rows.iter().map(|row| row.session.id.to_string().trim_start_matches("sess_").to_owned()).collect();
    ids.sort();
    let shared = |pair: &[String]| {
        pair[0].bytes().zip(pair[1].bytes()).take_while(|(one, other)| one == other).count()
    };
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(MIN_ID_DIGITS)
}

#[cfg(test)]
mod tests {
    use ostler_types::{Session, SessionStatus};
    use serde_json::{Value, json};
    use unicode_width::UnicodeWidthStr;

    use super::{SessionRow, SessionState, session_line, session_table};

    fn row(number: u32, title: &str, state: SessionState) -> SessionRow {
        let log = include_str!("../../../../testdata/logs/v1-every-event/events.ndjson");
        let mut created: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        let mut session = created["data"]["session"].take();
        session["id"] = json!(format!("sess_019cadd4669a{number:020x}"));
        session["title"] = json!(title);
        session["workspace_path"] = json!("/home/me/shop");
        let session: Session = serde_json::from_value(session).unwrap();
        SessionRow { session, state, snippet: None }
    }

    #[test]
    fn states_have_the_same_words_everywhere() {
        let state = |status, running| SessionState::new(status, running).as_str();
        assert_eq!(state(SessionStatus::Active, true), "running");
        assert_eq!(state(SessionStatus::Active, false), "idle");
        assert_eq!(state(SessionStatus::Canceled, false), "idle");
        assert_eq!(state(SessionStatus::WaitingApproval, true), "needs approval");
        assert_eq!(state(SessionStatus::Completed, false), "closed");
    }

    #[test]
    fn a_table_is_numbered_and_every_line_fits() {
        let rows = [
            row(1, &format!("漢字 {}", "x".repeat(200)), SessionState::NeedsApproval),
            row(2, "two\u{1b}[2J\nlines", SessionState::Idle),
        ];
        let now = rows[0].session.updated_at + jiff::SignedDuration::from_mins(90);
        let text = session_table(&rows, now, 100, false);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("#  ID") && lines[0].ends_with("TITLE"), "{text}");
        assert!(
            lines[1].starts_with("1  019cadd4669a0") && lines[1].contains("needs approval  1h"),
            "{text}"
        );
        assert!(lines[1].contains("shop") && lines[1].ends_with('…'), "{text}");
        assert!(lines.len() == 3 && lines.iter().all(|line| line.width() <= 100), "{text}");
        let ids: Vec<&str> = lines[1..].iter().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
        assert_ne!(ids[0], ids[1], "short ids differ");
        let line = session_line(&rows[1]);
        assert!(line.starts_with("sess_019cadd4669a") && line.contains("  idle  "), "{line}");
    }
}
