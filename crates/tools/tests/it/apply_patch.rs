//! Patches beyond the corpus: what a client gets, files that are no plain text, modes, links, limits,
//! and a file that somebody else changes meanwhile.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::fixture::ToolFixture;

fn patch(text: impl Into<String>) -> Value {
    json!({"patch": text.into()})
}

#[tokio::test]
async fn the_details_have_a_diff_for_each_file() {
    let fixture = ToolFixture::with(&[("a", "1\n2\n"), ("b", "1\n"), ("c", "1\n2\n3\n4\n5\n")]);
    let absolute = fixture.path("c").to_string_lossy().into_owned();
    let text = format!(
        "*** Begin Patch\n*** Update File: ./a\n-1\n+one\n*** Delete File: b\n*** Add File: d\n+x\n*** Update File: \
         {absolute}\n*** Move to: e\n-5\n+five\n*** End Patch"
    );
    let outcome = fixture.ok("apply_patch", patch(text)).await;
    assert_eq!(
        outcome.text,
        "Updated a: 1 line added, 1 removed.\nDeleted b: 0 lines added, 1 removed.\nAdded d: 1 line added, 0 removed.\n\
         Moved c to e: 1 line added, 1 removed.\n"
    );
    let moved = "diff --git a/c b/e\nrename from c\nrename to e\n--- a/c\n+++ b/e\n@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+five\n";
    assert_eq!(
        outcome.details.unwrap(),
        json!({"files": [
            {"path": "a", "action": "update", "added": 1, "removed": 1,
             "diff": "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n"},
            {"path": "b", "action": "delete", "added": 0, "removed": 1,
             "diff": "--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"},
            {"path": "d", "action": "add", "added": 1, "removed": 0,
             "diff": "--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+x\n"},
            {"path": "e", "action": "move", "from": "c", "added": 1, "removed": 1, "diff": moved},
        ]})
    );
}

#[tokio::test]
async fn the_diffs_of_a_patch_are_a_patch() {
    let files = [("a", "1\n2\n"), ("b b", "1\n"), ("c\"\t", "1\n2\n3"), ("e", "")];
    let text = "*** Update File: a\n-1\n+one\n*** Delete File: b b\n*** Add File: d d/d\n+x\n*** Add File: f\n*** Delete \
                File: e\n";
    let rename = "diff --git \"a/c\\\"\\t\" \"b/g\\n\"\nrename from \"c\\\"\\t\"\nrename to \"g\\n\"\n";
    let (first, second) = (ToolFixture::with(&files), ToolFixture::with(&files));
    for text in [text, rename] {
        let outcome = first.ok("apply_patch", patch(text)).await;
        let details = outcome.details.unwrap();
        let diffs: String =
            details["files"].as_array().unwrap().iter().map(|file| file["diff"].as_str().unwrap()).collect();
        second.ok("apply_patch", patch(diffs)).await;
    }
    assert_eq!(first.read("g\n"), "1\n2\n3");
    let names = |fixture: &ToolFixture| -> Vec<(String, Option<Vec<u8>>)> {
        let root = fixture.workspace().to_string_lossy().into_owned();
        fixture.names().into_iter().map(|name| (name.replace(&root, ""), std::fs::read(&name).ok())).collect()
    };
    assert_eq!(names(&first), names(&second));
}

#[tokio::test]
async fn a_long_diff_is_cut_over_all_files() {
    let fixture = ToolFixture::new();
    let mut text = String::new();
    for file in ["a", "b", "c"] {
        text += &format!("*** Add File: {file}\n{}", format!("+{}\n", "x".repeat(99)).repeat(2_000));
    }
    let details = fixture.ok("apply_patch", patch(text)).await.details.unwrap();
    let files = details["files"].as_array().unwrap();
    let lengths: Vec<usize> = files.iter().map(|file| file["diff"].as_str().unwrap().len()).collect();
    assert!(lengths.iter().sum::<usize>() <= 256 * 1024 && lengths[0] > 200_000, "{lengths:?}");
    assert_eq!(
        (files[0].get("truncated"), &files[1]["truncated"], &files[2]["truncated"]),
        (None, &json!(true), &json!(true))
    );
    assert!(files.iter().all(|file| file["added"] == 2_000), "{lengths:?}");
}

