//! The set of built-in tools, and what a model is told of them.

use ostler_tools::Tools;
use ostler_types::ToolKind;
use serde_json::{Value, json};

use crate::fixture::ToolFixture;

#[test]
fn the_tools_have_names_kinds_and_a_fixed_order() {
    let tools = Tools::builtin();
    let kinds: Vec<(&str, ToolKind)> = tools.tool_set().kinds().collect();
    assert_eq!(
        kinds,
        [
            ("repo_tree", ToolKind::Read),
            ("repo_map", ToolKind::Read),
            ("read_file", ToolKind::Read),
            ("search", ToolKind::Read),
            // Nothing confines git here.
            ("git_status", ToolKind::Exec),
            ("apply_patch", ToolKind::Write),
            ("edit_file", ToolKind::Write),
            ("write_file", ToolKind::Write),
            ("shell", ToolKind::Exec),
            ("shell_process", ToolKind::Exec),
            ("verify", ToolKind::Exec),
            ("diagram", ToolKind::Exec),
        ]
    );
    let specs = tools.specs();
    assert!(specs.iter().map(|spec| spec.name.as_str()).eq(kinds.iter().map(|(name, _)| *name)));
    assert!(tools.get("no_such_tool").is_none());
}

#[test]
fn every_schema_is_one_plain_object() {
    let mut fields = Vec::new();
    for spec in Tools::builtin().specs().iter() {
        let schema = &spec.input_schema;
        assert_eq!(schema["type"], "object", "{schema}");
        assert_eq!(schema["additionalProperties"], false, "{schema}");
        let text = schema.to_string();
        for noise in ["$schema", "$ref", "$defs", "\"title\"", "\"format\":\"", "null"] {
            assert!(!text.contains(noise), "{noise} in {text}");
        }
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{name} is described");
            fields.push(format!("{}.{name}", spec.name));
        }
    }
    assert_eq!(
        fields.join(" "),
        "repo_tree.path repo_tree.depth repo_tree.max_files repo_map.focus repo_map.max_tokens read_file.path \
         read_file.start_line read_file.end_line search.query search.glob search.regex search.max_results search.path \
         search.context_lines search.files_only search.case apply_patch.patch edit_file.path edit_file.old \
         edit_file.new edit_file.count write_file.path write_file.content shell.command shell.timeout_seconds \
         shell.cwd shell.background shell.pty shell_process.process_id shell_process.action shell_process.input \
         shell_process.wait_seconds verify.commands diagram.source diagram.format"
    );
}

#[tokio::test]
async fn a_bad_input_is_a_result_that_names_the_field() {
    let fixture = ToolFixture::new();
    let table: [(&str, Value, &str); 9] = [
        ("read_file", json!({}), "`path` is missing; it must be a non-empty string"),
        (
            "read_file",
            json!({"path": "a", "start_line": 0}),
            "`start_line` must be an integer of at least 1, but was 0",
        ),
        (
            "read_file",
            json!({"path": "a", "start_line": 5, "end_line": 4}),
            "`end_line` (4) must not be before",
        ),
        ("repo_tree", json!({"depth": "deep"}), "`depth` must be an integer from 1 to 64, but was \"deep\""),
        ("search", json!({"query": ""}), "`query` must be a non-empty string"),
        ("search", json!({"query": "a", "regex": "yes"}), "`regex` must be true or false"),
        ("write_file", json!({"path": "a"}), "`content` is missing"),
        (
            "shell",
            json!({"command": "true", "timeout_seconds": 601}),
            "`timeout_seconds` must be an integer from 1 to 600",
        ),
        ("shell", json!({"cmd": "true"}), "unknown field `cmd`; the fields are `command`"),
    ];
    for (tool, input, expected) in table {
        let text = fixture.refusal(tool, input).await;
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(fixture.names(), Vec::<String>::new());
}

#[test]
fn summaries_leave_nothing_out() {
    let tools = Tools::builtin();
    let long = "x".repeat(10_000);
    let table: [(&str, Value, String); 12] = [
        ("shell", json!({"command": long, "cwd": "."}), long),
        ("shell", json!({"command": "rm -r *\ntrue", "cwd": "src"}), "[in src] rm -r *\ntrue".to_owned()),
        (
            "shell",
            json!({"command": "ls \u{202e}\u{1b}[8mrm -rf ~"}),
            "ls \\u{202e}\\u{1b}[8mrm -rf ~".to_owned(),
        ),
        ("write_file", json!({"path": "a\nb", "content": "é"}), "write a\\nb (2 bytes)".to_owned()),
        ("read_file", json!({"path": "../a"}), "read ../a".to_owned()),
        ("search", json!({"query": "a", "glob": "*.rs"}), "search for a in *.rs".to_owned()),
        ("repo_tree", json!({}), "list .".to_owned()),
        (
            "shell",
            json!({"command": "top", "cwd": "src", "background": true, "pty": true}),
            "[in src, in the background, at a terminal] top".to_owned(),
        ),
        (
            "shell_process",
            json!({"process_id": "p1", "action": "write", "input": "rm *\n\u{3}"}),
            "write to process p1: rm *\n\\u{3}".to_owned(),
        ),
        ("verify", json!({}), "run the session's verification commands".to_owned()),
        ("verify", json!({"commands": ["a", "b\u{1b}"]}), "a\nb\\u{1b}".to_owned()),
        ("diagram", json!({"source": "a->b", "format": "dot"}), "draw a diagram (dot):\na->b".to_owned()),
    ];
    for (tool, input, expected) in table {
        assert_eq!(tools.get(tool).unwrap().summary(&input), expected);
    }
}
