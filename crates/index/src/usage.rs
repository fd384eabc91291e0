//! Usage: what the answers of models took, summed up by day, model, session or workspace.
//!
//! The rows are read in the order of their time, or of one session, and summed up here rather than in SQL:
//! SQLite would keep every row in memory to group them, and fails on a sum that is too large. What is held
//! is one sum per group, of which a session's is the smallest.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hash;

use jiff::Timestamp;
use jiff::tz::Offset;
use ostler_types::{Cost, SessionId, Usage};
use rusqlite::types::{FromSql, Value};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::IndexError;
use crate::schema::{SEQ_BITS, record_rowid};

/// Rows of a report, at most.
const MAX_ROWS: usize = 1000;
/// Microseconds in a minute, in which offsets are given.
const MINUTE: i64 = 60_000_000;
/// Microseconds in a day.
const DAY: i64 = 24 * 60 * MINUTE;
/// Minutes that a clock on the wall can be away from UTC, at most.
const MAX_OFFSET: i32 = 18 * 60;

/// Which uses of models to sum up, and how. Everything given must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    /// What a row stands for.
    pub by: UsageGrouping,
    /// Only what was recorded at this time or later.
    pub from: Option<Timestamp>,
    /// Only what was recorded before this time.
    pub to: Option<Timestamp>,
    /// Only what this session used.
    pub session: Option<SessionId>,
    /// Only what was used in this directory, exactly.
    pub workspace: Option<String>,
    /// Only what this model did, as `provider:model`.
    pub model: Option<String>,
    /// How far ahead of UTC the asker's clock is, in minutes: it says when a day begins. At most 18 hours
    /// in either direction.
    pub utc_offset_minutes: i32,
}

/// What a row of a report stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageGrouping {
    /// A day; its key is the date.
    Day,
    /// A model; its key is the full name.
    Model,
    /// A session; its key is the id.
    Session,
    /// A workspace; its key is the path.
    Workspace,
    /// Everything; its key is `total`.
    Total,
}

/// What was used.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageReport {
    /// At most 1,000 rows: the newest days first, of all else the dearest first.
    pub rows: Vec<UsageGroup>,
    /// How many more rows there would have been.
    pub left_out: u64,
    /// Everything that the query is about, with what was left out.
    pub total: UsageTotal,
}

/// What was used by one day, model, session or workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageGroup {
    /// Which one.
    pub key: String,
    /// What it used.
    pub sum: UsageTotal,
}

/// What some answers took together. A sum that has no room for more stays at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct UsageTotal {
    /// How many answers.
    pub steps: u64,
    /// Their tokens, and what they cost as far as prices are known.
    pub usage: Usage,
    /// How many of them have no price, so that the cost is at least what it says.
    pub unpriced_steps: u64,
}

impl UsageQuery {
    /// Everything that was ever used, with days that begin as they do in UTC.
    pub fn new(by: UsageGrouping) -> UsageQuery {
        let (from, to, session, workspace, model) = (None, None, None, None, None);
        UsageQuery { by, from, to, session, workspace, model, utc_offset_minutes: 0 }
    }

    /// The filter as SQL, and what its question marks stand for. `places` is where the session's uses are.
    fn conditions(&self, places: Option<[i64; 2]>) -> (String, Vec<Value>) {
        let mut sql = "true".to_owned();
        let mut values = Vec::new();
        let mut add = |condition: &str, value: Option<Value>| {
            if let Some(value) = value {
                sql += condition;
                values.push(value);
            }
        };
        // The plus keeps SQLite from walking the time of all sessions for the sake of one.
        let (after, before) = match places {
            Some(_) => (" AND +at >= ?", " AND +at < ?"),
            None => (" AND at >= ?", " AND at < ?"),
        };
        add(after, self.from.map(|from| from.as_microsecond().into()));
        add(before, self.to.map(|to| to.as_microsecond().into()));
        add(" AND place >= ?", places.map(|[first, _]| first.into()));
        add(" AND place < ?", places.map(|[_, end]| end.into()));
        add(" AND model = ?", self.model.clone().map(Value::from));
        let within = format!(" AND place >> {SEQ_BITS} IN (SELECT num FROM sessions WHERE workspace = ?)");
        add(&within, self.workspace.clone().map(Value::from));
        (sql, values)
    }
}

