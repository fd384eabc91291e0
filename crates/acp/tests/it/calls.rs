//! Tool calls: what they are taken for, how they are summed up, what came of them.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{ToolCall as AgentCall, ToolCallStatus};
use ostler_acp::{call_kind, from_call, from_outcome, has_ended, subjects, summary, to_call, to_call_update};
use ostler_types::{Part, ToolCall, ToolCallId, ToolKind, ToolResult};
use serde_json::{Value, json};

fn call(told: Value) -> AgentCall {
    let mut whole = json!({"toolCallId": "1", "title": "Do it"});
    whole.as_object_mut().unwrap().extend(told.as_object().unwrap().clone());
    serde_json::from_value(whole).unwrap()
}

fn id() -> ToolCallId {
    ToolCallId("1".to_owned())
}

#[test]
fn a_call_is_taken_for_the_worst_that_it_can_be() {
    let diff = json!([{"type": "diff", "path": "/w/a", "newText": "x"}]);
    let table = [
        (json!({"kind": "read"}), ToolKind::Read),
        (json!({"kind": "search"}), ToolKind::Read),
        (json!({"kind": "think"}), ToolKind::Read),
        (json!({"kind": "edit"}), ToolKind::Write),
        (json!({"kind": "delete"}), ToolKind::Write),
        (json!({"kind": "move"}), ToolKind::Write),
        (json!({"kind": "fetch"}), ToolKind::Network),
        (json!({"kind": "execute"}), ToolKind::Exec),
        (json!({"kind": "switch_mode"}), ToolKind::Exec),
        (json!({"kind": "from_the_future"}), ToolKind::Exec),
        (json!({}), ToolKind::Exec),
        // What the arguments show counts for more than what the agent says.
        (json!({"kind": "read", "rawInput": {"command": "rm -rf /"}}), ToolKind::Exec),
        (json!({"kind": "read", "rawInput": {"command": ["rm", "x"]}}), ToolKind::Exec),
        (json!({"kind": "read", "content": diff}), ToolKind::Write),
    ];
    for (told, kind) in table {
        assert_eq!(call_kind(&call(told.clone())), kind, "{told}");
    }
}

#[test]
fn a_call_is_recorded_under_a_name_that_is_not_one_of_ours() {
    let told = call(json!({
        "name": "Bash/x", "rawInput": {"command": "ls", "_parallel": true}, "locations": [{"path": "/w/a"}]
    }));
    let recorded = from_call("claude code", id(), &told);
    assert_eq!(recorded.name, "acp__claude_code__Bash_x");
    assert_eq!(recorded.input, json!({"command": "ls", "_title": "Do it", "_locations": ["/w/a"]}));
    assert_eq!(from_call("a", id(), &call(json!({"kind": "edit"}))).name, "acp__a__edit");
    let plain = from_call("a", id(), &call(json!({"rawInput": "text"})));
    assert_eq!(plain.input["value"], "text");
    let long = from_call("a", id(), &call(json!({"rawInput": {"content": "x".repeat(1 << 20)}})));
    assert!(long.input["content"].as_str().unwrap().ends_with("[cut: it has 1048576 bytes]"));
    let many: Vec<String> = (0..10).map(|_| "x".repeat(200_000)).collect();
    let many = from_call("a", id(), &call(json!({"rawInput": {"content": many}})));
    assert!(many.input.to_string().len() < 1_000, "{}", many.input.to_string().len());
}

#[test]
fn a_summary_says_what_the_arguments_say_and_marks_what_the_agent_says() {
    let table = [
        (json!({"rawInput": {"command": "ls\nrm x"}}), "run ls⏎rm x"),
        (json!({"kind": "read", "rawInput": {"file_path": "/w/a"}}), "look at /w/a"),
        (json!({"kind": "edit", "rawInput": {"path": "a"}}), "touch a"),
        (json!({"kind": "fetch", "rawInput": {"url": "http://x"}}), "reach http://x"),
        (json!({"rawInput": {"q": 1}}), "a call with {\"q\":1}"),
        (json!({}), "a call of which the agent gives no arguments"),
    ];
    for (told, said) in table {
        assert_eq!(summary(&call(told)), format!("{said}\nThe agent says: Do it"));
    }
    let named = subjects(&call(json!({
        "rawInput": {"path": "b", "command": "x"}, "content": [{"type": "diff", "path": "/w/a", "newText": ""}]
    })));
    assert_eq!(named.paths, [PathBuf::from("/w/a"), PathBuf::from("b")]);
    assert_eq!(named.commands, ["x"]);
}

