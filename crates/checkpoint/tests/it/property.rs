//! For any tree and any changes to it: what was captured comes back, byte for byte and bit for bit.

use std::fs;
use std::path::Path;
use std::time::Instant;

use ostler_checkpoint::DiffTarget;

use crate::tree::{CheckpointFixture, RandomTree};

fn random_tree(seed: u64, fixture: &CheckpointFixture) {
    let mut random = RandomTree::new(seed);
    let steps = 5 + random.below(40);
    random.grow(&fixture.workspace, steps);
    let before_tree = fixture.snapshot();
    let before = fixture.capture();
    assert_eq!(fixture.capture(), before, "seed {seed}: an unchanged tree is the same checkpoint");
    for _ in 0..1 + random.below(25) {
        random.edit(&fixture.workspace);
    }
    let after_tree = fixture.snapshot();
    let after = fixture.capture_since(&before);
    assert_eq!(before == after, before_tree == after_tree, "seed {seed}: an id tells states apart");

    let diff = fixture.store.diff(&before, DiffTarget::Checkpoint(&after)).unwrap();
    let now = fixture.store.diff(&before, DiffTarget::Workspace(&fixture.workspace)).unwrap();
    assert_eq!(diff, now, "seed {seed}: the workspace is what was captured of it");

    let preview = fixture.preview(&before, Some(&after));
    assert_eq!(fixture.snapshot(), after_tree, "seed {seed}: a preview changes nothing");
    let done = fixture.restore(&before, Some(&after));
    assert_eq!(done, preview, "seed {seed}: a preview says what is done");
    assert_eq!(done.conflicts, [], "seed {seed}");
    assert_eq!(fixture.snapshot(), before_tree, "seed {seed}: undone");
    assert_eq!(fixture.capture(), before, "seed {seed}");

    // And forward again, from whatever there is.
    let done = fixture.restore(&after, None);
    assert_eq!(done.conflicts, [], "seed {seed}");
    assert_eq!(fixture.snapshot(), after_tree, "seed {seed}: redone");
    assert_eq!(fixture.restore(&after, None), Default::default(), "seed {seed}: nothing is left to do");
}

#[test]
fn any_tree_comes_back_outside_git() {
    for seed in 0..30 {
        random_tree(seed, &CheckpointFixture::new());
    }
}

#[test]
fn any_tree_comes_back_on_the_disk_of_temporary_files() {
    for seed in 3_000..3_004 {
        random_tree(seed, &CheckpointFixture::beneath(&std::env::temp_dir()));
    }
}

#[test]
fn any_tree_comes_back_in_git() {
    for seed in 1_000..1_030 {
        random_tree(seed, &CheckpointFixture::in_git("# nothing is ignored\n"));
    }
}

#[test]
fn any_tree_comes_back_around_what_git_ignores() {
    for seed in 2_000..2_020 {
        let fixture = CheckpointFixture::in_git("*.o\n/ignored/\n");
        fixture.write("keep.o", "object");
        fixture.write("ignored/deep/file", "precious");
        let mut random = RandomTree::new(seed);
        random.grow(&fixture.workspace, 20);
        let before_tree = fixture.snapshot();
        let before = fixture.capture();
        fixture.write("keep.o", "changed object");
        fixture.write("ignored/deep/other", "more");
        for _ in 0..10 {
            let files: Vec<_> = fixture
                .snapshot()
                .into_iter()
                .filter(|(path, (kind, ..))| {
                    *kind == 'f'
                        && !path.starts_with("ignored")
                        && !path.starts_with(".git")
                        && !path.ends_with("keep.o")
                })
                .collect();
            if let Some((path, _)) = files.get(random.below(files.len() + 1)) {
                fs::remove_file(fixture.workspace.join(path)).unwrap();
            }
        }
        let done = fixture.restore(&before, None);
        assert_eq!(done.conflicts, [], "seed {seed}");
        let mut now = fixture.snapshot();
        assert_eq!(now.remove(Path::new("ignored/deep/other")).unwrap().2, b"more");
        let object = before_tree[Path::new("keep.o")].clone();
        assert_eq!(now.insert("keep.o".into(), object).unwrap().2, b"changed object");
        assert_eq!(now, before_tree, "seed {seed}");
    }
}

#[test]
fn a_large_tree_is_captured_and_restored() {
    let files = 20_000;
    let fixture = CheckpointFixture::new();
    for number in 0..files {
        fixture
            .write(&format!("d{}/e{}/f{number}.txt", number % 40, number % 7), format!("content {number}\n"));
    }
    let tree = fixture.snapshot();
    let time = |what: &str, start: Instant| println!("{files} files, {what}: {:?}", start.elapsed());
    let start = Instant::now();
    let before = fixture.capture();
    time("first capture", start);
    let start = Instant::now();
    assert_eq!(fixture.capture(), before);
    time("second capture", start);
    assert_eq!(before.files, files as u64);
    fs::remove_dir_all(fixture.at("d3")).unwrap();
    fixture.write("d4/e1/new", "new");
    let mut random = RandomTree::new(files as u64);
    for _ in 0..8 {
        random.edit(&fixture.workspace);
    }
    let start = Instant::now();
    let after = fixture.capture_since(&before);
    time("capture after changes", start);
    let changed = fixture.snapshot();
    let start = Instant::now();
    let done = fixture.restore(&before, Some(&after));
    time("restore", start);
    assert_eq!(done.conflicts, []);
    assert_eq!(fixture.snapshot(), tree);
    assert_eq!(fixture.restore(&after, Some(&before)).conflicts, []);
    assert_eq!(fixture.snapshot(), changed, "redone");
}