impl UsageTotal {
    fn add(&mut self, other: UsageTotal) {
        self.steps = self.steps.saturating_add(other.steps);
        self.usage += other.usage;
        self.unpriced_steps = self.unpriced_steps.saturating_add(other.unpriced_steps);
    }

    /// Dearer ones come first; without prices, those with more tokens.
    fn by_cost(&self, other: &UsageTotal) -> Ordering {
        let tokens =
            |sum: &UsageTotal| u128::from(sum.usage.input_tokens) + u128::from(sum.usage.output_tokens);
        let worth = |sum: &UsageTotal| (sum.usage.cost_usd, tokens(sum), sum.steps);
        worth(other).cmp(&worth(self))
    }
}

/// Answers a query.
pub(crate) fn report(connection: &Connection, query: &UsageQuery) -> Result<UsageReport, IndexError> {
    let num = format!("place >> {SEQ_BITS}");
    match query.by {
        UsageGrouping::Day => {
            let offset = i64::from(query.utc_offset_minutes.clamp(-MAX_OFFSET, MAX_OFFSET)) * MINUTE;
            let days = gather(connection, query, "at", |at: i64| (at + offset).div_euclid(DAY))?;
            top_groups(days, |(a, _), (b, _)| b.cmp(a), |day| Ok(date(*day)))
        }
        UsageGrouping::Model => {
            let models = gather(connection, query, "model", |model: String| model)?;
            top_groups(models, by_cost_then_key, |model| Ok(model.clone()))
        }
        UsageGrouping::Session => {
            let sessions = gather(connection, query, &num, |num: i64| num)?;
            let mut report =
                top_groups(sessions, by_cost_then_key, |num| session_column(connection, "id", *num))?;
            // A session's number depends on how the index came to be, its id does not.
            report.rows.sort_by(|a, b| a.sum.by_cost(&b.sum).then_with(|| a.key.cmp(&b.key)));
            Ok(report)
        }
        UsageGrouping::Workspace => {
            let mut workspaces: HashMap<String, UsageTotal> = HashMap::new();
            for (num, sum) in gather(connection, query, &num, |num: i64| num)? {
                workspaces.entry(session_column(connection, "workspace", num)?).or_default().add(sum);
            }
            top_groups(workspaces, by_cost_then_key, |workspace| Ok(workspace.clone()))
        }
        UsageGrouping::Total => {
            let total = gather(connection, query, "0", |zero: i64| zero)?;
            top_groups(total, by_cost_then_key, |_| Ok("total".to_owned()))
        }
    }
}

/// Sums up every use that passes the filter, by the group that its key column is in.
fn gather<C: FromSql, K: Eq + Hash>(
    connection: &Connection,
    query: &UsageQuery,
    column: &str,
    group: impl Fn(C) -> K,
) -> Result<HashMap<K, UsageTotal>, IndexError> {
    let mut sums: HashMap<K, UsageTotal> = HashMap::new();
    let places = match query.session {
        None => None,
        Some(session) => match session_places(connection, session)? {
            Some(places) => Some(places),
            None => return Ok(sums),
        },
    };
    let (sql, values) = walk_sql(query, places, column);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        sums.entry(group(row.get(0)?)).or_default().add(row_total(row)?);
    }
    Ok(sums)
}

fn walk_sql(query: &UsageQuery, places: Option<[i64; 2]>, column: &str) -> (String, Vec<Value>) {
    let (conditions, values) = query.conditions(places);
    let sql = format!(
        "SELECT {column}, input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost
         FROM uses WHERE {conditions}"
    );
    (sql, values)
}

/// The sum of a row alone.
fn row_total(row: &Row<'_>) -> rusqlite::Result<UsageTotal> {
    let count = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let cost: Option<i64> = row.get(6)?;
    let usage = Usage {
        input_tokens: count(1)?,
        output_tokens: count(2)?,
        cached_tokens: count(3)?,
        cache_write_tokens: count(4)?,
        reasoning_tokens: count(5)?,
        cost_usd: cost.map(|nanos| Cost::from_nanos(nanos.cast_unsigned())),
    };
    Ok(UsageTotal { steps: 1, usage, unpriced_steps: u64::from(cost.is_none()) })
}

