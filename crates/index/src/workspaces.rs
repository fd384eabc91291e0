//! The workspaces of all sessions, for whoever must know where sessions work. Needs no running index.

use std::path::{Path, PathBuf};

use crate::schema;

/// Finds each workspace by the one before it, so that the time depends on how many there are and not on how many
/// sessions they have.
const WORKSPACES_SQL: &str = "
    WITH RECURSIVE each(workspace) AS (
        SELECT min(workspace) FROM sessions
        UNION ALL
        SELECT (SELECT min(workspace) FROM sessions WHERE workspace > each.workspace)
        FROM each WHERE each.workspace IS NOT NULL)
    SELECT workspace FROM each WHERE workspace IS NOT NULL";

/// The workspaces that the index at a path knows. One that cannot be read knows none.
pub fn workspaces(path: &Path) -> Vec<PathBuf> {
    let found = || -> Result<Vec<PathBuf>, rusqlite::Error> {
        let Ok(connection) = schema::open_reader(path) else { return Ok(Vec::new()) };
        let mut statement = connection.prepare(WORKSPACES_SQL)?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        rows.map(|row| row.map(PathBuf::from)).collect()
    };
    found().unwrap_or_default()
}
