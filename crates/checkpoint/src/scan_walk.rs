//! Walks a workspace, several directories at a time, and says what is there: all that git tracks or
//! does not ignore, and what a checkpoint has asked for besides. Contents are not read; that is for `scan`.
//!
//! It is not the walk of the file tools: a capture that misses something must fail, while a search goes on without it
//! and counts what it left out; and only a capture looks behind an ignored name for what is tracked. Both use the
//! ignore rules, the queue and the threads of `workspace-fs`.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use ostler_workspace_fs::{IgnoreRules, WalkQueue, is_git_name, run_in_threads};
use rustix::fs::{AtFlags, Dir, FileType, readlinkat, statat};
use rustix::io::Errno;

use crate::error::Error;
use crate::ignore_state::{DirectoryIgnoreState, GITIGNORE, read_exclude_file, repository_root};
use crate::manifest::{LeftOutReason, Manifest, ManifestNode};
use crate::tracked_paths::TrackedPaths;
use crate::workspace_tree::{FileStamp, MAX_PLACEHOLDER_BYTES, WorkspaceTree};

/// What a walk found, sorted by the bytes of the paths.
#[derive(Debug, Default)]
pub(crate) struct ScanListing {
    pub(crate) entries: Vec<ScanEntry>,
    pub(crate) repositories: Vec<PathBuf>,
}

/// One path.
#[derive(Debug)]
pub(crate) struct ScanEntry {
    pub(crate) path: PathBuf,
    pub(crate) kind: ScanEntryKind,
}

/// What is at a path.
#[derive(Debug)]
pub(crate) enum ScanEntryKind {
    /// A regular file, still to be read.
    File(FileStamp),
    /// All else is known at once.
    Known(ManifestNode),
}

/// Walks all of a workspace but the directories in `left_alone`. Paths of `covered` are taken even
/// where they are ignored now.
pub(crate) fn walk(
    tree: &WorkspaceTree,
    max_entries: usize,
    covered: Option<&Manifest>,
    left_alone: &[PathBuf],
) -> Result<ScanListing, Error> {
    let above = DirectoryIgnoreState::for_workspace(tree.path());
    let queue = WalkQueue::new(ScanWalkJob { path: PathBuf::new(), ignored: false, above: above.clone() });
    let tracked = match repository_root(tree.path()) {
        Some(root) if above.in_repository() => TrackedPaths::read(root, tree.path()),
        Some(_) | None => TrackedPaths::default(),
    };
    let walk = ScanWalk {
        tree,
        covered,
        excluded_directories: left_alone,
        tracked,
        max_entries,
        seen: AtomicUsize::new(0),
        queue,
    };
    let results = run_in_threads(|| {
        let mut found = ScanListing::default();
        let mut result = Ok(());
        while let Some((job, _visiting)) = walk.queue.next() {
            // The others are let run dry: what is in the queue is not visited after a failure.
            if result.is_ok() && !walk.is_over() {
                result = walk.visit(&job, &mut found);
            }
        }
        result.map(|()| found)
    });
    if walk.is_over() {
        return Err(Error::TooManyFiles { limit: max_entries });
    }
    let mut all = ScanListing::default();
    for found in results {
        let found = found?;
        all.entries.extend(found.entries);
        all.repositories.extend(found.repositories);
    }
    if above.in_repository() && !all.repositories.iter().any(|path| path.as_os_str().is_empty()) {
        all.repositories.push(PathBuf::new());
    }
    all.entries.sort_unstable_by(|a, b| a.path.as_os_str().as_bytes().cmp(b.path.as_os_str().as_bytes()));
    all.repositories.sort_unstable();
    Ok(all)
}

struct ScanWalk<'a> {
    tree: &'a WorkspaceTree,
    covered: Option<&'a Manifest>,
    excluded_directories: &'a [PathBuf],
    tracked: TrackedPaths,
    max_entries: usize,
    seen: AtomicUsize,
    queue: WalkQueue<ScanWalkJob>,
}