/// The first groups in this order, under their names, and the sum of all.
fn top_groups<K: Ord>(
    groups: HashMap<K, UsageTotal>,
    order: impl Fn(&(K, UsageTotal), &(K, UsageTotal)) -> Ordering,
    name: impl Fn(&K) -> Result<String, IndexError>,
) -> Result<UsageReport, IndexError> {
    let mut total = UsageTotal::default();
    let mut groups: Vec<(K, UsageTotal)> = groups.into_iter().collect();
    for (_, sum) in &groups {
        total.add(*sum);
    }
    groups.sort_unstable_by(order);
    let left_out = groups.len().saturating_sub(MAX_ROWS) as u64;
    groups.truncate(MAX_ROWS);
    let row = |(key, sum): &(K, UsageTotal)| Ok(UsageGroup { key: name(key)?, sum: *sum });
    let rows = groups.iter().map(row).collect::<Result<_, IndexError>>()?;
    Ok(UsageReport { rows, left_out, total })
}

fn by_cost_then_key<K: Ord>((a, a_sum): &(K, UsageTotal), (b, b_sum): &(K, UsageTotal)) -> Ordering {
    a_sum.by_cost(b_sum).then_with(|| a.cmp(b))
}

/// The date of a day that is so many days after the epoch.
fn date(day: i64) -> String {
    let noon = day.saturating_mul(DAY).saturating_add(DAY / 2);
    let time =
        Timestamp::from_microsecond(noon).unwrap_or(if day < 0 { Timestamp::MIN } else { Timestamp::MAX });
    Offset::UTC.to_datetime(time).date().to_string()
}

fn session_places(connection: &Connection, session: SessionId) -> Result<Option<[i64; 2]>, IndexError> {
    let num: Option<i64> = connection
        .prepare_cached("SELECT num FROM sessions WHERE id = ?1")?
        .query_row([session.to_string()], |row| row.get(0))
        .optional()?;
    Ok(num.and_then(|num| Some([record_rowid(num, 0)?, record_rowid(num + 1, 0)?])))
}

fn session_column(connection: &Connection, column: &str, num: i64) -> Result<String, IndexError> {
    connection
        .prepare_cached(&format!("SELECT {column} FROM sessions WHERE num = ?1"))?
        .query_row([num], |row| row.get(0))
        .optional()?
        .ok_or_else(|| IndexError::Damaged(format!("there are uses of session {num}, which is not there")))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rusqlite::params_from_iter;

    use super::{UsageGrouping, UsageQuery, walk_sql};
    use crate::schema;

    fn plan(query: &UsageQuery, places: Option<[i64; 2]>) -> String {
        let dir = tempfile::tempdir().unwrap();
        let (connection, _) = schema::open(&dir.path().join("index.db")).unwrap();
        let (sql, values) = walk_sql(query, places, "at");
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let rows =
            statement.query_map(params_from_iter(values), |row| row.get::<_, String>("detail")).unwrap();
        rows.collect::<Result<Vec<_>, _>>().unwrap().join("; ")
    }

    #[test]
    fn a_span_of_time_is_one_range_and_so_is_a_session() {
        let times = [None, Some(Timestamp::from_second(1_000_000).unwrap())];
        for (from, to) in times.iter().flat_map(|from| times.iter().map(move |to| (*from, *to))) {
            for workspace in [None, Some("/w".to_owned())] {
                let query = UsageQuery { from, to, workspace, ..UsageQuery::new(UsageGrouping::Total) };
                let all = plan(&query, None);
                let kind = if from.is_some() || to.is_some() {
                    "SEARCH uses USING PRIMARY KEY"
                } else {
                    "SCAN uses"
                };
                assert!(all.starts_with(kind) && !all.contains("TEMP B-TREE"), "{query:?}: {all}");
                let one = plan(&query, Some([1 << 24, 2 << 24]));
                assert!(one.starts_with("SEARCH uses USING INDEX by_place"), "{query:?}: {one}");
            }
        }
    }
}
