//! What is remembered: by stamp, within a limit, across processes.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ostler_repo_map::{RepoMapCache, SourceLanguage, SourceStamp, WorkspaceTags};
use tempfile::TempDir;

use crate::tags;

fn stamp(size: u64) -> SourceStamp {
    SourceStamp { size, modified: (-5, 7), inode: 9 }
}

fn known(names: &[&str]) -> Arc<WorkspaceTags> {
    let files: HashMap<_, _> = names
        .iter()
        .map(|name| {
            (format!("{name}.rs"), (stamp(1), tags(SourceLanguage::Rust, &format!("fn {name}() {{}}\n"))))
        })
        .collect();
    Arc::new(WorkspaceTags::new(files))
}

fn files_in(folder: &TempDir) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect()
}

#[test]
fn tags_belong_to_a_stamp() {
    let known = known(&["one"]);
    assert!(known.tags("one.rs", stamp(1)).is_some());
    assert!(known.tags("one.rs", stamp(2)).is_none());
    assert!(known.tags("two.rs", stamp(1)).is_none());
}

#[test]
fn the_disk_gives_back_what_memory_forgot() {
    let folder = tempfile::tempdir().unwrap();
    let cache = RepoMapCache::new(Some(folder.path().join("deep/maps")));
    let (here, there) = (Path::new("/here"), Path::new("/there"));
    assert!(cache.get(here).is_none());
    cache.put(here, &known(&["one", "two"]), true);
    let later = RepoMapCache::new(Some(folder.path().join("deep/maps")));
    let found = later.get(here).unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found.tags("two.rs", stamp(1)), known(&["two"]).tags("two.rs", stamp(1)));
    assert_eq!(found.index().map(&[], 1_000), known(&["one", "two"]).index().map(&[], 1_000));
    assert!(later.get(there).is_none());
}

#[test]
fn a_damaged_file_counts_as_absent() {
    let folder = tempfile::tempdir().unwrap();
    let here = Path::new("/here");
    let cache = || RepoMapCache::new(Some(folder.path().to_owned()));
    cache().put(here, &known(&["one"]), true);
    let [path] = files_in(&folder).try_into().unwrap();
    let good = std::fs::read(&path).unwrap();
    assert!(cache().get(here).is_some());
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        assert!(cache().get(here).is_none(), "byte {at}");
        std::fs::write(&path, &good[..at]).unwrap();
        assert!(cache().get(here).is_none(), "cut at {at}");
    }
    std::fs::write(&path, &good).unwrap();
    assert!(cache().get(here).is_some());
}

#[test]
fn what_was_not_used_for_longest_makes_room() {
    let one = known(&["one"]);
    let probe = RepoMapCache::new(None);
    probe.put(Path::new("/probe"), &one, true);
    let cache = RepoMapCache::with_limit(None, 2 * probe.bytes());
    for workspace in ["/a", "/b"] {
        cache.put(Path::new(workspace), &one, true);
    }
    assert!(cache.get(Path::new("/a")).is_some(), "and it counts as used now");
    cache.put(Path::new("/c"), &one, true);
    assert!(cache.get(Path::new("/b")).is_none());
    assert!(cache.get(Path::new("/a")).is_some() && cache.get(Path::new("/c")).is_some());
    cache.put(Path::new("/large"), &known(&["a", "b", "c", "d", "e", "f"]), true);
    assert!(cache.get(Path::new("/large")).is_none(), "too large to be held");
    assert!(cache.get(Path::new("/a")).is_some(), "and it drove nothing out");
    assert!(cache.bytes() <= 2 * probe.bytes());
}

#[test]
fn the_directory_is_bounded_and_a_bad_one_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let cache = RepoMapCache::new(Some(folder.path().to_owned()));
    for number in 0..40 {
        cache.put(Path::new(&format!("/workspace{number}")), &known(&["one"]), true);
    }
    assert_eq!(files_in(&folder).len(), 32);
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let cache = RepoMapCache::new(Some(file));
    cache.put(Path::new("/here"), &known(&["one"]), true);
    assert!(cache.get(Path::new("/here")).is_some());
}
