//! What a restore touches and what it leaves alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use ostler_checkpoint::{CaptureOptions, Error, LeftOutReason, RestoreOptions};

use crate::tree::{CheckpointFixture, conflicts, snapshot};

#[test]
fn what_the_user_changed_after_the_turn_is_a_conflict_unless_forced() {
    let fixture = CheckpointFixture::new();
    for path in ["edited", "deleted", "kept", "both"] {
        fixture.write(path, "old");
    }
    let before = fixture.capture();
    for path in ["edited", "deleted", "both", "added", "dir/inner"] {
        fixture.write(path, "by the turn");
    }
    let after = fixture.capture();
    fixture.write("edited", "by the user");
    fixture.write("added", "by the user, too");
    fixture.write("dir/theirs", "mine");
    fixture.write("kept", "edited outside of any turn");
    fs::remove_file(fixture.at("deleted")).unwrap();

    let done = fixture.restore(&before, Some(&after));
    assert_eq!(conflicts(&done), ["added", "deleted", "dir", "edited"]);
    let why: Vec<&str> = done.conflicts.iter().map(|conflict| conflict.why.as_str()).collect();
    assert_eq!(why[..2], ["was changed since", "was deleted since"]);
    assert!(why[2].contains("still holds files"), "{}", why[2]);
    assert_eq!(done.restored, [PathBuf::from("both")]);
    assert_eq!(done.deleted, [PathBuf::from("dir/inner")]);
    assert_eq!(fixture.read("edited"), "by the user");
    assert_eq!(fixture.read("dir/theirs"), "mine");

    let options = RestoreOptions { force: true, ..RestoreOptions::default() };
    let done = fixture.store.restore(&fixture.workspace, &before, Some(&after), &options).unwrap();
    assert_eq!(conflicts(&done), ["dir"], "a file that no checkpoint holds is not lost even so");
    assert_eq!(fixture.read("edited"), "old");
    assert_eq!(fixture.read("deleted"), "old");
    assert_eq!(fixture.read("kept"), "edited outside of any turn");
    assert_eq!(fixture.read("dir/theirs"), "mine");
    assert!(!fixture.at("added").exists());
}

#[test]
fn only_the_paths_that_were_named_are_restored() {
    let fixture = CheckpointFixture::new();
    fixture.write("a/one", "1");
    fixture.write("ab", "2");
    let before = fixture.capture();
    fs::remove_dir_all(fixture.at("a")).unwrap();
    fixture.write("ab", "changed");
    let after = fixture.capture();
    let options = RestoreOptions { only: Some(vec!["a/one".into()]), ..RestoreOptions::default() };
    let done = fixture.store.restore(&fixture.workspace, &before, Some(&after), &options).unwrap();
    assert_eq!(done.recreated, [PathBuf::from("a"), PathBuf::from("a/one")]);
    assert_eq!((fixture.read("a/one").as_str(), fixture.read("ab").as_str()), ("1", "changed"));
}

#[test]
fn a_link_swapped_in_for_a_directory_leads_nowhere() {
    let fixture = CheckpointFixture::new();
    fixture.write("d/file", "old");
    fixture.write("d/gone", "old");
    let before = fixture.capture();
    fixture.write("d/file", "new");
    fixture.write("d/added", "new");
    fs::remove_file(fixture.at("d/gone")).unwrap();
    let after = fixture.capture();
    let victim = fixture.outside().join("victim");
    fs::create_dir(&victim).unwrap();
    for name in ["file", "added"] {
        fs::write(victim.join(name), "new").unwrap();
    }
    let outside = snapshot(&victim);
    fs::rename(fixture.at("d"), fixture.outside().join("moved")).unwrap();
    symlink(&victim, fixture.at("d")).unwrap();
    for force in [false, true] {
        let options = RestoreOptions { force, ..RestoreOptions::default() };
        let done = fixture.store.restore(&fixture.workspace, &before, Some(&after), &options).unwrap();
        assert_eq!(snapshot(&victim), outside);
        if force {
            assert_eq!(done.conflicts, []);
            assert!(fs::symlink_metadata(fixture.at("d")).unwrap().is_dir());
            assert_eq!(fixture.read("d/file"), "old");
        } else {
            // Nothing is where the added file was, which is what undoing it comes to.
            assert_eq!(conflicts(&done), ["d/file", "d/gone"]);
        }
    }
}

