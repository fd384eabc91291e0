//! What each view says of a session.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use ostler_recorder::{SessionViews, child_folder, link_child, log_folder, log_id, rebuild};
use ostler_types::{NewSession, SessionId, results};
use serde_json::json;
use uuid::Uuid;

use crate::session_builder::{SessionBuilder, at, cell, column, session_id, view_contents};
use crate::{mode, names};

fn written(story: &SessionBuilder) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records).unwrap();
    assert_eq!(views.position(), story.records.len() as u64);
    views.close().unwrap();
    dir
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn context_md_is_the_conversation_for_people() {
    let dir = written(&SessionBuilder::eventful(false));
    let expected = r#"# Session Log

Started: 2026-03-04 05:06:07

---

## System

Be brief.

---

## User [05:06:09]

Fix `main.rs`, please

## Assistant [05:06:11]

Looking.

### Tool Calls

**read_file**
```json
{
  "path": "main.rs"
}
```

**shell**
```json
{
  "command": "cargo test"
}
```

### Tool Result: read_file (success)

````
fn main() {
    println!("```");
}
````

### Tool Result: shell (error)

```
exit code 1
```

## Assistant [05:06:16]

Done: **one** change.

## User [05:06:18]

Thanks

> Turn failed: the provider is gone

"#;
    assert_eq!(read(dir.path(), "context.md"), expected);
    assert_eq!(names(dir.path()), ["context.md", "session.db", "transcript.jsonl"], "no verbose.md unasked");
    for name in names(dir.path()) {
        assert_eq!(mode(&dir.path().join(&name)), 0o600, "{name}");
    }
}

#[test]
fn long_output_is_cut_for_people_only() {
    let mut story = SessionBuilder::new();
    story.user("go");
    let calls = story.answer("", "", &[("shell", json!({}))]);
    let output = "ü".repeat(2001);
    story.result(&calls[0], true, &output);
    let dir = written(&story);
    let context = read(dir.path(), "context.md");
    assert!(
        context.contains(&format!("\n{}\n… 1 more characters in session.db\n", "ü".repeat(2000))),
        "{context}"
    );
    assert!(!context.contains(&output));
    assert_eq!(cell(dir.path(), "SELECT content FROM messages WHERE role = 'tool'"), output.clone().into());
    assert!(read(dir.path(), "transcript.jsonl").contains(&output));
}

