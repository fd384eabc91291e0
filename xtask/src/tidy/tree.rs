//! The files of the repository, read once: those that git tracks or would track. Outside a git
//! checkout (a source archive) all files count but for build output.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::repository;

/// A file larger than this is a finding, and is not read.
pub(super) const MAX_READ_BYTES: u64 = 500_000;

/// All files, in the order of their paths.
pub(super) struct RepositoryTree {
    pub(super) files: Vec<RepositoryFile>,
}

/// One file.
pub(super) struct RepositoryFile {
    /// Relative to the repository, with `/`.
    pub(super) path: String,
    pub(super) size: u64,
    /// Empty for what is too large or not UTF-8.
    pub(super) text: String,
}

impl RepositoryTree {
    pub(super) fn read(root: &Path) -> Result<RepositoryTree, String> {
        let mut paths = tracked(root).map_or_else(|| walk(root), Ok)?;
        paths.sort();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            let on_disk = root.join(&path);
            // A file that was removed but not yet committed is still listed by git.
            let Ok(metadata) = fs::symlink_metadata(&on_disk) else { continue };
            if !metadata.is_file() {
                continue;
            }
            let size = metadata.len();
            let text = if size > MAX_READ_BYTES { None } else { fs::read_to_string(&on_disk).ok() };
            files.push(RepositoryFile { path, size, text: text.unwrap_or_default() });
        }
        Ok(RepositoryTree { files })
    }

    /// The file at this path.
    pub(super) fn file(&self, path: &str) -> Option<&RepositoryFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files whose names end so.
    pub(super) fn ending<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = &'a RepositoryFile> {
        self.files.iter().filter(move |file| file.path.ends_with(suffix))
    }

    /// A small tree for tests.
    #[cfg(test)]
    pub(super) fn from_files(files: &[(&str, &str)]) -> RepositoryTree {
        let file = |(path, text): &(&str, &str)| RepositoryFile {
            path: (*path).to_owned(),
            size: text.len() as u64,
            text: (*text).to_owned(),
        };
        RepositoryTree { files: files.iter().map(file).collect() }
    }
}

/// What git tracks, and what is new and not ignored: a rule is best broken before the commit.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = repository::output(&mut git).ok()?;
    let paths: Vec<String> = listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    (!paths.is_empty()).then_some(paths)
}

fn walk(root: &Path) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(root.join(&folder)).map_err(|error| format!("{folder} cannot be read: {error}"))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            match entry.file_type() {
                Ok(kind)
                    if kind.is_dir()
                        && !["target", ".git", "node_modules", ".venv"].contains(&name.as_str()) =>
                {
                    folders.push(path);
                }
                Ok(kind) if kind.is_file() => paths.push(path),
                _ => {}
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::{RepositoryTree, walk};
    use crate::repository;

    #[test]
    fn the_walk_finds_what_git_lists() {
        let root = repository::root();
        let walked = walk(&root).unwrap();
        assert!(walked.iter().any(|path| path == "xtask/src/main.rs"));
        assert!(!walked.iter().any(|path| path.starts_with("target/")));
        let tree = RepositoryTree::read(&root).unwrap();
        let main = tree.file("xtask/src/main.rs").unwrap();
        assert!(main.text.starts_with("//!") && main.size == main.text.len() as u64);
    }
}
