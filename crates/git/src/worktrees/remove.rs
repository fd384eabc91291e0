//! Removing a worktree, however far it was made: its files, what git keeps of it, and last its note.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ostler_workspace_fs::RootedTree;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::MAX_POINTER;
use super::note::{self, WorktreeNote};
use crate::error::GitError;

/// Where git keeps what it knows of worktrees, in the directory of the repository.
const REGISTRATIONS: &str = "worktrees";
/// What may lie beside a worktree while it is made or merged.
const TEMPORARY_SUFFIXES: &[&str] = &["index", "index.lock", "json.tmp", "part", "ours", "base", "theirs"];

/// Removes the files of a worktree. One that is not there is no error. Whoever works in it may still be at it, and what
/// takes the place of a directory meanwhile leads nowhere.
pub(super) fn remove_files(directory: &Path, name: &str) -> Result<(), GitError> {
    let removed = match RootedTree::open_following(directory) {
        Ok(tree) => tree.remove(Path::new(name)),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    };
    removed.map_err(|error| cannot(&directory.join(name), error))
}

/// Removes what git keeps of a worktree whose files are gone, and last its note.
pub(super) fn remove_git_data(directory: &Path, name: &str) -> Result<(), GitError> {
    if let Some(note) = WorktreeNote::read(directory, name) {
        match RootedTree::open_following(&note.common) {
            Ok(tree) => remove_registrations(&tree, &directory.join(name))
                .map_err(|error| cannot(&note.common.join(REGISTRATIONS), error))?,
            // The repository is gone, with all that it kept.
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(errno) => return Err(cannot(&note.common, errno)),
        }
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

/// Removes the folders in which git keeps what it knows of the worktree at a place.
fn remove_registrations(common: &RootedTree, place: &Path) -> Result<(), Errno> {
    let marker = place.join(".git");
    let names = match common.names(Path::new(REGISTRATIONS)) {
        Ok(names) => names,
        // Nothing is known, or what is there is no folder of git's.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    for name in names {
        let folder = Path::new(REGISTRATIONS).join(&name);
        let is_folder = common
            .stat(&folder)?
            .is_some_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
        let says = common.read(&folder.join("gitdir"), MAX_POINTER).ok().map(|(says, _)| says);
        // Git makes the folder before it writes into it; the name is one that nobody else gives.
        let is_unfinished = says.is_none() && Some(name.as_os_str()) == place.file_name();
        let is_ours = says.is_some_and(|says| says.trim_ascii_end() == marker.as_os_str().as_bytes());
        if is_folder && (is_ours || is_unfinished) {
            common.remove(&folder)?;
        }
    }
    // As git does it: the folder goes with the last worktree. It stays when there are others.
    let _ = common.remove_one(Path::new(REGISTRATIONS));
    Ok(())
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use ostler_workspace_fs::RootedTree;

    use super::{remove_files, remove_registrations};

    #[test]
    fn nothing_is_removed_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for made in ["outside/kept", "trees/one/closed/inner", "git/worktrees/one", "git/worktrees/other"] {
            fs::create_dir_all(path(made)).unwrap();
        }
        symlink(path("outside"), path("trees/one/link")).unwrap();
        symlink(path("outside"), path("trees/two")).unwrap();
        fs::set_permissions(path("trees/one/closed"), fs::Permissions::from_mode(0o000)).unwrap();
        remove_files(&path("trees"), "one").unwrap();
        remove_files(&path("trees"), "two").unwrap();
        remove_files(&path("trees"), "never").unwrap();
        remove_files(&path("nowhere"), "never").unwrap();
        assert!(path("outside/kept").exists() && fs::read_dir(path("trees")).unwrap().next().is_none());

        symlink(path("outside"), path("git/worktrees/three")).unwrap();
        fs::write(path("outside/gitdir"), path("trees/three/.git").to_str().unwrap()).unwrap();
        let git = RootedTree::open_following(&path("git")).unwrap();
        for name in ["one", "three"] {
            remove_registrations(&git, &path("trees").join(name)).unwrap();
        }
        assert!(path("outside/kept").exists() && path("outside/gitdir").exists());
        assert!(path("git/worktrees/other").exists() && !path("git/worktrees/one").exists());
        fs::remove_dir_all(path("git/worktrees")).unwrap();
        fs::create_dir(path("outside/four")).unwrap();
        symlink(path("outside"), path("git/worktrees")).unwrap();
        remove_registrations(&git, Path::new("/x/four")).unwrap();
        assert!(path("outside/four").exists(), "what the folder of worktrees leads to is not git's");
    }
}
