//! Reads from a git index which directories git takes for repositories of their own, without running git.
//! Those are entered by every `git status` at the top. What it does not understand it leaves out.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How much of an index is read: about 300 thousand files.
const MAXIMUM_BYTES: u64 = 32 << 20;
/// How many shared parts of an index are read.
const MAXIMUM_SHARED: usize = 4;
/// How many directories are told.
const MAXIMUM_FOUND: usize = 256;
/// The times and the numbers that stand before the mode of a file.
const BEFORE_MODE: usize = 24;
/// What stands before the name of the object.
const BEFORE_OBJECT: usize = 40;
/// The mode of a repository.
const GITLINK: u32 = 0o160_000;

/// The paths of the repositories that a repository directory's index names, relative to its worktree.
pub(crate) fn gitlinks(directory: &Path, object_bytes: usize) -> Vec<PathBuf> {
    let mut files = vec![directory.join("index")];
    // An index may be split, and then most of it is beside it.
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let shared = entries.filter(|entry| entry.file_name().as_bytes().starts_with(b"sharedindex."));
    files.extend(shared.take(MAXIMUM_SHARED).map(|entry| entry.path()));
    let mut found = Vec::new();
    for file in files {
        if let Ok(bytes) = ostler_workspace_fs::read_unlinked(&file, MAXIMUM_BYTES) {
            // What was found before the reading failed counts.
            let _ = read(&bytes, object_bytes, &mut found);
        }
    }
    found
}

/// None where the index is not understood.
fn read(bytes: &[u8], object_bytes: usize, found: &mut Vec<PathBuf>) -> Option<()> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4).filter(|version| bytes.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let mut path: Vec<u8> = Vec::new();
    let mut at = 12;
    for _ in 0..number(8)? {
        let start = at;
        let mode = number(at + BEFORE_MODE)?;
        at += BEFORE_OBJECT + object_bytes;
        let extended = version >= 3 && bytes.get(at)? & 0x40 != 0;
        at += if extended { 4 } else { 2 };
        let kept = if version == 4 { path.len().checked_sub(varint(bytes, &mut at)?)? } else { 0 };
        path.truncate(kept);
        let length = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(&bytes[at..at + length]);
        at += length;
        // The names of older versions end in as many zeros as make the entry a multiple of eight.
        at = if version == 4 { at + 1 } else { start + (at - start + 8) / 8 * 8 };
        if mode == GITLINK && found.len() < MAXIMUM_FOUND {
            found.push(PathBuf::from(OsStr::from_bytes(&path)));
        }
    }
    Some(())
}

/// A number of seven bits a byte, as git writes it in front of a shortened name.
fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}