#[test]
fn transcript_jsonl_has_a_line_for_each_who_spoke() {
    let dir = written(&SessionBuilder::eventful(false));
    let run = "00000000-0000-0000-0000-000000000066";
    let next = "00000000-0000-0000-0000-00000000006e";
    let expected = [
        format!(
            r#"{{"role":"user","content":"Fix `main.rs`, please\n","timestamp":1772600769089,"runId":"{run}"}}"#
        ),
        format!(r#"{{"role":"assistant","content":"Looking.","timestamp":1772600771089,"runId":"{run}"}}"#),
        format!(
            r#"{{"role":"tool_result","content":"fn main() {{\n    println!(\"```\");\n}}\n","timestamp":1772600773089,"runId":"{run}","toolName":"read_file"}}"#
        ),
        format!(
            r#"{{"role":"tool_result","content":"exit code 1","timestamp":1772600775089,"runId":"{run}","toolName":"shell"}}"#
        ),
        format!(
            r#"{{"role":"assistant","content":"Done: **one** change.","timestamp":1772600776089,"runId":"{run}"}}"#
        ),
        format!(r#"{{"role":"user","content":"Thanks","timestamp":1772600778089,"runId":"{next}"}}"#),
    ];
    let text = read(dir.path(), "transcript.jsonl");
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    assert!(text.ends_with('\n'));
}

#[test]
fn verbose_md_and_its_rows_tell_of_thinking_times_and_tokens() {
    let story = SessionBuilder::eventful(true);
    let dir = written(&story);
    let expected = "# Verbose Log

Started: 2026-03-04 05:06:08

---

### Thinking [05:06:11]

I should look first.

**Tokens** [05:06:11]: prompt=120, completion=34, total=154

**read_file** [05:06:13]: 12.0ms (tool_call_id=call_103, ok=true)

**shell** [05:06:15]: 12.0ms (tool_call_id=call_104, ok=false)

**Tokens** [05:06:16]: prompt=120, completion=34, total=154

**turn** [05:06:17]: 7000.0ms (turn_id=turn_00000000000000000000000000000066, outcome=completed)

**turn** [05:06:20]: 1000.0ms (turn_id=turn_0000000000000000000000000000006e, outcome=failed)

";
    assert_eq!(read(dir.path(), "verbose.md"), expected);
    assert_eq!(
        column(dir.path(), "SELECT event_type || ' ' || ifnull(message_id, '-') || ' ' || data FROM events"),
        [
            r#"thinking 2 {"content":"I should look first."}"#,
            r#"token_usage 2 {"prompt_tokens":120,"completion_tokens":34,"total_tokens":154}"#,
            r#"timing 3 {"operation":"read_file","duration_ms":12,"tool_call_id":"call_103","ok":true}"#,
            r#"timing 4 {"operation":"shell","duration_ms":12,"tool_call_id":"call_104","ok":false}"#,
            r#"token_usage 5 {"prompt_tokens":120,"completion_tokens":34,"total_tokens":154}"#,
            r#"timing - {"operation":"turn","duration_ms":7000,"turn_id":"turn_00000000000000000000000000000066","outcome":"completed"}"#,
            r#"timing - {"operation":"turn","duration_ms":1000,"turn_id":"turn_0000000000000000000000000000006e","outcome":"failed"}"#,
        ]
    );
}

#[test]
fn the_verbose_stream_begins_when_it_is_asked_for() {
    let mut story = SessionBuilder::new();
    story.user("one").answer("quiet thought", "1", &[]);
    let dir = written(&story);
    assert!(!dir.path().join("verbose.md").exists());
    assert_eq!(cell(dir.path(), "SELECT count(*) FROM events"), 0_i64.into());
    story.end_turn().set_verbose(true).user("two").answer("loud thought", "2", &[]);
    story.end_turn().set_verbose(false).user("three").answer("quiet again", "3", &[]);
    let dir = written(&story);
    let verbose = read(dir.path(), "verbose.md");
    assert!(verbose.contains("loud thought") && !verbose.contains("quiet"), "{verbose}");
}

#[test]
fn rows_say_who_said_what() {
    let dir = written(&SessionBuilder::eventful(false));
    let sql = "SELECT id || '|' || role || '|' || ifnull(name, '-') || '|' || ifnull(tool_call_id, '-') || '|' \
               || ifnull(tokens, '-') || '|' || in_context || '|' || ifnull(summary_of, '-') FROM messages";
    assert_eq!(
        column(dir.path(), sql),
        [
            "1|system|-|-|-|1|-",
            "2|user|-|-|-|1|-",
            "3|assistant|-|-|34|1|-",
            "4|tool|read_file|call_103|-|1|-",
            "5|tool|shell|call_104|-|1|-",
            "6|assistant|-|-|34|1|-",
            "7|user|-|-|-|1|-",
        ]
    );
    assert_eq!(
        cell(dir.path(), "SELECT tool_calls FROM messages WHERE id = 3"),
        r#"[{"id":"call_103","name":"read_file","arguments":{"path":"main.rs"}},{"id":"call_104","name":"shell","arguments":{"command":"cargo test"}}]"#
            .to_owned()
            .into()
    );
    assert_eq!(cell(dir.path(), "SELECT timestamp FROM messages WHERE id = 2"), 1_772_600_769.089.into());
    let described = "SELECT key || '=' || value FROM metadata WHERE key NOT LIKE '%:%' ORDER BY key";
    assert_eq!(
        column(dir.path(), described),
        [
            "agent=native",
            "created_at=2026-03-04T05:06:07.089Z",
            "log_id=2026-03-04_050607_serve_abcdef",
            "mode=serve",
            "model=test:model",
            "position=13",
            "session_id=sess_019cb73d327170008000000000abcdef",
            "system_row=1",
            "verbose=0",
            "views_format=1",
            "workspace=/home/me/space",
        ]
    );
}

#[test]
fn a_summary_takes_the_place_of_what_it_covers() {
    let mut story = SessionBuilder::eventful(false);
    let covered = story.messages[4];
    story.compact(Some(covered), "They fixed main.rs.", Vec::new());
    let sql = "SELECT id || '|' || in_context || '|' || ifnull(summary_of, '-') FROM messages";
    let dir = written(&story);
    let expected = ["1|1|-", "2|0|-", "3|0|-", "4|0|-", "5|0|-", "6|0|-", "7|1|-", "8|1|2,3,4,5,6"];
    assert_eq!(column(dir.path(), sql), expected);
    assert!(read(dir.path(), "context.md").contains(
        "## Summary [05:06:21]\n\nThey fixed main.rs.\n\n> Context compacted: about 1000 tokens became 100\n"
    ));
    assert!(!read(dir.path(), "transcript.jsonl").contains("They fixed"));
    let kept = column(dir.path(), "SELECT value FROM metadata WHERE key LIKE 'message:%' ORDER BY value");
    assert_eq!(kept, ["7", "8"], "only what is shown is remembered");
    // Also the summary itself is covered by the next one, from views that were opened again.
    let last = story.messages[5];
    story.compact(Some(last), "They fixed it and said thanks.", Vec::new());
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records).unwrap();
    drop(views);
    assert_eq!(column(dir.path(), sql)[6..], ["7|0|-", "8|0|2,3,4,5,6", "9|1|7,8"]);
}

#[test]
fn a_call_that_lost_its_output_still_has_a_result() {
    let mut story = SessionBuilder::eventful(false);
    let call = story.calls[0].clone();
    story.compact(None, "", vec![call.clone()]);
    let dir = written(&story);
    let sql = "SELECT id || '|' || in_context || '|' || ifnull(summary_of, '-') FROM messages WHERE tool_call_id = '{}'"
        .replace("{}", &call.0);
    assert_eq!(column(dir.path(), &sql), ["4|0|-", "8|1|4"]);
    assert_eq!(
        cell(dir.path(), "SELECT content FROM messages WHERE id = 8"),
        results::PRUNED.to_owned().into()
    );
}

#[test]
fn folders_are_named_after_the_session() {
    let story = SessionBuilder::from_session(NewSession {
        log_root: Some("/logs".into()),
        mode: "agent".into(),
        ..NewSession::new(session_id(), at(500), "/w", "m")
    });
    let mut session = story.session;
    assert_eq!(log_id(&session), "2026-03-04_050607_agent_abcdef", "the time is that of the id");
    assert_eq!(log_folder(&session, Path::new("/data/s")), Path::new("/logs/2026-03-04_050607_agent_abcdef"));
    session.log_root = None;
    assert_eq!(log_folder(&session, Path::new("/data/s")), Path::new("/data/s"));
    session.mode = "../../up".into();
    session.id = SessionId::new(Uuid::from_u128(0x1234567));
    session.created_at = Timestamp::UNIX_EPOCH;
    assert_eq!(log_id(&session), "1970-01-01_000000_serve_234567");
    assert_eq!(child_folder(Path::new("/p"), session.id), Path::new("/p/subagent_234567"));
}

#[test]
fn a_child_is_found_in_its_parents_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (parent, child) = (dir.path().join("parent"), dir.path().join("child"));
    fs::create_dir(&parent).unwrap();
    fs::create_dir(&child).unwrap();
    fs::write(child.join("context.md"), "hello").unwrap();
    for _ in 0..2 {
        link_child(&parent, session_id(), &child).unwrap();
    }
    assert_eq!(read(&parent, "subagent_abcdef/context.md"), "hello");
    assert_eq!(fs::read_link(parent.join("subagent_abcdef")).unwrap(), Path::new("../child"));
}

