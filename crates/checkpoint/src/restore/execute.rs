//! Does what a plan says, each step beneath the workspace's own descriptor. A path is touched only if
//! it is still what the plan saw and is not protected by now; otherwise it is reported and the run goes on.
//!
//! The order: closed directories are opened, what is in the way is removed from the inside out,
//! directories are made, files and links are written beside their place and renamed onto it, modes of
//! directories are set last. Nothing is cleaned up after a failure: the journal says how.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::{LinkPolicy, ReadError, read_beneath, rename_new};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Uid, fchmod, fchown, fsync, mkdirat, openat, renameat, statat,
    symlinkat, syncfs, unlinkat,
};
use rustix::io::Errno;

use crate::error::Error;
use crate::manifest::ManifestNode;
use crate::store::CheckpointStore;
use crate::workspace_tree::{FileStamp, WorkspaceTree};

#[cfg(test)]
use super::crash::run_pending_event as crash_point;
use super::{RestoreJournal, RestoreStep};

/// How many files are written before they are synced and renamed together.
const FILES_PER_BATCH: usize = 64;
/// Up to this many are synced one by one.
const MAX_SINGLE_SYNCS: usize = 8;

/// A run through the steps of a journal.
pub(crate) struct RestoreRun<'a> {
    store: &'a CheckpointStore,
    tree: &'a WorkspaceTree,
    journal: &'a RestoreJournal,
    /// What could not be done, and why.
    failed: BTreeMap<PathBuf, StepFailure>,
}

/// Why a step was not done although the run went on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StepFailure {
    /// The path is not what it was, or cannot be changed.
    Conflict(&'static str),
    /// It has this protected name in it.
    Protected(&'static str),
}

/// What stops a step.
enum StepStopped {
    /// The path is left as it is, and the run goes on.
    SkipPath(StepFailure),
    /// Nothing can go on.
    Abort(Error),
}

/// A file or link that is written and has not its name yet.
struct StagedNode<'a> {
    step: &'a RestoreStep,
    parent: OwnedFd,
    name: &'a OsStr,
    temporary: String,
    file: Option<File>,
}

