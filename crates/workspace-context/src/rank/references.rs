//! Which of some files the others refer to: the order that the repo map gives them, seen from the files that
//! match and those in play. The graph and its ranks are the map's own.

use std::collections::HashMap;

use ostler_repo_map::{SymbolIndex, Tags};

/// How much of a map is asked for, in bytes. Enough for some hundred files.
const MAP_BYTES: usize = 48 * 1024;
/// After so many places a file's share is half of the first one's.
const HALF_SHARE_RANK: f64 = 8.0;

/// The share of each file, from 0 to 1, by its path: the more, the earlier it comes in a map that looks from
/// `focus`. Files that are in no map have none.
pub(super) fn references(files: Vec<(String, Tags)>, focus: &[String]) -> HashMap<String, f64> {
    let map = SymbolIndex::build(files).map(focus, MAP_BYTES);
    // A map has a line for each file, and deeper ones for its definitions.
    let paths =
        map.text.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.strip_suffix(':'));
    let share = |place: usize| HALF_SHARE_RANK / (HALF_SHARE_RANK + place as f64);
    paths.enumerate().map(|(place, path)| (path.to_owned(), share(place))).collect()
}
