//! The schema of `session.db`, which other programs rely on.

use ostler_recorder::SessionViews;

use crate::session_builder::{cell, column, session_id};

/// What the format says, statement by statement.
const GOLDEN: [&str; 8] = [
    "CREATE TABLE schema_version (version INTEGER PRIMARY KEY)",
    "CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        name TEXT,
        tool_call_id TEXT,
        tool_calls TEXT,
        tokens INTEGER,
        timestamp REAL NOT NULL,
        in_context INTEGER DEFAULT 1,
        summary_of TEXT
    )",
    "CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        message_id INTEGER,
        event_type TEXT NOT NULL,
        data TEXT,
        timestamp REAL NOT NULL,
        FOREIGN KEY (message_id) REFERENCES messages(id)
    )",
    "CREATE INDEX idx_messages_in_context ON messages(in_context)",
    "CREATE INDEX idx_messages_role ON messages(role)",
    "CREATE INDEX idx_events_type ON events(event_type)",
    "CREATE INDEX idx_events_message ON events(message_id)",
];

#[test]
fn the_schema_is_the_documented_one_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    SessionViews::open(dir.path(), session_id()).unwrap().close().unwrap();
    let sql =
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid";
    let plain = |sql: &str| sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let found: Vec<String> = column(dir.path(), sql).iter().map(|sql| plain(sql)).collect();
    assert_eq!(found, GOLDEN.map(plain));
    assert_eq!(cell(dir.path(), "SELECT count(*) FROM schema_version"), 1_i64.into());
    assert_eq!(cell(dir.path(), "SELECT version FROM schema_version"), 1_i64.into());
}
