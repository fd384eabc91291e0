//! Lists: filters, order, pages.
//!
//! A page begins after the last row of the page before (its time and id), not after a number of rows: a
//! session that becomes active between two pages moves to the front and is not seen again, and no
//! other is skipped or seen twice.

use ostler_types::{MessageId, Role, Session, SessionId, SessionStatus, TurnId};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use crate::IndexError;
use crate::search::{self, SearchMatches};

/// Which sessions to list. Everything given must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFilter {
    /// How they stand.
    pub status: Option<SessionStatus>,
    /// The directory that they work in, exactly.
    pub workspace: Option<String>,
    /// Whether they are put away.
    pub archived: Option<bool>,
    /// Whether they are kept at the head of lists.
    pub pinned: Option<bool>,
    /// The session that started them.
    pub parent: Option<SessionId>,
    /// Only those that no other session started.
    pub top_level_only: bool,
    /// Words that a title or a message has, all of them in one text: `"…"` is a phrase, and the
    /// last word may be unfinished if it has two letters. Nothing in it is an error; without a word it is no filter.
    pub q: Option<String>,
    /// How many to return, from 1 to 200.
    pub limit: usize,
    /// Where to go on: the [`SessionListing::next_cursor`] of the page before.
    pub cursor: Option<String>,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionListing {
    /// The sessions, those with the newest activity first.
    pub sessions: Vec<IndexedSession>,
    /// Where the next page begins; none on the last one.
    pub next_cursor: Option<String>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedSession {
    /// The session.
    pub session: Session,
    /// The newest record that the index knows of.
    pub last_seq: u64,
    /// The turn that ran at that record, if one did.
    pub running_turn_id: Option<TurnId>,
    /// For a search: the newest match, with the text around it, in a line.
    pub snippet: Option<String>,
    /// For a search: the message that the snippet is from; none when it is from the title.
    pub source: Option<MatchedMessage>,
}

/// The message that a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchedMessage {
    /// The record that holds it.
    pub seq: u64,
    /// The message.
    pub message_id: MessageId,
    /// Who said it.
    pub role: Role,
}

impl Default for ListFilter {
    fn default() -> Self {
        let (status, workspace, archived, pinned) = (None, None, None, None);
        let (parent, q, cursor) = (None, None, None);
        ListFilter {
            status,
            workspace,
            archived,
            pinned,
            parent,
            top_level_only: false,
            q,
            limit: 50,
            cursor,
        }
    }
}

/// Where a row is in the order of all rows: when it was active, and its id.
type ListPosition = (i64, String);

/// A filter that has been checked.
pub(crate) struct CheckedFilter {
    filter: ListFilter,
    after: Option<ListPosition>,
    /// The search, in FTS5's language.
    expression: Option<String>,
    limit: usize,
}

impl CheckedFilter {
    pub(crate) fn new(filter: ListFilter) -> Result<CheckedFilter, IndexError> {
        let after = filter.cursor.as_deref().map(parse_cursor).transpose()?;
        let expression = filter.q.as_deref().and_then(search::expression);
        let limit = filter.limit.clamp(1, 200);
        Ok(CheckedFilter { filter, after, expression, limit })
    }

    /// The index that listings with this filter walk: it begins with the narrowest column of the filter, and
    /// has the others too.
    fn index(&self) -> &'static str {
        let ListFilter { status, workspace, archived, pinned, parent, top_level_only: top, .. } =
            &self.filter;
        if *pinned == Some(true) {
            return "by_pinned";
        }
        match (parent, workspace, status, archived) {
            (Some(_), _, _, _) => "by_parent",
            (None, Some(_), _, _) => "by_workspace",
            (None, None, Some(_), _) => "by_status",
            // Few are put away, and most are started by others: what is left is best found directly.
            (None, None, None, Some(false) | None) if *top => "by_top",
            (None, None, None, Some(_)) => "by_archived",
            (None, None, None, None) => "by_activity",
        }
    }

    /// The filter as SQL, and what its question marks stand for.
    fn conditions(&self) -> (String, Vec<Value>) {
        let ListFilter { status, workspace, archived, pinned, parent, top_level_only: top, .. } =
            &self.filter;
        let mut sql = if *top { "parent IS NULL" } else { "true" }.to_owned();
        let mut values = Vec::new();
        let mut add = |condition: &str, value: Option<Value>| {
            if let Some(value) = value {
                sql += condition;
                values.push(value);
            }
        };
        add(" AND parent = ?", parent.map(|parent| parent.to_string().into()));
        add(" AND workspace = ?", workspace.clone().map(Value::from));
        add(" AND status = ?", status.map(|status| status.as_str().to_owned().into()));
        add(" AND archived = ?", archived.map(Value::from));
        // Spelt out, since an index that only has the pinned ones is not taken for a question mark.
        sql += match pinned {
            Some(true) => " AND pinned = 1",
            Some(false) => " AND pinned = 0",
            None => "",
        };
        if let Some((updated_at, id)) = &self.after {
            sql += " AND (updated_at, id) < (?, ?)";
            values.extend([Value::from(*updated_at), Value::from(id.clone())]);
        }
        (sql, values)
    }
}