#[test]
fn outcomes_have_texts_pictures_diffs_and_terminals() {
    let told = call(json!({"status": "completed", "content": [
        {"type": "content", "content": {"type": "text", "text": "one"}},
        {"type": "content", "content": {"type": "image", "data": "AAEC", "mimeType": "image/png"}},
        {"type": "content", "content": {"type": "image", "data": "???", "mimeType": "image/png"}},
        {"type": "diff", "path": "/w/src/a.rs", "oldText": "a\nb\n", "newText": "a\nc\n"},
        {"type": "diff", "path": "/elsewhere/b", "newText": "new\n"},
        {"type": "terminal", "terminalId": "t1"},
        {"type": "from_the_future"},
    ]}));
    // A content that is not known makes the whole update unknown to a strict reader; the schema skips it.
    let outcome = from_outcome(&told, Path::new("/w"));
    assert_eq!(outcome.text, "one\n[A picture that cannot be read was left out.]");
    assert_eq!(outcome.images, [("image/png".to_owned(), vec![0, 1, 2])]);
    assert_eq!(outcome.terminals, ["t1"]);
    let files = &outcome.details["files"];
    assert_eq!(files[0]["path"], "src/a.rs");
    assert_eq!(
        (&files[0]["action"], &files[0]["added"], &files[0]["removed"]),
        (&json!("update"), &json!(1), &json!(1))
    );
    assert!(files[0]["diff"].as_str().unwrap().contains("-b\n+c"));
    assert_eq!((&files[1]["path"], &files[1]["action"]), (&json!("/elsewhere/b"), &json!("add")));
    assert_eq!(has_ended(&told), Some(true));
}

#[test]
fn an_outcome_without_words_takes_them_from_the_raw_one() {
    let table = [
        (json!("words"), "words"),
        (json!({"output": "out", "exit_code": 3}), "out"),
        (json!({"aggregated_output": "all"}), "all"),
        (json!({"x": 1}), "{\"x\":1}"),
        (json!([1]), "[1]"),
        (Value::Null, ""),
    ];
    for (raw, text) in table {
        assert_eq!(from_outcome(&call(json!({"rawOutput": raw})), Path::new("/w")).text, text);
    }
    let details = from_outcome(&call(json!({"rawOutput": {"exitCode": 3}})), Path::new("/w")).details;
    assert_eq!(details["exit_code"], 3);
}

#[test]
fn our_own_calls_are_told_to_an_editor() {
    let own = ToolCall { id: id(), name: "shell".to_owned(), input: json!({"command": "ls"}) };
    let told = serde_json::to_value(to_call(&own, ToolKind::Exec, "Run ls")).unwrap();
    assert_eq!(
        (&told["title"], &told["kind"], &told["rawInput"]["command"]),
        (&json!("Run ls"), &json!("execute"), &json!("ls"))
    );
    let result = ToolResult {
        id: id(),
        ok: false,
        parts: vec![Part::text("exit code 1")],
        error: Some("exit code 1".to_owned()),
        artifacts: Vec::new(),
        details: Some(json!({"files": [{"path": "a", "diff": "--- a\n+++ a\n@@ -1 +1,2 @@\n one\n+x\n"}]})),
    };
    let update = to_call_update(&result, Path::new("/w"));
    assert_eq!(update.fields.status, Some(ToolCallStatus::Failed));
    let content = serde_json::to_value(&update.fields.content).unwrap();
    assert_eq!(content[0]["content"]["text"], "exit code 1");
    assert_eq!((&content[1]["type"], &content[1]["path"]), (&json!("diff"), &json!("/w/a")));
    assert!(content[1]["newText"].as_str().unwrap().contains('x'), "{content}");
    assert_eq!(update.fields.locations.unwrap()[0].path, PathBuf::from("/w/a"));
}
