//! What the proofs about context have in common: the files of a session read from outside, and the rules that
//! every request to a model and every view of a log must keep.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ostler_client::ExportFormat;
use ostler_types::SessionId;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::process::binary;
use crate::scripted::ScriptedDaemon;

/// What a model is shown, in its order, as `docs/session-files.md` says it.
const SHOWN: &str = "SELECT id, role, content FROM messages WHERE in_context = 1 ORDER BY CASE \
    WHEN summary_of IS NULL THEN id WHEN role = 'tool' THEN CAST(summary_of AS INTEGER) ELSE -id END";

/// Where a session's files lie.
pub(crate) fn folder(stage: &ScriptedDaemon, id: SessionId) -> PathBuf {
    stage.data.join("sessions").join(id.to_string())
}

/// The records of a log, as they lie on the disk. A session that is not there yet has none, and a line that is being
/// written is not one.
pub(crate) fn records(folder: &Path) -> Vec<Value> {
    let log = std::fs::read_to_string(folder.join("events.ndjson")).unwrap_or_default();
    let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The records of this name.
pub(crate) fn named<'a>(records: &'a [Value], name: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == name).collect()
}

/// Waits until nothing of a session runs or waits, and everything that it asks is answered with yes.
pub(crate) async fn settle(stage: &ScriptedDaemon, id: SessionId) {
    for _ in 0..20_000 {
        let view = stage.client.session(id).await.unwrap();
        if view.running_turn_id.is_none() && view.queue.is_empty() {
            return;
        }
        for asked in view.pending_approvals {
            let body = json!({
                "turn_id": asked.turn_id, "tool_call_id": asked.tool_call_id, "action": "approve",
            });
            // The turn may have been canceled in the meantime.
            stage.request("POST", &format!("/v1/sessions/{}/approve", asked.session_id), &body).await;
        }
        tokio::task::yield_now().await;
    }
    let records = records(&folder(stage, id));
    panic!("{id} never comes to rest: {:#?}", &records[records.len().saturating_sub(10)..]);
}

/// The database of a session as it is now, in a file that nobody writes to.
pub(crate) async fn database(stage: &ScriptedDaemon, id: SessionId) -> (Connection, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut download = stage.client.download(id, ExportFormat::Sqlite).await.unwrap();
    while let Some(bytes) = download.next().await.unwrap() {
        std::io::Write::write_all(&mut file, &bytes).unwrap();
    }
    (Connection::open(file.path()).unwrap(), file)
}

/// The rows of a query, each as text with bars between its columns.
pub(crate) fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let text = |row: &rusqlite::Row<'_>| {
        let cells: Result<Vec<String>, _> = (0..columns)
            .map(|column| {
                row.get::<_, rusqlite::types::Value>(column).map(|value| match value {
                    rusqlite::types::Value::Null => "∅".to_owned(),
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Real(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    rusqlite::types::Value::Blob(bytes) => format!("{bytes:?}"),
                })
            })
            .collect();
        cells.map(|cells| cells.join("|"))
    };
    statement.query_map([], text).unwrap().collect::<Result<_, _>>().unwrap()
}

/// What the model is shown by the database: row, role and content, in its order, the session's own
/// instructions aside.
pub(crate) fn shown(connection: &Connection) -> Vec<(i64, String, String)> {
    let system: Option<i64> = connection
        .query_row("SELECT CAST(value AS INTEGER) FROM metadata WHERE key = 'system_row'", [], |row| {
            row.get(0)
        })
        .ok();
    let mut statement = connection.prepare(SHOWN).unwrap();
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let mut found: Vec<(i64, String, String)> = found.collect::<Result<_, _>>().unwrap();
    found.retain(|(id, ..)| Some(*id) != system);
    found
}

/// The texts of a request's messages, all in one.
pub(crate) fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Fails unless the calls of each answer in a request are followed by their results, and nothing else has any.
pub(crate) fn assert_paired(body: &Value) {
    let mut messages = body["messages"].as_array().unwrap().iter().peekable();
    while let Some(message) = messages.next() {
        assert_ne!(message["role"], "tool", "a result without a call: {message}");
        let ids = |calls: &Value| -> Vec<String> {
            let calls = calls.as_array().into_iter().flatten();
            calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect()
        };
        let mut called = ids(&message["tool_calls"]);
        let mut answered = Vec::new();
        while let Some(result) = messages.next_if(|next| next["role"] == "tool") {
            answered.push(result["tool_call_id"].as_str().unwrap().to_owned());
        }
        called.sort();
        answered.sort();
        assert_eq!(called, answered, "calls and results of {message}");
    }
}

/// Fails unless each turn of a log has one end, and each call one result.
pub(crate) fn assert_whole(records: &[Value]) {
    let ends = ["turn_completed", "turn_failed", "turn_canceled"];
    for started in named(records, "turn_started") {
        let of_turn = |record: &&Value| {
            record["turn_id"] == started["turn_id"] && ends.iter().any(|end| record["type"] == *end)
        };
        assert_eq!(records.iter().filter(of_turn).count(), 1, "the ends of {}", started["turn_id"]);
    }
    let mut calls: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for record in named(records, "model_output_completed") {
        for part in record["data"]["message"]["parts"].as_array().unwrap() {
            if part["type"] == "tool_call" {
                calls.entry(part["id"].to_string()).or_default().0 += 1;
            }
        }
    }
    for record in named(records, "tool_call_completed") {
        calls.entry(record["data"]["tool_call"]["id"].to_string()).or_default().1 += 1;
    }
    assert!(calls.values().all(|(called, answered)| called == answered), "{calls:?}");
}

