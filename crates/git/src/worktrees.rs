//! Worktrees of a repository for whoever is to work beside its owner: made with the files as they are, merged
//! or dropped, and removed with all that git keeps of them. A note beside each, `<name>.json`, is written
//! before it is made, so that what a crash leaves half made is found and removed.

mod note;
mod remove;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::RootedTree;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::error::GitError;
use crate::git::{Git, GitCall, Isolation};
use crate::git_entry::GitEntry;
use crate::merge;
use crate::object_snapshot::{self, LONG_TIME_LIMIT, MAX_LIST};
use crate::repository::GitRepository;

use note::WorktreeNote;

/// Worktrees that are made at the same time; each hashes and writes all files of a repository.
const MAX_CONCURRENT_CREATIONS: usize = 4;
/// How deep worktrees of worktrees go.
const MAX_DEPTH: usize = 16;

/// How much of a file is read that leads somewhere.
const MAX_POINTER: u64 = 4096;
/// Writes the files of a commit, byte for byte, and an index of them.
const CHECKOUT_SCRIPT: &str = "git -c core.autocrlf=false read-tree \"$1\" \
    && git -c core.autocrlf=false checkout-index --all --index --force --quiet";

/// A directory of worktrees. One process uses it at a time.
pub struct GitWorktrees {
    directory: PathBuf,
    isolation: Isolation,
    /// Whether git may run for somebody who only wants to see what has changed.
    compares_unasked: bool,
    /// The user's home directory, whose settings of git count in every workspace.
    home: PathBuf,
    making: Semaphore,
    /// Held while git gets to know or forgets one: it looks at all of them meanwhile, and stumbles over one that
    /// is not whole.
    registering: Mutex<()>,
    /// Held while a workspace is merged into, so that two merges do not meet.
    merging: Mutex<()>,
}

/// A worktree that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedWorktree {
    /// Where to work: in it, at the same place as the workspace that it was made of.
    pub workspace: PathBuf,
    /// The commit that it began with.
    pub base: String,
}

/// A file that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeChange {
    /// Its path from the root of the repository.
    pub path: String,
    /// `added`, `modified`, `deleted` or `made a link of`.
    pub what: &'static str,
}

/// What a merge did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeMerge {
    /// The files that are different in the workspace now.
    pub changed: Vec<WorktreeChange>,
}

/// How a file has changed, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeFileDiff {
    /// Its path from the root of the repository.
    pub path: String,
    /// `added`, `modified` or `deleted`.
    pub what: &'static str,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
    /// Whether it is no text.
    pub is_binary: bool,
    /// A unified diff, as far as there is room for it.
    pub diff: Option<String>,
}

/// A worktree that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorktree {
    /// The name that it was made under.
    pub name: String,
    /// Whether it was ever finished.
    pub is_complete: bool,
}

impl GitWorktrees {
    /// Worktrees in this directory, which is made with the first one. It must be on a path that those who
    /// work in them may see. Git runs in `isolation`.
    pub fn new(directory: PathBuf, isolation: Isolation) -> GitWorktrees {
        let (registering, merging) = (Mutex::default(), Mutex::default());
        let home = PathBuf::from("/nonexistent");
        GitWorktrees {
            directory,
            isolation,
            compares_unasked: true,
            home,
            making: Semaphore::new(MAX_CONCURRENT_CREATIONS),
            registering,
            merging,
        }
    }

    /// The same for a user with this home directory.
    #[must_use]
    pub fn with_home(self, home: PathBuf) -> GitWorktrees {
        GitWorktrees { home, ..self }
    }

    /// The same where git runs only for what somebody agreed to: nothing confines it, and its owner has not said that
    /// nothing has to.
    #[must_use]
    pub fn asking_first(self) -> GitWorktrees {
        GitWorktrees { compares_unasked: false, ..self }
    }

