//! Walks the files of a workspace, several directories at a time, without those that git ignores.
//!
//! Directories are opened through descriptors and never through links, so a walk cannot leave the
//! workspace even while directories are swapped under it. What it finds comes sorted, whichever thread
//! found it. What is ignored is for `IgnoreRules` to say; what to do with a file is left to the caller.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ostler_repo_map::SourceStamp;
use ostler_sandbox::{PROTECTED_NAMES, is_placeholder_file};
use ostler_workspace_fs::{
    IgnoreRules, LinkPolicy, ReadError, WalkQueue, directory_beneath, is_git_name, read_listed,
    run_in_threads,
};
use rustix::fs::{AtFlags, Dir, FileType, Stat, fstat, statat};
use rustix::io::Errno;

use crate::Failed;
use crate::blocking::StopFlag;
use crate::hidden_paths::WorkspaceHiddenPaths;
use crate::workspace::Workspace;

/// How many names a walk looks at before it gives up.
const MAX_ENTRIES: usize = 500_000;
/// How deep a walk goes.
pub(crate) const MAX_DEPTH: usize = 64;
/// The files of rules in each directory. The second overrules the first, as ripgrep has it.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore"];

/// A walk through one directory of a workspace.
pub(crate) struct WorkspaceWalk<'a> {
    base: OwnedFd,
    base_path: PathBuf,
    max_depth: usize,
    deadline: &'a WorkDeadline,
    rules: Option<Arc<IgnoreRules>>,
    hidden_paths: Arc<WorkspaceHiddenPaths>,
    /// Which files are to have a stamp.
    needs_stamp: fn(&Path) -> bool,
}

/// When work that nobody waits for, or that takes too long, ends.
pub(crate) struct WorkDeadline {
    stop: StopFlag,
    deadline: Instant,
}

/// Something that a walk met.
pub(crate) struct WorkspaceEntry {
    /// Relative to the workspace.
    pub(crate) path: PathBuf,
    /// 1 for what lies in the directory where the walk began.
    pub(crate) depth: usize,
    pub(crate) kind: FileType,
    /// What its content is told by, where it was asked for.
    pub(crate) stamp: Option<SourceStamp>,
}

/// What a walk left out.
#[derive(Debug, Default)]
pub(crate) struct OmittedEntries {
    /// Files and directories that are ignored, or hidden.
    pub(crate) ignored: usize,
    /// Directories below the depth.
    pub(crate) too_deep: usize,
    /// Directories that could not be read.
    pub(crate) unreadable: usize,
    /// Whether the walk gave up because there is too much.
    pub(crate) too_many: bool,
}

impl WorkDeadline {
    /// Until `stop` is set, or `limit` has passed.
    pub(crate) fn new(stop: &StopFlag, limit: Duration) -> WorkDeadline {
        WorkDeadline { stop: stop.clone(), deadline: Instant::now() + limit }
    }

    /// Whether it is time to end.
    pub(crate) fn is_over(&self) -> bool {
        self.stop.is_set() || Instant::now() >= self.deadline
    }
}

