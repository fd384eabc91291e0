//! Files by a part of their path, where there is no session to ask for them: a walk with limits.

use std::path::Path;

use crate::model::match_score;

/// How many files and directories are looked at.
const MAX_ENTRIES: usize = 20_000;
/// How deep.
const MAX_DEPTH: usize = 12;
/// Directories that hold what was made rather than written.
const GENERATED_DIRECTORIES: [&str; 4] = ["target", "node_modules", "dist", "__pycache__"];

/// The files below a directory that match best.
pub(super) fn find_files(root: &str, query: &str, limit: usize) -> Vec<String> {
    let mut found: Vec<(u32, String)> = Vec::new();
    let mut left = MAX_ENTRIES;
    walk(Path::new(root), "", MAX_DEPTH, &mut left, &mut |path| {
        if let Some(score) = match_score(path, query) {
            found.push((score.saturating_add(u32::try_from(path.len()).unwrap_or(0)), path.to_owned()));
        }
    });
    found.sort();
    found.into_iter().take(limit).map(|(_, path)| path).collect()
}

fn walk(root: &Path, below: &str, depth: usize, left: &mut usize, found: &mut impl FnMut(&str)) {
    let Ok(entries) = std::fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        // Links are not followed.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 && !GENERATED_DIRECTORIES.contains(&name) => {
                walk(root, &path, depth - 1, left, found)
            }
            Ok(kind) if kind.is_file() => found(&path),
            Ok(_) | Err(_) => {}
        }
    }
}
