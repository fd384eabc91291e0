//! Which files git tracks, read from its index: a file that is tracked is part of the work even where
//! a rule says to ignore it. Only paths are read, of the repository in which the workspace lies. An
//! index that is not understood tracks nothing, and git's own rules hold alone.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::read_unlinked;

/// How large an index may be.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// The time, mode, owner and size that stand before the object's name of 20 bytes and the flags.
const FIXED: usize = 40 + 20 + 2;
/// In the flags: two more bytes of them follow.
const EXTENDED: u8 = 0x40;

/// The paths of an index, sorted.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    /// The way from the repository's root to the workspace, with a slash if there is any.
    prefix: Vec<u8>,
    paths: Vec<Vec<u8>>,
}

impl Tracked {
    /// Reads the index of a repository.
    pub(crate) fn read(root: &Path, workspace: &Path) -> Tracked {
        let below = workspace.strip_prefix(root).unwrap_or(Path::new("")).as_os_str().as_bytes();
        let mut prefix = below.to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        let bytes =
            git_directory(root).and_then(|directory| read_unlinked(&directory.join("index"), MAX_BYTES).ok());
        let mut paths = bytes.and_then(|bytes| parse(&bytes)).unwrap_or_default();
        paths.sort_unstable();
        Tracked { prefix, paths }
    }

    /// Whether a path, relative to the workspace, is tracked or holds something that is.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let path = path.as_os_str().as_bytes();
        let mut wanted = Vec::with_capacity(self.prefix.len() + path.len() + 1);
        wanted.extend_from_slice(&self.prefix);
        wanted.extend_from_slice(path);
        if self.paths.binary_search(&wanted).is_ok() {
            return true;
        }
        wanted.push(b'/');
        let next = self.paths.partition_point(|tracked| *tracked < wanted);
        self.paths.get(next).is_some_and(|tracked| tracked.starts_with(&wanted))
    }
}

/// Where git keeps its files: `.git`, or where a file of that name points.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if std::fs::symlink_metadata(&git).ok()?.is_dir() {
        return Some(git);
    }
    let text = String::from_utf8(read_unlinked(&git, 4096).ok()?).ok()?;
    Some(root.join(text.strip_prefix("gitdir: ")?.trim_end()))
}

fn parse(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = bytes.strip_prefix(b"DIRC")?;
    let mut number = || -> Option<u32> {
        let (number, after) = rest.split_first_chunk::<4>()?;
        rest = after;
        Some(u32::from_be_bytes(*number))
    };
    let (version, count) = (number()?, number()?);
    let mut paths: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let flags = *rest.get(FIXED - 2)?;
        let start = if version >= 3 && flags & EXTENDED != 0 { FIXED + 2 } else { FIXED };
        let mut name = rest.get(start..)?;
        let mut path = Vec::new();
        if version == 4 {
            let cut = shared_length(&mut name)?;
            let before: &[u8] = paths.last().map_or(&[], Vec::as_slice);
            path.extend_from_slice(before.get(..before.len().checked_sub(cut)?)?);
        }
        let length = name.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(&name[..length]);
        // Before version 4, an entry is filled up with one to eight zeros to a multiple of eight.
        let whole =
            if version == 4 { rest.len() - name.len() + length + 1 } else { (start + length + 8) & !7 };
        rest = rest.get(whole..)?;
        paths.push(path);
    }
    Some(paths)
}

/// How many bytes of the path before are not part of this one, in git's own way to write numbers.
fn shared_length(bytes: &mut &[u8]) -> Option<usize> {
    let mut value: usize = 0;
    for (place, byte) in bytes.iter().take(5).enumerate() {
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            *bytes = &bytes[place + 1..];
            return Some(value);
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{FIXED, Tracked};

    /// An index as git would write it, of paths whose objects do not matter.
    fn index(version: u32, paths: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(paths.len()).unwrap().to_be_bytes());
        let mut before = "";
        for path in paths {
            let start = bytes.len();
            bytes.extend([1; FIXED - 2]);
            bytes.extend([0, u8::try_from(path.len()).unwrap()]);
            if version == 4 {
                let shared = before.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
                bytes.push(u8::try_from(before.len() - shared).unwrap());
                bytes.extend(path[shared..].bytes().chain([0]));
            } else {
                bytes.extend(path.bytes().chain([0]));
                bytes.resize(start + (bytes.len() - start).next_multiple_of(8), 0);
            }
            before = path;
        }
        bytes.extend([9; 20]);
        bytes
    }

    #[test]
    fn every_version_of_an_index_is_read() {
        for version in [2, 3, 4] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join(".git")).unwrap();
            let paths = ["a", "a.b", "dir/one", "dir/two three", "sub/dir/x"];
            std::fs::write(folder.path().join(".git/index"), index(version, &paths)).unwrap();
            let tracked = Tracked::read(folder.path(), folder.path());
            for there in ["a", "a.b", "dir", "dir/one", "dir/two three", "sub", "sub/dir"] {
                assert!(tracked.has(Path::new(there)), "{version} {there}");
            }
            for not in ["b", "di", "dir/on", "dir/one/x", "x"] {
                assert!(!tracked.has(Path::new(not)), "{version} {not}");
            }
            let below = Tracked::read(folder.path(), &folder.path().join("sub"));
            assert!(below.has(Path::new("dir/x")) && !below.has(Path::new("sub/dir/x")));
        }
    }

    #[test]
    fn what_is_no_index_tracks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!Tracked::read(folder.path(), folder.path()).has(Path::new("a")));
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        let whole = index(2, &["a", "b"]);
        for length in 0..whole.len() - 20 {
            std::fs::write(folder.path().join(".git/index"), &whole[..length]).unwrap();
            assert!(!Tracked::read(folder.path(), folder.path()).has(Path::new("b")), "{length}");
        }
    }
}
