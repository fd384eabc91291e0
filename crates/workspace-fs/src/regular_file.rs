//! Opens regular files by name. Whoever can put something else in a file's place, as commands can in a workspace, may put a pipe
//! there that nobody writes to: opened like a file, it would hold up the reader for ever.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use crate::open::READ;

/// Opens a regular file for reading, also where its name is a link. Anything else is an error.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open(path, OFlags::empty())
}

/// The content of a regular file whose name is no link. One that is larger than `most` is an error.
pub fn read_unlinked(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path, OFlags::NOFOLLOW)?.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(content)
}

fn open(path: &Path, more: OFlags) -> io::Result<File> {
    let file = openat(CWD, path, READ | more, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(File::from(file)),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::{open_regular, read_unlinked};

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("a"), "abc").unwrap();
        symlink("a", path("link")).unwrap();
        mknodat(CWD, path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(open_regular(&path("a")).is_ok() && open_regular(&path("link")).is_ok());
        for other in ["pipe", ".", "missing"] {
            assert!(open_regular(&path(other)).is_err(), "{other}");
        }
        assert_eq!(read_unlinked(&path("a"), 3).unwrap(), b"abc");
        assert!(read_unlinked(&path("a"), 2).is_err() && read_unlinked(&path("link"), 3).is_err());
    }
}