    /// Makes a worktree of the repository that a workspace is in, with the files as they are now: what is
    /// committed, what is not, and what is new and not ignored. No branch is made, and nothing of the user's
    /// changes. When it fails or is canceled, nothing of it is left.
    pub async fn create(
        &self,
        name: &str,
        workspace: &Path,
        canceled: &CancellationToken,
    ) -> Result<CreatedWorktree, GitError> {
        let _turn = tokio::select! {
            turn = self.making.acquire() => turn,
            () = canceled.cancelled() => return Err(canceled_error()),
        };
        let made = self.create_now(name, workspace, canceled).await;
        if made.is_err()
            && let Err(error) = self.remove(name).await
        {
            tracing::warn!(name, %error, "a worktree that could not be made is left behind");
        }
        made
    }

    async fn create_now(
        &self,
        name: &str,
        workspace: &Path,
        canceled: &CancellationToken,
    ) -> Result<CreatedWorktree, GitError> {
        check_name(name)?;
        let real = std::fs::canonicalize(workspace);
        let real = real.map_err(|error| GitError::io("The workspace cannot be opened:", workspace, error))?;
        let repository = GitRepository::find(&real)?;
        let below = real.strip_prefix(&repository.top).unwrap_or(Path::new("")).to_owned();
        let common = repository.common.clone();
        let mut note = WorktreeNote::new(&real, &repository.top, common.clone(), below);
        self.prepare().await?;
        note.write(&self.directory, name).await?;
        let git = Git::open(repository, &self.isolation, canceled.clone()).await?;
        let base = object_snapshot::write_commit(&git).await?;
        let directory = self.register(&common, name, &base).await?;
        let place = self.directory.join(name);
        let worktree = GitRepository { top: place.clone(), directory, common };
        self.check_out(worktree, name, &base, canceled).await?;
        if canceled.is_cancelled() {
            return Err(canceled_error());
        }
        let workspace = place.join(&note.below);
        let opened = tokio::fs::create_dir_all(&workspace).await;
        opened.map_err(|error| GitError::io("The worktree cannot be used:", &workspace, error))?;
        note.base = Some(base.clone());
        note.write(&self.directory, name).await?;
        Ok(CreatedWorktree { workspace, base })
    }

    /// Has git know of a worktree that has no files yet, as `git worktree add` would: by files alone. Returns where
    /// git keeps what it knows of it.
    async fn register(&self, common: &Path, name: &str, base: &str) -> Result<PathBuf, GitError> {
        let (place, common) = (self.directory.join(name), common.to_owned());
        let (name, base) = (name.to_owned(), base.to_owned());
        let _alone = self.registering.lock().await;
        blocking(move || {
            let failed = |error| GitError::io("The worktree cannot be made:", &place, error);
            let own = Path::new("worktrees").join(&name);
            let tree = open(&common).map_err(failed)?;
            if GitEntry::read(&tree, &own.join("HEAD"), MAX_POINTER).map_err(failed)?.is_some() {
                return Err(GitError::new("Git has a worktree of this name already."));
            }
            let marker = place.join(".git");
            let directory = common.join(&own);
            for (file, text) in [
                ("commondir", b"../..\n".to_vec()),
                ("gitdir", line(&marker)),
                ("HEAD", format!("{base}\n").into_bytes()),
            ] {
                GitEntry::put(&tree, &own.join(file), Some(&plain(text))).map_err(failed)?;
            }
            std::fs::create_dir(&place).map_err(failed)?;
            let text = [b"gitdir: ", line(&directory).as_slice()].concat();
            open(&place)
                .and_then(|tree| GitEntry::put(&tree, Path::new(".git"), Some(&plain(text))))
                .map_err(failed)?;
            Ok(directory)
        })
        .await
    }