/// What a log says that was said: who, and what, in order.
fn said(records: &[Value]) -> Vec<(String, String)> {
    let texts = |parts: &Value| {
        let parts = parts.as_array().unwrap().iter().filter(|part| part["type"] == "text");
        parts.map(|part| part["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
    };
    let said = |record: &Value| match record["type"].as_str().unwrap() {
        "message_added" | "model_output_completed" => {
            let message = &record["data"]["message"];
            Some((message["role"].as_str().unwrap().to_owned(), texts(&message["parts"])))
        }
        "tool_call_completed" => Some(("tool".to_owned(), texts(&record["data"]["tool_result"]["parts"]))),
        _ => None,
    };
    records.iter().filter_map(said).collect()
}

/// Fails unless `session.db`, `transcript.jsonl` and `context.md` say what the log says. Nobody may write to them.
pub(crate) fn assert_views(folder: &Path) {
    let records = records(folder);
    let said = said(&records);
    let connection = Connection::open(folder.join("session.db")).unwrap();
    let position = rows(&connection, "SELECT value FROM metadata WHERE key = 'position'");
    assert_eq!(position, [records.len().to_string()], "{}", folder.display());
    let mut statement = connection
        .prepare("SELECT role, content FROM messages WHERE summary_of IS NULL ORDER BY id")
        .unwrap();
    let stored = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let mut stored: Vec<(String, String)> = stored.collect::<Result<_, _>>().unwrap();
    if records[0]["data"]["session"]["system_prompt"].is_string() {
        stored.remove(0);
    }
    assert_eq!(stored, said, "session.db of {}", folder.display());
    let summaries =
        named(&records, "context_compacted").into_iter().filter(|it| !it["data"]["summary"].is_null());
    let stored = rows(&connection, "SELECT id FROM messages WHERE summary_of IS NOT NULL AND role <> 'tool'");
    assert_eq!(stored.len(), summaries.count());

    let transcript = std::fs::read_to_string(folder.join("transcript.jsonl")).unwrap_or_default();
    let lines: Vec<Value> = transcript.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let spoken: Vec<&(String, String)> = said.iter().filter(|(role, _)| role != "system").collect();
    assert_eq!(lines.len(), spoken.len(), "transcript.jsonl of {}", folder.display());
    for (line, (role, content)) in lines.iter().zip(spoken) {
        let role = if role == "tool" { "tool_result" } else { role };
        assert_eq!((line["role"].as_str(), line["content"].as_str()), (Some(role), Some(content.as_str())));
    }

    let page = std::fs::read_to_string(folder.join("context.md")).unwrap();
    let mut rest = page.as_str();
    for (role, content) in said {
        // A line stands for all of a text, which may be cut or fenced.
        let line = content.lines().map(str::trim_end).find(|line| !line.is_empty()).unwrap_or_default();
        let at = rest.find(line).unwrap_or_else(|| panic!("{role} {line:?} is not in its place in:\n{page}"));
        rest = &rest[at + line.len()..];
    }
}

/// All that the views of a folder say, but for how they were made.
pub(crate) fn views(folder: &Path) -> BTreeMap<String, String> {
    let connection = Connection::open(folder.join("session.db")).unwrap();
    let mut views = BTreeMap::new();
    for (name, sql) in [
        ("messages", "SELECT * FROM messages ORDER BY id"),
        ("events", "SELECT * FROM events ORDER BY id"),
        ("metadata", "SELECT * FROM metadata WHERE key <> 'written_in_boot' ORDER BY key"),
    ] {
        views.insert(name.to_owned(), rows(&connection, sql).join("\n"));
    }
    for name in ["context.md", "transcript.jsonl", "verbose.md"] {
        views.insert(name.to_owned(), std::fs::read_to_string(folder.join(name)).unwrap_or_default());
    }
    views
}

/// Has every view of a daemon that has ended made again.
pub(crate) fn rebuild(stage: &ScriptedDaemon) {
    let output = binary().args(["doctor", "--rebuild", "--data-dir"]).arg(&stage.data).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_checks_themselves_find_what_is_wrong() {
    let fails = |check: fn(&Value), value: Value| std::panic::catch_unwind(|| check(&value)).is_err();
    let call = json!({"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id});
    assert_paired(&json!({"messages": [call, result("b"), result("a"), {"role": "user"}]}));
    for messages in [
        json!([call, result("a")]),
        json!([call, result("a"), {"role": "user"}, result("b")]),
        json!([result("a")]),
        json!([call, result("a"), result("b"), result("b")]),
    ] {
        assert!(fails(assert_paired, json!({"messages": messages})), "{messages}");
    }
    let start = json!({"type": "turn_started", "turn_id": "t"});
    let end = json!({"type": "turn_completed", "turn_id": "t"});
    assert_whole(&[start.clone(), end.clone()]);
    let whole: fn(&Value) = |records| assert_whole(records.as_array().unwrap());
    assert!(fails(whole, json!([start])) && fails(whole, json!([start, end, end])));
    let answer = json!({"type": "tool_call_completed", "data": {"tool_call": {"id": "a"}}});
    assert!(fails(whole, json!([start, answer, end])));
}