/// A row's number and place.
struct ListRow {
    num: i64,
    place: ListPosition,
}

impl ListRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<ListRow> {
        Ok(ListRow { num: row.get(0)?, place: (row.get(1)?, row.get(2)?) })
    }
}

/// Answers a listing.
pub(crate) fn list(connection: &Connection, page: &CheckedFilter) -> Result<SessionListing, IndexError> {
    let found =
        page.expression.as_deref().map(|expression| search::find(connection, expression)).transpose()?;
    // One more than is shown, to see whether there is another page.
    let mut keys = match &found {
        Some(found) if found.is_small() => sort_matches(connection, page, found)?,
        Some(_) | None => walk_in_order(connection, page, found.as_ref())?,
    };
    let more = keys.len() > page.limit;
    keys.truncate(page.limit);
    let next_cursor = keys.last().filter(|_| more).map(|key| cursor(&key.place));
    let mut sessions = keys.iter().map(|key| read(connection, key.num)).collect::<Result<Vec<_>, _>>()?;
    if let (Some(expression), Some(found)) = (&page.expression, &found) {
        let nums: Vec<i64> = keys.iter().map(|key| key.num).collect();
        for (at, snippet) in search::snippets(connection, expression, found, &nums)? {
            (sessions[at].snippet, sessions[at].source) = (Some(snippet.text), snippet.source);
        }
    }
    Ok(SessionListing { sessions, next_cursor })
}

/// Walks the sessions in order and stops when the page is full. The way when nothing is searched
/// for, or when so much was found that the page fills soon.
fn walk_in_order(
    connection: &Connection,
    page: &CheckedFilter,
    found: Option<&SearchMatches>,
) -> Result<Vec<ListRow>, IndexError> {
    let (sql, values) = walk_sql(page);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut keys = Vec::new();
    while keys.len() <= page.limit
        && let Some(row) = rows.next()?
    {
        if found.is_none_or(|found| row.get(0).is_ok_and(|num| found.newest_match(num).is_some())) {
            keys.push(ListRow::from_row(row)?);
        }
    }
    Ok(keys)
}

fn walk_sql(page: &CheckedFilter) -> (String, Vec<Value>) {
    let (conditions, values) = page.conditions();
    let index = page.index();
    let sql = format!(
        "SELECT num, updated_at, id FROM sessions INDEXED BY {index} WHERE {conditions}
         ORDER BY updated_at DESC, id DESC"
    );
    (sql, values)
}

/// Looks at each session that was found, and sorts. The way when those are few among many.
fn sort_matches(
    connection: &Connection,
    page: &CheckedFilter,
    found: &SearchMatches,
) -> Result<Vec<ListRow>, IndexError> {
    let (conditions, values) = page.conditions();
    let sql = format!("SELECT num, updated_at, id FROM sessions WHERE {conditions} AND num = ?");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut keys = Vec::new();
    for num in found.sessions() {
        let values = values.iter().cloned().chain([Value::from(num)]);
        let mut rows = statement.query(params_from_iter(values))?;
        if let Some(row) = rows.next()? {
            keys.push(ListRow::from_row(row)?);
        }
    }
    keys.sort_by(|a, b| b.place.cmp(&a.place));
    keys.truncate(page.limit + 1);
    Ok(keys)
}

