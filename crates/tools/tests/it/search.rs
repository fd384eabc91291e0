//! Searching: text and regular expressions, globs, limits, and what is passed over.

use serde_json::json;

use crate::fixture::ToolFixture;

#[tokio::test]
async fn lines_are_found_by_text_and_by_expression() {
    let fixture = ToolFixture::with(&[
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
        (json!({"query": "A.B", "case": "smart"}), "[Nothing was found.]\n"),
        (json!({"query": "FN A", "case": "insensitive"}), "src/one.rs:2: fn a.b\n"),
        (json!({"query": "axb", "case": "smart"}), "two.md:1: aXb\n"),
        (json!({"query": "axb", "case": "sensitive"}), "[Nothing was found.]\n"),
        (json!({"query": "a.b", "files_only": true, "context_lines": 2}), "src/one.rs\ntwo.md\n"),
        (json!({"query": "a.b", "path": "src"}), "src/one.rs:2: fn a.b\n"),
        (json!({"query": "a.b", "path": "./two.md"}), "two.md:2: a.b\n"),
        (json!({"query": "a.b", "path": "ignored"}), "ignored:1: a.b\n"),
    ] {
        assert_eq!(fixture.ok("search", input.clone()).await.text, text, "{input}");
    }
}

#[tokio::test]
async fn what_cannot_be_searched_for_is_said() {
    let fixture = ToolFixture::new();
    for (input, expected) in [
        (json!({"query": "a(", "regex": true}), "`query` is not a valid regular expression"),
        (json!({"query": "a\\nb", "regex": true}), "`query` is not a valid regular expression"),
        (json!({"query": "a\nb"}), "`query` contains a line break"),
        (json!({"query": "a", "glob": "a[b"}), "`glob` is not valid"),
        (json!({"query": "a", "case": "loud"}), "`case` must be `sensitive`, `insensitive` or `smart`"),
        (json!({"query": "a", "path": "none"}), "`none` does not exist"),
        (json!({"query": "a", "path": ".."}), "is outside the workspace"),
        (json!({"query": "a", "path": "/etc/passwd"}), "is outside the workspace"),
    ] {
        let text = fixture.refusal("search", input).await;
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(fixture.ok("search", json!({"query": "a("})).await.text, "[Nothing was found.]\n");
}

#[tokio::test]
async fn many_results_are_cut_and_counted() {
    let fixture = ToolFixture::new();
    fixture.put("a.txt", "match\n".repeat(100));
    fixture.put("b.txt", "match\n".repeat(100));
    let outcome = fixture.ok("search", json!({"query": "match"})).await;
    assert_eq!(outcome.details.unwrap(), json!({"matches": 100, "files": 1, "truncated": true}));
    assert!(outcome.text.ends_with("a.txt:100: match\n[Only the first 100 matches are shown. Narrow the search by query or glob, or raise max_results.]\n"), "{}", outcome.text);
    let outcome = fixture.ok("search", json!({"query": "match", "max_results": 200})).await;
    assert_eq!(outcome.details.unwrap(), json!({"matches": 200, "files": 2, "truncated": false}));
    fixture.put("c.txt", format!("{}\n", "é match ".repeat(1_000)).repeat(1_000));
    let outcome =
        fixture.ok("search", json!({"query": "match", "glob": "c.txt", "max_results": 1_000})).await;
    assert!(outcome.text.len() < 70_000 && outcome.text.contains("Only the first"), "{}", outcome.text.len());
}

#[tokio::test]
async fn long_lines_are_shown_where_the_match_is() {
    let fixture = ToolFixture::new();
    fixture.put("a.txt", format!("{}needle{}\n", "a".repeat(5_000), "b".repeat(5_000)));
    let text = fixture.ok("search", json!({"query": "needle"})).await.text;
    assert_eq!(text, format!("a.txt:1: …{}needle{}…\n", "a".repeat(100), "b".repeat(194)));
}

#[tokio::test]
async fn lines_around_a_match_are_shown_and_groups_set_apart() {
    let fixture = ToolFixture::with(&[("a.txt", "1\nhit\n3\n4\n5\n6\nhit\n"), ("b.txt", "hit\nhit\nend\n")]);
    let outcome = fixture.ok("search", json!({"query": "hit", "context_lines": 1})).await;
    assert_eq!(
        outcome.text,
        "a.txt-1- 1\na.txt:2: hit\na.txt-3- 3\n--\na.txt-6- 6\na.txt:7: hit\n--\nb.txt:1: hit\nb.txt:2: hit\n\
         b.txt-3- end\n"
    );
    assert_eq!(outcome.details.unwrap(), json!({"matches": 4, "files": 2, "truncated": false}));
    let outcome = fixture.ok("search", json!({"query": "hit", "context_lines": 1, "max_results": 1})).await;
    assert!(outcome.text.starts_with("a.txt-1- 1\na.txt:2: hit\na.txt-3- 3\n"), "{}", outcome.text);
    assert_eq!(outcome.details.unwrap(), json!({"matches": 1, "files": 1, "truncated": true}));
}

#[tokio::test]
async fn the_first_results_are_the_same_whoever_finds_them() {
    let fixture = ToolFixture::new();
    for number in 0..500 {
        let hits = "needle\n".repeat(number % 4);
        fixture.put(&format!("d{}/f{number:03}.txt", number % 7), format!("{}{hits}", "straw\n".repeat(200)));
    }
    let all = fixture.ok("search", json!({"query": "needle", "max_results": 1_000})).await.text;
    assert_eq!(all.lines().count(), 750);
    let mut paths: Vec<&str> = all.lines().map(|line| line.split(':').next().unwrap()).collect();
    let found = paths.clone();
    paths.sort_unstable();
    assert_eq!(found, paths);
    for max_results in [1, 2, 37, 100, 749] {
        let some = fixture.ok("search", json!({"query": "needle", "max_results": max_results})).await;
        let expected: String = all.split_inclusive('\n').take(max_results).collect();
        assert_eq!(some.text.split_once('[').unwrap().0, expected, "{max_results}");
        assert_eq!(some.details.unwrap()["matches"], max_results);
    }
    let exact = fixture.ok("search", json!({"query": "needle", "max_results": 750})).await;
    assert_eq!(exact.details.unwrap()["truncated"], false);
}

#[tokio::test]
async fn odd_files_are_searched_or_passed_over() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    let fixture = ToolFixture::new();
    std::fs::write(fixture.workspace().join(std::ffi::OsStr::from_bytes(b"odd\xff")), "needle\n").unwrap();
    fixture.put(
        "wide.txt",
        "\u{feff}wide needle".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
    );
    fixture.put(".hidden", "needle");
    fixture.put("late_zero", format!("needle\n{}\0", "x\n".repeat(100_000)));
    std::fs::File::create(fixture.path("sparse")).unwrap().set_len(1 << 40).unwrap();
    fixture.link("link", "odd");
    let outcome = fixture.ok("search", json!({"query": "needle"})).await;
    assert_eq!(
        outcome.text,
        ".hidden:1: needle\nodd\u{fffd}:1: needle\nwide.txt:1: wide needle\n[1 files are too large and were skipped.]\n"
    );
    fixture.put("locked", "needle");
    std::fs::set_permissions(fixture.path("locked"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let text = fixture.ok("search", json!({"query": "needle", "glob": "locked"})).await.text;
    // Root reads everything.
    assert!(text.contains("could not be read") || text == "locked:1: needle\n", "{text}");
}

#[tokio::test]
async fn a_line_without_end_is_no_trouble() {
    let fixture = ToolFixture::new();
    fixture.put("long", "needle ".repeat(4 << 20));
    let text = fixture.ok("search", json!({"query": "needle"})).await.text;
    assert!(text.contains("1 files or directories could not be read"), "{text}");
}
