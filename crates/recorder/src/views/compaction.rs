//! What a compaction does to rows: what the model is no longer shown goes out of context, and a row that takes
//! its place names it in `summary_of`.
//!
//! For the model, a summary stands before all that is still shown, and the notice that a call's output was left
//! out stands where the output stood. That is the order in which a conversation is read back: not by id.

use jiff::Timestamp;
use ostler_types::{Compaction, MessageId, ToolCallId, results};
use rusqlite::params;

use super::rows::{NewMessageRow, RowWriter};
use crate::plain_text::message_text;

/// Where a row stands in the context.
const CONTEXT_ORDER: &str = "CASE WHEN summary_of IS NULL THEN id \
                     WHEN role = 'tool' THEN CAST(summary_of AS INTEGER) ELSE -id END";

impl RowWriter<'_> {
    /// Marks what is no longer shown, and adds what is shown instead.
    pub(super) fn compact(
        &self,
        compaction: &Compaction,
        system_row: Option<i64>,
        at: Timestamp,
    ) -> Result<(), rusqlite::Error> {
        if let Some(summary) = &compaction.summary {
            let covered = self.rows_up_to(compaction.to_message_id, system_row)?;
            self.remove_from_context(&covered)?;
            let names: Vec<String> = covered.iter().map(i64::to_string).collect();
            let text = message_text(summary);
            let row = self.insert(&NewMessageRow {
                timestamp: summary.created_at,
                summary_of: Some(&names.join(",")),
                ..NewMessageRow::new(summary.role.as_str(), &text)
            })?;
            self.forget_removed()?;
            self.remember(summary.id, row)?;
        }
        compaction.pruned.iter().try_for_each(|call| self.prune(call, at))
    }

    /// The rows that are shown up to this message, the message included. None when it is not shown itself.
    fn rows_up_to(&self, last: MessageId, system_row: Option<i64>) -> Result<Vec<i64>, rusqlite::Error> {
        let Some(last) = self.row_of(last)? else { return Ok(Vec::new()) };
        let sql = format!(
            "SELECT id FROM messages WHERE in_context = 1 AND id IS NOT ?2 \
             AND {CONTEXT_ORDER} <= (SELECT {CONTEXT_ORDER} FROM messages WHERE id = ?1) ORDER BY id"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement.query_map(params![last, system_row], |row| row.get(0))?.collect()
    }

    fn remove_from_context(&self, rows: &[i64]) -> Result<(), rusqlite::Error> {
        let mut statement =
            self.connection.prepare_cached("UPDATE messages SET in_context = 0 WHERE id = ?1")?;
        rows.iter().try_for_each(|row| statement.execute([row]).map(drop))
    }

    fn forget_removed(&self) -> Result<(), rusqlite::Error> {
        self.connection.execute(
            "DELETE FROM metadata WHERE key GLOB 'message:*' \
             AND CAST(value AS INTEGER) IN (SELECT id FROM messages WHERE in_context = 0)",
            [],
        )?;
        Ok(())
    }

    /// Puts the notice that its output was left out in the place of a call's result.
    fn prune(&self, call: &ToolCallId, at: Timestamp) -> Result<(), rusqlite::Error> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, name FROM messages WHERE in_context = 1 AND role = 'tool' AND tool_call_id = ?1 \
             AND content <> ?2",
        )?;
        let rows: Vec<(i64, Option<String>)> = statement
            .query_map(params![call.0, results::PRUNED], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (row, name) in rows {
            self.remove_from_context(&[row])?;
            let notice = self.insert(&NewMessageRow {
                name: name.as_deref(),
                tool_call_id: Some(&call.0),
                timestamp: at,
                summary_of: Some(&row.to_string()),
                ..NewMessageRow::new("tool", results::PRUNED)
            })?;
            // Whoever names the message from now on means the notice.
            let mut renamed = self.connection.prepare_cached(
                "UPDATE metadata SET value = ?2 WHERE key GLOB 'message:*' AND CAST(value AS INTEGER) = ?1",
            )?;
            renamed.execute(params![row, notice.to_string()])?;
        }
        Ok(())
    }
}
