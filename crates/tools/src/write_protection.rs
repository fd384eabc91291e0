//! Where in a workspace no tool writes: git's own folder, hidden places, and the settings that make
//! somebody's editor, agent or shell run code later. It looks at where a path has led, not at how it was
//! spelled; finding the way there is left to `place`.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use ostler_sandbox::{protected_component, protected_place};
use ostler_workspace_fs::is_git_name;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use crate::Failed;
use crate::text::reveal_line;
use crate::workspace::Workspace;

/// How deep a directory may lie.
const MAX_DEPTH: usize = 256;

/// Refuses a path whose spelling already says where it leads, before anything is looked at.
pub(crate) fn refuse_spelling(path: &str, relative: &Path) -> Result<(), Failed> {
    if relative.components().any(|part| is_git_name(part.as_os_str())) {
        return Err(git_refused(path));
    }
    match relative.components().find_map(|part| protected_component(part.as_os_str())) {
        Some(name) => Err(protected_refused(path, name)),
        None => Ok(()),
    }
}

/// Refuses to write a name in an open directory that a path has led to.
pub(crate) fn refuse_protected_name(
    workspace: &Workspace,
    path: &str,
    directory: &OwnedFd,
    name: &OsStr,
) -> Result<(), Failed> {
    if is_in_git_directory(directory, workspace).map_err(|errno| workspace.explain(path, errno))? {
        return Err(git_refused(path));
    }
    let real = workspace.real_path(path, directory)?.join(name);
    workspace.refuse_hidden(path, &real)?;
    let root = workspace.real_path(path, &workspace.directory(".")?)?;
    let below = real.strip_prefix(&root).unwrap_or(&real);
    let by_name = below.components().find_map(|part| protected_component(part.as_os_str()));
    match by_name.or_else(|| protected_place(&root, &real, workspace.home())) {
        Some(name) => Err(protected_refused(path, name)),
        None => Ok(()),
    }
}

/// Whether a directory is git's own or in it, whatever links led there: each directory above is compared
/// with the `.git` of the next one, by identity and not by name.
fn is_in_git_directory(directory: &OwnedFd, workspace: &Workspace) -> Result<bool, Errno> {
    let root = fstat(workspace.open_directory(Path::new("."))?)?;
    let mut child = fstat(directory)?;
    let mut current = directory.as_fd().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    for _ in 0..MAX_DEPTH {
        if is_same_file(&child, &root) {
            return Ok(false);
        }
        let above =
            openat(&current, "..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        match statat(&above, ".git", AtFlags::SYMLINK_NOFOLLOW) {
            Ok(git) if is_same_file(&git, &child) => return Ok(true),
            Ok(_) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
        child = fstat(&above)?;
        current = above;
    }
    Err(Errno::NAMETOOLONG)
}

fn is_same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn git_refused(path: &str) -> Failed {
    Failed::new(format!(
        "`{}` is inside `.git`, which tools do not write; use git commands to change it.",
        reveal_line(path)
    ))
}

fn protected_refused(path: &str, name: &str) -> Failed {
    Failed::new(format!(
        "`{}` was not written: it is part of {name}, which can make the user's editor, agent, git or shell \
         run code outside the sandbox. Show the user the change and ask them to make it.",
        reveal_line(path)
    ))
}
