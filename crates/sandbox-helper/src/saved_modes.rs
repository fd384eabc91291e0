//! The modes of places that must not be opened to other users of the machine: Ostler's own data, and where
//! keys and tokens are kept. Landlock cannot keep a command from changing the mode of its user's files, so
//! they are put right when it has ended.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, chmod, fstat, openat};
use serde::{Deserialize, Serialize};

/// How many places are looked at.
const MAXIMUM_PLACES: usize = 512;

/// Which file each place was, and its mode.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SavedModes(Vec<(OsString, (u64, u64), u32)>);

impl SavedModes {
    /// Looks at places that no command may write to, and so cannot replace, and at what is directly in them.
    pub fn from_paths<'a>(places: impl IntoIterator<Item = &'a PathBuf>) -> SavedModes {
        let mut modes = SavedModes::default();
        let mut seen = BTreeSet::new();
        for place in places.into_iter().filter(|place| seen.insert(*place)) {
            modes.add(place);
            for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
                modes.add(&entry.path());
            }
        }
        modes
    }

    /// Returns true where no place was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts right those that have changed, and says which.
    pub fn restore(&self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, identity, mode) in &self.0 {
            let Some((descriptor, now, found)) = open_and_stat(Path::new(path)) else { continue };
            if now == *identity && found != *mode {
                let name = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
                // What is not the user's cannot have been changed by a command either.
                let _ = chmod(name, Mode::from_raw_mode(*mode));
                changed.push(path.into());
            }
        }
        changed
    }

    fn add(&mut self, path: &Path) {
        if self.0.len() < MAXIMUM_PLACES
            && let Some((_, identity, mode)) = open_and_stat(path)
        {
            self.0.push((path.into(), identity, mode));
        }
    }
}

fn open_and_stat(path: &Path) -> Option<(std::os::fd::OwnedFd, (u64, u64), u32)> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(CWD, path, flags, Mode::empty()).ok()?;
    let stat = fstat(&found).ok()?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let has_mode = matches!(kind, FileType::Directory | FileType::RegularFile);
    has_mode.then_some((found, (stat.st_dev, stat.st_ino), stat.st_mode & 0o7777))
}
