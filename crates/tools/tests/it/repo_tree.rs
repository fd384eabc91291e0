//! The tree: what it shows, what it leaves out, and that it says so.

use serde_json::json;

use crate::fixture::ToolFixture;

#[tokio::test]
async fn the_tree_is_sorted_and_leaves_out_what_is_ignored() {
    let fixture = ToolFixture::with(&[
        (".gitignore", "target/\n*.log\n!keep.log\n/top\n"),
        (".git/config", "x"),
        (".github/ci.yml", "x"),
        ("b/.gitignore", "local\n"),
        ("b/local", "x"),
        ("b/top", "x"),
        ("b/z.log", "x"),
        ("b/keep.log", "x"),
        ("top", "x"),
        ("a.rs", "x"),
        ("target/debug/app", "x"),
        ("one/two/three/four", "x"),
    ]);
    fixture.link("link", fixture.outside());
    fixture.link("loop", ".");
    let outcome = fixture.ok("repo_tree", json!({})).await;
    assert_eq!(
        outcome.text,
        ".github/\n  ci.yml\n.gitignore\na.rs\nb/\n  .gitignore\n  keep.log\n  top\nlink@\nloop@\none/\n  two/\n    \
         three/\n[1 directories at depth 3 are not expanded; list them with path, or raise depth. 4 ignored files or \
         directories are not shown.]\n"
    );
    let outcome = fixture.ok("repo_tree", json!({"path": "b"})).await;
    assert_eq!(outcome.text, ".gitignore\nkeep.log\ntop\n[2 ignored files or directories are not shown.]\n");
    let outcome = fixture.ok("repo_tree", json!({"path": "one", "depth": 9})).await;
    assert_eq!(outcome.text, "two/\n  three/\n    four\n");
}

#[tokio::test]
async fn what_is_over_the_limit_is_counted() {
    let fixture = ToolFixture::new();
    for number in 0..30 {
        fixture.put(&format!("d/{number:02}"), "x");
    }
    let outcome = fixture.ok("repo_tree", json!({"max_files": 3})).await;
    assert!(
        outcome.text.starts_with("d/\n  00\n  01\n[28 more are not shown after the first 3;"),
        "{}",
        outcome.text
    );
    assert_eq!(
        outcome.details.unwrap(),
        json!({"path": ".", "entries": 3, "left_out": 28, "ignored": 0, "truncated": true})
    );
}

#[tokio::test]
async fn names_cannot_forge_lines() {
    let fixture = ToolFixture::with(&[("a\nb\u{1b}", "x")]);
    assert_eq!(fixture.ok("repo_tree", json!({})).await.text, "a\\nb\\u{1b}\n");
}

#[tokio::test]
async fn an_empty_or_missing_directory_is_said() {
    let fixture = ToolFixture::with(&[("a", "x")]);
    std::fs::create_dir(fixture.path("empty")).unwrap();
    let outcome = fixture.ok("repo_tree", json!({"path": "empty"})).await;
    assert!(outcome.text.contains("No files found"), "{}", outcome.text);
    let text = fixture.refusal("repo_tree", json!({"path": "none"})).await;
    assert!(text.contains("`none` does not exist"), "{text}");
    let text = fixture.refusal("repo_tree", json!({"path": "a"})).await;
    assert!(text.contains("not a directory"), "{text}");
}

#[tokio::test]
async fn rules_are_those_of_git() {
    let fixture = ToolFixture::with(&[
        (
            ".gitignore",
            "\u{feff}*.tmp\n!keep.tmp\nbuild/\n!build/keep\n/root_only\na/**/z\n# comment\n\\#odd\ntrailing \n",
        ),
        (".git/info/exclude", "excluded\nkept_again\n"),
        (".ignore", "!kept_again\n"),
        ("build/keep", "x"),
        ("deep/.gitignore", "!*.tmp\n/here\n"),
        ("deep/x.tmp", "x"),
        ("deep/here", "x"),
        ("deep/er/here", "x"),
        ("deep/root_only", "x"),
        ("a/b/c/z", "x"),
        ("x.tmp", "x"),
        ("keep.tmp", "x"),
        ("root_only", "x"),
        ("#odd", "x"),
        ("trailing", "x"),
        ("excluded", "x"),
        ("kept_again", "x"),
    ]);
    let text = fixture.ok("repo_tree", json!({"depth": 9})).await.text;
    assert_eq!(
        text,
        ".gitignore\n.ignore\na/\n  b/\n    c/\ndeep/\n  .gitignore\n  er/\n    here\n  root_only\n  x.tmp\nkeep.tmp\n\
         kept_again\n[8 ignored files or directories are not shown.]\n"
    );
    let text = fixture.ok("repo_tree", json!({"path": "deep"})).await.text;
    assert_eq!(
        text, ".gitignore\ner/\n  here\nroot_only\nx.tmp\n[1 ignored files or directories are not shown.]\n",
        "rules from above hold as well"
    );
    let text = fixture.ok("repo_tree", json!({"path": "build"})).await.text;
    assert_eq!(text, "keep\n", "what is asked for by name is shown");
}

#[tokio::test]
async fn odd_names_and_deep_trees_are_walked() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = ToolFixture::with(&[("a.b", "x"), ("a/b", "x"), ("a-b", "x")]);
    let odd = fixture.workspace().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("inner"), "x").unwrap();
    let text = fixture.ok("repo_tree", json!({})).await.text;
    assert_eq!(text, "a/\n  b\na-b\na.b\nodd\u{fffd}/\n  inner\n");
    let deep = vec!["d"; 70].join("/");
    fixture.put(&format!("{deep}/file"), "x");
    let outcome = fixture.ok("repo_tree", json!({"depth": 64})).await;
    assert!(outcome.text.contains("1 directories at depth 64 are not expanded"), "{}", outcome.text);
}
