//! Searching: text and regular expressions, globs, limits, and what is passed over.

use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn lines_are_found_by_text_and_by_expression() {
    let fixture = Fixture::with(&[
        (".gitignore", "ignored\n"),
        (".git/config", "a.b"),
        ("ignored", "a.b"),
        ("src/one.rs", "x\nfn a.b\r\n"),
        ("two.md", "aXb\na.b"),
    ]);
    fixture.put("binary", b"a.b\n\0");
    for (input, text) in [
        (json!({"query": "a.b"}), "src/one.rs:2: fn a.b\ntwo.md:2: a.b\n"),
        (json!({"query": "a.b", "regex": true}), "src/one.rs:2: fn a.b\ntwo.md:1: aXb\ntwo.md:2: a.b\n"),
        (json!({"query": "^a.b$", "regex": true, "glob": "*.md"}), "two.md:1: aXb\ntwo.md:2: a.b\n"),
        (json!({"query": "a.b", "glob": "src/**"}), "src/one.rs:2: fn a.b\n"),
        (json!({"query": "a.b", "glob": "!*.md"}), "src/one.rs:2: fn a.b\n"),
        (json!({"query": "A.B"}), "[Nothing was found.]\n"),
    ] {
        assert_eq!(fixture.ok("search", input.clone()).await.text, text, "{input}");
    }
}

#[tokio::test]
async fn what_cannot_be_searched_for_is_said() {
    let fixture = Fixture::new();
    for (input, expected) in [
        (json!({"query": "a(", "regex": true}), "`query` is not a regular expression"),
        (json!({"query": "a\\nb", "regex": true}), "`query` is not a regular expression"),
        (json!({"query": "a\nb"}), "`query` has a line break"),
        (json!({"query": "a", "glob": "a[b"}), "`glob` is not understood"),
    ] {
        let text = fixture.refusal("search", input).await;
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(fixture.ok("search", json!({"query": "a("})).await.text, "[Nothing was found.]\n");
}

#[tokio::test]
async fn many_results_are_cut_and_counted() {
    let fixture = Fixture::new();
    fixture.put("a.txt", "match\n".repeat(100));
    fixture.put("b.txt", "match\n".repeat(100));
    let outcome = fixture.ok("search", json!({"query": "match"})).await;
    assert_eq!(outcome.details.unwrap(), json!({"matches": 100, "files": 1, "truncated": true}));
    assert!(outcome.text.ends_with("a.txt:100: match\n[There are more: only the first 100 are shown. Narrow the search by query or glob, or raise max_results.]\n"), "{}", outcome.text);
    let outcome = fixture.ok("search", json!({"query": "match", "max_results": 200})).await;
    assert_eq!(outcome.details.unwrap(), json!({"matches": 200, "files": 2, "truncated": false}));
    fixture.put("c.txt", format!("{}\n", "é match ".repeat(1_000)).repeat(1_000));
    let outcome =
        fixture.ok("search", json!({"query": "match", "glob": "c.txt", "max_results": 1_000})).await;
    assert!(outcome.text.len() < 70_000 && outcome.text.contains("There are more"), "{}", outcome.text.len());
}

#[tokio::test]
async fn long_lines_are_shown_where_the_match_is() {
    let fixture = Fixture::new();
    fixture.put("a.txt", format!("{}needle{}\n", "a".repeat(5_000), "b".repeat(5_000)));
    let text = fixture.ok("search", json!({"query": "needle"})).await.text;
    assert_eq!(text, format!("a.txt:1: …{}needle{}…\n", "a".repeat(100), "b".repeat(194)));
}