#[test]
fn a_rebuild_replaces_all_or_nothing() {
    let story = SessionBuilder::eventful(true);
    let dir = written(&story);
    let before = view_contents(dir.path());
    fs::write(dir.path().join("context.md"), "scribbled").unwrap();
    fs::write(dir.path().join("session.db"), "scribbled").unwrap();
    let half = story.records.iter().take(5).cloned().map(Ok);
    let broken = half.chain([Err(std::io::Error::other("the log is damaged"))]);
    assert!(
        rebuild(dir.path(), session_id(), broken).unwrap_err().to_string().contains("the log is damaged")
    );
    assert_eq!(read(dir.path(), "session.db"), "scribbled");
    assert_eq!(names(dir.path()), ["context.md", "session.db", "transcript.jsonl", "verbose.md"]);
    rebuild(dir.path(), session_id(), story.records.iter().cloned().map(Ok)).unwrap();
    assert_eq!(view_contents(dir.path()), before);
    assert_eq!(names(dir.path()), ["context.md", "session.db", "transcript.jsonl", "verbose.md"]);
}

#[test]
fn a_rebuild_without_the_verbose_stream_takes_its_file_away() {
    let dir = written(&SessionBuilder::eventful(true));
    let story = SessionBuilder::eventful(false);
    rebuild(dir.path(), session_id(), story.records.into_iter().map(Ok)).unwrap();
    assert_eq!(names(dir.path()), ["context.md", "session.db", "transcript.jsonl"]);
}
