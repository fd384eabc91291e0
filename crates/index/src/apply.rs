//! What one write does to the tables. Transactions, and what becomes of a failed one, are the writer's.

use ostler_types::{SessionId, SessionStatus};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use crate::schema::record_rowid;
use crate::update::{IndexUpdate, IndexWrite, ModelUse};

/// Brings the tables up to date with one write. Doing it twice is the same as doing it once.
pub(crate) fn apply(connection: &Connection, write: &IndexWrite) -> rusqlite::Result<()> {
    match write {
        IndexWrite::Update(update) => apply_update(connection, update),
        IndexWrite::Remove(session) => remove(connection, *session),
    }
}

/// A session's row as far as an update depends on it.
#[derive(Default)]
struct SessionRow {
    num: i64,
    title: Option<String>,
    last_seq: i64,
    position: i64,
}

fn apply_update(connection: &Connection, update: &IndexUpdate) -> rusqlite::Result<()> {
    let last_seq = sql_seq(update.last_seq)?;
    let found = find(connection, update.session.id)?;
    if found.as_ref().is_some_and(|row| last_seq <= row.position) {
        return Ok(());
    }
    let known = found.is_some();
    let row = found.unwrap_or_default();
    // A hole before this update: its row is news all the same, but the position must not pass the hole.
    let position = if sql_seq(update.after_seq)? <= row.position { last_seq } else { row.position };
    let num = if last_seq > row.last_seq || !known {
        put_row(connection, update, last_seq, position)?
    } else {
        let sql = "UPDATE sessions SET position = ?2 WHERE num = ?1";
        connection.prepare_cached(sql)?.execute([row.num, position])?;
        row.num
    };
    if last_seq > row.last_seq && row.title != update.session.title {
        put_title(connection, num, update.session.title.as_deref())?;
    }
    let news = |seq: u64| i64::try_from(seq).is_ok_and(|seq| seq > row.position && seq <= last_seq);
    for text in update.texts.iter().filter(|text| news(text.seq)) {
        let Some(rowid) = record_rowid(num, text.seq).filter(|_| text.seq > 0) else { continue };
        // Replaced, because an update after a hole may have brought it already.
        let sql = "INSERT OR REPLACE INTO texts (rowid, text, message_id, role) VALUES (?1, ?2, ?3, ?4)";
        connection.prepare_cached(sql)?.execute(params![
            rowid,
            text.text,
            text.message_id.to_string(),
            text.role.as_str()
        ])?;
    }
    for used in update.uses.iter().filter(|used| news(used.seq)) {
        put_use(connection, num, used)?;
    }
    Ok(())
}

fn find(connection: &Connection, session: SessionId) -> rusqlite::Result<Option<SessionRow>> {
    connection
        .prepare_cached("SELECT num, title, last_seq, position FROM sessions WHERE id = ?1")?
        .query_row([session.to_string()], |row| {
            Ok(SessionRow {
                num: row.get(0)?,
                title: row.get(1)?,
                last_seq: row.get(2)?,
                position: row.get(3)?,
            })
        })
        .optional()
}

/// Makes or replaces the row of a session, and returns its number.
fn put_row(
    connection: &Connection,
    update: &IndexUpdate,
    last_seq: i64,
    position: i64,
) -> rusqlite::Result<i64> {
    let session = &update.session;
    let json = serde_json::to_string(session)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, updated_at, archived, pinned, status, workspace, parent, name, idempotency_key,
                 title, running_turn, last_seq, position, session)
             VALUES (:id, :updated_at, :archived, :pinned, :status, :workspace, :parent, :name, :key,
                 :title, :running_turn, :last_seq, :position, :session)
             ON CONFLICT (id) DO UPDATE SET updated_at = :updated_at, archived = :archived, pinned = :pinned,
                 status = :status, workspace = :workspace, parent = :parent, name = :name, idempotency_key = :key,
                 title = :title, running_turn = :running_turn, last_seq = :last_seq, position = :position, session = :session
             RETURNING num",
        )?
        .query_row(
            named_params! {
                ":id": session.id.to_string(),
                ":updated_at": session.updated_at.as_microsecond(),
                ":archived": session.archived,
                ":pinned": session.pinned,
                ":status": session.status.as_str(),
                ":workspace": session.workspace_key(),
                ":parent": session.parent_session_id.map(|parent| parent.to_string()),
                ":name": session.name.as_ref().filter(|_| session.status != SessionStatus::Completed),
                ":key": session.idempotency_key,
                ":title": session.title,
                ":running_turn": update.running_turn_id.map(|turn| turn.to_string()),
                ":last_seq": last_seq,
                ":position": position,
                ":session": json,
            },
            |row| row.get(0),
        )
}

fn put_title(connection: &Connection, num: i64, title: Option<&str>) -> rusqlite::Result<()> {
    let rowid = record_rowid(num, 0);
    let sql = "INSERT OR REPLACE INTO texts (rowid, text) VALUES (?1, ?2)";
    match title {
        Some(title) => connection.prepare_cached(sql)?.execute(params![rowid, title])?,
        None => connection.prepare_cached("DELETE FROM texts WHERE rowid = ?1")?.execute([rowid])?,
    };
    Ok(())
}

fn put_use(connection: &Connection, num: i64, used: &ModelUse) -> rusqlite::Result<()> {
    let Some(place) = record_rowid(num, used.seq) else { return Ok(()) };
    let usage = &used.usage;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO uses (at, place, model, input_tokens, output_tokens, cached_tokens,
                 cache_write_tokens, reasoning_tokens, cost)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            used.at.as_microsecond(),
            place,
            used.model,
            saturating_count(usage.input_tokens),
            saturating_count(usage.output_tokens),
            saturating_count(usage.cached_tokens),
            saturating_count(usage.cache_write_tokens),
            saturating_count(usage.reasoning_tokens),
            usage.cost_usd.map(|cost| saturating_count(cost.nanos())),
        ])?;
    Ok(())
}

fn remove(connection: &Connection, session: SessionId) -> rusqlite::Result<()> {
    let Some(row) = find(connection, session)? else { return Ok(()) };
    let places = [record_rowid(row.num, 0), record_rowid(row.num + 1, 0)];
    connection.prepare_cached("DELETE FROM texts WHERE rowid >= ?1 AND rowid < ?2")?.execute(places)?;
    connection.prepare_cached("DELETE FROM uses WHERE place >= ?1 AND place < ?2")?.execute(places)?;
    connection.prepare_cached("DELETE FROM sessions WHERE num = ?1")?.execute([row.num])?;
    Ok(())
}

fn sql_seq(seq: u64) -> rusqlite::Result<i64> {
    i64::try_from(seq).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// A number as large as there is room for: a provider that counts nonsense must not hold up the rest.
fn saturating_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
