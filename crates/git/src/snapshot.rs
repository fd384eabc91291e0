//! The files of a work tree as git's own objects: what is tracked, as it is now, and what is neither tracked
//! nor ignored. It is put together in an index of its own, so that the user's index, branches and stashes
//! stay as they are.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::GitError;
use crate::git::Git;
use crate::process::Call;

/// How long it may take to hash the files of a large work tree.
pub(crate) const LONG: Duration = Duration::from_secs(300);
/// How much git may list.
pub(crate) const MAX_LIST: u64 = 16 << 20;
/// The largest file that is taken along though git does not know it.
const MAX_UNTRACKED: u64 = 16 << 20;

/// Who makes commits that no branch ever holds.
const IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "Ostler"),
    ("GIT_AUTHOR_EMAIL", "ostler@localhost"),
    ("GIT_COMMITTER_NAME", "Ostler"),
    ("GIT_COMMITTER_EMAIL", "ostler@localhost"),
];

/// A commit of the files as they are: HEAD itself where nothing is changed.
pub(crate) async fn commit(git: &Git<'_>, scratch: &Path) -> Result<String, GitError> {
    let tree = tree(git, scratch).await?;
    let head = git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await?;
    let head = if head.is_success { Some(head.line("rev-parse")?) } else { None };
    let mut arguments =
        vec!["commit-tree", &tree, "-m", "The files as they were when a worktree was made of them"];
    if let Some(head) = &head {
        let known = git.run(&["rev-parse", "--verify", "--quiet", &format!("{head}^{{tree}}")]).await?;
        if known.line("rev-parse")? == tree {
            return Ok(head.clone());
        }
        arguments.extend(["-p", head]);
    }
    let identity: Vec<(&str, OsString)> =
        IDENTITY.iter().map(|(name, value)| (*name, value.into())).collect();
    git.run_in_the_open(&arguments, &identity, long(git, Vec::new())).await?.line("commit-tree")
}

/// The tree of the files as they are. `scratch` is where the index for it goes; it is removed again.
pub(crate) async fn tree(git: &Git<'_>, scratch: &Path) -> Result<String, GitError> {
    let index =
        git.run(&["rev-parse", "--path-format=absolute", "--git-path", "index"]).await?.line("rev-parse")?;
    let (from, to) = (PathBuf::from(index), scratch.to_owned());
    let copied = tokio::task::spawn_blocking(move || copy_index(&from, &to))
        .await
        .unwrap_or_else(|error| Err(error.into()));
    copied
        .map_err(|error| GitError::io("The index of the repository cannot be copied to", scratch, error))?;
    let made = tree_in(git, scratch).await;
    for leftover in [scratch.to_owned(), scratch.with_extension("index.lock")] {
        let _ = tokio::fs::remove_file(leftover).await;
    }
    made
}

/// Copies an index with its time: git looks again at files that are not older than their index, since they
/// may have changed in the same second, and a copy must not seem to be newer.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let modified = match std::fs::metadata(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?.modified()?,
    };
    std::fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(modified)
}

async fn tree_in(git: &Git<'_>, scratch: &Path) -> Result<String, GitError> {
    let index = [("GIT_INDEX_FILE", OsString::from(scratch))];
    let top = git.top.display().to_string();
    let at_top = |arguments: &[&str]| -> Vec<String> {
        let all = ["-C", &top].into_iter().chain(arguments.iter().copied());
        all.map(str::to_owned).collect()
    };
    let run = async |arguments: &[&str], input: Vec<u8>| {
        let arguments = at_top(arguments);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        git.run_in_the_open(&arguments, &index, long(git, input)).await
    };
    run(&["add", "--update"], Vec::new()).await?.expect_success("add")?;
    let unknown =
        run(&["ls-files", "--others", "--exclude-standard", "-z"], Vec::new()).await?.whole("ls-files")?;
    let (top, canceled) = (git.top.clone(), GitError::new("The files could not be looked at."));
    let wanted = tokio::task::spawn_blocking(move || wanted(&top, &unknown)).await.map_err(|_| canceled)?;
    if !wanted.is_empty() {
        run(&["update-index", "--add", "-z", "--stdin"], wanted).await?.expect_success("update-index")?;
    }
    run(&["write-tree"], Vec::new()).await?.line("write-tree")
}

/// The names of those files that are taken along, each ended by a zero byte.
fn wanted(top: &Path, names: &[u8]) -> Vec<u8> {
    let mut wanted = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| is_wanted(top, name)) {
        wanted.extend_from_slice(name);
        wanted.push(0);
    }
    wanted
}

/// Whether a file that git does not know is taken along: not a repository in the repository, not a sandbox's
/// placeholder, and nothing so large that nobody meant it to be.
fn is_wanted(top: &Path, name: &[u8]) -> bool {
    if name.is_empty() || name.ends_with(b"/") {
        return false;
    }
    let path = top.join(std::ffi::OsStr::from_bytes(name));
    let small = |metadata: std::fs::Metadata| {
        (metadata.is_file() && metadata.len() <= MAX_UNTRACKED) || metadata.is_symlink()
    };
    std::fs::symlink_metadata(&path).is_ok_and(small) && !ostler_sandbox::is_placeholder(&path)
}

fn long(git: &Git<'_>, input: Vec<u8>) -> Call {
    git.call(input, MAX_LIST, LONG)
}