    /// Writes the files of a commit into a new worktree. Its index is made where nobody else writes, and kept
    /// beside the worktree: a copy goes where git looks for it.
    async fn check_out(
        &self,
        worktree: GitRepository,
        name: &str,
        base: &str,
        canceled: &CancellationToken,
    ) -> Result<(), GitError> {
        let (common, place) = (worktree.common.clone(), worktree.top.clone());
        let git = Git::open(worktree, &self.isolation, canceled.clone()).await?;
        let index = git.own_file("index");
        let beside = index.parent().unwrap_or(Path::new("/")).to_owned();
        let call = GitCall::script(CHECKOUT_SCRIPT, &[OsStr::new(base)])
            .with_limits(MAX_LIST, LONG_TIME_LIMIT)
            .with_writable(&place);
        let call = call.variable("GIT_INDEX_FILE", &index).variable("GIT_ATTR_SOURCE", git.empty_tree());
        git.run(call.with_writable(&beside)).await?.expect_success("checkout-index")?;
        let (known, own) = (self.own_index(name), Path::new("worktrees").join(name).join("index"));
        blocking(move || {
            let failed = |error| GitError::io("The index of a worktree cannot be kept:", &known, error);
            object_snapshot::copy_with_time(&index, &known).map_err(failed)?;
            let content = std::fs::read(&index).map_err(failed)?;
            open(&common).and_then(|tree| GitEntry::put(&tree, &own, Some(&plain(content)))).map_err(failed)
        })
        .await
    }

    /// What has changed in a worktree since it was made.
    pub async fn changes(&self, name: &str) -> Result<Vec<WorktreeChange>, GitError> {
        self.may_compare()?;
        let found =
            self.compare(name, async |_, compared, _| Ok(merge::changed(&compared.differences))).await?;
        Ok(found)
    }

    /// The same for whoever is to agree to a merge: from now on only what was shown first is merged.
    pub async fn changes_to_merge(&self, name: &str) -> Result<Vec<WorktreeChange>, GitError> {
        self.may_compare()?;
        let _one_at_a_time = self.merging.lock().await;
        let (changed, tree) = self
            .compare(name, async |_, compared, _| Ok((merge::changed(&compared.differences), compared.after)))
            .await?;
        self.record_shown(name, |note| _ = note.shown.get_or_insert(tree)).await?;
        Ok(changed)
    }

    /// The same with the lines that have changed, for whoever is to agree to a merge.
    pub async fn diff(&self, name: &str) -> Result<Vec<WorktreeFileDiff>, GitError> {
        self.may_compare()?;
        self.compare(name, async |git, compared, note| merge::diff(git, &compared, &note.below).await).await
    }

    /// The workspace that a worktree was made of.
    pub fn source_workspace(&self, name: &str) -> Option<PathBuf> {
        check_name(name).ok()?;
        WorktreeNote::read(&self.directory, name).map(|note| note.workspace)
    }

    /// Makes the changes of a worktree in the workspace that it was made of. What was changed there since
    /// stays; where both sides contradict each other, or where a file changed that no tool may write, nothing is
    /// changed. The worktree stays as it is.
    pub async fn merge(&self, name: &str) -> Result<WorktreeMerge, GitError> {
        let _one_at_a_time = self.merging.lock().await;
        let changed = self
            .compare(name, async |git, compared, note| {
                if note.shown.as_ref().is_some_and(|shown| *shown != compared.after) {
                    return Err(GitError::Changed);
                }
                merge::merge(git, compared.differences, &note.top, &self.home).await
            })
            .await;
        // Whoever asks again is shown the files as they are then.
        self.record_shown(name, |note| note.shown = None).await?;
        Ok(WorktreeMerge { changed: changed? })
    }

    /// Removes a worktree and all that git keeps of it. One that is not there is no error.
    pub async fn remove(&self, name: &str) -> Result<(), GitError> {
        check_name(name)?;
        let (directory, own) = (self.directory.clone(), name.to_owned());
        blocking(move || remove::remove_files(&directory, &own)).await?;
        let (directory, own) = (self.directory.clone(), name.to_owned());
        let _alone = self.registering.lock().await;
        blocking(move || remove::remove_git_data(&directory, &own)).await
    }

