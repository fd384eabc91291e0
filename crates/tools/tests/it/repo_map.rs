//! The map of a workspace: what it shows, what it passes over, and what it remembers.

use std::path::Path;

use ostler_runner::ToolOutcome;
use ostler_tools::{ToolSettings, Tools};
use serde_json::{Value, json};

use crate::fixture::{ToolFixture, soon};

fn shop() -> ToolFixture {
    ToolFixture::with(&[
        (".gitignore", "target/\n"),
        ("target/made.rs", "pub fn ignored_by_git() {}\n"),
        (
            "src/basket.rs",
            "pub struct Basket;\nimpl Basket {\n    pub fn total_price(&self) -> u32 { 0 }\n}\n",
        ),
        ("src/till.rs", "fn pay(basket: &Basket) { basket.total_price(); }\n"),
        ("src/report.rs", "fn print_report(basket: &Basket) { basket.total_price(); }\n"),
        ("web/app.ts", "export function start(): void {}\n"),
        ("README.md", "# Basket\n"),
    ])
}

#[tokio::test]
async fn what_others_refer_to_comes_first() {
    let fixture = shop();
    let outcome = fixture.ok("repo_map", json!({})).await;
    assert!(
        outcome.text.starts_with(
            "src/basket.rs:\n  1│ pub struct Basket;\n  2│ impl Basket\n  3│   pub fn total_price(&self) -> u32\n"
        ),
        "{}",
        outcome.text
    );
    assert!(outcome.text.contains("web/app.ts:\n  1│ export function start(): void\n"), "{}", outcome.text);
    assert!(!outcome.text.contains("ignored_by_git"), "{}", outcome.text);
    assert_eq!(
        outcome.details.unwrap(),
        json!({"files": 4, "definitions": 5, "all_files": 4, "all_definitions": 5, "truncated": false})
    );
}

#[tokio::test]
async fn the_focus_is_a_text_or_a_list() {
    let fixture = shop();
    for focus in [
        json!("src/report.rs"),
        json!("print_report, nothing"),
        json!(["print_report"]),
        json!(["a,report.rs"]),
    ] {
        let text = fixture.ok("repo_map", json!({"focus": focus})).await.text;
        assert!(text.starts_with("src/report.rs:\n"), "{focus}: {text}");
        assert_eq!(
            text.contains("Nothing found with the name nothing."),
            focus.to_string().contains("nothing"),
            "{text}"
        );
    }
    for focus in [json!(7), json!({"a": 1}), json!(["a", 7])] {
        let text = fixture.refusal("repo_map", json!({"focus": focus})).await;
        assert!(text.contains("`focus` must be paths or names"), "{text}");
    }
    let tools = Tools::builtin();
    let summary = |input: Value| tools.get("repo_map").unwrap().summary(&input);
    assert_eq!(summary(json!({})), "map the workspace");
    assert_eq!(summary(json!({"focus": ["a", "b\n"]})), "map the workspace around a, b");
}

#[tokio::test]
async fn the_map_is_cut_to_its_length() {
    let fixture = ToolFixture::new();
    for number in 0..200 {
        fixture.put(&format!("f{number}.py"), format!("def function_{number}(a, b):\n    return a\n"));
    }
    for max_tokens in [10, 100, 1_000] {
        let outcome = fixture.ok("repo_map", json!({"max_tokens": max_tokens})).await;
        let (map, note) = outcome.text.split_once('[').unwrap_or((&outcome.text, ""));
        assert!(
            map.len() <= 4 * max_tokens && note.contains("of 200 definitions are shown"),
            "{}",
            outcome.text
        );
        assert_eq!(outcome.details.unwrap()["truncated"], true);
    }
}

#[tokio::test]
async fn odd_files_never_fail_a_call() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = ToolFixture::with(&[("good.rs", "fn good() {}\n"), ("broken.rs", "fn (((( {{{{ struct\n")]);
    fixture.put("binary.c", [0u8, 255, 1, 254].repeat(1_000));
    fixture.put("empty.go", "");
    fixture.put("large.py", "def large(): pass\n".repeat(100_000));
    std::fs::write(fixture.workspace().join(std::ffi::OsStr::from_bytes(b"odd\xff.rb")), "def odd; end\n")
        .unwrap();
    fixture.link("outside.rs", fixture.outside().join("secret.txt"));
    fixture.link("loop", ".");
    std::fs::create_dir(fixture.path("folder.rs")).unwrap();
    let text = fixture.ok("repo_map", json!({})).await.text;
    assert!(text.contains("fn good()") && text.contains("odd\u{fffd}.rb:\n  1│ def odd"), "{text}");
    assert!(!text.contains("large") && !text.contains("secret") && !text.contains("loop/"), "{text}");
    let empty = ToolFixture::with(&[("a.md", "x")]);
    let text = empty.ok("repo_map", json!({})).await.text;
    assert_eq!(text, "[No source code found in a supported language.]\n");
}

async fn map(tools: &Tools, fixture: &ToolFixture) -> ToolOutcome {
    soon(tools.get("repo_map").unwrap().run(json!({}), fixture.context())).await
}

/// Gives a file other content of the same size, time and inode, so that only who reads it again can tell.
fn forge(fixture: &ToolFixture, path: &str, content: &str) {
    let before = std::fs::metadata(fixture.path(path)).unwrap();
    fixture.put(path, content);
    let file = std::fs::File::options().write(true).open(fixture.path(path)).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    let after = std::fs::metadata(fixture.path(path)).unwrap();
    assert_eq!((before.len(), before.modified().unwrap()), (after.len(), after.modified().unwrap()));
}

fn with_cache(folder: &Path) -> Tools {
    Tools::new(ToolSettings { map_cache: Some(folder.to_owned()), ..ToolSettings::default() })
}

#[tokio::test]
async fn only_what_changed_is_read_again() {
    let fixture = ToolFixture::with(&[("a.rs", "fn first() {}\n"), ("b.rs", "fn other() {}\n")]);
    let folder = tempfile::tempdir().unwrap();
    let tools = with_cache(folder.path());
    let text = map(&tools, &fixture).await.text;
    assert!(text.contains("fn first()") && text.contains("fn other()"), "{text}");
    forge(&fixture, "a.rs", "fn forge() {}\n");
    assert_eq!(map(&tools, &fixture).await.text, text, "a.rs was not read again");
    let later = with_cache(folder.path());
    assert_eq!(map(&later, &fixture).await.text, text, "nor by another process");
    fixture.put("b.rs", "fn changed_now() {}\n");
    let text = map(&tools, &fixture).await.text;
    assert!(
        text.contains("fn first()") && text.contains("fn changed_now()") && !text.contains("other"),
        "{text}"
    );
    std::fs::remove_file(fixture.path("b.rs")).unwrap();
    assert_eq!(map(&tools, &fixture).await.text, "a.rs:\n  1│ fn first()\n");
    let fresh = map(&Tools::builtin(), &fixture).await.text;
    assert_eq!(fresh, "a.rs:\n  1│ fn forge()\n");
}
