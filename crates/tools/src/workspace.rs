//! Files of a workspace that tools may see, by the paths that models write, and errors that say what to do. That no
//! path leads out is for `workspace-fs` to ensure. Where files may be written, and how, is left to `replace`.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ostler_workspace_fs::{LinkPolicy, ReadError, RootedTree, directory_beneath, open_beneath};
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;

use crate::Failed;
use crate::hidden_paths::{HiddenPaths, WorkspaceHiddenPaths};
use crate::text::reveal_line;

/// A directory that paths cannot leave.
pub(crate) struct Workspace {
    /// As it was given, for messages.
    root: PathBuf,
    /// Without links, so that absolute paths are known in both spellings.
    real_root: PathBuf,
    tree: RootedTree,
    hidden_paths: Arc<WorkspaceHiddenPaths>,
    /// The user's home directory, whose settings of git count in the workspace too.
    home: PathBuf,
}

impl Workspace {
    /// Opens a workspace. Fails where the kernel cannot keep paths inside it: there is no second,
    /// weaker way. Fails also where the workspace is itself hidden.
    pub(crate) fn open(root: &Path, hidden: &HiddenPaths) -> Result<Workspace, Failed> {
        let cannot = |error: std::io::Error| {
            Failed::new(format!("The workspace {} cannot be opened: {error}.", root.display()))
        };
        let tree = RootedTree::open_following(root).map_err(|errno| cannot(errno.into()))?;
        let real_root = std::fs::canonicalize(root).map_err(cannot)?;
        let closed = hidden.for_workspace(&real_root).ok_or_else(|| {
            Failed::new(format!(
                "The workspace {} is in a protected location: {HIDDEN_REASON} Choose another workspace.",
                root.display()
            ))
        })?;
        let home = hidden.home().unwrap_or_else(|| PathBuf::from("/nonexistent"));
        match open_beneath(&tree, Path::new(""), OFlags::PATH | OFlags::CLOEXEC, LinkPolicy::Inside) {
            Ok(_) => {
                Ok(Workspace { root: root.to_owned(), real_root, tree, hidden_paths: Arc::new(closed), home })
            }
            Err(Errno::NOSYS | Errno::PERM) => Err(no_openat2()),
            Err(errno) => Err(cannot(errno.into())),
        }
    }