impl<'a> RestoreRun<'a> {
    pub(crate) fn new(
        store: &'a CheckpointStore,
        tree: &'a WorkspaceTree,
        journal: &'a RestoreJournal,
    ) -> RestoreRun<'a> {
        RestoreRun { store, tree, journal, failed: BTreeMap::new() }
    }

    /// Does all steps; says which could not be done.
    pub(crate) fn run(mut self) -> Result<BTreeMap<PathBuf, StepFailure>, Error> {
        for (path, mode) in &self.journal.opened {
            crash_point()?;
            // Where this fails, the steps in it say so.
            let _ = set_directory_mode(self.tree, path, mode | 0o700);
        }
        let steps = &self.journal.steps;
        for step in steps.iter().rev().filter(|step| step.removes()) {
            let done = self.remove(step);
            self.record_result(step, done)?;
        }
        for step in steps.iter().filter(|step| makes_directory(step)) {
            if !self.failed.contains_key(&step.path) {
                let done = self.make_directory(step);
                self.record_result(step, done)?;
            }
        }
        let files: Vec<(usize, &RestoreStep)> =
            steps.iter().enumerate().filter(|(_, step)| writes(step)).collect();
        for portion in files.chunks(FILES_PER_BATCH) {
            self.write_batch(portion)?;
        }
        self.set_modes()?;
        Ok(self.failed)
    }

    /// Keeps what was not done for the report.
    fn record_result(&mut self, step: &RestoreStep, done: Result<(), StepStopped>) -> Result<(), Error> {
        match done {
            Ok(()) => Ok(()),
            Err(StepStopped::SkipPath(failure)) => {
                self.failed.insert(step.path.clone(), failure);
                Ok(())
            }
            Err(StepStopped::Abort(error)) => Err(error),
        }
    }

    fn stopped_by(&self, path: &Path, errno: Errno) -> StepStopped {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::AGAIN => {
                conflict("was moved or removed while it was being restored")
            }
            Errno::EXIST | Errno::ISDIR => {
                conflict("was created by somebody else while it was being restored")
            }
            Errno::NOTEMPTY => conflict("still holds files that are no part of what is restored"),
            Errno::ACCESS | Errno::PERM => conflict("may not be changed: permission denied"),
            Errno::ROFS => conflict("may not be changed: it is on a read-only file system"),
            Errno::BUSY | Errno::TXTBSY => conflict("is in use"),
            other => StepStopped::Abort(interrupted_error(&self.tree.path().join(path), other)),
        }
    }

    /// Opens the directory in which a step changes something, and says under which name. All changes begin here,
    /// so that nothing protected is changed, whatever was planned.
    fn open_parent<'s>(&self, step: &'s RestoreStep) -> Result<(OwnedFd, &'s OsStr), StepStopped> {
        self.refuse_protected(step)?;
        self.tree.parent(&step.path).map_err(|errno| self.stopped_by(&step.path, errno))
    }

    fn refuse_protected(&self, step: &RestoreStep) -> Result<(), StepStopped> {
        let name = self.tree.protected_name(&step.path, step.target.is_none());
        name.map_or(Ok(()), |name| Err(StepStopped::SkipPath(StepFailure::Protected(name))))
    }

    fn remove(&self, step: &RestoreStep) -> Result<(), StepStopped> {
        let stop = |errno| self.stopped_by(&step.path, errno);
        let (parent, name) = self.open_parent(step)?;
        self.check(step, &parent, name)?;
        let is_directory = step.before.as_ref().is_some_and(|(node, _)| node.is_directory());
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        crash_point().map_err(StepStopped::Abort)?;
        unlinkat(&parent, name, flags).map_err(stop)
    }

    fn make_directory(&self, step: &RestoreStep) -> Result<(), StepStopped> {
        let stop = |errno| self.stopped_by(&step.path, errno);
        let (parent, name) = self.open_parent(step)?;
        crash_point().map_err(StepStopped::Abort)?;
        mkdirat(&parent, name, Mode::from_raw_mode(0o700)).map_err(stop)
    }

    /// Writes a portion of the files: all of them beside their places, then durable, then in place.
    fn write_batch(&mut self, portion: &[(usize, &'a RestoreStep)]) -> Result<(), Error> {
        let mut all = Vec::new();
        for (number, step) in portion {
            if self.failed.contains_key(&step.path) {
                continue;
            }
            match self.set_file_mode(step) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(stopped) => {
                    self.record_result(step, Err(stopped))?;
                    continue;
                }
            }
            match self.stage(*number, step) {
                Ok(staged) => all.push(staged),
                Err(stopped) => self.record_result(step, Err(stopped))?,
            }
        }
        let files = || all.iter().filter_map(|staged| staged.file.as_ref());
        let synced =
            if files().count() > MAX_SINGLE_SYNCS { syncfs(self.tree) } else { files().try_for_each(fsync) };
        synced.map_err(|errno| interrupted_error(self.tree.path(), errno))?;
        for staged in all {
            let done = self.publish(&staged);
            self.record_result(staged.step, done)?;
        }
        Ok(())
    }

    /// Where only the mode differs, sets it; says whether that was all there was to do.
    fn set_file_mode(&self, step: &RestoreStep) -> Result<bool, StepStopped> {
        let (Some((ManifestNode::File { size, digest, .. }, stamp)), Some(target)) =
            (&step.before, &step.target)
        else {
            return Ok(false);
        };
        let ManifestNode::File { mode, size: target_size, digest: target_digest } = target else {
            return Ok(false);
        };
        if (size, digest) != (target_size, target_digest) {
            return Ok(false);
        }
        let stop = |errno| self.stopped_by(&step.path, errno);
        let (parent, name) = self.open_parent(step)?;
        let (file, stat) = match read_beneath(&parent, Path::new(name), LinkPolicy::None) {
            Ok(opened) => opened,
            // What may not be read is replaced by what may.
            Err(ReadError::Errno(Errno::ACCESS | Errno::PERM)) => return Ok(false),
            Err(ReadError::Errno(errno)) => return Err(stop(errno)),
            Err(ReadError::NotAFile(_)) => return Err(CHANGED_MEANWHILE),
        };
        if !is_same(&FileStamp::from_stat(&stat), stamp) {
            return Err(CHANGED_MEANWHILE);
        }
        crash_point().map_err(StepStopped::Abort)?;
        fchmod(&file, Mode::from_raw_mode(*mode)).map_err(stop)?;
        Ok(true)
    }

    /// Writes a file or link beside its place.
    fn stage(&self, number: usize, step: &'a RestoreStep) -> Result<StagedNode<'a>, StepStopped> {
        let stop = |errno| self.stopped_by(&step.path, errno);
        let (parent, name) = self.open_parent(step)?;
        let temporary = self.journal.temporary_name(number);
        crash_point().map_err(StepStopped::Abort)?;
        let file = match &step.target {
            Some(ManifestNode::Link { target }) => {
                symlinkat(target.as_slice(), &parent, &temporary).map_err(stop)?;
                None
            }
            Some(ManifestNode::File { mode, digest, .. }) => {
                let bytes =
                    self.store.blob(self.journal.order.first(), digest).map_err(StepStopped::Abort)?;
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(&parent, &temporary, flags, Mode::from_raw_mode(0o600)).map_err(stop)?;
                let mut file = File::from(file);
                crash_point().map_err(StepStopped::Abort)?;
                file.write_all(&bytes).map_err(|error| {
                    StepStopped::Abort(interrupted_error(&self.tree.path().join(&step.path), error))
                })?;
                if let Ok(stat) = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                    // Only root may give files away; for others they stay their own.
                    let _ = fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
                }
                fchmod(&file, Mode::from_raw_mode(*mode)).map_err(stop)?;
                Some(file)
            }
            Some(ManifestNode::Directory { .. } | ManifestNode::LeftOut { .. }) | None => {
                return Err(conflict("has no content that could be written"));
            }
        };
        Ok(StagedNode { step, parent, name, temporary, file })
    }

    /// Gives what was written its name.
    fn publish(&self, staged: &StagedNode<'_>) -> Result<(), StepStopped> {
        let StagedNode { step, parent, name, temporary, .. } = staged;
        let stop = |errno| self.stopped_by(&step.path, errno);
        self.refuse_protected(step)?;
        crash_point().map_err(StepStopped::Abort)?;
        if step.before.is_some() && !step.removes() {
            self.check(step, parent, name)?;
            return renameat(parent, temporary, parent, *name).map_err(stop);
        }
        rename_new(parent, OsStr::new(temporary), name).map_err(stop)
    }

    /// Whether a path is still what the plan saw.
    fn check(&self, step: &RestoreStep, parent: &OwnedFd, name: &OsStr) -> Result<(), StepStopped> {
        let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| self.stopped_by(&step.path, errno))?;
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        match &step.before {
            Some((node, _)) if node.is_directory() => {
                if is_directory {
                    Ok(())
                } else {
                    Err(CHANGED_MEANWHILE)
                }
            }
            Some((_, stamp)) if !is_directory && is_same(&FileStamp::from_stat(&stat), stamp) => Ok(()),
            Some(_) | None => Err(CHANGED_MEANWHILE),
        }
    }

    /// Sets the modes of directories, the innermost first: one may close the way to others.
    fn set_modes(&mut self) -> Result<(), Error> {
        let mut modes: BTreeMap<&Path, u32> =
            self.journal.opened.iter().map(|(path, mode)| (path.as_path(), *mode)).collect();
        for step in &self.journal.steps {
            match &step.target {
                Some(ManifestNode::Directory { mode }) => {
                    modes.insert(&step.path, *mode);
                }
                Some(
                    ManifestNode::File { .. } | ManifestNode::Link { .. } | ManifestNode::LeftOut { .. },
                )
                | None => {}
            }
        }
        for (path, mode) in modes.into_iter().rev() {
            // A directory that this run opened is closed again in any case.
            let is_opened = self.journal.opened.iter().any(|(opened, _)| opened == path);
            if let Some(name) = self.tree.protected_name(path, false).filter(|_| !is_opened) {
                self.failed.entry(path.to_owned()).or_insert(StepFailure::Protected(name));
                continue;
            }
            crash_point()?;
            match set_directory_mode(self.tree, path, mode) {
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => {
                    if let StepStopped::SkipPath(failure) = self.stopped_by(path, errno) {
                        self.failed.entry(path.to_owned()).or_insert(failure);
                    } else {
                        return Err(interrupted_error(&self.tree.path().join(path), errno));
                    }
                }
            }
        }
        Ok(())
    }
}

