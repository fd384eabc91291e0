//! Removing a worktree, however far it was made: its files, what git keeps of it, and last its note.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::note::{self, WorktreeNote};
use crate::error::GitError;

/// How often a removal is tried while a process that was just killed is still at it.
const ATTEMPTS: usize = 5;
/// What may lie beside a worktree while it is made or merged.
const TEMPORARY_SUFFIXES: &[&str] = &["index", "index.lock", "json.tmp", "part", "ours", "base", "theirs"];

/// Removes the files of a worktree. One that is not there is no error.
pub(super) fn remove_files(directory: &Path, name: &str) -> Result<(), GitError> {
    let place = directory.join(name);
    remove_all(&place).map_err(|error| cannot(&place, error))
}

/// Removes what git keeps of a worktree whose files are gone, and last its note.
pub(super) fn remove_git_data(directory: &Path, name: &str) -> Result<(), GitError> {
    if let Some(note) = WorktreeNote::read(directory, name) {
        for kept in git_worktree_directories(&note.common, &directory.join(name)).collect::<Vec<_>>() {
            remove_all(&kept).map_err(|error| cannot(&kept, error))?;
        }
        // As git does it: the folder goes with the last worktree. It stays when there are others.
        let _ = fs::remove_dir(note.common.join("worktrees"));
    }
    for extension in TEMPORARY_SUFFIXES {
        let path = directory.join(format!("{name}.{extension}"));
        remove_file(&path).map_err(|error| cannot(&path, error))?;
    }
    let note = note::path(directory, name);
    remove_file(&note).map_err(|error| cannot(&note, error))
}

fn cannot(path: &Path, error: impl std::fmt::Display) -> GitError {
    GitError::io("A worktree cannot be removed:", path, error)
}

/// The folders in which git keeps what it knows of the worktree at a place.
pub(super) fn git_worktree_directories(common: &Path, place: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let marker = place.join(".git");
    let name = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folders = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    folders.map(|entry| entry.path()).filter(move |folder| {
        let says = fs::read_to_string(folder.join("gitdir")).ok();
        // Git makes the folder before it writes into it; the name is one that nobody else gives.
        let is_unfinished = says.is_none() && folder.file_name().is_some_and(|own| own == name.as_str());
        let is_ours = says.is_some_and(|says| Path::new(says.trim_end()) == marker);
        (is_ours || is_unfinished) && !folder.is_symlink()
    })
}

fn remove_all(path: &Path) -> io::Result<()> {
    for _ in 1..ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => make_accessible(path),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
            ended => return ended,
        }
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        ended => ended,
    }
}

/// Lets us into directories that somebody has closed.
fn make_accessible(path: &Path) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if !metadata.is_dir() {
        return;
    }
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        make_accessible(&entry.path());
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
