//! Source trees are what the figures take them for: always the same, in languages that the map knows, with
//! the needle where it is said to be.

use std::collections::BTreeMap;
use std::path::Path;

use ostler_bench::tool_caller::ToolCaller;
use ostler_bench::tree::{NEEDLE, NEEDLE_EVERY, SourceTree};
use ostler_tools::Tools;
use serde_json::json;

const FILES: usize = 240;

#[test]
fn a_tree_is_always_the_same_and_about_as_large_as_asked() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = SourceTree::make(one.path(), FILES, 2_000).unwrap();
    let files = sources(&tree.root);
    assert_eq!(files.len(), FILES);
    assert_eq!(files.values().map(|text| text.len() as u64).sum::<u64>(), tree.bytes);
    assert!((1_500..3_000).contains(&(tree.bytes / FILES as u64)), "{}", tree.bytes);
    assert_eq!(sources(&SourceTree::make(other.path(), FILES, 2_000).unwrap().root), files);
    // What is there is not made again.
    std::fs::remove_dir_all(tree.root.join("part0")).unwrap();
    assert_eq!(SourceTree::make(one.path(), FILES, 2_000).unwrap().bytes, tree.bytes);
    assert!(sources(&tree.root).is_empty());
}

#[tokio::test]
async fn every_file_is_mapped_and_every_needle_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let tree = SourceTree::make(folder.path(), FILES, 2_000).unwrap();
    let caller = ToolCaller::new(Tools::builtin(), &tree.root);
    let (map, _) = caller.call("repo_map", &json!({})).await.unwrap();
    assert_eq!(map["all_files"], FILES);
    assert!(map["all_definitions"].as_u64().unwrap() >= 3 * FILES as u64, "{map}");
    let (found, _) = caller.call("search", &json!({"query": NEEDLE})).await.unwrap();
    assert_eq!(found["matches"], FILES.div_ceil(NEEDLE_EVERY));
    assert!(caller.call("search", &json!({})).await.is_err(), "a call that fails is no figure");
}

/// The source files below a directory, by path.
fn sources(directory: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            let is_source = !entry.file_name().to_string_lossy().starts_with('.');
            if is_source && entry.path().is_dir() {
                directories.push(entry.path());
            } else if is_source {
                let path = entry.path().strip_prefix(directory).unwrap().display().to_string();
                files.insert(path, std::fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    files
}
