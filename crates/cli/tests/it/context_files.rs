//! The files that are kept of a conversation: their schema, their names, and that what nobody asked for is not
//! there.
//!
//! | what | proven by |
//! | --- | --- |
//! | the tables and indexes | `the_database_has_the_documented_schema_to_the_statement` |
//! | names of logs, folders of children | `a_session_and_those_that_it_starts_have_folders_and_names` |
//! | streams on and off | `a_stream_that_nobody_asked_for_leaves_no_file` |
//! | raw lines, and nobody else's traffic in them | `raw::sessions_that_stream_at_once_keep_only_their_own_traffic`, and the test of streams |
//! | `--log-dir` | `branch::readable_files_lie_where_they_were_asked_for`; `log_dir` over HTTP in the test of streams |
//! | secrets in raw logs | `canary::no_key_is_kept_or_shown` |

use std::path::Path;

use ostler_api_types::{CreateMode, CreateSession};
use ostler_types::SessionId;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::context_checks::{assert_views, folder, rows};
use crate::scripted::{ScriptedDaemon, call, policy_without_approvals, prompt};

/// A statement with single blanks, and none beside brackets and commas.
fn plain(sql: &str) -> String {
    let words = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    ["(", ")", ","]
        .iter()
        .fold(words, |sql, sign| sql.replace(&format!(" {sign}"), sign).replace(&format!("{sign} "), sign))
}

fn metadata(folder: &Path, key: &str) -> Option<String> {
    let connection = Connection::open(folder.join("session.db")).unwrap();
    rows(&connection, &format!("SELECT value FROM metadata WHERE key = '{key}'")).pop()
}

/// Fails unless it is a date, a time, this mode and the end of the session's id.
fn assert_log_id(log_id: &str, mode: &str, id: SessionId) {
    let [date, time, found, end] = log_id.split('_').collect::<Vec<_>>().try_into().unwrap();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let [year, month, day] = date.split('-').collect::<Vec<_>>().try_into().unwrap();
    assert_eq!([year, month, day, time].map(str::len), [4, 2, 2, 6], "{log_id}");
    assert!([year, month, day, time].into_iter().all(digits), "{log_id}");
    assert_eq!(found, mode, "{log_id}");
    assert!(end.len() == 6 && id.to_string().ends_with(end), "{log_id} of {id}");
}

#[tokio::test]
async fn the_database_has_the_documented_schema_to_the_statement() {
    let mut stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    stage.play(id, &[json!("hello")]).await;
    stage.stop();
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/session-files.md"));
    let page = page.unwrap();
    let (_, from) = page.split_once("```sql\n").unwrap();
    let (schema, _) = from.split_once("```").unwrap();
    let mut documented: Vec<String> =
        schema.split(';').map(plain).filter(|statement| !statement.is_empty()).collect();
    let connection = Connection::open(folder(&stage, id).join("session.db")).unwrap();
    let mut found: Vec<String> =
        rows(&connection, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'");
    found.iter_mut().for_each(|sql| *sql = plain(sql));
    documented.sort();
    found.sort();
    assert_eq!(found, documented);
    assert_eq!(found.len(), 8, "four tables and four indexes");
    assert_eq!(rows(&connection, "SELECT version FROM schema_version"), ["1"]);
    assert_eq!(rows(&connection, "PRAGMA integrity_check"), ["ok"]);
}

#[tokio::test]
async fn a_session_and_those_that_it_starts_have_folders_and_names() {
    let mut stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    let task = json!({"description": "greet", "prompt": prompt(&[json!("hello from below")])});
    let turn = stage.play(id, &[call("task", task)]).await;
    let child: SessionId = turn.all("subagent_started")[0]["session_id"].as_str().unwrap().parse().unwrap();
    stage.stop();
    let own = folder(&stage, id);
    assert_log_id(&metadata(&own, "log_id").unwrap(), "serve", id);
    let hex = child.to_string();
    let below = own.join(format!("subagent_{}", &hex[hex.len() - 6..]));
    let listed =
        std::fs::read_dir(&own).unwrap().map(|found| found.unwrap().file_name().into_string().unwrap());
    assert_eq!(listed.filter(|name| name.starts_with("subagent_")).count(), 1);
    for file in ["session.db", "context.md", "events.ndjson", "session.json", "transcript.jsonl"] {
        assert!(below.join(file).is_file(), "{file}");
    }
    assert_log_id(&metadata(&below, "log_id").unwrap(), "agent", child);
    assert_eq!(metadata(&below, "parent_id"), Some(id.to_string()));
    assert_eq!(metadata(&below, "session_id"), Some(hex));
    let page = std::fs::read_to_string(below.join("context.md")).unwrap();
    assert!(page.starts_with("# Session Log") && page.contains("hello from below"), "{page}");
    assert_views(&own);
    assert_views(&below);
}

#[tokio::test]
async fn a_stream_that_nobody_asked_for_leaves_no_file() {
    let mut stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "one\n");
    let workspace_path = stage.work.to_str().unwrap().to_owned();
    let new = CreateSession {
        workspace_path,
        policy: Some(policy_without_approvals().into()),
        ..CreateSession::default()
    };
    let steps = [call("read_file", json!({"path": "a.txt"})), json!("read")];
    let plain = stage.client.create_session(&new).await.unwrap();
    let raw =
        stage.client.create_session(&CreateSession { raw_log: Some(true), ..new.clone() }).await.unwrap();
    let logs = stage.data.parent().unwrap().join("logs");
    std::fs::create_dir(&logs).unwrap();
    let elsewhere = CreateSession {
        verbose_log: Some(true),
        log_dir: Some(logs.to_str().unwrap().to_owned()),
        mode: Some(CreateMode::Repl),
        ..new
    };
    let verbose = stage.client.create_session(&elsewhere).await.unwrap();
    for id in [plain, raw, verbose] {
        stage.play(id, &steps).await;
    }
    stage.stop();
    let kept = |folder: &Path, name: &str| folder.join(name).is_file();
    let all = ["session.db", "context.md", "transcript.jsonl", "verbose.md", "raw.jsonl"];
    let of = |folder: &Path| all.map(|name| kept(folder, name));
    assert_eq!(of(&folder(&stage, plain)), [true, true, true, false, false]);
    assert_eq!(of(&folder(&stage, raw)), [true, true, true, false, true]);
    let [found] = std::fs::read_dir(&logs).unwrap().collect::<Vec<_>>().try_into().unwrap();
    let found = found.unwrap();
    assert_log_id(&found.file_name().into_string().unwrap(), "repl", verbose);
    assert_eq!(of(&found.path()), [true, true, true, true, false]);
    let facts = |folder: &Path| {
        let connection = Connection::open(folder.join("session.db")).unwrap();
        rows(&connection, "SELECT DISTINCT event_type FROM events ORDER BY event_type")
    };
    assert!(facts(&folder(&stage, plain)).is_empty() && facts(&folder(&stage, raw)).is_empty());
    assert!(facts(&found.path()).contains(&"timing".to_owned()), "{:?}", facts(&found.path()));

    let lines = std::fs::read_to_string(folder(&stage, raw).join("raw.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!((count("request"), count("response")), (2, 2));
    assert!(
        count("stream_chunk") >= 4
            && count("request") + count("response") + count("stream_chunk") == lines.len()
    );
    assert!(lines.iter().all(|line| !line["timestamp"].is_null()), "{lines:?}");
    assert!(lines.iter().any(|line| line.to_string().contains("a.txt")));
}
