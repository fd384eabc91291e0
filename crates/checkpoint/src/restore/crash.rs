//! Cuts restores short, at every point where they change something, and lets them be completed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::{CaptureOptions, Checkpoint, CheckpointStore, Error, RestoreOptions};

/// What happens in the middle of a restore, after so many changes.
type CrashEvent = (usize, Box<dyn FnOnce() -> Result<(), Error>>);

thread_local! {
    /// What is still to happen on this thread.
    static EVENT: RefCell<Option<CrashEvent>> = const { RefCell::new(None) };
}

/// Lets happen what a test has asked for. Called before each change that a restore makes.
pub(super) fn run_pending_event() -> Result<(), Error> {
    match EVENT.take() {
        None => Ok(()),
        Some((0, happen)) => happen(),
        Some((left, happen)) => {
            EVENT.set(Some((left - 1, happen)));
            Ok(())
        }
    }
}

/// A workspace before and after a turn that did all that a turn can do.
struct CrashTurn {
    _folder: tempfile::TempDir,
    workspace: PathBuf,
    store: CheckpointStore,
    before: Checkpoint,
    after: Checkpoint,
    tree: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

/// Where files need not wait for a disk, if there is such a place.
fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

fn turn() -> CrashTurn {
    let folder = tempfile::tempdir_in(memory()).unwrap();
    let workspace = folder.path().join("w");
    let at = |path: &str| workspace.join(path);
    let chmod = |path: &str, mode| fs::set_permissions(at(path), fs::Permissions::from_mode(mode)).unwrap();
    for directory in ["gone/deep", "becomes_file/x", "closed", "empty", "mode"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    for file in
        ["edited", "gone/a", "gone/deep/b", "becomes_directory", "becomes_file/x/c", "closed/d", "bits"]
    {
        fs::write(at(file), file).unwrap();
    }
    symlink("edited", at("link")).unwrap();
    chmod("closed", 0o555);
    let tree = snapshot(&workspace);
    let store = CheckpointStore::open(&folder.path().join("s")).unwrap();
    let before = store.capture(&workspace, &CaptureOptions::default()).unwrap();

    chmod("closed", 0o755);
    fs::write(at("edited"), "something else").unwrap();
    fs::write(at("closed/d"), "changed").unwrap();
    fs::write(at("closed/new"), "new").unwrap();
    fs::remove_dir_all(at("gone")).unwrap();
    fs::remove_dir_all(at("becomes_file")).unwrap();
    fs::write(at("becomes_file"), "now a file").unwrap();
    fs::remove_file(at("becomes_directory")).unwrap();
    fs::create_dir_all(at("becomes_directory/y")).unwrap();
    fs::write(at("becomes_directory/y/e"), "e").unwrap();
    fs::remove_file(at("link")).unwrap();
    symlink("gone", at("link")).unwrap();
    fs::remove_dir(at("empty")).unwrap();
    fs::create_dir_all(at("added/deep")).unwrap();
    fs::write(at("added/deep/f"), "f").unwrap();
    chmod("bits", 0o755);
    chmod("mode", 0o700);
    chmod("added/deep", 0o555);
    chmod("closed", 0o555);
    let after = store.capture(&workspace, &CaptureOptions::default()).unwrap();
    CrashTurn { workspace, store, before, after, tree, _folder: folder }
}

fn snapshot(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if metadata.is_dir() {
                waiting.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path, (metadata.permissions().mode(), content));
        }
    }
    found
}

