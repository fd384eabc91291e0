//! What is shown of a turn, and what of it can be undone piece by piece.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ostler_checkpoint::{CheckpointChangeKind, DiffTarget, Error};

use crate::tree::{CheckpointFixture, conflicts};

#[test]
fn each_kind_of_change_is_told() {
    let fixture = CheckpointFixture::new();
    fixture.write("edited", "one\ntwo\n");
    fixture.write("gone", "x\n");
    fixture.write("old/name", "the same content\n");
    fixture.write("bits", "b");
    fixture.write("kind", "k\n");
    fixture.write("image", b"\0\x01");
    fixture.write("latin", b"caf\xe9\n");
    symlink("edited", fixture.at("link")).unwrap();
    let before = fixture.capture();
    fixture.write("edited", "one\n2\n3\n");
    fs::remove_file(fixture.at("gone")).unwrap();
    fs::create_dir(fixture.at("new")).unwrap();
    fs::rename(fixture.at("old/name"), fixture.at("new/name")).unwrap();
    fixture.chmod("bits", 0o755);
    fs::remove_file(fixture.at("kind")).unwrap();
    symlink("edited", fixture.at("kind")).unwrap();
    fixture.write("image", b"\0\x02");
    fixture.write("latin", b"caf\xe9s\n");
    fs::remove_file(fixture.at("link")).unwrap();
    symlink("gone", fixture.at("link")).unwrap();
    fs::create_dir(fixture.at("empty")).unwrap();
    let after = fixture.capture();

    let diff = fixture.store.diff(&before, DiffTarget::Checkpoint(&after)).unwrap();
    let told: Vec<_> =
        diff.iter().map(|change| (change.path.to_str().unwrap(), change.kind.clone())).collect();
    assert_eq!(
        told,
        [
            ("bits", CheckpointChangeKind::ModeChanged),
            ("edited", CheckpointChangeKind::Modified),
            ("empty", CheckpointChangeKind::Added),
            ("gone", CheckpointChangeKind::Deleted),
            ("image", CheckpointChangeKind::Modified),
            ("kind", CheckpointChangeKind::TypeChanged),
            ("latin", CheckpointChangeKind::Modified),
            ("link", CheckpointChangeKind::Modified),
            ("new/name", CheckpointChangeKind::Renamed { from: PathBuf::from("old/name") }),
        ]
    );
    let edited = &diff[1];
    assert_eq!((edited.added, edited.removed, edited.hunks, edited.binary), (2, 1, 1, false));
    assert_eq!(
        edited.diff.as_deref(),
        Some("--- a/edited\n+++ b/edited\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n")
    );
    assert_eq!(diff[3].diff.as_deref(), Some("--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"));
    assert!(diff[4].binary && diff[4].diff.is_none());
    assert!(!diff[6].binary && diff[6].diff.as_ref().unwrap().contains("\u{fffd}s"));
}

#[test]
fn all_diffs_together_are_bounded() {
    let fixture = CheckpointFixture::new();
    let before = fixture.capture();
    let text: String = (0..60_000).map(|line| format!("line {line}\n")).collect();
    for number in 0..30 {
        fixture.write(&format!("f{number:02}"), format!("{number}\n{text}"));
    }
    let diff = fixture.store.diff(&before, DiffTarget::Workspace(&fixture.workspace)).unwrap();
    let shown: usize = diff.iter().filter_map(|change| change.diff.as_ref()).map(String::len).sum();
    assert!(shown > 1024 * 1024 && shown <= 4 * 1024 * 1024, "{shown}");
    assert!(diff.iter().all(|change| change.truncated && change.added == 60_001));
}

fn numbers(change: &dyn Fn(usize) -> String) -> String {
    (0..60).map(change).collect()
}

#[test]
fn single_hunks_are_undone() {
    let fixture = CheckpointFixture::new();
    let line = |number: usize| format!("{number}\n");
    let changed = |at: &'static [usize]| {
        numbers(&move |number| if at.contains(&number) { format!("new {number}\n") } else { line(number) })
    };
    fixture.write("file", numbers(&line));
    fixture.write("binary", b"\0");
    fixture.write("deleted", "d\n");
    let before = fixture.capture();
    fixture.write("file", changed(&[5, 30, 55]));
    fixture.chmod("file", 0o755);
    fixture.write("binary", b"\0\0");
    fixture.write("added", "a\n");
    fs::remove_file(fixture.at("deleted")).unwrap();
    let after = fixture.capture();
    let undo = |path: &str, hunks: &[usize]| {
        fixture.store.restore_hunks(&fixture.workspace, Path::new(path), &before, Some(&after), hunks)
    };

    assert!(matches!(undo("file", &[3]), Err(Error::Hunks(_))));
    assert!(matches!(undo("binary", &[1]), Err(Error::Hunks(_))));
    assert_eq!(undo("file", &[]).unwrap(), Default::default());
    let done = undo("file", &[1]).unwrap();
    assert_eq!(done.restored, [PathBuf::from("file")]);
    assert_eq!(fixture.read("file"), changed(&[5, 55]));
    assert!(
        fs::metadata(fixture.at("file")).is_ok_and(|file| {
            std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o777 == 0o755
        })
    );
    // The hunks that were counted are not those that there are now.
    assert_eq!(conflicts(&undo("file", &[0]).unwrap()), ["file"]);
    let rest =
        fixture.store.restore_hunks(&fixture.workspace, Path::new("file"), &before, None, &[0, 1]).unwrap();
    assert_eq!(rest.conflicts, []);
    assert_eq!(fixture.read("file"), numbers(&line));

    assert_eq!(undo("added", &[0]).unwrap().deleted, [PathBuf::from("added")]);
    assert_eq!(undo("deleted", &[0]).unwrap().recreated, [PathBuf::from("deleted")]);
    assert_eq!(undo("binary", &[0]).unwrap().restored, [PathBuf::from("binary")]);
    assert_eq!(fs::read(fixture.at("binary")).unwrap(), b"\0");
    assert!(undo("../outside", &[0]).is_err());
}
