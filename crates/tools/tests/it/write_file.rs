//! Writing files: what is made, what is kept, what is refused, and that no half file is seen.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::fixture::ToolFixture;

fn mode(fixture: &ToolFixture, path: &str) -> u32 {
    std::fs::metadata(fixture.path(path)).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn files_are_created_and_replaced() {
    let fixture = ToolFixture::new();
    let outcome = fixture.ok("write_file", json!({"path": "a/b/c.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(outcome.text, "Created a/b/c.txt: 8 bytes, 2 lines added, 0 removed.");
    assert_eq!(
        outcome.details.unwrap(),
        json!({"path": "a/b/c.txt", "bytes": 8, "change": "created", "lines_added": 2, "lines_removed": 0, "files": [
            {"path": "a/b/c.txt", "action": "add", "added": 2, "removed": 0,
             "diff": "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"},
        ]})
    );
    let absolute = fixture.path("a/b/c.txt").to_string_lossy().into_owned();
    let outcome = fixture.ok("write_file", json!({"path": absolute, "content": "one\n2\n3\n"})).await;
    let details = outcome.details.unwrap();
    assert_eq!(
        (&details["change"], &details["lines_added"], &details["lines_removed"]),
        (&json!("replaced"), &json!(2), &json!(1))
    );
    assert_eq!(
        details["files"],
        json!([{"path": "a/b/c.txt", "action": "update", "added": 2, "removed": 1,
            "diff": "--- a/a/b/c.txt\n+++ b/a/b/c.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n"}])
    );
    assert_eq!(fixture.read("a/b/c.txt"), "one\n2\n3\n");
    assert_eq!(fixture.names().len(), 3, "no temporary file is left: {:?}", fixture.names());
}

#[tokio::test]
async fn a_file_too_long_to_compare_is_replaced_without_a_diff() {
    let fixture = ToolFixture::new();
    fixture.put("long", "x\n".repeat(2 * 1024 * 1024 + 1));
    let outcome = fixture.ok("write_file", json!({"path": "long", "content": "short\n"})).await;
    assert_eq!(outcome.text, "Replaced long: 6 bytes.");
    assert_eq!(
        outcome.details.unwrap()["files"],
        json!([{"path": "long", "action": "update", "added": null, "removed": null, "diff": "", "truncated": true}])
    );
    assert_eq!(fixture.read("long"), "short\n");
}

#[tokio::test]
async fn the_mode_of_a_file_is_kept() {
    let fixture = ToolFixture::with(&[("run.sh", "old"), ("private", "old"), ("locked", "old")]);
    for (path, bits) in [("run.sh", 0o755), ("private", 0o600), ("locked", 0o444)] {
        std::fs::set_permissions(fixture.path(path), std::fs::Permissions::from_mode(bits)).unwrap();
    }
    fixture.ok("write_file", json!({"path": "run.sh", "content": "new"})).await;
    fixture.ok("write_file", json!({"path": "private", "content": "new"})).await;
    assert_eq!((mode(&fixture, "run.sh"), mode(&fixture, "private")), (0o755, 0o600));
    let text = fixture.refusal("write_file", json!({"path": "locked", "content": "new"})).await;
    assert!(text.contains("read-only"), "{text}");
    assert_eq!(fixture.read("locked"), "old");
}

#[tokio::test]
async fn links_inside_are_followed_and_stay_links() {
    let fixture = ToolFixture::with(&[("real/file", "old")]);
    fixture.link("folder", "real");
    fixture.link("real/link", "../real/file");
    fixture.link("real/absolute", fixture.path("real/file"));
    fixture.link("new", "real/new");
    for (path, target) in [
        ("folder/file", "real/file"),
        ("real/link", "real/file"),
        ("real/absolute", "real/file"),
        ("new", "real/new"),
    ] {
        fixture.ok("write_file", json!({"path": path, "content": path})).await;
        assert_eq!(fixture.read(target), path);
    }
    assert!(fixture.path("real/link").is_symlink() && fixture.path("new").is_symlink());
    fixture.link("one", "two");
    fixture.link("two", "one");
    let text = fixture.refusal("write_file", json!({"path": "one", "content": ""})).await;
    assert!(text.contains("too many symbolic links"), "{text}");
}

#[tokio::test]
async fn nothing_is_written_inside_git() {
    let fixture = ToolFixture::with(&[(".git/config", "old"), ("sub/.git/config", "old"), ("a/x", "x")]);
    fixture.link("git", ".git");
    fixture.link("a/config", "../.git/config");
    fixture.link("a/hooks", "../git/hooks");
    let before = fixture.names();
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git",
        ".GIT/config",
        "sub/.git/hooks/x",
        "other/.git/config",
        "a/../.git/config",
        "git/config",
        "git/hooks/deep/x",
        "git/new",
        "a/config",
        "a/hooks",
    ] {
        let text = fixture.refusal("write_file", json!({"path": path, "content": "new"})).await;
        assert!(text.contains("inside `.git`"), "{path}: {text}");
    }
    assert_eq!(fixture.read(".git/config"), "old");
    assert_eq!(fixture.names(), before);
    fixture.ok("write_file", json!({"path": ".gitignore", "content": "target\n"})).await;
    fixture.ok("write_file", json!({"path": ".github/x", "content": "x"})).await;
}

#[tokio::test]
async fn what_is_no_file_or_too_long_is_refused() {
    let fixture = ToolFixture::with(&[("d/a", "x")]);
    fixture.link("dangling", "nowhere");
    let long = "x".repeat(1024 * 1024 + 1);
    for (path, content, expected) in [
        ("d", "", "`d` is a directory; only regular files can be written."),
        (".", "", "does not name a file"),
        ("d/..", "", "does not name a file"),
        ("d/a/b", "", "part of the path is not a directory"),
        ("dangling/x", "", "`./dangling` is a broken symbolic link"),
        ("long", long.as_str(), "`content` has 1048577 bytes; the limit is 1048576"),
    ] {
        let text = fixture.refusal("write_file", json!({"path": path, "content": content})).await;
        assert!(text.contains(expected), "{text}");
    }
    fixture.ok("write_file", json!({"path": "long", "content": &long[1..]})).await;
    assert_eq!(fixture.names().len(), 4, "{:?}", fixture.names());
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_never_see_half_a_file() {
    let fixture = ToolFixture::new();
    let contents = ["a".repeat(400_000), "b".repeat(300_000)];
    fixture.put("file", &contents[0]);
    let done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = [0, 0];
            while !done.load(Ordering::Relaxed) {
                let read = fixture.read("file");
                let which = contents.iter().position(|content| *content == read).expect("a whole file");
                seen[which] += 1;
            }
            seen
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                for round in 0..60 {
                    fixture
                        .ok("write_file", json!({"path": "file", "content": contents[(round + 1) % 2]}))
                        .await;
                }
            });
        });
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(seen[0] + seen[1] > 0, "{seen:?}");
}

#[tokio::test]
async fn what_somebody_changed_since_it_was_read_is_not_overwritten() {
    let fixture = ToolFixture::with(&[("a", "one\n"), ("never-read", "one\n")]);
    let write = json!({"path": "a", "content": "mine\n"});
    fixture.ok("read_file", json!({"path": "./a", "start_line": 1})).await;
    fixture.put("a", "theirs\n");
    let refused = fixture.refusal("write_file", write.clone()).await;
    assert!(
        refused.contains("`a` has been modified since you read it")
            && refused.contains("Nothing was written")
    );
    assert_eq!(fixture.read("a"), "theirs\n");
    fixture.ok("read_file", json!({"path": "a"})).await;
    fixture.ok("write_file", write.clone()).await;
    fixture.ok("write_file", json!({"path": "a", "content": "mine again\n"})).await;
    fixture.put("a", "theirs again\n");
    fixture.refusal("write_file", write).await;
    fixture.put("never-read", "two\n");
    fixture.ok("write_file", json!({"path": "never-read", "content": "three\n"})).await;
}