#[tokio::test]
async fn encodings_stay_and_binary_files_are_refused() {
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    let fixture = ToolFixture::new();
    let update = |path: &str| patch(format!("*** Update File: {path}\n 1\n-zwei\n+z\u{fc}rich \u{1f980}\n"));
    for (path, bytes) in [("little", u16::to_le_bytes as fn(u16) -> [u8; 2]), ("big", u16::to_be_bytes)] {
        fixture.put(path, utf16("1\r\nzwei\r\n", bytes));
        let outcome = fixture.ok("apply_patch", update(path)).await;
        assert_eq!(
            std::fs::read(fixture.path(path)).unwrap(),
            utf16("1\r\nz\u{fc}rich \u{1f980}\r\n", bytes)
        );
        assert!(
            outcome.details.unwrap()["files"][0]["diff"].as_str().unwrap().contains("-zwei\r\n+z\u{fc}rich")
        );
    }
    let binary: [(&str, &[u8]); 3] =
        [("nul", b"1\nzwei\0\n"), ("latin", b"1\nzwei\n\xfc\n"), ("odd", b"\xff\xfe1")];
    for (path, content) in binary {
        fixture.put(path, content);
        for text in [
            format!("*** Update File: {path}\n 1\n-zwei\n+x\n"),
            format!("*** Delete File: {path}\n"),
            format!("*** Update File: {path}\n*** Move to: new\n"),
        ] {
            let refusal = fixture.refusal("apply_patch", patch(text)).await;
            assert!(refusal.contains(&format!("`{path}` cannot be patched: it is binary")), "{refusal}");
        }
        assert_eq!(std::fs::read(fixture.path(path)).unwrap(), content);
    }
}

#[tokio::test]
async fn modes_stay_and_read_only_files_too() {
    let fixture = ToolFixture::with(&[("run", "1\n"), ("move", "1\n"), ("locked", "1\n"), ("other", "1\n")]);
    let mode = |path: &str| std::fs::metadata(fixture.path(path)).unwrap().permissions().mode() & 0o777;
    for (path, bits) in [("run", 0o755), ("move", 0o710), ("locked", 0o444)] {
        std::fs::set_permissions(fixture.path(path), std::fs::Permissions::from_mode(bits)).unwrap();
    }
    let text = "*** Update File: run\n-1\n+2\n*** Update File: move\n*** Move to: moved\n-1\n+2\n";
    fixture.ok("apply_patch", patch(text)).await;
    assert_eq!((mode("run"), mode("moved")), (0o755, 0o710));
    let script =
        "diff --git a/s b/s\nnew file mode 100755\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+#!/bin/sh\n";
    fixture.ok("apply_patch", patch(script)).await;
    assert_eq!(mode("s") & 0o100, 0o100);
    for action in
        ["Update File: locked\n-1\n+2", "Delete File: locked", "Update File: locked\n*** Move to: x"]
    {
        let text = format!("*** Update File: other\n-1\n+2\n*** {action}\n");
        let refusal = fixture.refusal("apply_patch", patch(text)).await;
        assert!(refusal.contains("`locked` is read-only. Nothing was changed."), "{refusal}");
    }
    assert_eq!(
        (fixture.read("locked"), fixture.read("other"), mode("locked")),
        ("1\n".into(), "1\n".into(), 0o444)
    );
}

#[tokio::test]
async fn links_are_followed_inside_and_nowhere_else() {
    let fixture = ToolFixture::with(&[("real", "1\n"), ("d/x", "1\n"), (".git/config", "1\n")]);
    fixture.link("link", "real");
    fixture.link("out", fixture.outside().join("secret.txt"));
    fixture.link("folder", fixture.outside());
    fixture.link("dangling", "nowhere");
    fixture.link("git", ".git");
    fixture.ok("apply_patch", patch("*** Update File: link\n-1\n+2\n")).await;
    assert_eq!(fixture.read("real"), "2\n");
    assert!(fixture.path("link").is_symlink());
    let before = fixture.names();
    for (text, expected) in [
        ("*** Update File: out\n-top secret\n+x\n", "outside the workspace"),
        ("*** Update File: folder/secret.txt\n-top secret\n+x\n", "outside the workspace"),
        ("*** Add File: folder/new\n+x\n", "outside the workspace"),
        ("*** Add File: folder/new/new\n+x\n", "outside the workspace"),
        ("*** Delete File: folder/secret.txt\n", "outside the workspace"),
        ("*** Update File: d/x\n*** Move to: folder/x\n", "outside the workspace"),
        ("*** Delete File: link\n", "is a symbolic link"),
        ("*** Update File: link\n*** Move to: new\n", "is a symbolic link"),
        ("*** Add File: link\n+x\n", "it already exists"),
        ("*** Add File: dangling\n+x\n", "it already exists"),
        ("*** Update File: d/x\n*** Move to: dangling\n", "it already exists"),
        ("*** Update File: link\n-2\n+3\n*** Update File: real\n*** Move to: new\n", "names it twice"),
        ("*** Add File: git/hooks/new\n+x\n", "inside `.git`"),
        ("*** Update File: git/config\n-1\n+2\n", "inside `.git`"),
    ] {
        let refusal = fixture.refusal("apply_patch", patch(text)).await;
        assert!(refusal.contains(expected), "{text}: {refusal}");
        assert_eq!(fixture.names(), before, "{text}");
    }
    assert_eq!((fixture.read("real"), fixture.read(".git/config")), ("2\n".into(), "1\n".into()));
    assert_eq!(std::fs::read_to_string(fixture.outside().join("secret.txt")).unwrap(), "top secret\n");
    assert_eq!(std::fs::read_dir(fixture.outside()).unwrap().count(), 1);
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let fixture = ToolFixture::new();
    let files = |count: usize| -> String {
        (0..count).map(|number| format!("*** Add File: f{number}\n+x\n")).collect()
    };
    fixture.put("long", "x\n".repeat(2 * 1024 * 1024 + 1));
    for (text, expected) in [
        ("+".repeat(1024 * 1024 + 1), "has 1048577 bytes; the limit is 1048576"),
        (files(201), "changes 201 files; the limit is 200"),
        ("*** Update File: long\n-x\n+y\n".to_owned(), "it has 4194306 bytes; the limit is 4194304"),
    ] {
        let refusal = fixture.refusal("apply_patch", patch(text)).await;
        assert!(refusal.contains(expected), "{refusal}");
    }
    assert_eq!(fixture.names().len(), 1);
    fixture.ok("apply_patch", patch(files(200))).await;
    assert_eq!(fixture.names().len(), 201);
}