    /// The worktrees there are, half made ones included.
    pub async fn list(&self) -> Result<Vec<ListedWorktree>, GitError> {
        let directory = self.directory.clone();
        blocking(move || note::list(&directory)).await
    }

    /// The workspace that a path in a worktree was made of in the end; the path itself when it is in none.
    pub fn origin(&self, path: &Path) -> PathBuf {
        let mut path = path.to_owned();
        for _ in 0..MAX_DEPTH {
            let name = path.strip_prefix(&self.directory).ok().and_then(|rest| rest.components().next());
            let Some(name) = name.and_then(|name| name.as_os_str().to_str()) else { break };
            let Some(note) = WorktreeNote::read(&self.directory, name) else { break };
            path = note.workspace;
        }
        path
    }

    fn may_compare(&self) -> Result<(), GitError> {
        match self.compares_unasked {
            true => Ok(()),
            false => Err(GitError::new(
                "Nothing on this machine confines git, so it does not look at a worktree before somebody agreed to that.",
            )),
        }
    }

    /// Hands over what differs between a worktree and what it began with. Where its repository is, is known since
    /// it was made: what lies in the worktree, or in the repository, may have been changed since.
    async fn compare<T>(
        &self,
        name: &str,
        then: impl AsyncFnOnce(&Git<'_>, WorktreeComparison, &WorktreeNote) -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        check_name(name)?;
        let note = WorktreeNote::read(&self.directory, name).filter(|note| note.base.is_some());
        let note = note.ok_or_else(|| GitError::new("There is no such worktree any more."))?;
        let (top, common) = (self.directory.join(name), note.common.clone());
        let directory = common.join("worktrees").join(name);
        if !directory.is_dir() || directory.is_symlink() {
            return Err(GitError::new("Git does not know this worktree any more."));
        }
        let repository = GitRepository { top, directory, common };
        let git = Git::open(repository, &self.isolation, CancellationToken::new()).await?;
        let after = object_snapshot::write_tree(&git, &self.own_index(name)).await?;
        let before = note.base.clone().unwrap_or_default();
        let differences = merge::differences(&git, (&before, &after), &note.below).await?;
        then(&git, WorktreeComparison { before, after, differences }, &note).await
    }

    /// Notes what was shown of a worktree.
    async fn record_shown(&self, name: &str, change: impl FnOnce(&mut WorktreeNote)) -> Result<(), GitError> {
        let Some(mut note) = WorktreeNote::read(&self.directory, name) else { return Ok(()) };
        let before = note.shown.clone();
        change(&mut note);
        if note.shown == before { Ok(()) } else { note.write(&self.directory, name).await }
    }

    async fn prepare(&self) -> Result<(), GitError> {
        let made = tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).await;
        made.map_err(|error| {
            GitError::io("The directory for worktrees cannot be made:", &self.directory, error)
        })
    }

    /// Our own index of a worktree, as it was when its files were written.
    fn own_index(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.index"))
    }
}

/// A worktree and what it began with, as trees of git.
pub(crate) struct WorktreeComparison {
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) differences: Vec<merge::TreeDifference>,
}

/// A path as git keeps it in a file.
fn line(path: &Path) -> Vec<u8> {
    [path.as_os_str().as_bytes(), b"\n"].concat()
}

fn open(directory: &Path) -> std::io::Result<RootedTree> {
    Ok(RootedTree::open_following(directory)?)
}

fn plain(content: Vec<u8>) -> GitEntry {
    GitEntry::File { is_executable: false, content }
}

/// Runs what blocks where it may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, GitError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| GitError::new(format!("The work on a worktree was given up: {error}.")))?
}

/// A name is one plain component.
fn check_name(name: &str) -> Result<(), GitError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 100 || !name.chars().all(plain) {
        return Err(GitError::new(format!("{name:?} is no name for a worktree.")));
    }
    Ok(())
}

fn canceled_error() -> GitError {
    GitError::new("The worktree was given up before it was made.")
}
