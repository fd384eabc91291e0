//! Paths that nobody writes for a model: no restore makes, changes or removes one, and all of them say so.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ostler_checkpoint::{
    CaptureOptions, Checkpoint, CheckpointStore, RestoreOptions, RestoreReport, TurnCheckpoints,
};

use crate::tree::{CheckpointFixture, conflicts};

const NAMES: &[&str] = &[".mcp.json", ".envrc", ".claude"];

/// Names at any depth, and the place that a link at the top leads to.
fn protected_name(workspace: &Path, path: &Path, _: bool) -> Option<&'static str> {
    let mut names = NAMES.iter().copied();
    names.find(|name| {
        let leads_there = || {
            let link = workspace.join(name);
            link.is_symlink() && link.canonicalize().is_ok_and(|to| workspace.join(path).starts_with(to))
        };
        path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(name)) || leads_there()
    })
}

/// A workspace whose store knows of protected names.
struct ProtectedWorkspace {
    fixture: CheckpointFixture,
    store: CheckpointStore,
}

impl ProtectedWorkspace {
    fn new(files: &[&str]) -> ProtectedWorkspace {
        let fixture = CheckpointFixture::new();
        files.iter().for_each(|path| fixture.write(path, "A\nB\n"));
        let store = CheckpointStore::open(&fixture.outside().join("other")).unwrap();
        ProtectedWorkspace { fixture, store: store.with_protected_names(std::sync::Arc::new(protected_name)) }
    }

    fn capture(&self) -> Checkpoint {
        self.store.capture(&self.fixture.workspace, &CaptureOptions::default()).unwrap()
    }

    /// A turn, and what each way of taking it back makes of the workspace: all report the same, a preview too, and
    /// neither touches what is protected.
    fn undo(&self, change: impl Fn(&CheckpointFixture)) -> RestoreReport {
        let before = self.capture();
        change(&self.fixture);
        let after = self.capture();
        let left = self.protected();
        let options = |preview, force| RestoreOptions { only: None, preview, force };
        let span = [TurnCheckpoints { before: &before, after: Some(&after) }];
        let workspace = &self.fixture.workspace;
        let preview = self.store.undo(workspace, &span, &options(true, false)).unwrap();
        let done = self.store.undo(workspace, &span, &options(false, false)).unwrap();
        assert_eq!(preview, done);
        for since in [Some(&after), None] {
            let forced = self.store.restore(workspace, &before, since, &options(false, true)).unwrap();
            assert_eq!(forced.protected, done.protected, "force does not help");
            assert_eq!(self.protected(), left, "what is protected is as it was");
        }
        done
    }

    /// All that is protected, and what it is.
    fn protected(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let all = self.fixture.snapshot().into_iter();
        let protected =
            all.filter(|(path, _)| protected_name(&self.fixture.workspace, path, false).is_some());
        protected.map(|(path, (_, _, content))| (path, content)).collect()
    }
}

fn protected(restored: &RestoreReport) -> Vec<(&str, &str)> {
    restored.protected.iter().map(|it| (it.path.to_str().unwrap(), it.name)).collect()
}

#[test]
fn what_is_protected_stays_as_it_is_whoever_changed_it() {
    let world = ProtectedWorkspace::new(&[".mcp.json", "sub/.ENVRC", "a"]);
    let done = world.undo(|fixture| {
        fixture.write(".mcp.json", "by the user during the turn");
        fs::remove_file(fixture.at("sub/.ENVRC")).unwrap();
        fixture.write("new/.claude/settings.json", "{}");
        fixture.write("a", "by the turn");
    });
    let expected = [
        (".mcp.json", ".mcp.json"),
        ("new/.claude", ".claude"),
        ("new/.claude/settings.json", ".claude"),
        ("sub/.ENVRC", ".envrc"),
    ];
    assert_eq!(protected(&done), expected);
    assert!(done.protected[0].why().contains("`.mcp.json`"), "{}", done.protected[0].why());
    assert_eq!(done.restored, [PathBuf::from("a")], "all else is brought back");
    assert_eq!(conflicts(&done), ["new"], "it still holds something");
}

#[test]
fn a_directory_that_was_renamed_goes_back_without_what_is_protected_in_it() {
    let world = ProtectedWorkspace::new(&["one/.envrc", "one/file"]);
    let done = world.undo(|fixture| fs::rename(fixture.at("one"), fixture.at("two")).unwrap());
    assert_eq!(protected(&done), [("one/.envrc", ".envrc"), ("two/.envrc", ".envrc")]);
    assert_eq!(conflicts(&done), ["two"]);
    assert!(world.fixture.at("one/file").exists() && !world.fixture.at("two/file").exists());
}

#[test]
fn a_file_that_became_a_directory_stays_one_while_something_protected_is_in_it() {
    let world = ProtectedWorkspace::new(&["conf", "tree/.envrc", "tree/file", "settings/x"]);
    let done = world.undo(|fixture| {
        fs::remove_file(fixture.at("conf")).unwrap();
        fixture.write("conf/.envrc", "export X=1");
        fs::remove_dir_all(fixture.at("tree")).unwrap();
        fixture.write("tree", "a file");
        fs::remove_dir_all(fixture.at("settings")).unwrap();
        symlink("conf", fixture.at("settings")).unwrap();
    });
    assert_eq!(protected(&done), [("conf/.envrc", ".envrc"), ("tree/.envrc", ".envrc")]);
    assert_eq!(conflicts(&done), ["conf"]);
    assert!(world.fixture.at("tree/file").exists() && !world.fixture.at("tree/.envrc").exists());
    assert_eq!(world.fixture.read("settings/x"), "A\nB\n");
}

#[test]
fn a_protected_name_and_what_it_leads_to_stay_whatever_kind_they_are() {
    let world = ProtectedWorkspace::new(&[".claude/a", ".envrc", "conf/settings.json"]);
    let done = world.undo(|fixture| {
        fs::remove_dir_all(fixture.at(".claude")).unwrap();
        symlink("conf", fixture.at(".claude")).unwrap();
        fixture.write("conf/settings.json", "changed");
        fs::remove_file(fixture.at(".envrc")).unwrap();
        fs::create_dir(fixture.at(".envrc")).unwrap();
    });
    let paths: Vec<&str> = protected(&done).iter().map(|(path, _)| *path).collect();
    assert_eq!(paths, [".claude", ".claude/a", ".envrc", "conf/settings.json"]);
    assert_eq!((done.restored.len(), done.conflicts.len()), (0, 0), "{done:?}");
    assert_eq!(world.fixture.read("conf/settings.json"), "changed");
}

#[test]
fn hunks_of_what_is_protected_are_not_undone() {
    let world = ProtectedWorkspace::new(&["sub/.envrc", "sub/file"]);
    let before = world.capture();
    let workspace = &world.fixture.workspace;
    for (path, since) in [("sub/.envrc", true), ("sub/.envrc", false), ("sub/file", true)] {
        world.fixture.write(path, "A\nC\n");
        let after = world.capture();
        let since = since.then_some(&after);
        let done = world.store.restore_hunks(workspace, Path::new(path), &before, since, &[0]).unwrap();
        let is_protected = path.ends_with(".envrc");
        assert_eq!(done.protected.len(), usize::from(is_protected), "{done:?}");
        assert_eq!(world.fixture.read(path), if is_protected { "A\nC\n" } else { "A\nB\n" });
    }
}
