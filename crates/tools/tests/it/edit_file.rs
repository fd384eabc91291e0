//! Replacing text in a file: how often it must occur, and what is said where it does not.

use serde_json::json;

use crate::fixture::ToolFixture;

#[tokio::test]
async fn text_is_replaced_as_often_as_it_should_be() {
    for (before, old, new, count, after) in [
        ("one two\n", "two", "2", None, "one 2\n"),
        ("a\nb\nc\n", "b\n", "", None, "a\nc\n"),
        ("x x\nx\n", "x", "yy", Some(3), "yy yy\nyy\n"),
        ("aaa", "aa", "b", Some(1), "ba"),
        ("a\nb\n", "a\nb", "a\nx\nb", None, "a\nx\nb\n"),
        ("no break", "break", "line break", None, "no line break"),
        ("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", None, "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "x\ny", None, "a\r\nx\r\ny\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", None, "x\ny\n"),
        ("\u{feff}é\n", "é", "漢", None, "\u{feff}漢\n"),
    ] {
        let fixture = ToolFixture::with(&[("f", before)]);
        let mut input = json!({"path": "f", "old": old, "new": new});
        if let Some(count) = count {
            input["count"] = json!(count);
        }
        fixture.ok("edit_file", input).await;
        assert_eq!(fixture.read("f"), after, "{before:?} {old:?}");
    }
}

#[tokio::test]
async fn the_result_has_a_diff() {
    let fixture = ToolFixture::with(&[("d/f", "1\n2\n3\n")]);
    let outcome = fixture.ok("edit_file", json!({"path": "d/f", "old": "2", "new": "two\n2.5"})).await;
    assert_eq!(outcome.text, "Updated d/f: 2 lines added, 1 removed.\n");
    assert_eq!(
        outcome.details.unwrap(),
        json!({"files": [{"path": "d/f", "action": "update", "added": 2, "removed": 1,
            "diff": "--- a/d/f\n+++ b/d/f\n@@ -1,3 +1,4 @@\n 1\n-2\n+two\n+2.5\n 3\n"}]})
    );
}

const CODE: &str = "fn f() {\n    one();\n    \u{201c}two\u{201d}();\n}\nfn g() {\n    one();\n}\n";

#[tokio::test]
async fn what_does_not_fit_is_refused_with_what_came_nearest() {
    let fixture = ToolFixture::with(&[("f", CODE), ("many", &"x\n".repeat(30)), ("d/x", "")]);
    fixture.put("binary", b"\0");
    fixture.link("out", fixture.outside().join("secret.txt"));
    for (path, old, new, count, expected) in REFUSALS {
        let mut input = json!({"path": path, "old": old, "new": new});
        if let Some(count) = count {
            input["count"] = json!(count);
        }
        let refusal = fixture.refusal("edit_file", input).await;
        for word in *expected {
            assert!(refusal.contains(word), "`{word}` is not in: {refusal}");
        }
    }
    assert_eq!((fixture.read("f"), fixture.read("many")), (CODE.to_owned(), "x\n".repeat(30)));
    let growth = json!({"path": "many", "old": "x", "new": "y".repeat(1024 * 1024), "count": 30});
    let refusal = fixture.refusal("edit_file", growth).await;
    assert!(refusal.contains("the result would have 31457310 bytes; the limit is 4194304"), "{refusal}");
}

/// The path, the old text, the new, the count, and words of the refusal.
type Refusal = (&'static str, &'static str, &'static str, Option<u64>, &'static [&'static str]);

const REFUSALS: &[Refusal] = &[
    (
        "f",
        "one();",
        "1",
        None,
        &["`old` occurs 2 times, not 1: on lines 2, 6;", "or set `count` to replace all of them"],
    ),
    ("f", "one();", "1", Some(3), &["occurs 2 times, not 3: on lines 2, 6; set the right `count`"]),
    ("f", "fn g", "1", Some(2), &["occurs 1 times, not 2: on line 5;"]),
    ("many", "x", "y", None, &["occurs 30 times", "19, 20 …"]),
    (
        "f",
        "fn g() {\n    two();\n}",
        "1",
        None,
        &[
            "closest match is at line 5, where 2 of 3 lines match",
            "expected `    two();`, found `    one();` on line 6",
        ],
    ),
    (
        "f",
        "\"two\"();",
        "2",
        None,
        &[
            "closest match is at line 3, but whitespace or quotes differ: expected `\"two\"();`, found `    \u{201c}two\u{201d}();`",
        ],
    ),
    ("f", "fn f() {\n  one();", "2", None, &["at line 1, where 2 of 2 lines match, but whitespace"]),
    ("f", "nothing", "2", None, &["was not found. No line in the file is similar.", "Read the file again"]),
    ("f", "one", "one", None, &["`old` and `new` are identical"]),
    ("f", "", "one", None, &["`old` must be a non-empty string"]),
    ("f", "one", "1", Some(0), &["`count` must be an integer of at least 1"]),
    ("none", "one", "1", None, &["`none` does not exist"]),
    ("d", "one", "1", None, &["`d` is a directory"]),
    ("binary", "one", "1", None, &["it is binary"]),
    ("out", "top", "1", None, &["outside the workspace"]),
    ("../outside/secret.txt", "top", "1", None, &["outside the workspace"]),
    (".git/config", "top", "1", None, &["inside `.git`"]),
];

#[test]
fn the_summary_names_the_file() {
    let tools = ostler_tools::Tools::builtin();
    let tool = tools.get("edit_file").unwrap();
    for (input, expected) in [
        (json!({"path": "a\n", "old": "é", "new": ""}), "edit a\\n (2 bytes become 0)"),
        (json!({"path": "a", "old": "x", "new": "y", "count": 7}), "edit a (1 bytes become 1, 7 times)"),
        (json!({"path": "a"}), "edit a, but the input lacks `old` or `new`"),
        (json!({}), "edit a file, but the input names none"),
    ] {
        assert_eq!(tool.summary(&input), expected);
    }
}
