//! Tags on disk: one file per workspace, replaced whole. A file that is damaged, of another version
//! or another workspace's counts as absent; nothing here is an error, because all of it can be made
//! again.
//!
//! A file is the header, the FNV-1a sum of the rest in 8 bytes, and the rest: the workspace's path,
//! then per source file its path, size, seconds and nanoseconds of its time, inode and tags. Numbers
//! are little-endian; texts follow their length in 4 bytes.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::{ConcurrentWriters, ReplaceOptions, Replacement};

use crate::cache::SourceStamp;
use crate::tags::Tags;

/// Must change whenever tags of the same source would come out differently.
const HEADER: &[u8] = b"ostler repo map 1\n";
/// How large a file may be.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// How many workspaces are kept; the ones written longest ago make room.
const MAX_WORKSPACES: usize = 32;
const ENDING: &str = "tags";

/// A directory of tags.
pub(crate) struct DiskCache {
    directory: PathBuf,
}

impl DiskCache {
    pub(crate) fn new(directory: PathBuf) -> DiskCache {
        DiskCache { directory }
    }

    /// What was written for a workspace.
    pub(crate) fn read(&self, workspace: &Path) -> Option<HashMap<String, (SourceStamp, Tags)>> {
        let path = self.path(workspace);
        if std::fs::metadata(&path).ok()?.len() > MAX_BYTES as u64 {
            return None;
        }
        let bytes = std::fs::read(path).ok()?;
        let rest = bytes.strip_prefix(HEADER)?;
        let (sum, body) = rest.split_first_chunk::<8>()?;
        if u64::from_le_bytes(*sum) != fnv1a(body) {
            return None;
        }
        let mut reader = TagsReader(body);
        if reader.bytes()? != workspace.as_os_str().as_bytes() {
            return None;
        }
        let mut files = HashMap::new();
        while !reader.0.is_empty() {
            let path = reader.text()?.to_owned();
            let size = u64::from_le_bytes(reader.number()?);
            let modified = (i64::from_le_bytes(reader.number()?), u32::from_le_bytes(reader.number()?));
            let inode = u64::from_le_bytes(reader.number()?);
            let tags = Tags::from_text(reader.text()?);
            files.insert(path, (SourceStamp { size, modified, inode }, tags));
        }
        Some(files)
    }

    /// Writes what is known of a workspace. A rename puts it in place, so readers see all or nothing.
    pub(crate) fn write<'a>(
        &self,
        workspace: &Path,
        files: impl Iterator<Item = (&'a str, SourceStamp, &'a Tags)>,
    ) {
        let mut body = Vec::new();
        push(&mut body, workspace.as_os_str().as_bytes());
        for (path, stamp, tags) in files {
            push(&mut body, path.as_bytes());
            body.extend(stamp.size.to_le_bytes());
            body.extend(stamp.modified.0.to_le_bytes());
            body.extend(stamp.modified.1.to_le_bytes());
            body.extend(stamp.inode.to_le_bytes());
            push(&mut body, tags.as_str().as_bytes());
            if body.len() > MAX_BYTES - 64 {
                return;
            }
        }
        let sum = fnv1a(&body).to_le_bytes();
        // See the head of this file: without it the tags are made again.
        let _ = self.replace(workspace, &[HEADER, &sum, &body]);
    }

    fn replace(&self, workspace: &Path, pieces: &[&[u8]]) -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let options = ReplaceOptions { writers: ConcurrentWriters::Several, ..ReplaceOptions::CACHE };
        let mut replacement = Replacement::begin(&self.path(workspace), options)?;
        pieces.iter().try_for_each(|piece| replacement.write_all(piece))?;
        replacement.finish()?;
        self.make_room()
    }

    fn make_room(&self) -> std::io::Result<()> {
        let mut kept = Vec::new();
        for file in std::fs::read_dir(&self.directory)? {
            let path = file?.path();
            if path.extension().is_some_and(|ending| ending == ENDING) {
                kept.push((std::fs::metadata(&path)?.modified()?, path));
            }
        }
        kept.sort();
        let too_many = kept.len().saturating_sub(MAX_WORKSPACES);
        kept.into_iter().take(too_many).try_for_each(|(_, path)| std::fs::remove_file(path))
    }

    fn path(&self, workspace: &Path) -> PathBuf {
        self.directory.join(format!("{:016x}.{ENDING}", fnv1a(workspace.as_os_str().as_bytes())))
    }
}

fn push(body: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a path and the tags of one file are far below 4 GiB");
    body.extend(length.to_le_bytes());
    body.extend_from_slice(bytes);
}

/// What is still to be read of a body.
struct TagsReader<'a>(&'a [u8]);

impl<'a> TagsReader<'a> {
    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (number, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*number)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(u32::from_le_bytes(self.number()?)).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
