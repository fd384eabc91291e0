//! The files of a work tree as git's own objects: what is tracked, as it is now, and what is neither tracked nor
//! ignored. They are taken from the files alone, in an index of our own: an index that commands could write gives
//! names, and no content. The user's index, branches and stashes stay as they are.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::GitError;
use crate::git::{Git, GitCall};

/// How long it may take to hash the files of a large work tree.
pub(crate) const LONG_TIME_LIMIT: Duration = Duration::from_secs(300);
/// How much git may list.
pub(crate) const MAX_LIST: u64 = 64 << 20;
/// The largest file that is taken along though git does not know it.
const MAX_UNTRACKED: u64 = 16 << 20;

/// Lists, each followed by an empty name: what the index has, what another index has, and what neither has nor is
/// ignored. An index that cannot be read has nothing, but for the first.
const LIST_SCRIPT: &str = "git ls-files -z --cached || exit 1; printf '\\0'; \
    GIT_INDEX_FILE=\"$1\" git ls-files -z --cached 2>/dev/null; printf '\\0'; \
    git ls-files -z --others --exclude-standard";

/// Makes a tree of the named files.
const TREE_SCRIPT: &str = "git -c core.autocrlf=false -c core.safecrlf=false update-index \
    -z --add --remove --replace --stdin >&2 && git write-tree";

/// Makes a commit of the named files: HEAD itself where nothing is changed.
const COMMIT_SCRIPT: &str = "tree=$(git -c core.autocrlf=false -c core.safecrlf=false update-index \
    -z --add --remove --replace --stdin >&2 && git write-tree) || exit 1
head=$(git rev-parse --verify --quiet 'HEAD^{commit}') || head=
if [ -n \"$head\" ] && [ \"$(git rev-parse --verify --quiet \"$head^{tree}\")\" = \"$tree\" ]
then printf '%s\\n' \"$head\"; exit; fi
exec git commit-tree \"$tree\" ${head:+-p \"$head\"} -m 'The files as they were when a worktree was made of them'";

/// Who makes commits that no branch ever holds.
const IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "Ostler"),
    ("GIT_AUTHOR_EMAIL", "ostler@localhost"),
    ("GIT_COMMITTER_NAME", "Ostler"),
    ("GIT_COMMITTER_EMAIL", "ostler@localhost"),
];

/// A commit of the files as they are: HEAD itself where nothing is changed.
pub(crate) async fn write_commit(git: &Git<'_>) -> Result<String, GitError> {
    let index = git.repository.directory.join("index");
    let names = names(git, &index, &index).await?;
    let mut call = object_script(git, COMMIT_SCRIPT, names)?;
    for (name, value) in IDENTITY {
        call = call.variable(name, *value);
    }
    git.run(call).await?.single_line("commit-tree")
}

/// The tree of the files as they are. `known` is an index of ours that was right at some time: files that have not
/// changed since are not read again.
pub(crate) async fn write_tree(git: &Git<'_>, known: &Path) -> Result<String, GitError> {
    let own = git.own_file("index");
    // The copy keeps its time: git looks again at files that are not older than their index.
    let (from, to) = (known.to_owned(), own.clone());
    let copied = tokio::task::spawn_blocking(move || copy_with_time(&from, &to)).await;
    let copied = copied.unwrap_or_else(|error| Err(error.into()));
    copied.map_err(|error| GitError::io("An index cannot be copied to", &own, error))?;
    let names = names(git, &own, &git.repository.directory.join("index")).await?;
    git.run(object_script(git, TREE_SCRIPT, names)?).await?.single_line("write-tree")
}

/// Copies a file with its time.
pub(crate) fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    let modified = std::fs::metadata(from)?.modified()?;
    std::fs::copy(from, to)?;
    std::fs::File::options().write(true).open(to)?.set_modified(modified)
}

/// A script that makes objects of named files, in an index of its own.
fn object_script(git: &Git<'_>, script: &'static str, names: Vec<u8>) -> Result<GitCall, GitError> {
    let index = git.own_file("index");
    let beside = index.parent().unwrap_or(Path::new("/")).to_owned();
    let call = GitCall::script(script, &[]).with_limits(MAX_LIST, LONG_TIME_LIMIT).input(names);
    let call = call.variable("GIT_INDEX_FILE", index).variable("GIT_ATTR_SOURCE", git.empty_tree());
    Ok(call.with_writable(&git.repository.objects()?).with_writable(&beside))
}

/// The names of the files to take, each ended by a zero byte: those that `index` or `other` has, and those that git
/// does not know and does not ignore.
async fn names(git: &Git<'_>, index: &Path, other: &Path) -> Result<Vec<u8>, GitError> {
    let call = GitCall::script(LIST_SCRIPT, &[other.as_os_str()]).variable("GIT_INDEX_FILE", index);
    let listed = git.run(call.with_limits(MAX_LIST, LONG_TIME_LIMIT)).await?.complete_stdout("ls-files")?;
    let top = git.repository.top.clone();
    let chosen = tokio::task::spawn_blocking(move || select_names(&top, &listed));
    chosen.await.map_err(|_| GitError::new("The files could not be looked at."))
}

fn select_names(top: &Path, listed: &[u8]) -> Vec<u8> {
    let mut lists = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    let mut list = 0;
    for name in listed.split(|byte| *byte == 0) {
        match name {
            [] => list = (list + 1).min(lists.len() - 1),
            name => {
                lists[list].insert(name);
            }
        }
    }
    let [known, told, unknown] = &lists;
    let unknown = told.difference(known).chain(unknown.iter()).copied().filter(|name| is_wanted(top, name));
    let all: BTreeSet<&[u8]> = known.iter().copied().chain(unknown).collect();
    let mut names = Vec::new();
    for name in all {
        names.extend_from_slice(name);
        names.push(0);
    }
    names
}

/// Whether a file that git does not know is taken along: not a repository in the repository, not a sandbox's
/// placeholder, and nothing so large that nobody meant it to be.
fn is_wanted(top: &Path, name: &[u8]) -> bool {
    if name.is_empty() || name.ends_with(b"/") {
        return false;
    }
    let path: PathBuf = top.join(OsStr::from_bytes(name));
    let small = |metadata: std::fs::Metadata| {
        (metadata.is_file() && metadata.len() <= MAX_UNTRACKED) || metadata.is_symlink()
    };
    std::fs::symlink_metadata(&path).is_ok_and(small) && !ostler_sandbox::is_placeholder(&path)
}
