//! Worktrees of a repository for whoever is to work beside its owner: made with the files as they are, merged
//! or dropped, and removed with all that git keeps of them. A note beside each, `<name>.json`, is written
//! before it is made, so that what a crash leaves half made is found and removed.

mod note;
mod remove;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::error::GitError;
use crate::git::Git;
use crate::merge;
use crate::snapshot::{self, LONG, MAX_LIST};

use note::Note;

/// Worktrees that are made at the same time; each hashes and writes all files of a repository.
const AT_ONCE: usize = 4;
/// How deep worktrees of worktrees go.
const MAX_DEPTH: usize = 16;

/// A directory of worktrees. One process uses it at a time.
pub struct Worktrees {
    directory: PathBuf,
    making: Semaphore,
    /// Held while git gets to know or forgets one: it looks at all of them meanwhile, and stumbles over one that
    /// is not whole.
    registering: Mutex<()>,
    /// Held while a workspace is merged into, so that two merges do not meet.
    merging: Mutex<()>,
}

/// A worktree that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeWorktree {
    /// Where to work: in it, at the same place as the workspace that it was made of.
    pub workspace: PathBuf,
    /// The commit that it began with.
    pub base: String,
}

/// A file that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its path from the root of the repository.
    pub path: String,
    /// `added`, `modified` or `deleted`.
    pub what: &'static str,
}

/// What a merge did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The files that are different in the workspace now.
    pub changed: Vec<Changed>,
}

/// A worktree that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeName {
    /// The name that it was made under.
    pub name: String,
    /// Whether it was ever finished.
    pub is_made: bool,
}

impl Worktrees {
    /// Worktrees in this directory, which is made with the first one. It must be on a path that those who
    /// work in them may see.
    pub fn new(directory: PathBuf) -> Worktrees {
        let (registering, merging) = (Mutex::default(), Mutex::default());
        Worktrees { directory, making: Semaphore::new(AT_ONCE), registering, merging }
    }

    /// Makes a worktree of the repository that a workspace is in, with the files as they are now: what is
    /// committed, what is not, and what is new and not ignored. No branch is made, and nothing of the user's
    /// changes. When it fails or is canceled, nothing of it is left.
    pub async fn make(
        &self,
        name: &str,
        workspace: &Path,
        canceled: &CancellationToken,
    ) -> Result<MadeWorktree, GitError> {
        let _turn = tokio::select! {
            turn = self.making.acquire() => turn,
            () = canceled.cancelled() => return Err(given_up()),
        };
        let made = self.make_now(name, workspace, canceled).await;
        if made.is_err()
            && let Err(error) = self.remove(name).await
        {
            tracing::warn!(name, %error, "a worktree that could not be made is left behind");
        }
        made
    }

