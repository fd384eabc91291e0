//! The store itself: what it takes, how it stays within limits, and what damage does to it.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use ostler_checkpoint::{CaptureOptions, CheckpointStore, Error, RestoreOptions, StoreLimits};

use crate::tree::{CheckpointFixture, snapshot};

/// The files of a store that hold contents.
fn blobs(fixture: &CheckpointFixture) -> Vec<PathBuf> {
    let all = snapshot(&fixture.store_directory().join("blobs"));
    all.into_iter().filter(|(_, (kind, ..))| *kind == 'f').map(|(path, _)| path).collect()
}

#[test]
fn one_content_is_stored_once_and_an_unchanged_tree_not_again() {
    let fixture = CheckpointFixture::new();
    for number in 0..50 {
        fixture.write(&format!("d/{number}"), "the same");
    }
    let first = fixture.capture();
    let stored = snapshot(&fixture.store_directory().join("blobs"));
    assert_eq!(
        blobs(&fixture).len(),
        2 + usize::from(blobs(&fixture).len() > 2),
        "one content, and its pages"
    );
    assert_eq!(fixture.capture(), first);
    assert_eq!(snapshot(&fixture.store_directory().join("blobs")), stored);
    assert_eq!(fixture.store.find(first.id).unwrap(), first);
}

#[test]
fn a_change_of_the_same_size_in_the_same_tick_is_seen() {
    let fixture = CheckpointFixture::new();
    fixture.write("f", "0000");
    let time = fs::metadata(fixture.at("f")).unwrap().modified().unwrap();
    let mut last = fixture.capture();
    for number in 1..200 {
        fixture.write("f", format!("{number:04}"));
        fs::File::options().write(true).open(fixture.at("f")).unwrap().set_modified(time).unwrap();
        let next = fixture.capture();
        assert_ne!(next.id, last.id, "{number}");
        last = next;
    }
}

#[test]
fn limits_of_a_capture_are_errors_in_words_and_leave_no_checkpoint() {
    let fixture = CheckpointFixture::new();
    for number in 0..20 {
        fixture.write(&format!("f{number}"), vec![b'x'; 1_000]);
    }
    let capture = |options: &CaptureOptions| fixture.store.capture(&fixture.workspace, options);
    let options = CaptureOptions { max_files: 19, ..CaptureOptions::default() };
    let error = capture(&options).unwrap_err();
    assert!(
        matches!(error, Error::TooManyFiles { limit: 19 }) && error.to_string().contains(".gitignore"),
        "{error}"
    );
    let options = CaptureOptions { max_bytes: 19_999, ..CaptureOptions::default() };
    assert!(matches!(capture(&options).unwrap_err(), Error::TooManyBytes { limit: 19_999 }));
    assert_eq!(fixture.store.check().unwrap().checkpoints, 0);
    let options = CaptureOptions { max_files: 20, max_bytes: 20_000, ..CaptureOptions::default() };
    assert_eq!(capture(&options).unwrap().files, 20);
    let options = CaptureOptions { max_file_bytes: 999, ..CaptureOptions::default() };
    assert_eq!(capture(&options).unwrap().left_out, 20);
}

#[test]
fn a_store_is_opened_once() {
    let fixture = CheckpointFixture::new();
    assert!(matches!(CheckpointStore::open(&fixture.store_directory()), Err(Error::Locked(_))));
}

#[test]
fn what_a_crashed_capture_left_is_gone_when_the_store_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    drop(CheckpointStore::open(folder.path()).unwrap());
    fs::write(folder.path().join("tmp/7"), "half").unwrap();
    let store = CheckpointStore::open(folder.path()).unwrap();
    assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0);
    assert_eq!(store.check().unwrap().checkpoints, 0);
}