const CHANGED_MEANWHILE: StepStopped = conflict("was changed by somebody else while it was being restored");

const fn conflict(why: &'static str) -> StepStopped {
    StepStopped::SkipPath(StepFailure::Conflict(why))
}

/// Removes what a run wrote and did not give its name. Where that fails, the next run says so.
pub(crate) fn remove_temporaries(tree: &WorkspaceTree, begun: &RestoreJournal) {
    for (number, step) in begun.steps.iter().enumerate().filter(|(_, step)| writes(step)) {
        if let Ok((parent, _)) = tree.parent(&step.path) {
            let _ = unlinkat(&parent, begun.temporary_name(number), AtFlags::empty());
        }
    }
}

/// Closes the directories that a run opened, where they are open still.
pub(crate) fn close_directories(tree: &WorkspaceTree, begun: &RestoreJournal) {
    for (path, mode) in begun.opened.iter().rev() {
        if let Ok(directory) = tree.directory(path)
            && rustix::fs::fstat(&directory).is_ok_and(|stat| stat.st_mode & 0o7777 == mode | 0o700)
        {
            let _ = fchmod(&directory, Mode::from_raw_mode(*mode));
        }
    }
}

/// The error of a run that cannot go on.
pub(crate) fn interrupted_error(path: &Path, error: impl Into<std::io::Error>) -> Error {
    Error::io("The restore was cut short; the same again completes it. It failed at", path, error)
}

fn makes_directory(step: &RestoreStep) -> bool {
    let is_directory = step.before.as_ref().is_some_and(|(node, _)| node.is_directory());
    step.target.as_ref().is_some_and(ManifestNode::is_directory) && !is_directory
}

fn writes(step: &RestoreStep) -> bool {
    step.target.as_ref().is_some_and(|target| !target.is_directory())
}

fn set_directory_mode(tree: &WorkspaceTree, path: &Path, mode: u32) -> Result<(), Errno> {
    fchmod(tree.directory(path)?, Mode::from_raw_mode(mode))
}

/// Whether a file is the same one. Its time of change is not looked at: removing another name of it
/// changes that, too.
fn is_same(now: &FileStamp, then: &FileStamp) -> bool {
    (now.device, now.inode, now.size, now.modified) == (then.device, then.inode, then.size, then.modified)
}

/// Where tests cut a run short.
#[cfg(not(test))]
fn crash_point() -> Result<(), Error> {
    Ok(())
}