fn read(connection: &Connection, num: i64) -> Result<IndexedSession, IndexError> {
    let sql = "SELECT session, last_seq, running_turn FROM sessions WHERE num = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let (json, last_seq, running): (String, i64, Option<String>) =
        statement.query_row([num], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let damaged = |error: String| IndexError::Damaged(format!("a session's row: {error}"));
    let session = serde_json::from_str(&json).map_err(|error| damaged(error.to_string()))?;
    let running_turn_id = running.map(|turn| turn.parse::<TurnId>()).transpose();
    let running_turn_id = running_turn_id.map_err(|error| damaged(error.to_string()))?;
    let last_seq = last_seq.cast_unsigned();
    Ok(IndexedSession { session, last_seq, running_turn_id, snippet: None, source: None })
}

/// A cursor is the time in 16 hex digits and the digits of the id; callers take it as it is.
fn cursor((updated_at, id): &ListPosition) -> String {
    format!("{:016x}{}", updated_at.cast_unsigned(), id.trim_start_matches(SessionId::PREFIX))
}

fn parse_cursor(cursor: &str) -> Result<ListPosition, IndexError> {
    let (time, digits) = cursor.split_at_checked(16).ok_or(IndexError::BadCursor)?;
    let exact = time.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let updated_at = u64::from_str_radix(time, 16).ok().filter(|_| exact).ok_or(IndexError::BadCursor)?;
    let id: SessionId =
        format!("{}{digits}", SessionId::PREFIX).parse().map_err(|_| IndexError::BadCursor)?;
    Ok((updated_at.cast_signed(), id.to_string()))
}

#[cfg(test)]
mod tests {
    use rusqlite::params_from_iter;

    use super::{CheckedFilter, ListFilter, SessionStatus, cursor, parse_cursor, walk_sql};
    use crate::{IndexError, schema};

    /// Every combination of filters and cursor walks one index, and neither sorts nor reads the table.
    #[test]
    fn no_listing_scans_the_table_or_sorts() {
        let dir = tempfile::tempdir().unwrap();
        let (connection, _) = schema::open(&dir.path().join("index.db")).unwrap();
        let place = (5, "sess_0190f3c4a5b67c8d9e0f112233445566".to_owned());
        for bits in 0..256u32 {
            let has = |bit: u32| bits & (1 << bit) != 0;
            let filter = ListFilter {
                status: has(0).then_some(SessionStatus::Active),
                workspace: has(1).then(|| "/w".to_owned()),
                archived: has(2).then_some(false),
                parent: has(3).then(|| place.1.parse().unwrap()),
                cursor: has(4).then(|| cursor(&place)),
                top_level_only: has(5),
                pinned: has(6).then_some(has(7)),
                ..ListFilter::default()
            };
            // Those that no other started have an index of their own, which is read from its end.
            let pinned = has(6) && has(7);
            let filtered = has(0) || has(1) || has(3) || has(4) || pinned || (has(2) && !has(5));
            let (sql, values) = walk_sql(&CheckedFilter::new(filter.clone()).unwrap());
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let plan: Vec<String> = statement
                .query_map(params_from_iter(values), |row| row.get("detail"))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            assert_eq!(plan.len(), 1, "{filter:?}: {plan:?}");
            assert!(plan[0].contains("USING COVERING INDEX"), "{filter:?}: {plan:?}");
            assert_eq!(plan[0].starts_with("SEARCH"), filtered, "{filter:?}: {plan:?}");
            assert_eq!(plan[0].contains("(updated_at,id)<"), has(4), "{filter:?}: {plan:?}");
        }
    }

    #[test]
    fn a_cursor_has_one_spelling() {
        let good = (-7, "sess_0190f3c4a5b67c8d9e0f112233445566".to_owned());
        assert_eq!(parse_cursor(&cursor(&good)), Ok(good.clone()));
        let text = cursor(&good);
        let upper = text.to_uppercase();
        let sign = format!("+{}", &text[1..]);
        let wide = format!("{text}0");
        for bad in ["", "x", "ä", &upper, &sign, &wide, &text[1..], "éééééééééééééééééééééééé"]
        {
            assert_eq!(parse_cursor(bad), Err(IndexError::BadCursor), "{bad}");
        }
    }
}
