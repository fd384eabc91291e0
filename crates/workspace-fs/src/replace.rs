//! Replaces a file by its path, as a whole: a reader sees the old content or the new one, never a part. It is for
//! directories that are Ostler's own or a user's, whose path nobody else can influence; files in a workspace are
//! left to `tree`. The event log replaces its files by its own `Disk`, which tests make fail.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

use crate::staged_file::StagedFile;

/// Options of [`replace_file`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplaceOptions {
    /// Who may read the file.
    pub access: FileAccess,
    /// Whether the new content is on disk when the call returns.
    pub durability: Durability,
    /// Who replaces the file at the same time.
    pub writers: ConcurrentWriters,
}

/// Who may read a file that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Its owner only.
    Owner,
    /// Those who could read the old file; for a new one, those whom the process's umask lets.
    Unchanged,
}

/// Whether a file that is replaced survives a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// After a power failure it may be old or empty, and its reader must be able to tell.
    Cached,
    /// The file and its name are synced.
    Synced,
}

/// Who replaces a file at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConcurrentWriters {
    /// Only the caller, who holds a lock. The temporary name is fixed, so that the next call removes what a
    /// crash has left.
    One,
    /// Threads or processes that know nothing of each other; the last one wins.
    Several,
}

impl ReplaceOptions {
    /// A small file of the daemon's own: only its owner may read it, it is durable, and the caller has locked it.
    pub const STATE: ReplaceOptions = ReplaceOptions {
        access: FileAccess::Owner,
        durability: Durability::Synced,
        writers: ConcurrentWriters::One,
    };
    /// The same for what can be made again from elsewhere.
    pub const CACHE: ReplaceOptions =
        ReplaceOptions { durability: Durability::Cached, ..ReplaceOptions::STATE };
    /// A file of the user's, which other programs may change too.
    pub const USER_FILE: ReplaceOptions = ReplaceOptions {
        access: FileAccess::Unchanged,
        durability: Durability::Synced,
        writers: ConcurrentWriters::Several,
    };
}

/// Puts `content` in the place of a file, or makes it. On failure the file is what it was.
pub fn replace_file(path: &Path, content: &[u8], options: ReplaceOptions) -> io::Result<()> {
    let mut replacement = Replacement::begin(path, options)?;
    replacement.write_all(content)?;
    replacement.finish()
}

/// A new content of a file that is written piece by piece. Dropping it leaves the file what it was.
#[derive(Debug)]
pub struct Replacement {
    directory: File,
    name: OsString,
    staged: StagedFile,
    file: File,
    durability: Durability,
}

impl Replacement {
    /// Begins with an empty content, beside the file.
    pub fn begin(path: &Path, options: ReplaceOptions) -> io::Result<Replacement> {
        let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the path names no file");
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // To be synced, a directory must be open for reading, which may be forbidden where writing is not.
        let access = match options.durability {
            Durability::Cached => OFlags::PATH,
            Durability::Synced => OFlags::RDONLY,
        };
        let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = File::from(open(parent, flags, Mode::empty())?);
        let mode = match options.access {
            FileAccess::Owner => 0o600,
            FileAccess::Unchanged => 0o666,
        };
        let (staged, file) = match options.writers {
            ConcurrentWriters::One => {
                let mut temporary = name.clone();
                temporary.push(".tmp");
                StagedFile::create_named(directory.try_clone()?.into(), temporary, mode)?
            }
            ConcurrentWriters::Several => StagedFile::create(&directory, mode)?,
        };
        if options.access == FileAccess::Unchanged
            && let Ok(metadata) = std::fs::metadata(path)
        {
            file.set_permissions(Permissions::from_mode(metadata.permissions().mode() & 0o7777))?;
        }
        Ok(Replacement { directory, name, staged, file, durability: options.durability })
    }

    /// Puts the content in the place of the file.
    pub fn finish(self) -> io::Result<()> {
        let is_synced = self.durability == Durability::Synced;
        if is_synced {
            self.file.sync_all()?;
        }
        self.staged.replace(&self.name)?;
        if is_synced { self.directory.sync_all() } else { Ok(()) }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::{ReplaceOptions, Replacement, replace_file};

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        for options in [ReplaceOptions::STATE, ReplaceOptions::CACHE, ReplaceOptions::USER_FILE] {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("a.json");
            for content in ["first", "2"] {
                replace_file(&path, content.as_bytes(), options).unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), content);
            }
            let mut unfinished = Replacement::begin(&path, options).unwrap();
            unfinished.write_all(b"third").unwrap();
            drop(unfinished);
            assert_eq!(fs::read_to_string(&path).unwrap(), "2");
            assert_eq!(names(place.path()), ["a.json"]);
            assert!(replace_file(&place.path().join("missing/a"), b"", options).is_err());
            fs::create_dir(place.path().join("directory")).unwrap();
            assert!(replace_file(&place.path().join("directory"), b"", options).is_err());
            assert_eq!(names(place.path()).len(), 2);
        }
    }

    #[test]
    fn modes_are_the_owners_or_those_that_the_file_had() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        replace_file(&path, b"", ReplaceOptions::STATE).unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace_file(&path, b"x", ReplaceOptions::USER_FILE).unwrap();
        assert_eq!(mode(), 0o640);
        replace_file(&path, b"", ReplaceOptions::CACHE).unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn what_lies_under_the_temporary_name_is_neither_followed_nor_kept() {
        let place = tempfile::tempdir().unwrap();
        let (path, outside) = (place.path().join("a"), place.path().join("outside"));
        fs::write(&outside, "theirs").unwrap();
        symlink(&outside, place.path().join("a.tmp")).unwrap();
        replace_file(&path, b"ours", ReplaceOptions::STATE).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&outside).unwrap()),
            (b"ours".to_vec(), b"theirs".to_vec())
        );
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
        // A crash leaves a part behind.
        fs::write(place.path().join("a.tmp"), "part").unwrap();
        replace_file(&path, b"whole", ReplaceOptions::STATE).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(place.path()).len(), 2);
    }
}
