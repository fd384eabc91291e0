//! Which files git tracks, by its index: a file that is tracked is part of the work even where a rule says to
//! ignore it. Only the index of the repository in which the workspace lies is asked; reading it is left to
//! `workspace-fs`. Without an index, or as far as one is damaged, git's rules hold alone.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::{read_unlinked, visit_git_index};

/// The size of the largest index that is read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The paths of an index, sorted.
#[derive(Debug, Default)]
pub(crate) struct TrackedPaths {
    /// The way from the repository's root to the workspace, with a slash if there is any.
    prefix: Vec<u8>,
    paths: Vec<Vec<u8>>,
}

impl TrackedPaths {
    /// Reads the index of a repository.
    pub(crate) fn read(root: &Path, workspace: &Path) -> TrackedPaths {
        let below = workspace.strip_prefix(root).unwrap_or(Path::new("")).as_os_str().as_bytes();
        let mut prefix = below.to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        let mut paths = Vec::new();
        if let Some(directory) = git_directory(root) {
            // What was read of a damaged one counts.
            let _ = visit_git_index(&directory, MAX_BYTES, |path, _| {
                paths.push(path.as_os_str().as_bytes().to_vec());
            });
        }
        paths.sort_unstable();
        TrackedPaths { prefix, paths }
    }

    /// Whether a path, relative to the workspace, is tracked or holds something that is.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let path = path.as_os_str().as_bytes();
        let mut wanted = Vec::with_capacity(self.prefix.len() + path.len() + 1);
        wanted.extend_from_slice(&self.prefix);
        wanted.extend_from_slice(path);
        if self.paths.binary_search(&wanted).is_ok() {
            return true;
        }
        wanted.push(b'/');
        let next = self.paths.partition_point(|tracked| *tracked < wanted);
        self.paths.get(next).is_some_and(|tracked| tracked.starts_with(&wanted))
    }
}

/// Where git keeps its files: `.git`, or where a file of that name points.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if std::fs::symlink_metadata(&git).ok()?.is_dir() {
        return Some(git);
    }
    let text = String::from_utf8(read_unlinked(&git, 4096).ok()?).ok()?;
    Some(root.join(text.strip_prefix("gitdir: ")?.trim_end()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::TrackedPaths;

    #[test]
    fn paths_and_their_directories_are_tracked() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!TrackedPaths::read(folder.path(), folder.path()).has(Path::new("a")), "there is no index");
        for path in ["a", "a.b", "dir/one", "dir/two three", "sub/dir/x"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        for arguments in [["init", "--quiet"], ["add", "--all"]] {
            let output = Command::new("git").arg("-C").arg(folder.path()).args(arguments).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        let tracked = TrackedPaths::read(folder.path(), folder.path());
        for there in ["a", "a.b", "dir", "dir/one", "dir/two three", "sub", "sub/dir"] {
            assert!(tracked.has(Path::new(there)), "{there}");
        }
        for not in ["b", "di", "dir/on", "dir/one/x", "x"] {
            assert!(!tracked.has(Path::new(not)), "{not}");
        }
        let below = TrackedPaths::read(folder.path(), &folder.path().join("sub"));
        assert!(below.has(Path::new("dir/x")) && !below.has(Path::new("sub/dir/x")));
    }
}