#[test]
fn the_summary_names_every_file() {
    let tools = ostler_tools::Tools::builtin();
    let tool = tools.get("apply_patch").unwrap();
    for (input, expected) in [
        (
            patch(
                "*** Add File: a\n+1\n*** Delete File: b\n*** Update File: c\n-1\n*** Update File: d\n*** Move to: e\u{202e}\n",
            ),
            "add a, delete b, update c, move d to e\\u{202e}",
        ),
        (patch("nonsense"), "apply a patch that cannot be read"),
        (json!({}), "apply a patch, but the input has none"),
    ] {
        assert_eq!(tool.summary(&input), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_keeps_changing_leaves_both_files_or_neither_changed() {
    let fixture = ToolFixture::with(&[("count", "0\n"), ("beside", "0\n")]);
    let done = AtomicBool::new(false);
    let (applied, theirs) = std::thread::scope(|scope| {
        // Somebody else replaces the file as an editor does: by a rename.
        let other = scope.spawn(|| {
            let mut written = 0;
            while !done.load(Ordering::Relaxed) {
                written += 1;
                fixture.put("theirs", format!("theirs {written}\n"));
                std::fs::rename(fixture.path("theirs"), fixture.path("count")).unwrap();
                std::thread::yield_now();
            }
            written
        });
        let applied = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let mut applied = 0;
                for round in 0..200 {
                    let text = format!(
                        "*** Update File: beside\n-{applied}\n+{}\n*** Update File: count\n@@\n+ours {round}\n",
                        applied + 1
                    );
                    let outcome = fixture.call("apply_patch", patch(text)).await;
                    assert!(outcome.ok || outcome.text.contains("Nothing was changed."), "{}", outcome.text);
                    applied += usize::from(outcome.ok);
                }
                applied
            })
        });
        done.store(true, Ordering::Relaxed);
        (applied, other.join().unwrap())
    });
    assert!(theirs > 0);
    assert_eq!(fixture.read("beside"), format!("{applied}\n"), "both files change or neither");
    let _ = std::fs::remove_file(fixture.path("theirs"));
    assert_eq!(fixture.names().len(), 2, "no temporary file is left: {:?}", fixture.names());
}

#[tokio::test]
async fn what_somebody_changed_since_it_was_read_is_told_and_not_deleted() {
    let fixture = ToolFixture::with(&[("a", "one\ntwo\n"), ("b", "one\n")]);
    for path in ["a", "b"] {
        fixture.ok("read_file", json!({"path": path})).await;
    }
    fixture.put("a", "one\ntwo\ntheirs\n");
    fixture.put("b", "theirs\n");
    let delete = "*** Begin Patch\n*** Delete File: b\n*** End Patch";
    let refused = fixture.refusal("apply_patch", json!({"patch": delete})).await;
    assert!(refused.contains("`b` has been modified since you read it"), "{refused}");
    let update = "*** Begin Patch\n*** Update File: a\n@@\n one\n-two\n+2\n*** End Patch";
    let outcome = fixture.ok("apply_patch", json!({"patch": update})).await;
    assert!(outcome.text.contains("`a` has been modified since you read it"), "{}", outcome.text);
    assert_eq!(fixture.read("a"), "one\n2\ntheirs\n");
    // What the session wrote itself it has seen.
    let edit = json!({"path": "a", "old": "2", "new": "two"});
    let outcome = fixture.ok("edit_file", edit).await;
    assert!(!outcome.text.contains("changed since"), "{}", outcome.text);
    fixture.put("a", "two, theirs\n");
    let outcome = fixture.ok("edit_file", json!({"path": "a", "old": "two", "new": "2"})).await;
    assert!(outcome.text.contains("`a` has been modified since you read it"), "{}", outcome.text);
    assert_eq!(fixture.read("a"), "2, theirs\n");
    fixture.ok("read_file", json!({"path": "b"})).await;
    fixture.ok("apply_patch", json!({"patch": delete})).await;
}