#[test]
fn damage_is_told_of_the_checkpoint_that_has_it_and_healed_where_the_content_is_there() {
    let fixture = CheckpointFixture::new();
    fixture.write("a", "content of a");
    let first = fixture.capture();
    fixture.write("b", "content of b");
    let second = fixture.capture();
    assert_eq!(fixture.store.check().unwrap().damage, []);
    let blob = |content: &str| {
        let directory = fixture.store_directory().join("blobs");
        blobs(&fixture)
            .into_iter()
            .map(|path| directory.join(path))
            .find(|path| fs::read(path).unwrap() == content.as_bytes())
    };
    fs::write(blob("content of b").unwrap(), "content of x").unwrap();
    fs::remove_file(fixture.at("b")).unwrap();
    fs::remove_file(fixture.at("a")).unwrap();

    let error =
        fixture.store.restore(&fixture.workspace, &second, None, &RestoreOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Damaged { checkpoint, .. } if checkpoint == second.id), "{error}");
    assert_eq!(fixture.snapshot().len(), 0, "nothing was changed");
    let damage = fixture.store.check().unwrap().damage;
    assert_eq!(damage.len(), 1);
    assert_eq!(damage[0].checkpoint, second.id);
    assert!(damage[0].what.contains('b'), "{}", damage[0].what);
    fixture.restore(&first, None);
    assert_eq!(fixture.read("a"), "content of a");

    fixture.write("b", "content of b");
    assert_eq!(fixture.capture(), second);
    assert_eq!(fixture.store.check().unwrap().damage, [], "the capture wrote it again");

    let manifest = fixture.store_directory().join("manifests").join(first.id.to_string());
    let bytes = fs::read(&manifest).unwrap();
    fs::write(&manifest, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(fixture.store.find(first.id), Err(Error::Damaged { .. })));
    let damage = fixture.store.check().unwrap().damage;
    assert_eq!(damage.iter().map(|damage| damage.checkpoint).collect::<Vec<_>>(), [first.id]);
    assert_eq!(fixture.restore(&second, None).conflicts, []);
}

#[test]
fn the_oldest_go_first_and_what_is_pinned_stays() {
    let fixture = CheckpointFixture::new();
    let mut all = Vec::new();
    for number in 0..6 {
        fixture.write("file", vec![b'0' + number; 10_000]);
        all.push(fixture.capture());
        // Captures may fall into one tick of the clock.
        let manifest =
            fixture.store_directory().join("manifests").join(all[usize::from(number)].id.to_string());
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 + u64::from(number));
        fs::File::open(manifest).unwrap().set_modified(time).unwrap();
    }
    fixture.store.pin(all[0].id).unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_010);
    let there =
        || -> Vec<bool> { all.iter().map(|checkpoint| fixture.store.find(checkpoint.id).is_ok()).collect() };

    let everything = StoreLimits { max_bytes: u64::MAX, max_checkpoints: usize::MAX, max_age: None };
    assert_eq!(fixture.store.prune(&everything, now).unwrap(), Default::default());
    let limits = StoreLimits { max_age: Some(Duration::from_secs(8)), ..everything };
    let pruned = fixture.store.prune(&limits, now).unwrap();
    assert_eq!((pruned.checkpoints, pruned.blobs), (1, 2), "a content and a page");
    assert_eq!(there(), [true, false, true, true, true, true]);
    let limits = StoreLimits { max_checkpoints: 4, ..everything };
    assert_eq!(fixture.store.prune(&limits, now).unwrap().checkpoints, 1);
    assert_eq!(there(), [true, false, false, true, true, true]);
    // Each takes three blocks for its content, one for its page and one for its manifest.
    let limits = StoreLimits { max_bytes: 3 * 5 * 4096, ..everything };
    assert_eq!(fixture.store.prune(&limits, now).unwrap().checkpoints, 1);
    assert_eq!(there(), [true, false, false, false, true, true]);
    fixture.store.unpin(all[0].id).unwrap();
    let limits = StoreLimits { max_checkpoints: 0, ..everything };
    assert_eq!(fixture.store.prune(&limits, now).unwrap().checkpoints, 3);
    assert_eq!(blobs(&fixture), Vec::<PathBuf>::new());
    assert!(matches!(fixture.store.find(all[5].id), Err(Error::NotFound(_))));
    assert!(fixture.store.pin(all[5].id).is_err());
    let again = fixture.capture();
    assert_eq!(again.id, all[5].id);
    assert_eq!(fixture.store.check().unwrap().damage, []);
}

