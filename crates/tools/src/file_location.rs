//! Where in a workspace a file is or is to be: the open directory and the name in it. Where writing is
//! forbidden is for `write_protection` to say; how a file gets there is left to `replace`.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, Stat, fstat, mkdirat, readlinkat, statat, unlinkat};
use rustix::io::Errno;

use crate::Failed;
use crate::text::reveal_line;
use crate::workspace::{Workspace, describe_file_type};
use crate::write_protection::{refuse_protected_name, refuse_spelling};

/// How many links in a row a path may end in.
const MAX_LINKS: usize = 8;

/// Where a file is or is to be: an open directory and a name in it.
pub(crate) struct FileLocation {
    pub(crate) directory: Arc<OwnedFd>,
    pub(crate) name: OsString,
    existing: Option<Stat>,
    is_link: bool,
}

/// Which name in which directory a place is, however the path to it was spelled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FileLocationId {
    device: u64,
    inode: u64,
    name: OsString,
}

/// What becomes of directories that are missing on the way to a place.
enum MissingDirectories<'a> {
    /// They are made, and noted here.
    Make(&'a mut Vec<PathBuf>),
    /// They stay missing, and there is no place.
    Leave,
}

impl FileLocation {
    /// Finds the place for a path, and makes the directories above it, which it adds to `made`. A link
    /// at the end is followed inside the workspace, so that the file changes and not the link.
    pub(crate) fn find_or_create_parents(
        workspace: &Workspace,
        path: &str,
        made: &mut Vec<PathBuf>,
    ) -> Result<FileLocation, Failed> {
        FileLocation::resolve(workspace, path, &mut MissingDirectories::Make(made))?
            .ok_or_else(|| workspace.explain(path, Errno::NOENT))
    }

    /// Finds the place for a path and changes nothing; none where a directory above it is missing.
    pub(crate) fn find_if_parent_exists(
        workspace: &Workspace,
        path: &str,
    ) -> Result<Option<FileLocation>, Failed> {
        FileLocation::resolve(workspace, path, &mut MissingDirectories::Leave)
    }

    fn resolve(
        workspace: &Workspace,
        path: &str,
        missing: &mut MissingDirectories<'_>,
    ) -> Result<Option<FileLocation>, Failed> {
        let mut relative = workspace.relative(path)?;
        for links in 0..MAX_LINKS {
            refuse_spelling(path, &relative)?;
            let (parent, name) = split(&relative).ok_or_else(|| {
                Failed::new(format!("`{}` does not name a file; give the path of a file.", reveal_line(path)))
            })?;
            let directory = Arc::new(match missing {
                MissingDirectories::Make(made) => make_directory(workspace, path, &parent, made)?,
                MissingDirectories::Leave => match workspace.open_directory(&parent) {
                    Err(Errno::NOENT) => return Ok(None),
                    result => result.map_err(|errno| workspace.explain(path, errno))?,
                },
            });
            refuse_protected_name(workspace, path, &directory, &name)?;
            let is_link = links > 0;
            let existing = match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => {
                    return Ok(Some(FileLocation { directory, name, existing: None, is_link }));
                }
                Err(errno) => return Err(workspace.explain(path, errno)),
            };
            match FileType::from_raw_mode(existing.st_mode) {
                FileType::RegularFile => {
                    return Ok(Some(FileLocation { directory, name, existing: Some(existing), is_link }));
                }
                FileType::Symlink => {
                    let target = readlinkat(&directory, &name, Vec::new())
                        .map_err(|errno| workspace.explain(path, errno))?
                        .into_bytes();
                    relative = follow(workspace, path, &parent, &PathBuf::from(OsString::from_vec(target)))?;
                }
                other => {
                    let shown = reveal_line(path);
                    return Err(Failed::new(format!(
                        "`{shown}` is {}; only regular files can be written.",
                        describe_file_type(other)
                    )));
                }
            }
        }
        Err(Failed::new(format!("`{}` goes through too many symbolic links.", reveal_line(path))))
    }

    /// What kind of file was there when the place was found, and how long it was.
    pub(crate) fn existing(&self) -> Option<&Stat> {
        self.existing.as_ref()
    }

    /// Whether the path ended in a symbolic link.
    pub(crate) fn is_link(&self) -> bool {
        self.is_link
    }

    /// Which place it is, to tell two spellings of one path.
    pub(crate) fn id(&self) -> Result<FileLocationId, Errno> {
        let stat = fstat(&self.directory)?;
        Ok(FileLocationId { device: stat.st_dev, inode: stat.st_ino, name: self.name.clone() })
    }
}

/// Removes directories that were made for nothing, as far as they are empty.
pub(crate) fn remove_created_directories(workspace: &Workspace, made: &[PathBuf]) {
    for relative in made.iter().rev() {
        if let Some((parent, name)) = split(relative)
            && let Ok(directory) = workspace.open_directory(&parent)
        {
            // Somebody may have put something in it, and then it stays.
            let _ = unlinkat(directory, name, AtFlags::REMOVEDIR);
        }
    }
}

/// The parent and the name of a path that ends in a name.
fn split(relative: &Path) -> Option<(PathBuf, OsString)> {
    let Some(Component::Normal(name)) = relative.components().next_back() else {
        return None;
    };
    let parent = relative.parent().filter(|parent| !parent.as_os_str().is_empty());
    Some((parent.unwrap_or(Path::new(".")).to_owned(), name.to_owned()))
}

/// Opens a directory and makes what is missing of it, one component at a time, each opened from the
/// workspace again so that none of them leads out.
fn make_directory(
    workspace: &Workspace,
    path: &str,
    relative: &Path,
    made: &mut Vec<PathBuf>,
) -> Result<OwnedFd, Failed> {
    match workspace.open_directory(relative) {
        Err(Errno::NOENT) => {}
        result => return result.map_err(|errno| workspace.explain(path, errno)),
    }
    let mut walked = PathBuf::from(".");
    let mut directory = workspace.open_directory(&walked).map_err(|errno| workspace.explain(path, errno))?;
    for component in relative.components() {
        walked.push(component);
        let mut opened = workspace.open_directory(&walked);
        if let (Err(Errno::NOENT), Component::Normal(name)) = (&opened, component) {
            refuse_protected_name(workspace, path, &directory, name)?;
            match mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push(walked.clone()),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(workspace.explain(path, errno)),
            }
            opened = workspace.open_directory(&walked);
        }
        directory = opened.map_err(|errno| match errno {
            Errno::NOENT => Failed::new(format!(
                "`{}` cannot be written: `{}` is a broken symbolic link.",
                reveal_line(path),
                reveal_line(&walked.to_string_lossy())
            )),
            other => workspace.explain(path, other),
        })?;
    }
    Ok(directory)
}

/// Where a link at the end of a path leads.
fn follow(workspace: &Workspace, path: &str, parent: &Path, target: &Path) -> Result<PathBuf, Failed> {
    let joined = parent.join(target);
    let led_out = || {
        Failed::new(format!(
            "`{}` is a symbolic link to `{}`, which is outside the workspace; it was not written.",
            reveal_line(path),
            reveal_line(&target.to_string_lossy())
        ))
    };
    let relative = joined.to_str().and_then(|joined| workspace.relative(joined).ok()).ok_or_else(led_out)?;
    // Only the way to the directory can lead out; the name itself is looked at in the next round.
    match split(&relative).map(|(parent, _)| workspace.open_directory(&parent)) {
        Some(Err(Errno::XDEV)) | None => Err(led_out()),
        Some(Ok(_) | Err(_)) => Ok(relative),
    }
}