    async fn make_now(
        &self,
        name: &str,
        workspace: &Path,
        canceled: &CancellationToken,
    ) -> Result<MadeWorktree, GitError> {
        check_name(name)?;
        let real = std::fs::canonicalize(workspace);
        let real = real.map_err(|error| GitError::io("The workspace cannot be opened:", workspace, error))?;
        let root = open_directory(&real)?;
        let git = Git::open_to_write(&root, &real, Vec::new(), canceled.clone()).await?;
        let common =
            git.run(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?.line("rev-parse")?;
        let below = real.strip_prefix(&git.top).unwrap_or(Path::new("")).to_owned();
        let mut note = Note::new(&real, &git.top, PathBuf::from(common), below);
        self.prepare().await?;
        note.write(&self.directory, name).await?;
        let base = snapshot::commit(&git, &self.scratch(name)).await?;
        let place = self.directory.join(name);
        let path = place.display().to_string();
        self.register(&git, name, &base).await?;
        let fill = ["-C", &path, "reset", "--hard", "--quiet"];
        let call = git.call(Vec::new(), MAX_LIST, LONG);
        git.run_in_the_open(&fill, &[], call).await?.expect_success("reset")?;
        if canceled.is_cancelled() {
            return Err(given_up());
        }
        let workspace = place.join(&note.below);
        let opened = tokio::fs::create_dir_all(&workspace).await;
        opened.map_err(|error| GitError::io("The worktree cannot be used:", &workspace, error))?;
        note.base = Some(base.clone());
        note.write(&self.directory, name).await?;
        Ok(MadeWorktree { workspace, base })
    }

    /// Has git know of a worktree that has no files yet.
    async fn register(&self, git: &Git<'_>, name: &str, base: &str) -> Result<(), GitError> {
        let path = self.directory.join(name).display().to_string();
        let add = ["worktree", "add", "--quiet", "--detach", "--no-checkout", &path, base];
        let call = git.call(Vec::new(), MAX_LIST, LONG);
        let _alone = self.registering.lock().await;
        let added = git.run_in_the_open(&add, &[], call).await;
        let added = added.and_then(|added| added.expect_success("worktree add"));
        if added.is_err() {
            // What is half there must be gone before anybody else looks.
            let (directory, own) = (self.directory.clone(), name.to_owned());
            blocking(move || {
                remove::remove_files(&directory, &own).and_then(|()| remove::forget(&directory, &own))
            })
            .await?;
        }
        added.map(drop)
    }

    /// What has changed in a worktree since it was made.
    pub async fn changes(&self, name: &str) -> Result<Vec<Changed>, GitError> {
        let found = self.compare(name, async |_, differences, _| Ok(merge::changed(&differences))).await?;
        Ok(found)
    }

    /// Makes the changes of a worktree in the workspace that it was made of. What was changed there since
    /// stays; where both sides contradict each other, nothing is changed. The worktree stays as it is.
    pub async fn merge(&self, name: &str) -> Result<Merged, GitError> {
        let _one_at_a_time = self.merging.lock().await;
        let scratch = self.scratch(name);
        let changed = self
            .compare(name, async |git, differences, note| {
                merge::merge(git, differences, (&note.top, &scratch)).await
            })
            .await?;
        Ok(Merged { changed })
    }

    /// Removes a worktree and all that git keeps of it. One that is not there is no error.
    pub async fn remove(&self, name: &str) -> Result<(), GitError> {
        check_name(name)?;
        let (directory, own) = (self.directory.clone(), name.to_owned());
        blocking(move || remove::remove_files(&directory, &own)).await?;
        let (directory, own) = (self.directory.clone(), name.to_owned());
        let _alone = self.registering.lock().await;
        blocking(move || remove::forget(&directory, &own)).await
    }

    /// The worktrees there are, half made ones included.
    pub async fn list(&self) -> Result<Vec<WorktreeName>, GitError> {
        let directory = self.directory.clone();
        blocking(move || note::list(&directory)).await
    }

    /// The workspace that a path in a worktree was made of in the end; the path itself when it is in none.
    pub fn origin(&self, path: &Path) -> PathBuf {
        let mut path = path.to_owned();
        for _ in 0..MAX_DEPTH {
            let name = path.strip_prefix(&self.directory).ok().and_then(|rest| rest.components().next());
            let Some(name) = name.and_then(|name| name.as_os_str().to_str()) else { break };
            let Some(note) = Note::read(&self.directory, name) else { break };
            path = note.workspace;
        }
        path
    }

    /// Hands over what differs between a worktree and what it began with.
    async fn compare<T>(
        &self,
        name: &str,
        then: impl AsyncFnOnce(&Git<'_>, Vec<merge::Difference>, &Note) -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        check_name(name)?;
        let note = Note::read(&self.directory, name).filter(|note| note.base.is_some());
        let note = note.ok_or_else(|| GitError::new("There is no such worktree any more."))?;
        let place = self.directory.join(name);
        // What lies in the worktree may have been changed, so its own word for its repository does not count.
        let own = remove::kept_by_git(&note.common, &place).next();
        let own = own.ok_or_else(|| GitError::new("Git does not know this worktree any more."))?;
        let variables = [("GIT_DIR", own), ("GIT_WORK_TREE", place.clone())];
        let variables = variables.map(|(name, value)| (OsString::from(name), value.into_os_string()));
        let root = open_directory(&place)?;
        let git = Git::open_to_write(&root, &place, variables.to_vec(), CancellationToken::new()).await?;
        let after = snapshot::tree(&git, &self.scratch(name)).await?;
        let base = note.base.clone().unwrap_or_default();
        let differences = merge::differences(&git, (&base, &after), &note.below).await?;
        then(&git, differences, &note).await
    }

    async fn prepare(&self) -> Result<(), GitError> {
        let made = tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).await;
        made.map_err(|error| {
            GitError::io("The directory for worktrees cannot be made:", &self.directory, error)
        })
    }

    /// Where an index for a worktree lies while it is used.
    fn scratch(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.index"))
    }
}

/// Runs what blocks where it may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, GitError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| GitError::new(format!("The work on a worktree was given up: {error}.")))?
}

fn open_directory(path: &Path) -> Result<OwnedFd, GitError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).map_err(|error| GitError::io("Cannot open", path, error))
}

/// A name is one plain component.
fn check_name(name: &str) -> Result<(), GitError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 100 || !name.chars().all(plain) {
        return Err(GitError::new(format!("{name:?} is no name for a worktree.")));
    }
    Ok(())
}

fn given_up() -> GitError {
    GitError::new("The worktree was given up before it was made.")
}
