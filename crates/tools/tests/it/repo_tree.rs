//! The tree: what it shows, what it leaves out, and that it says so.

use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn the_tree_is_sorted_and_leaves_out_what_is_ignored() {
    let fixture = Fixture::with(&[
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
         three/\n[1 directories at depth 3 are not opened; list them with path, or raise depth.]\n"
    );
    let outcome = fixture.ok("repo_tree", json!({"path": "b"})).await;
    assert_eq!(outcome.text, ".gitignore\nkeep.log\ntop\n");
    let outcome = fixture.ok("repo_tree", json!({"path": "one", "depth": 9})).await;
    assert_eq!(outcome.text, "two/\n  three/\n    four\n");
}

#[tokio::test]
async fn what_is_over_the_limit_is_counted() {
    let fixture = Fixture::new();
    for number in 0..30 {
        fixture.put(&format!("d/{number:02}"), "x");
    }
    let outcome = fixture.ok("repo_tree", json!({"max_files": 3})).await;
    assert!(
        outcome.text.starts_with("d/\n  00\n  01\n[28 more are left out after the first 3;"),
        "{}",
        outcome.text
    );
    assert_eq!(
        outcome.details.unwrap(),
        json!({"path": ".", "entries": 3, "left_out": 28, "truncated": true})
    );
}

#[tokio::test]
async fn names_cannot_forge_lines() {
    let fixture = Fixture::with(&[("a\nb\u{1b}", "x")]);
    assert_eq!(fixture.ok("repo_tree", json!({})).await.text, "a\\nb\\u{1b}\n");
}

#[tokio::test]
async fn an_empty_or_missing_directory_is_said() {
    let fixture = Fixture::with(&[("a", "x")]);
    std::fs::create_dir(fixture.path("empty")).unwrap();
    let outcome = fixture.ok("repo_tree", json!({"path": "empty"})).await;
    assert!(outcome.text.contains("There are no files here"), "{}", outcome.text);
    let text = fixture.refusal("repo_tree", json!({"path": "none"})).await;
    assert!(text.contains("`none` does not exist"), "{text}");
    let text = fixture.refusal("repo_tree", json!({"path": "a"})).await;
    assert!(text.contains("not a directory"), "{text}");
}