impl<'a> WorkspaceWalk<'a> {
    /// Prepares a walk through the directory `path`.
    pub(crate) fn new(
        workspace: &Workspace,
        path: &str,
        max_depth: usize,
        until: &'a WorkDeadline,
    ) -> Result<WorkspaceWalk<'a>, Failed> {
        let base = workspace.directory(path)?;
        let relative = workspace.relative(path)?;
        let base_path: PathBuf = if relative == Path::new(".") { PathBuf::new() } else { relative };
        let mut rules = None;
        if let Ok(root) = workspace.open_directory(Path::new(".")) {
            rules = rules_of(rules, &root, Path::new(""), &[".git/info/exclude"]);
        }
        for above in base_path.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let opened = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            if let Ok(directory) = workspace.open_directory(opened) {
                rules = rules_of(rules, &directory, above, IGNORE_FILES);
            }
        }
        let max_depth = max_depth.min(MAX_DEPTH);
        let closed = workspace.closed();
        Ok(WorkspaceWalk {
            base,
            base_path,
            max_depth,
            deadline: until,
            rules,
            hidden_paths: closed,
            needs_stamp: |_| false,
        })
    }

    /// The same walk, with a stamp for the files that `needs_stamp` names.
    pub(crate) fn with_stamps(self, needs_stamp: fn(&Path) -> bool) -> WorkspaceWalk<'a> {
        WorkspaceWalk { needs_stamp, ..self }
    }

    /// All that there is, a directory before what it holds, each directory by name.
    pub(crate) fn run(&self) -> (Vec<WorkspaceEntry>, OmittedEntries) {
        let queue =
            WalkQueue::new(WorkspaceWalkJob { inner: PathBuf::new(), depth: 0, rules: self.rules.clone() });
        let seen = AtomicUsize::new(0);
        let (mut entries, mut omitted) = (Vec::new(), OmittedEntries::default());
        let found = run_in_threads(|| {
            let mut found = ThreadEntries {
                queue: &queue,
                seen: &seen,
                entries: Vec::new(),
                omitted: OmittedEntries::default(),
            };
            while let Some((job, _visiting)) = queue.next() {
                self.visit(&job, &mut found);
            }
            (found.entries, found.omitted)
        });
        for (some, left_out) in found {
            entries.extend(some);
            omitted.add(&left_out);
        }
        entries.sort_by_cached_key(|entry| component_sort_key(&entry.path));
        (entries, omitted)
    }

    /// Opens a regular file that the walk has met.
    pub(crate) fn read(&self, entry: &WorkspaceEntry) -> Result<(File, Stat), ReadError> {
        let inner = entry.path.strip_prefix(&self.base_path).unwrap_or(&entry.path);
        let (file, stat) = read_listed(&self.base, inner)?;
        if self.hidden_paths.is_hidden_file(&stat) {
            Err(ReadError::Errno(Errno::ACCESS))
        } else {
            Ok((file, stat))
        }
    }

    fn visit(&self, job: &WorkspaceWalkJob, found: &mut ThreadEntries<'_>) {
        let is_base = job.inner.as_os_str().is_empty();
        let opened = if is_base { Path::new(".") } else { &job.inner };
        let Ok(directory) = directory_beneath(&self.base, opened, LinkPolicy::None) else {
            found.omitted.unreadable += 1;
            return;
        };
        if fstat(&directory).is_ok_and(|stat| self.hidden_paths.is_hidden_file(&stat)) {
            found.omitted.ignored += 1;
            return;
        }
        let path = if is_base { self.base_path.clone() } else { self.base_path.join(&job.inner) };
        let names = self.names(&directory, found);
        let has_rules = names.iter().any(|(name, _)| IGNORE_FILES.iter().any(|file| name == file));
        let rules = if has_rules {
            rules_of(job.rules.clone(), &directory, &path, IGNORE_FILES)
        } else {
            job.rules.clone()
        };
        for (name, kind) in names {
            let (path, depth) = (path.join(&name), job.depth + 1);
            if is_git_name(&name) || is_placeholder(&directory, &name) {
                continue;
            }
            let is_hidden = self.hidden_paths.inside_workspace.contains(&path);
            if is_hidden || IgnoreRules::is_ignored(rules.as_deref(), &path, kind == FileType::Directory) {
                found.omitted.ignored += 1;
                continue;
            }
            if kind == FileType::Directory && depth < self.max_depth {
                found.queue.add(WorkspaceWalkJob {
                    inner: job.inner.join(&name),
                    depth,
                    rules: rules.clone(),
                });
            } else if kind == FileType::Directory {
                found.omitted.too_deep += 1;
            }
            let needs_stamp = kind == FileType::RegularFile && (self.needs_stamp)(&path);
            let stamp = if needs_stamp { stamp_at(&directory, &name) } else { None };
            found.entries.push(WorkspaceEntry { path, depth, kind, stamp });
        }
    }

    /// The names in a directory, as many as the walk may still look at.
    fn names(&self, directory: &OwnedFd, found: &mut ThreadEntries<'_>) -> Vec<(OsString, FileType)> {
        let mut names = Vec::new();
        let Ok(mut listing) = Dir::read_from(directory) else {
            found.omitted.unreadable += 1;
            return names;
        };
        while let Some(Ok(entry)) = listing.read() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if found.seen.fetch_add(1, Ordering::Relaxed) >= MAX_ENTRIES || self.deadline.is_over() {
                found.omitted.too_many = true;
                break;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            names.push((name.to_owned(), kind));
        }
        names
    }
}

/// Whether a name is there only as long as a confined program runs, which may not make it.
fn is_placeholder(directory: &OwnedFd, name: &OsStr) -> bool {
    let is_marked =
        || statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| is_placeholder_file(&stat));
    PROTECTED_NAMES.iter().any(|protected| name == *protected) && is_marked()
}

/// By what the content of a file is told.
pub(crate) fn stamp(stat: &Stat) -> SourceStamp {
    SourceStamp {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        inode: stat.st_ino,
    }
}

fn stamp_at(directory: &OwnedFd, name: &OsStr) -> Option<SourceStamp> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| stamp(&stat))
}

/// The rules in `files` of a directory on top of those above it, which stay alone where it has none.
fn rules_of(
    above: Option<Arc<IgnoreRules>>,
    directory: &OwnedFd,
    path: &Path,
    files: &[&str],
) -> Option<Arc<IgnoreRules>> {
    let texts = files.iter().filter_map(|file| IgnoreRules::read(directory, Path::new(file)));
    IgnoreRules::for_directory(above, &texts.collect::<Vec<_>>(), path)
}

/// A key by which what a directory holds follows it: no name has a byte below the one for `/`.
fn component_sort_key(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().iter().map(|byte| if *byte == b'/' { 0 } else { *byte }).collect()
}

/// What one thread has found.
struct ThreadEntries<'a> {
    queue: &'a WalkQueue<WorkspaceWalkJob>,
    seen: &'a AtomicUsize,
    entries: Vec<WorkspaceEntry>,
    omitted: OmittedEntries,
}

impl OmittedEntries {
    fn add(&mut self, other: &OmittedEntries) {
        self.ignored += other.ignored;
        self.too_deep += other.too_deep;
        self.unreadable += other.unreadable;
        self.too_many |= other.too_many;
    }
}

/// A directory that is still to be visited.
struct WorkspaceWalkJob {
    /// Relative to the directory where the walk began.
    inner: PathBuf,
    depth: usize,
    rules: Option<Arc<IgnoreRules>>,
}