/// Restores with some changes allowed; says whether that was enough.
fn restore(turn: &CrashTurn, since: bool, allowed: Option<usize>) -> Option<crate::RestoreReport> {
    let cut = || -> Result<(), Error> { Err(Error::Hunks("cut short by a test".to_owned())) };
    EVENT.set(allowed.map(|allowed| (allowed, Box::new(cut) as Box<dyn FnOnce() -> Result<(), Error>>)));
    let since = since.then_some(&turn.after);
    let result = turn.store.restore(&turn.workspace, &turn.before, since, &RestoreOptions::default());
    EVENT.set(None);
    match result {
        Ok(restored) => Some(restored),
        Err(Error::Hunks(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Restores while something else happens after so many changes; says whether it did happen.
fn restore_while(
    turn: &CrashTurn,
    changes: usize,
    happen: impl FnOnce() + 'static,
) -> (crate::RestoreReport, bool) {
    let happen = move || {
        happen();
        Ok(())
    };
    EVENT.set(Some((changes, Box::new(happen))));
    let restored = turn
        .store
        .restore(&turn.workspace, &turn.before, Some(&turn.after), &RestoreOptions::default())
        .unwrap();
    (restored, EVENT.take().is_none())
}

#[test]
fn a_restore_cut_short_anywhere_is_completed_by_the_same_call() {
    for since in [true, false] {
        let mut cuts = 0;
        loop {
            let turn = turn();
            if restore(&turn, since, Some(cuts)).is_some() {
                break;
            }
            let begun = turn.store.interrupted(&turn.workspace).unwrap().unwrap();
            assert_eq!((begun.to, begun.since), (turn.before.id, since.then_some(turn.after.id)));
            if cuts % 3 == 0 {
                // A second crash, soon after the first; near the end there is nothing left to be cut.
                assert!(restore(&turn, since, Some(1)).is_none() || cuts > 30, "{cuts}");
            }
            let options = RestoreOptions { preview: true, ..RestoreOptions::default() };
            let now = snapshot(&turn.workspace);
            let preview = turn
                .store
                .restore(&turn.workspace, &turn.before, since.then_some(&turn.after), &options)
                .unwrap();
            assert_eq!(snapshot(&turn.workspace), now, "a preview changes nothing");
            let restored = restore(&turn, since, None).unwrap();
            assert_eq!(restored.conflicts, [], "{cuts}");
            assert_eq!(snapshot(&turn.workspace), turn.tree, "cut short after {cuts} changes");
            if since {
                assert_eq!(preview, restored, "{cuts}");
            }
            assert_eq!(turn.store.interrupted(&turn.workspace).unwrap(), None);
            cuts += 1;
        }
        assert!(cuts > 30, "{cuts} cuts are too few to be all of them");
    }
}

#[test]
fn what_is_changed_after_the_crash_is_a_conflict() {
    let turn = turn();
    assert_eq!(restore(&turn, true, Some(12)), None);
    fs::write(turn.workspace.join("edited"), "by the user").unwrap();
    let restored = restore(&turn, true, None).unwrap();
    let paths: Vec<_> = restored.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    assert_eq!(paths, [PathBuf::from("edited")]);
    assert_eq!(fs::read(turn.workspace.join("edited")).unwrap(), b"by the user");
}

#[test]
fn another_restore_after_a_crash_leaves_nothing_lying_around() {
    for cuts in 0..40 {
        let turn = turn();
        if restore(&turn, true, Some(cuts)).is_some() {
            return;
        }
        let options = RestoreOptions { force: true, ..RestoreOptions::default() };
        let restored = turn.store.restore(&turn.workspace, &turn.before, None, &options).unwrap();
        assert_eq!(restored.conflicts, [], "{cuts}");
        assert_eq!(snapshot(&turn.workspace), turn.tree, "{cuts}");
    }
}

#[test]
fn a_link_swapped_in_at_any_moment_leads_nowhere() {
    for directory in ["closed", "becomes_directory", "added", "mode"] {
        for changes in 0.. {
            let turn = turn();
            let victim = turn.workspace.with_file_name("victim");
            fs::create_dir_all(victim.join("deep")).unwrap();
            for file in ["d", "new", "deep/f", "y"] {
                fs::write(victim.join(file), "not yours").unwrap();
            }
            let outside = snapshot(&victim);
            let (place, away, to) =
                (turn.workspace.join(directory), turn.workspace.with_file_name("away"), victim.clone());
            let (_, happened) = restore_while(&turn, changes, move || {
                // Whatever is there at that moment, if anything is.
                let _ = fs::rename(&place, away);
                let _ = symlink(to, &place);
            });
            assert_eq!(snapshot(&victim), outside, "{directory} after {changes} changes");
            if !happened {
                break;
            }
        }
    }
}

#[test]
fn what_somebody_changes_meanwhile_is_kept_and_named() {
    for changes in 0..100 {
        let turn = turn();
        let (edited, recreated) = (turn.workspace.join("edited"), turn.workspace.join("gone"));
        let was_back = std::rc::Rc::new(std::cell::Cell::new((false, false)));
        let (edit, create, seen) = (edited.clone(), recreated.clone(), was_back.clone());
        let (restored, happened) = restore_while(&turn, changes, move || {
            seen.set((fs::read(&edit).unwrap() == b"edited", create.exists()));
            fs::write(&edit, "by the user, meanwhile").unwrap();
            if !create.exists() {
                fs::write(&create, "by the user").unwrap();
            }
        });
        if !happened {
            assert!(changes > 30);
            return;
        }
        assert_eq!(fs::read(&edited).unwrap(), b"by the user, meanwhile", "{changes}");
        let (edited_before, made_before) = was_back.get();
        let named = |path: &str| restored.conflicts.iter().any(|conflict| conflict.path == Path::new(path));
        assert_eq!(named("edited"), !edited_before, "{changes}: {:?}", restored.conflicts);
        assert_eq!(named("gone"), !made_before, "{changes}: {:?}", restored.conflicts);
        let names: Vec<_> = snapshot(&turn.workspace).into_keys().collect();
        assert!(names.iter().all(|path| !path.to_string_lossy().contains(".ostler-")), "{names:?}");
    }
}

#[test]
fn an_undo_of_several_turns_cut_short_anywhere_is_completed_by_the_same_call() {
    let mut cuts = 0;
    loop {
        let first = turn();
        let edited = first.workspace.join("edited");
        fs::write(&edited, "by the second turn").unwrap();
        fs::write(first.workspace.join("made later"), "new").unwrap();
        let options = CaptureOptions { since: Some(first.after.id), ..CaptureOptions::default() };
        let last = first.store.capture(&first.workspace, &options).unwrap();
        let spans = [
            super::TurnCheckpoints { before: &first.after, after: Some(&last) },
            super::TurnCheckpoints { before: &first.before, after: Some(&first.after) },
        ];
        let cut = || -> Result<(), Error> { Err(Error::Hunks("cut short by a test".to_owned())) };
        EVENT.set(Some((cuts, Box::new(cut))));
        let ended = first.store.undo(&first.workspace, &spans, &RestoreOptions::default());
        EVENT.set(None);
        if ended.is_ok() {
            break;
        }
        let left =
            || snapshot(&first.workspace).keys().any(|path| path.to_string_lossy().contains(".ostler-"));
        let was_left = left();
        assert_eq!(first.store.clean_interrupted().unwrap(), 1);
        assert!(!left(), "nothing is left lying about; there was before: {was_left}");
        let done = first.store.undo(&first.workspace, &spans, &RestoreOptions::default()).unwrap();
        assert_eq!(done.conflicts, [], "{cuts}");
        assert_eq!(snapshot(&first.workspace), first.tree, "cut short after {cuts} changes");
        assert_eq!(first.store.clean_interrupted().unwrap(), 0);
        cuts += 1;
    }
    assert!(cuts > 10, "{cuts}");
}

#[test]
fn what_becomes_protected_meanwhile_is_left_as_it_is() {
    fn protected_name(workspace: &Path, path: &Path, _: bool) -> Option<&'static str> {
        (workspace.join(".claude").is_symlink() && path.starts_with("becomes_file")).then_some(".claude")
    }
    for changes in 0..100 {
        let mut turn = turn();
        turn.store = turn.store.with_protected_names(std::sync::Arc::new(protected_name));
        let (workspace, seen) = (turn.workspace.clone(), std::rc::Rc::new(RefCell::new(None)));
        let at_that_time = seen.clone();
        let below = |workspace: &Path| -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
            let all = snapshot(workspace).into_iter();
            all.filter(|(path, _)| path.starts_with(workspace.join("becomes_file"))).collect()
        };
        let (restored, happened) = restore_while(&turn, changes, move || {
            symlink("becomes_file", workspace.join(".claude")).unwrap();
            *at_that_time.borrow_mut() = Some(below(&workspace));
        });
        if !happened {
            assert!(changes > 30);
            return;
        }
        // The change that was about to be made is still made.
        let then = seen.borrow_mut().take().unwrap();
        let now = below(&turn.workspace);
        let is_own = |path: &Path| path.to_string_lossy().contains(".ostler-");
        assert!(!now.keys().any(|path| is_own(path)), "{changes}: {now:?}");
        let different = now.keys().chain(then.keys()).filter(|path| now.get(*path) != then.get(*path));
        let different: std::collections::BTreeSet<_> = different.filter(|path| !is_own(path)).collect();
        assert!(different.len() <= 1, "{changes}: {different:?}");
        let is_back = now.iter().all(|(path, node)| turn.tree.get(path) == Some(node)) && now.len() == 3;
        assert!(is_back || !restored.protected.is_empty(), "{changes}: {now:?} {restored:?}");
    }
}
