//! What a reader cares about: which files and definitions the words of a focus mean.

use crate::index::{IndexedFile, SymbolIndex};

/// How much of a reader's interest goes to what was named; the rest goes to everything.
const NAMED_SHARE: f64 = 0.9;
/// How much more a definition counts, and an edge into it, when it was named.
pub(crate) const NAMED_BOOST: f32 = 10.0;
/// How much all files together count that refer to what was named, beside what was.
const REFERRERS_SHARE: f64 = 0.3;
/// How long a word must be to be looked for within paths.
const MIN_PART: usize = 3;
/// How many words are looked at.
const MAX_WORDS: usize = 32;

/// What a focus means in an index.
pub(crate) struct Focus {
    /// Where a reader begins, by file. Sums to one.
    pub(crate) start: Vec<f64>,
    /// How much each definition counts.
    pub(crate) boost: Vec<f32>,
    /// Words that mean nothing here.
    pub(crate) unknown: Vec<String>,
}

impl Focus {
    pub(crate) fn new(index: &SymbolIndex, words: &[String]) -> Focus {
        let mut interest = vec![0.0; index.files.len()];
        let mut boost = vec![1.0; index.file_of.len()];
        let mut unknown = Vec::new();
        let words = words.iter().map(|word| word.trim()).filter(|word| !word.is_empty());
        for word in words.take(MAX_WORDS) {
            let path = word.trim_start_matches("./").trim_end_matches('/');
            let is_known = mark_files(index, &mut interest, |file| is_path(&file.path, path))
                | mark_definitions(index, name_in(word), &mut interest, &mut boost);
            let lower = path.to_lowercase();
            let is_part =
                |file: &IndexedFile| lower.len() >= MIN_PART && file.path.to_lowercase().contains(&lower);
            if !is_known && !mark_files(index, &mut interest, is_part) {
                unknown.push(word.to_owned());
            }
        }
        add_referrers(index, &boost, &mut interest);
        Focus { start: start(&interest), boost, unknown }
    }
}

fn mark_files(index: &SymbolIndex, interest: &mut [f64], is_meant: impl Fn(&IndexedFile) -> bool) -> bool {
    let mut is_known = false;
    for (file, interest) in index.files.iter().zip(interest) {
        if is_meant(file) {
            *interest = 1.0;
            is_known = true;
        }
    }
    is_known
}

fn mark_definitions(index: &SymbolIndex, name: &str, interest: &mut [f64], boost: &mut [f32]) -> bool {
    let mut is_known = false;
    for (number, file) in index.files.iter().enumerate() {
        for (site, definition) in (file.first_definition..).zip(file.tags.definitions()) {
            if definition.name == name && !name.is_empty() {
                boost[site as usize] = NAMED_BOOST;
                interest[number] = 1.0;
                is_known = true;
            }
        }
    }
    is_known
}

/// Gives a share to the files that refer to what was named, the less to each the more there are: who uses
/// a name that everybody uses is of no interest.
fn add_referrers(index: &SymbolIndex, boost: &[f32], interest: &mut [f64]) {
    let edges = index.edges.iter().filter(|edge| boost[edge.to as usize] > 1.0);
    let mut referrers: Vec<usize> = edges.map(|edge| edge.from as usize).collect();
    referrers.dedup();
    let share = REFERRERS_SHARE * interest.iter().sum::<f64>() / referrers.len().max(1) as f64;
    for referrer in referrers {
        interest[referrer] = interest[referrer].max(share.min(REFERRERS_SHARE));
    }
}

/// Whether a path is the one named, lies in the directory named, or ends in what was named.
fn is_path(path: &str, named: &str) -> bool {
    if named.is_empty() || named == "." {
        return false;
    }
    path == named
        || path.strip_prefix(named).is_some_and(|rest| rest.starts_with('/'))
        || path.strip_suffix(named).is_some_and(|rest| rest.ends_with('/'))
}

/// The name in `module::name`, `Type.name` or `name()`.
fn name_in(word: &str) -> &str {
    let word = word.trim_end_matches("()");
    word.rsplit([':', '.', '#']).next().unwrap_or(word)
}

fn start(interest: &[f64]) -> Vec<f64> {
    let total: f64 = interest.iter().sum();
    let even = 1.0 / interest.len().max(1) as f64;
    if total == 0.0 {
        return vec![even; interest.len()];
    }
    interest.iter().map(|interest| NAMED_SHARE * interest / total + (1.0 - NAMED_SHARE) * even).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_path, name_in};

    #[test]
    fn paths_and_names_are_told() {
        for (named, is_meant) in
            [("src/a.rs", true), ("src", true), ("a.rs", true), ("sr", false), ("rs", false), (".", false)]
        {
            assert_eq!(is_path("src/a.rs", named), is_meant, "{named}");
        }
        for (word, name) in [("a::b::c", "c"), ("Type.run()", "run"), ("plain", "plain"), ("A#b", "b")] {
            assert_eq!(name_in(word), name);
        }
    }
}