    /// The path relative to the workspace. Absolute paths must name it; whether `..` and links stay
    /// inside is for the kernel to say.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, Failed> {
        let given = Path::new(path);
        let relative = if given.is_absolute() {
            given
                .strip_prefix(&self.root)
                .or_else(|_| given.strip_prefix(&self.real_root))
                .map_err(|_| self.outside_workspace(path))?
        } else {
            given
        };
        let relative: PathBuf = relative.components().filter(|part| *part != Component::CurDir).collect();
        Ok(if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative })
    }

    /// The path from the root on; none where it climbs, since only the kernel knows where that leads.
    pub(crate) fn absolute(&self, path: &str) -> Option<PathBuf> {
        let relative = self.relative(path).ok()?;
        let climbs = relative.components().any(|part| part == Component::ParentDir);
        (!climbs).then(|| self.root.join(relative))
    }

    /// Opens a regular file for reading.
    pub(crate) fn read(&self, path: &str) -> Result<(File, Stat), Failed> {
        let relative = self.relative(path)?;
        self.refuse_spelling(path, &relative)?;
        let opened = self.tree.file(&relative, LinkPolicy::Inside);
        let (file, stat) = opened.map_err(|error| match error {
            ReadError::Errno(errno) => self.explain(path, errno),
            ReadError::NotAFile(kind) => {
                Failed::new(format!("`{}` is {}, not a file.", reveal_line(path), describe_file_type(kind)))
            }
        })?;
        if self.hidden_paths.is_hidden_file(&stat) {
            return Err(hidden_refused(path));
        }
        self.refuse_hidden(path, &self.real_path(path, &file)?)?;
        Ok((file, stat))
    }

    /// Opens a directory, to list it or to run something in it.
    pub(crate) fn directory(&self, path: &str) -> Result<OwnedFd, Failed> {
        let relative = self.relative(path)?;
        self.refuse_spelling(path, &relative)?;
        let directory = self.open_directory(&relative).map_err(|errno| self.explain(path, errno))?;
        self.refuse_hidden(path, &self.real_path(path, &directory)?)?;
        Ok(directory)
    }

    /// The user's home directory.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// What is hidden here.
    pub(crate) fn closed(&self) -> Arc<WorkspaceHiddenPaths> {
        Arc::clone(&self.hidden_paths)
    }

    /// Where something that was opened is now, without links.
    pub(crate) fn real_path(&self, path: &str, opened: impl AsFd) -> Result<PathBuf, Failed> {
        let link = format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd());
        std::fs::read_link(link).map_err(|error| {
            Failed::new(format!("The target of `{}` cannot be resolved: {error}.", reveal_line(path)))
        })
    }

    /// Refuses what is hidden, by where a path has led.
    pub(crate) fn refuse_hidden(&self, path: &str, real: &Path) -> Result<(), Failed> {
        if self.hidden_paths.covers(real) { Err(hidden_refused(path)) } else { Ok(()) }
    }

    /// The same by how a path is spelled, so that what is hidden need not be opened to be refused.
    fn refuse_spelling(&self, path: &str, relative: &Path) -> Result<(), Failed> {
        let named = self.hidden_paths.covers_name(&self.real_root.join(relative));
        if named { Err(hidden_refused(path)) } else { Ok(()) }
    }

    /// Opens a directory by its relative path, hidden or not.
    pub(crate) fn open_directory(&self, relative: &Path) -> Result<OwnedFd, Errno> {
        directory_beneath(&self.tree, relative, LinkPolicy::Inside)
    }

    /// What went wrong with a path, and what to do about it.
    pub(crate) fn explain(&self, path: &str, errno: Errno) -> Failed {
        let shown = reveal_line(path);
        let climbs = Path::new(path).components().any(|part| part == Component::ParentDir);
        Failed::new(match errno {
            Errno::XDEV if climbs => return self.outside_workspace(path),
            Errno::XDEV => format!(
                "`{shown}` leads outside the workspace through a symbolic link; use a path inside {}.",
                self.root.display()
            ),
            Errno::NOSYS => return no_openat2(),
            Errno::NOENT => format!(
                "`{shown}` does not exist; paths are relative to {}. Use repo_tree to list the files.",
                self.root.display()
            ),
            Errno::NOTDIR => format!("`{shown}` cannot be opened: part of the path is not a directory."),
            Errno::LOOP => format!(
                "`{shown}` cannot be opened: it has symbolic links that may not be \
                    followed."
            ),
            Errno::AGAIN => {
                format!("`{shown}` cannot be opened: its parent directories keep changing. Try again.")
            }
            Errno::ACCESS | Errno::PERM => format!("`{shown}` cannot be opened: permission denied."),
            other => format!("`{shown}` cannot be opened: {}.", std::io::Error::from(other)),
        })
    }

    fn outside_workspace(&self, path: &str) -> Failed {
        Failed::new(format!(
            "`{}` is outside the workspace; paths are relative to {}.",
            reveal_line(path),
            self.root.display()
        ))
    }
}

/// What a thing is that is no regular file.
pub(crate) fn describe_file_type(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::RegularFile => "a file",
        FileType::Unknown => "of an unknown kind",
    }
}

const HIDDEN_REASON: &str = "Ostler's own data or keys and tokens of other programs are stored there.";

fn hidden_refused(path: &str) -> Failed {
    Failed::new(format!(
        "`{}` is in a protected location: {HIDDEN_REASON} Ask the user for what you need from it.",
        reveal_line(path)
    ))
}

fn no_openat2() -> Failed {
    Failed::new(
        "Files cannot be used here: the kernel does not offer openat2, without which paths cannot be kept \
         inside the workspace. It needs Linux 5.6 or later and, in a container, a seccomp profile that allows it.",
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::io::Errno;

    use super::Workspace;
    use crate::hidden_paths::HiddenPaths;

    #[test]
    fn paths_become_relative() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), &HiddenPaths::default()).unwrap();
        let inside = folder.path().join("a/b");
        for (path, expected) in
            [("a/b", "a/b"), ("./a/./b", "a/b"), ("", "."), (".", "."), (inside.to_str().unwrap(), "a/b")]
        {
            assert_eq!(workspace.relative(path).unwrap(), Path::new(expected), "{path}");
        }
        let beside = format!("{}_beside/x", folder.path().display());
        assert!(
            workspace
                .relative(&beside)
                .unwrap_err()
                .0
                .contains("is outside the workspace; paths are relative to")
        );
    }

    #[test]
    fn a_kernel_without_openat2_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let failed =
            Workspace::open(folder.path(), &HiddenPaths::default()).unwrap().explain("a", Errno::NOSYS);
        assert!(failed.0.contains("does not offer openat2"), "{}", failed.0);
    }
}