impl ScanWalk<'_> {
    fn is_over(&self) -> bool {
        self.seen.load(Ordering::Relaxed) > self.max_entries
    }

    /// Whether a path is taken although it is ignored.
    fn is_wanted(&self, path: &Path) -> bool {
        self.tracked.has(path) || self.covered.is_some_and(|covered| covered.get(path).is_some())
    }

    fn visit(&self, job: &ScanWalkJob, found: &mut ScanListing) -> Result<(), Error> {
        let is_root = job.path.as_os_str().is_empty();
        let cannot = |errno: Errno| Error::io("Cannot read", &self.tree.path().join(&job.path), errno);
        let listed = self.tree.directory(&job.path).and_then(|directory| {
            let names = names(&directory)?;
            Ok((directory, names))
        });
        let (directory, names) = match listed {
            Ok(listed) => listed,
            Err(errno) if is_root => return Err(cannot(errno)),
            // It went away, or became something else, since its name was read.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(Errno::ACCESS | Errno::PERM | Errno::NAMETOOLONG) => {
                let node =
                    ManifestNode::LeftOut { reason: LeftOutReason::Unreadable, size: 0, modified: (0, 0) };
                found.entries.push(ScanEntry { path: job.path.clone(), kind: ScanEntryKind::Known(node) });
                return Ok(());
            }
            Err(errno) => return Err(cannot(errno)),
        };
        if names.is_empty() && !is_root && self.tree.is_placeholder(&job.path) {
            return Ok(());
        }
        let standing = self.ignore_state(job, &directory, &names, found);
        if !is_root {
            let stat = rustix::fs::fstat(&directory).map_err(cannot)?;
            // It went away since it was opened, as places that are held do when a sandbox ends.
            if stat.st_nlink == 0 {
                return Ok(());
            }
            let node = ManifestNode::Directory { mode: stat.st_mode & 0o7777 };
            found.entries.push(ScanEntry { path: job.path.clone(), kind: ScanEntryKind::Known(node) });
        }
        for (name, kind) in names.into_iter().filter(|(name, _)| !is_git_name(name)) {
            let path = job.path.join(&name);
            let is_directory = kind == FileType::Directory;
            let ignored = standing.ignores(&path, is_directory);
            if (ignored && !self.is_wanted(&path)) || self.excluded_directories.contains(&path) {
                continue;
            }
            if self.seen.fetch_add(1, Ordering::Relaxed) >= self.max_entries {
                return Ok(());
            }
            if is_directory {
                self.queue.add(ScanWalkJob { path, ignored, above: standing.clone() });
            } else if let Some(kind) = stat_entry(&directory, &name)
                && !self.is_placeholder(&path, &kind)
            {
                found.entries.push(ScanEntry { path, kind });
            }
        }
        Ok(())
    }

    fn is_placeholder(&self, path: &Path, kind: &ScanEntryKind) -> bool {
        match kind {
            ScanEntryKind::File(stamp) => {
                stamp.size <= MAX_PLACEHOLDER_BYTES && self.tree.is_placeholder(path)
            }
            ScanEntryKind::Known(_) => false,
        }
    }

    /// How the directory stands to git, and whether it is a repository of its own.
    fn ignore_state(
        &self,
        job: &ScanWalkJob,
        directory: &OwnedFd,
        names: &[(OsString, FileType)],
        found: &mut ScanListing,
    ) -> DirectoryIgnoreState {
        let has = |wanted: &str| names.iter().any(|(name, _)| name == wanted);
        let is_root = job.path.as_os_str().is_empty();
        let exclude = (has(".git") && !is_root).then(|| read_exclude_file(self.tree, &job.path));
        if exclude.is_some() {
            found.repositories.push(job.path.clone());
        }
        let own = if has(GITIGNORE) { IgnoreRules::read(directory, Path::new(GITIGNORE)) } else { None };
        job.above.enter(&job.path, job.ignored, exclude.as_ref().map(|text| text.as_deref()), own.as_deref())
    }
}

/// The names in a directory, and of what kind each is.
pub(crate) fn names(directory: &OwnedFd) -> Result<Vec<(OsString, FileType)>, Errno> {
    let mut names = Vec::new();
    let mut listing = Dir::read_from(directory)?;
    while let Some(entry) = listing.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            known => known,
        };
        names.push((name.to_owned(), kind));
    }
    Ok(names)
}

/// What a name that is no directory stands for; nothing if it went away.
fn stat_entry(directory: &OwnedFd, name: &OsStr) -> Option<ScanEntryKind> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let stamp = FileStamp::from_stat(&stat);
    Some(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => ScanEntryKind::File(stamp),
        FileType::Symlink => ScanEntryKind::Known(match readlinkat(directory, name, Vec::new()) {
            Ok(target) => ManifestNode::Link { target: target.into_bytes() },
            Err(_) => stamp.left_out(LeftOutReason::Unreadable),
        }),
        // It has become a directory since its name was read; what is in it came later than the capture.
        FileType::Directory => return None,
        _ => ScanEntryKind::Known(stamp.left_out(LeftOutReason::Special)),
    })
}

/// A directory that is still to be visited.
struct ScanWalkJob {
    path: PathBuf,
    ignored: bool,
    above: DirectoryIgnoreState,
}
