//! Taking back turns, the newest first: what belongs to them goes, what somebody else did stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ostler_checkpoint::{
    CaptureOptions, Checkpoint, CheckpointStore, RestoreOptions, RestoreReport, StoreLimits, TurnCheckpoints,
};

use crate::tree::{CheckpointFixture, conflicts};

/// The turns of a test, the oldest first.
struct Turns(Vec<(Checkpoint, Option<Checkpoint>)>);

impl Turns {
    /// A turn that does something, known by both its ends.
    fn turn(&mut self, fixture: &CheckpointFixture, change: impl FnOnce(&CheckpointFixture)) {
        let before = fixture.capture();
        change(fixture);
        let after = fixture.capture_since(&before);
        self.0.push((before, Some(after)));
    }

    fn undo(&self, fixture: &CheckpointFixture, options: &RestoreOptions) -> RestoreReport {
        let spans: Vec<TurnCheckpoints<'_>> = self
            .0
            .iter()
            .rev()
            .map(|(before, after)| TurnCheckpoints { before, after: after.as_ref() })
            .collect();
        let preview = RestoreOptions { preview: true, ..options.clone() };
        let tree = fixture.snapshot();
        let would = fixture.store.undo(&fixture.workspace, &spans, &preview).unwrap();
        assert_eq!(fixture.snapshot(), tree, "a preview changes nothing");
        let done = fixture.store.undo(&fixture.workspace, &spans, options).unwrap();
        assert_eq!(would, done, "a preview says what is done");
        done
    }
}

fn forced() -> RestoreOptions {
    RestoreOptions { force: true, ..RestoreOptions::default() }
}

/// Two turns, and a user at work before, between and after them.
fn two_turns(fixture: &CheckpointFixture) -> Turns {
    for path in ["first", "second", "both", "shared", "mine"] {
        fixture.write(path, "old");
    }
    let mut turns = Turns(Vec::new());
    turns.turn(fixture, |fixture| {
        for path in ["first", "both", "shared", "dir/made"] {
            fixture.write(path, "first turn");
        }
    });
    fixture.write("mine", "between the turns");
    fixture.write("shared", "edited between the turns");
    fixture.write("new", "between the turns");
    turns.turn(fixture, |fixture| {
        for path in ["second", "both", "shared"] {
            fixture.write(path, "second turn");
        }
    });
    turns
}

#[test]
fn what_the_user_did_between_two_turns_stays() {
    let fixture = CheckpointFixture::new();
    let turns = two_turns(&fixture);
    let done = turns.undo(&fixture, &RestoreOptions::default());
    assert_eq!(conflicts(&done), ["shared"]);
    assert!(done.conflicts[0].why.contains("between the turns"), "{:?}", done.conflicts);
    for path in ["first", "second", "both"] {
        assert_eq!(fixture.read(path), "old", "{path}");
    }
    assert_eq!(fixture.read("shared"), "edited between the turns");
    assert_eq!(fixture.read("mine"), "between the turns");
    assert_eq!(fixture.read("new"), "between the turns");
    assert!(!fixture.at("dir").exists());
}

#[test]
fn by_force_each_file_goes_back_to_before_the_turns_and_others_stay() {
    let fixture = CheckpointFixture::new();
    let turns = two_turns(&fixture);
    fixture.write("both", "edited after both");
    let done = turns.undo(&fixture, &RestoreOptions::default());
    assert_eq!(conflicts(&done), ["both", "shared"]);
    assert_eq!(fixture.read("both"), "edited after both");
    let done = turns.undo(&fixture, &forced());
    assert_eq!(done.conflicts, []);
    for path in ["first", "second", "both", "shared"] {
        assert_eq!(fixture.read(path), "old", "{path}");
    }
    assert_eq!(fixture.read("mine"), "between the turns", "no turn touched it, so no force does");
}

#[test]
fn turns_that_are_undone_one_by_one_or_twice_leave_no_conflict() {
    let fixture = CheckpointFixture::new();
    fixture.write("a", "0");
    let tree = fixture.snapshot();
    let mut turns = Turns(Vec::new());
    for number in 1..=3 {
        turns.turn(&fixture, |fixture| {
            fixture.write("a", number.to_string());
            fixture.write(&format!("made {number}"), "new");
        });
    }
    let newest = Turns(vec![turns.0[2].clone()]);
    assert_eq!(newest.undo(&fixture, &RestoreOptions::default()).conflicts, []);
    assert_eq!(fixture.read("a"), "2");
    assert_eq!(turns.undo(&fixture, &RestoreOptions::default()).conflicts, []);
    assert_eq!(fixture.snapshot(), tree);
    assert_eq!(
        turns.undo(&fixture, &RestoreOptions::default()),
        RestoreReport::default(),
        "it is done already"
    );
}