#[test]
fn what_git_ignores_stays_even_if_a_turn_edits_the_rules() {
    let fixture = CheckpointFixture::in_git("/secret\n/vendor/\n");
    fixture.write("secret", "precious");
    fixture.write("vendor/lib", "precious");
    fixture.write("notes", "old");
    fixture.write("sub/.gitignore", "*.log\n");
    fixture.write("sub/a.log", "precious");
    let tree = fixture.snapshot();
    let before = fixture.capture();
    // Now nothing of that is ignored any more, and something else is.
    fixture.write(".gitignore", "/notes\n");
    fs::remove_file(fixture.at("sub/.gitignore")).unwrap();
    fixture.write("notes", "new");
    let after = fixture.capture_since(&before);
    let done = fixture.restore(&before, Some(&after));
    assert_eq!(done.conflicts, []);
    assert_eq!(fixture.snapshot(), tree);
}

#[test]
fn a_repository_above_and_one_below_are_seen() {
    let fixture = CheckpointFixture::in_git("*.o\n");
    fixture.write("inner/.git/HEAD", "ref");
    fixture.write("inner/.gitignore", "*.tmp\n");
    fixture.write("inner/a.o", "no rule of the outer one holds here");
    fixture.write("inner/a.tmp", "ignored");
    fixture.write("work/.gitignore", "!keep.o\n");
    fixture.write("work/keep.o", "kept");
    fixture.write("work/drop.o", "ignored");
    fixture.write("scratch.o/deep/file", "ignored by the outer one, but a workspace of its own");
    let below = fixture.store.capture(&fixture.at("work"), &CaptureOptions::default()).unwrap();
    assert_eq!(below.files, 2, ".gitignore and keep.o");
    let scratch = fixture.store.capture(&fixture.at("scratch.o/deep"), &CaptureOptions::default()).unwrap();
    assert_eq!(scratch.files, 1);
    let whole = fixture.capture();
    assert_eq!(whole.files, 5, "three files of rules, inner/a.o and work/keep.o");
}

#[test]
fn large_and_special_files_are_listed_and_left_alone() {
    let fixture = CheckpointFixture::new();
    let large = vec![7; 32 * 1024 * 1024 + 1];
    fixture.write("large", &large);
    fixture.write("just", &large[1..]);
    let socket = std::os::unix::net::UnixListener::bind(fixture.at("socket")).unwrap();
    let before = fixture.capture();
    assert_eq!((before.files, before.left_out), (1, 2));
    let left_out: Vec<_> =
        fixture.store.left_out(&before).unwrap().into_iter().map(|left| (left.path, left.reason)).collect();
    assert_eq!(
        left_out,
        [("large".into(), LeftOutReason::TooLarge), ("socket".into(), LeftOutReason::Special)]
    );

    fixture.write("large", "small now");
    fixture.write("just", "changed");
    fixture.write("added", &large);
    let after = fixture.capture();
    let done = fixture.restore(&before, Some(&after));
    assert_eq!(done.left_out.len(), 1);
    assert_eq!(done.left_out[0].path, PathBuf::from("large"));
    assert_eq!(done.deleted, [PathBuf::from("added")]);
    assert_eq!(fixture.read("large"), "small now");
    assert!(fs::read(fixture.at("just")).unwrap() == large[1..]);
    drop(socket);
}

#[test]
fn a_file_of_another_owner_and_a_closed_directory_are_no_obstacle_to_an_ordinary_user() {
    let fixture = CheckpointFixture::new();
    fixture.write("closed/file", "old");
    fixture.write("closed/deep/gone", "old");
    fixture.write("unreadable", "old");
    fixture.chmod("closed/deep", 0o500);
    fixture.chmod("closed", 0o555);
    let tree = fixture.snapshot();
    let restore = || {
        let before = fixture.capture();
        fixture.chmod("closed", 0o755);
        fixture.chmod("closed/deep", 0o755);
        fixture.write("closed/file", "new");
        fs::remove_dir_all(fixture.at("closed/deep")).unwrap();
        fixture.write("closed/more/added", "new");
        fixture.chmod("closed/more", 0o555);
        fixture.chmod("closed", 0o555);
        fixture.chmod("unreadable", 0o000);
        let after = fixture.capture();
        fixture.restore(&before, Some(&after))
    };
    let done = as_ordinary_user(&fixture, restore);
    assert_eq!(done.conflicts, []);
    assert_eq!(fixture.snapshot(), tree);
}

#[test]
fn what_was_in_a_directory_that_could_not_be_read_is_left_alone() {
    let fixture = CheckpointFixture::new();
    fixture.write("hidden/precious", "precious");
    fixture.write("file", "old");
    fixture.chmod("hidden", 0o000);
    let done = as_ordinary_user(&fixture, || {
        let before = fixture.capture();
        assert_eq!(before.left_out, 1);
        fixture.chmod("hidden", 0o755);
        fixture.write("file", "new");
        let after = fixture.capture();
        fixture.restore(&before, Some(&after))
    });
    assert_eq!(done.left_out[0].path, PathBuf::from("hidden"));
    assert_eq!((done.conflicts.len(), done.deleted.len()), (0, 0));
    assert_eq!((fixture.read("hidden/precious"), fixture.read("file")), ("precious".into(), "old".into()));
}

