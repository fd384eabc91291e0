//! A git directory of our own for one use: it leads to the branches and objects of a repository, but has none of
//! its settings, hooks and attributes. So nothing that the repository's owner, or a command in its work tree, has
//! put there can make git run anything.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::read_unlinked;
use tempfile::TempDir;

use crate::repository::GitRepository;

/// How much of a HEAD is read.
const HEAD_BYTES: u64 = 4096;
/// What leads to the repository: what it shares, by name.
const SHARED_NAMES: &[&str] = &["refs", "packed-refs", "logs", "shallow", "reftable"];
/// How many parts of a split index are led to.
const MAX_SHARED_INDEXES: usize = 64;

/// The directory. It is removed with this.
#[derive(Debug)]
pub(crate) struct PrivateGitDirectory(TempDir);

impl PrivateGitDirectory {
    /// Makes one for a repository, inside `scratch`, or where temporary files go.
    pub(crate) fn make(
        repository: &GitRepository,
        scratch: Option<&Path>,
    ) -> io::Result<PrivateGitDirectory> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("git-");
        let directory = match scratch {
            Some(scratch) => {
                fs::create_dir_all(scratch)?;
                builder.tempdir_in(scratch)?
            }
            None => builder.tempdir()?,
        };
        let own = |name: &str| directory.path().join(name);
        fs::write(own("HEAD"), head(&repository.directory))?;
        fs::write(own("config"), repository.settings().text())?;
        fs::create_dir(own("info"))?;
        let exclude = repository.common.join("info/exclude");
        if exclude.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            symlink(exclude, own("info/exclude"))?;
        }
        for name in SHARED_NAMES {
            let shared = repository.common.join(name);
            // A link in its place could show what lies elsewhere, in what git says of it.
            if shared.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink()) {
                symlink(shared, own(name))?;
            }
        }
        if !own("refs").exists() {
            fs::create_dir_all(own("refs"))?;
        }
        for entry in fs::read_dir(&repository.directory)?.flatten().take(MAX_SHARED_INDEXES * 8) {
            let name = entry.file_name();
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && name.to_string_lossy().starts_with("sharedindex.") {
                symlink(entry.path(), directory.path().join(name))?;
            }
        }
        Ok(PrivateGitDirectory(directory))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file in it that git does not know.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join("info").join(name)
    }
}

/// What HEAD says, where it says it in a usual way; else a branch that is not there.
fn head(directory: &Path) -> String {
    let text = read_unlinked(&directory.join("HEAD"), HEAD_BYTES).unwrap_or_default();
    let text = String::from_utf8(text).unwrap_or_default();
    let is_branch = text.strip_prefix("ref: refs/").is_some_and(|name| !name.contains(".."));
    let is_commit = !text.trim().is_empty() && text.trim().bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_branch || is_commit { text } else { "ref: refs/heads/.invalid\n".to_owned() }
}