#[test]
fn a_turn_of_which_the_end_is_not_known_is_a_conflict_and_so_is_what_is_below_it() {
    let fixture = CheckpointFixture::new();
    fixture.write("a", "0");
    let mut turns = Turns(Vec::new());
    turns.turn(&fixture, |fixture| fixture.write("a", "1"));
    let before = fixture.capture();
    fixture.write("a", "2, or by somebody else");
    turns.0.push((before, None));
    turns.turn(&fixture, |fixture| fixture.write("b", "new"));
    let done = turns.undo(&fixture, &RestoreOptions::default());
    assert_eq!(conflicts(&done), ["a"]);
    assert!(done.conflicts[0].why.contains("not known"), "{:?}", done.conflicts);
    assert_eq!(done.deleted, [PathBuf::from("b")]);
    assert_eq!(turns.undo(&fixture, &forced()).conflicts, []);
    assert_eq!(fixture.read("a"), "0");
}

#[test]
fn what_only_holds_a_place_is_neither_captured_nor_removed() {
    fn is_placeholder(path: &Path) -> bool {
        fs::symlink_metadata(path)
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|time| time == SystemTime::UNIX_EPOCH + Duration::from_secs(417_417_417))
    }
    let fixture = CheckpointFixture::new();
    fixture.write(".gitignore", "kept\n");
    fixture.write("kept", "1");
    let store =
        CheckpointStore::open(&fixture.outside().join("other")).unwrap().with_placeholders(is_placeholder);
    let before = store.capture(&fixture.workspace, &CaptureOptions::default()).unwrap();
    let mark = |path: &Path| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(417_417_417);
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    };
    for name in [".git", ".vscode", ".agents"] {
        fs::create_dir(fixture.at(name)).unwrap();
        mark(&fixture.at(name));
    }
    fixture.write("empty", "");
    mark(&fixture.at("empty"));
    let during = store.capture(&fixture.workspace, &CaptureOptions::default()).unwrap();
    assert_eq!(during.id, before.id, "nothing is different while places are held, not even what git ignores");
    fixture.write("kept", "2");
    let after = store.capture(&fixture.workspace, &CaptureOptions::default()).unwrap();
    for since in [Some(&after), None] {
        fixture.write("kept", "2");
        let done = store.restore(&fixture.workspace, &before, since, &forced()).unwrap();
        assert_eq!((done.restored.len(), done.deleted.len(), done.conflicts.len()), (1, 0, 0), "{done:?}");
        assert!(fixture.at(".vscode").exists() && fixture.at("empty").exists());
    }
}

#[test]
fn a_store_is_pruned_now_and_then_and_what_is_in_use_stays() {
    let fixture = CheckpointFixture::new();
    let (start, minute) = (SystemTime::now(), Duration::from_secs(60));
    let limits = StoreLimits { max_checkpoints: 1, ..StoreLimits::default() };
    let prune = |after| fixture.store.prune_if_due(&limits, start + after).unwrap();
    assert_eq!(prune(minute), None, "nothing was captured");
    fixture.write("a", "1");
    let first = fixture.capture();
    assert!(prune(minute).is_some());
    let used = fixture.store.in_use(first.id);
    fixture.write("a", "2");
    let second = fixture.capture();
    assert_eq!(prune(9 * minute), None, "not so soon");
    fixture.write("a", "3");
    fixture.capture();
    assert!(prune(12 * minute).is_some());
    assert!(fixture.store.find(first.id).is_ok(), "somebody works with it");
    assert!(fixture.store.find(second.id).is_err());
    drop(used);
    fixture.write("a", "4");
    fixture.capture();
    let small = StoreLimits { max_bytes: 8, ..limits.clone() };
    assert!(fixture.store.prune_if_due(&small, start + 12 * minute).unwrap().is_some(), "much was written");
    assert!(fixture.store.find(first.id).is_err());
}

#[test]
fn an_undo_waits_for_those_who_change_and_they_for_it() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};
    let fixture = CheckpointFixture::new();
    let poll = |future: &mut std::pin::Pin<Box<dyn Future<Output = Box<dyn std::any::Any>> + '_>>| {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    };
    type Lease<'a> = std::pin::Pin<Box<dyn Future<Output = Box<dyn std::any::Any>> + 'a>>;
    let changing = || -> Lease<'_> {
        Box::pin(async { Box::new(fixture.store.lease_for_change(&fixture.workspace).await) as _ })
    };
    let undoing = || -> Lease<'_> {
        Box::pin(async { Box::new(fixture.store.lease_for_undo(&fixture.workspace).await) as _ })
    };
    let (Poll::Ready(one), Poll::Ready(other)) = (poll(&mut changing()), poll(&mut changing())) else {
        panic!("two turns may change a workspace at once");
    };
    let mut undo = undoing();
    assert!(poll(&mut undo).is_pending());
    drop((one, other));
    let Poll::Ready(alone) = poll(&mut undo) else { panic!("nobody changes it any more") };
    let mut turn = changing();
    assert!(poll(&mut turn).is_pending());
    drop(alone);
    assert!(poll(&mut turn).is_ready());
}