#[test]
fn captures_beside_a_prune_lose_nothing() {
    let fixture = CheckpointFixture::new();
    for number in 0..40 {
        fixture.write(&format!("f{number}"), format!("content {number}"));
    }
    let over = AtomicBool::new(false);
    let limits = StoreLimits { max_checkpoints: 1, max_bytes: u64::MAX, max_age: None };
    std::thread::scope(|scope| {
        let pruning = scope.spawn(|| {
            let mut rounds = 0;
            while !over.load(Ordering::Relaxed) {
                fixture.store.prune(&limits, SystemTime::UNIX_EPOCH).unwrap();
                rounds += 1;
            }
            rounds
        });
        let capturing: Vec<_> = (0..2)
            .map(|thread| {
                let fixture = &fixture;
                scope.spawn(move || {
                    for round in 0..60 {
                        fixture.write(&format!("f{thread}"), format!("content {}", (round + thread) % 7));
                        let checkpoint = fixture.capture();
                        // It may be gone by now; if it is there, all of it is.
                        match fixture.store.left_out(&checkpoint) {
                            Ok(_) | Err(Error::NotFound(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        for thread in capturing {
            thread.join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
        assert!(pruning.join().unwrap() > 0);
    });
    assert_eq!(fixture.store.check().unwrap().damage, []);
    let last = fixture.capture();
    let tree = fixture.snapshot();
    fs::remove_dir_all(fixture.at("")).unwrap();
    fs::create_dir(fixture.at("")).unwrap();
    assert_eq!(fixture.restore(&last, None).recreated.len(), 40);
    assert_eq!(fixture.snapshot(), tree);
}

#[test]
fn a_disk_that_refuses_leaves_nothing_half_made() {
    let fixture = CheckpointFixture::new();
    for number in 0..30 {
        fixture.write(&format!("f{number}"), format!("content {number}"));
    }
    fixture.write("large", vec![3; 700_000]);
    let part = |name: &str| fixture.store_directory().join(name);
    for broken in ["tmp", "blobs", "manifests"] {
        fs::rename(part(broken), part("aside")).unwrap();
        fs::write(part(broken), "in the way").unwrap();
        let error = fixture.store.capture(&fixture.workspace, &CaptureOptions::default()).unwrap_err();
        assert!(error.to_string().contains("No checkpoint was made"), "{error}");
        fs::remove_file(part(broken)).unwrap();
        fs::rename(part("aside"), part(broken)).unwrap();
        assert_eq!(fixture.store.check().unwrap().checkpoints, 0, "{broken}");
        assert_eq!(fs::read_dir(part("tmp")).unwrap().count(), 0, "{broken}");
    }
    let before = fixture.capture();
    assert_eq!((before.files, fixture.store.check().unwrap().damage), (31, Vec::new()));
}

#[test]
fn a_store_in_the_workspace_is_no_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = fs::canonicalize(folder.path()).unwrap();
    let data = workspace.join("home/data");
    let store = CheckpointStore::open_excluding(&data.join("checkpoints"), &[&data]).unwrap();
    fs::write(data.join("log"), "one\n").unwrap();
    fs::write(workspace.join("file"), "old").unwrap();
    let before = store.capture(&workspace, &CaptureOptions::default()).unwrap();
    assert_eq!(before.files, 1);
    fs::write(data.join("log"), "one\ntwo\n").unwrap();
    fs::write(workspace.join("file"), "new").unwrap();
    let options = RestoreOptions { force: true, ..RestoreOptions::default() };
    let done = store.restore(&workspace, &before, None, &options).unwrap();
    assert_eq!(done.restored, [PathBuf::from("file")]);
    assert_eq!(fs::read_to_string(data.join("log")).unwrap(), "one\ntwo\n");
}
