//! Puts protected paths back as they were, where nothing could hold them: all of them under Landlock,
//! and links under bubblewrap.
//!
//! To be restored only when every process of the sandbox is gone. What is above a path is put right
//! before the path itself, so that nothing is written through a link that a program left there.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::protected::Protected;

/// How much is kept in memory.
const MAXIMUM_BYTES: u64 = 16 << 20;
/// How many paths are kept.
const MAXIMUM_PATHS: usize = 4096;

/// Protected paths as they were, from the outside in.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    kept: BTreeMap<PathBuf, Kept>,
    bytes: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Kept {
    Missing,
    /// A directory whose entries are the program's business.
    Around,
    /// A directory that has these entries and no others.
    Directory,
    Link(PathBuf),
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
}

impl Snapshot {
    /// Reads them. Fails where there is too much of it to keep.
    pub(crate) fn take<'a>(protected: impl Iterator<Item = &'a Protected>) -> Result<Snapshot> {
        let mut snapshot = Snapshot::default();
        for protected in protected {
            let between = protected.path.ancestors().skip(1).take_while(|path| *path != protected.root);
            for path in between {
                snapshot.kept.entry(path.to_owned()).or_insert(Kept::Around);
            }
            snapshot.keep(&protected.path)?;
        }
        Ok(snapshot)
    }

    /// Puts back what has changed, and says what that was.
    pub(crate) fn restore(&self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, kept) in &self.kept {
            // What cannot be read differs; what cannot be put back is reported like what can.
            if !self.is_as_kept(path, kept) {
                let _ = self.put_back(path, kept);
                changed.push(path.clone());
            }
        }
        changed
    }

    fn keep(&mut self, path: &Path) -> Result<()> {
        let kept = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Kept::Missing,
            Err(error) => return Err(error),
            Ok(metadata) if metadata.is_symlink() => Kept::Link(fs::read_link(path)?),
            Ok(metadata) if metadata.is_dir() => {
                for entry in fs::read_dir(path)? {
                    self.keep(&entry?.path())?;
                }
                Kept::Directory
            }
            Ok(metadata) => {
                self.bytes += metadata.len();
                if self.bytes > MAXIMUM_BYTES {
                    return Err(too_much());
                }
                Kept::File { bytes: fs::read(path)?, mode: metadata.permissions().mode() }
            }
        };
        self.kept.insert(path.to_owned(), kept);
        if self.kept.len() > MAXIMUM_PATHS { Err(too_much()) } else { Ok(()) }
    }

    fn is_as_kept(&self, path: &Path, kept: &Kept) -> bool {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return *kept == Kept::Missing;
        };
        match kept {
            Kept::Missing => false,
            Kept::Around => metadata.is_dir(),
            Kept::Directory => metadata.is_dir() && self.strangers(path).is_empty(),
            Kept::Link(target) => fs::read_link(path).is_ok_and(|found| found == *target),
            Kept::File { bytes, mode } => {
                metadata.is_file()
                    && metadata.permissions().mode() == *mode
                    && metadata.len() == bytes.len() as u64
                    && fs::read(path).is_ok_and(|found| found == *bytes)
            }
        }
    }

    fn strangers(&self, directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| !self.kept.contains_key(path)).collect()
    }

    fn put_back(&self, path: &Path, kept: &Kept) -> Result<()> {
        let is_directory = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
        match kept {
            Kept::Missing => remove(path),
            Kept::Around | Kept::Directory => {
                if !is_directory {
                    remove(path)?;
                    fs::create_dir(path)?;
                }
                let strangers = if *kept == Kept::Directory { self.strangers(path) } else { Vec::new() };
                strangers.iter().try_for_each(|path| remove(path))
            }
            Kept::Link(target) => remove(path).and_then(|()| symlink(target, path)),
            Kept::File { bytes, mode } => {
                // A new file: the old one may have other names by now.
                remove(path)?;
                fs::write(path, bytes)?;
                fs::set_permissions(path, fs::Permissions::from_mode(*mode))
            }
        }
    }
}

fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn too_much() -> Error {
    Error::other("the protected files are too many or too large to be kept in memory while a command runs")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::Snapshot;
    use crate::protected::{Missing, Protected};

    #[test]
    fn nothing_is_written_through_a_link_that_was_left_above() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("workspace");
        let outside = place.path().join("outside");
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(root.join(".git/config"), "mine").unwrap();
        let protected = ["config", "hooks"].map(|name| Protected {
            path: root.join(".git").join(name),
            root: root.clone(),
            missing: Missing::Leave,
        });
        let snapshot = Snapshot::take(protected.iter()).unwrap();

        fs::remove_dir_all(root.join(".git")).unwrap();
        symlink(&outside, root.join(".git")).unwrap();
        assert!(snapshot.restore().contains(&root.join(".git")));

        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), "mine");
        assert!(snapshot.restore().is_empty());
    }

    #[test]
    fn entries_that_were_added_go_and_changed_ones_come_back() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".claude");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("settings.json"), "{}").unwrap();
        let protected = Protected { path: path.clone(), root: root.path().into(), missing: Missing::Leave };
        let snapshot = Snapshot::take([&protected].into_iter()).unwrap();

        fs::write(path.join("settings.json"), "[]").unwrap();
        fs::write(path.join("more"), "").unwrap();
        assert_eq!(snapshot.restore(), [path.clone(), path.join("settings.json")]);

        assert_eq!(fs::read_to_string(path.join("settings.json")).unwrap(), "{}");
        assert!(!path.join("more").exists());
    }
}