/// Runs something with the rights of an ordinary user, to whom the fixture is given, where tests run
/// as root.
fn as_ordinary_user<T: Send>(fixture: &CheckpointFixture, work: impl FnOnce() -> T + Send) -> T {
    if !rustix::process::geteuid().is_root() {
        return work();
    }
    let user = rustix::fs::Uid::from_raw(65_534);
    let mut all = vec![fixture.outside().to_owned()];
    while let Some(path) = all.pop() {
        std::os::unix::fs::lchown(&path, Some(user.as_raw()), None).unwrap();
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            all.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    // Rights belong to a thread, and pass on to those that it starts.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn open_files_keep_what_they_have_and_modes_come_back() {
    let fixture = CheckpointFixture::new();
    fixture.write("open", "old");
    fixture.write("script", "#!/bin/sh\n");
    fixture.chmod("script", 0o755);
    let before = fixture.capture();
    fixture.write("open", "new");
    fixture.chmod("script", 0o644);
    let mut reader = fs::File::open(fixture.at("open")).unwrap();
    fixture.restore(&before, None);
    assert_eq!(std::io::read_to_string(&mut reader).unwrap(), "new");
    assert_eq!(fixture.read("open"), "old");
    assert_eq!(fs::metadata(fixture.at("script")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_checkpoint_is_not_restored_in_another_workspace() {
    let fixture = CheckpointFixture::new();
    let before = fixture.capture();
    let other = fixture.outside().join("other");
    fs::create_dir(&other).unwrap();
    let error = fixture.store.restore(&other, &before, None, &RestoreOptions::default()).unwrap_err();
    assert!(matches!(error, Error::OtherWorkspace { .. }), "{error}");
}

#[test]
fn a_file_that_git_tracks_is_restored_though_a_rule_ignores_it() {
    let whole: &[&[&str]] = &[&["add", "--force", "dist/tracked.js"]];
    let split: &[&[&str]] = &[
        &["add", "--force", "dist/tracked.js", "dist/other.js"],
        &["update-index", "--split-index"],
        // The shared part of the index still lists it; the other part says that it is gone.
        &["rm", "--quiet", "--cached", "dist/other.js"],
    ];
    for format in ["sha1", "sha256"] {
        for version in ["2", "4"] {
            for steps in [whole, split] {
                restores_tracked_files(format, version, steps);
            }
        }
    }
}

fn restores_tracked_files(format: &str, version: &str, steps: &[&[&str]]) {
    let kind = format!("{format}, index version {version}, {steps:?}");
    let fixture = CheckpointFixture::new();
    fixture.write(".gitignore", "dist/\n");
    fixture.write("dist/tracked.js", "old");
    fixture.write("dist/other.js", "old");
    fixture.git(&["init", "--quiet", &format!("--object-format={format}")]);
    fixture.git(&["config", "index.version", version]);
    for step in steps {
        fixture.git(step);
    }
    let before = fixture.capture();
    assert_eq!(before.files, 2, ".gitignore and dist/tracked.js: {kind}");
    fixture.write("dist/other.js", "new");
    fixture.write("dist/added.js", "new");
    fs::remove_file(fixture.at("dist/tracked.js")).unwrap();
    let after = fixture.capture_since(&before);
    assert_eq!(fixture.restore(&before, Some(&after)).conflicts, [], "{kind}");
    assert_eq!(
        (fixture.read("dist/tracked.js"), fixture.read("dist/other.js")),
        ("old".into(), "new".into()),
        "{kind}"
    );
    assert!(fixture.at("dist/added.js").exists(), "{kind}");
}

#[test]
fn a_tracked_file_is_restored_in_a_linked_worktree_with_sha256_objects() {
    let fixture = CheckpointFixture::new();
    let main = fixture.outside().join("main");
    let (main, workspace) = (main.to_str().unwrap(), fixture.workspace.to_str().unwrap());
    fixture.git(&["init", "--quiet", "--object-format=sha256", main]);
    let author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let commit = [&["-C", main], &author[..], &["commit", "--quiet", "--allow-empty", "-m", "x"]].concat();
    fixture.git(&commit);
    fixture.git(&["-C", main, "worktree", "add", "--quiet", "--force", workspace]);
    fixture.write(".gitignore", "*.js\n");
    fixture.write("tracked.js", "old");
    fixture.git(&["add", "--force", "tracked.js"]);
    let before = fixture.capture();
    fs::remove_file(fixture.at("tracked.js")).unwrap();
    fixture.restore(&before, Some(&fixture.capture_since(&before)));
    assert_eq!(fixture.read("tracked.js"), "old");
}
