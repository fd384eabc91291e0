//! A session from a `zip` export.
//!
//! Of the entries only the log and the files beside it are taken; the views are made again from the log. The format is
//! read by the `zip` crate. Every number in an archive is a claim of whoever made it, so the limits are kept here: on
//! the directory before anything of it is held, and on contents by the bytes that come out of them.

use std::collections::HashSet;
use std::io::{self, BufReader, Read, Seek};

use ostler_types::{SessionId, TurnId};
use zip::ZipReadOptions;
use zip::read::{ArchiveOffset, Config};
use zip::unstable::read::ZipIterable;

use super::{ImportError, ImportedSession, read_ndjson};

/// The log's name in an archive.
const LOG_ENTRY: &str = "events.ndjson";
/// Entries in an archive. A session has at most a few hundred files.
const MAX_ENTRIES: usize = 10_000;
/// Bytes of the directory.
const MAX_DIRECTORY: u64 = 8 << 20;
/// Bytes of one file beside the log, and of all entries together.
const MAX_FILE: u64 = 64 << 20;
const MAX_ALL: u64 = 1 << 30;
/// Bytes in a name.
const MAX_NAME: usize = 200;

/// An archive that was found to be whole and safe.
pub struct ImportedArchive<R> {
    // Unlike `ZipArchive` it holds no entries, so that their number can be refused before there are any, and it shows
    // two of one name as two.
    zip: ZipIterable<R>,
    attachments: ArchivedAttachments,
}

/// The attachments in an archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArchivedAttachments {
    /// How many there are.
    pub count: usize,
    /// How many bytes they have together.
    pub bytes: u64,
}

impl<R: Read + Seek> ImportedArchive<R> {
    /// Reads the whole archive once: every name must stay inside a session's folder, every entry must match its
    /// checksum, and nothing may be larger than it may be.
    pub fn open(input: R) -> Result<ImportedArchive<R>, ImportError> {
        // An archive begins where its file does: nothing is searched for.
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let zip = ZipIterable::try_new(input, config).map_err(damaged)?;
        if zip.len() > MAX_ENTRIES {
            return Err(too_many_entries());
        }
        let mut archive = ImportedArchive { zip, attachments: ArchivedAttachments::default() };
        let (mut seen, mut room, mut has_log) = (HashSet::new(), MAX_ALL, false);
        let mut attachments = ArchivedAttachments::default();
        archive.for_each_entry(|name, content| {
            let place = entry_kind(name).ok_or_else(|| {
                ImportError::Refused(format!("the archive has an entry with the unsafe name {name:?}"))
            })?;
            if !seen.insert(name.to_lowercase()) {
                return Err(ImportError::Refused(format!("the archive has two entries {name:?}")));
            }
            let limit = room.min(if place == ArchiveEntryKind::Log { MAX_ALL } else { MAX_FILE });
            let length = check_entry(name, content, limit)?;
            room -= length;
            has_log |= place == ArchiveEntryKind::Log;
            if place == ArchiveEntryKind::Attachment {
                attachments.count += 1;
                attachments.bytes += length;
            }
            Ok(())
        })?;
        archive.attachments = attachments;
        if has_log { Ok(archive) } else { Err(no_log()) }
    }

    /// The attachments that [`ImportedArchive::files`] hands over, for a caller that has limits on them.
    pub fn attachments(&self) -> ArchivedAttachments {
        self.attachments
    }

    /// The session in it; see [`read_ndjson`].
    pub fn session(&mut self, id: Option<SessionId>) -> Result<ImportedSession, ImportError> {
        let mut imported = None;
        self.for_each_entry(|name, content| {
            if entry_kind(name) == Some(ArchiveEntryKind::Log) {
                imported = Some(read_ndjson(BufReader::new(content), id)?);
            }
            Ok(())
        })?;
        imported.ok_or_else(no_log)
    }

    /// Hands over the files beside the log, each with the name by which the records refer to it.
    pub fn files(
        &mut self,
        keep: &mut dyn FnMut(&str, Vec<u8>) -> io::Result<()>,
    ) -> Result<(), ImportError> {
        self.for_each_entry(|name, content| {
            if matches!(entry_kind(name), Some(ArchiveEntryKind::Attachment | ArchiveEntryKind::Artifact)) {
                let mut bytes = Vec::new();
                content.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
                keep(name, bytes)?;
            }
            Ok(())
        })
    }

    /// Shows each entry and its content, in the order of the directory.
    fn for_each_entry(
        &mut self,
        mut visit: impl FnMut(&str, &mut dyn Read) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let entries = self.zip.files().map_err(damaged)?;
        let mut directory_start = None;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(damaged)?;
            let at = entry.central_header_start();
            if at - *directory_start.get_or_insert(at) > MAX_DIRECTORY {
                return Err(too_many_entries());
            }
            let name = str::from_utf8(entry.name_raw()).map_err(damaged)?.to_owned();
            let options = ZipReadOptions::new();
            let mut content = entry.with_reader(entries.reader_mut(), options).map_err(damaged)?;
            visit(&name, &mut content)?;
        }
        Ok(())
    }
}

/// Where an entry belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArchiveEntryKind {
    Log,
    Attachment,
    Artifact,
    /// To what is made again, or to what we know nothing of.
    Elsewhere,
}

/// Where an entry of that name belongs; `None` when it could mean a place outside the session's folder.
fn entry_kind(name: &str) -> Option<ArchiveEntryKind> {
    let path = name.strip_suffix('/').unwrap_or(name);
    let parts: Vec<&str> = path.split('/').collect();
    if !parts.iter().all(|part| is_plain(part)) {
        return None;
    }
    let is_folder = path.len() < name.len();
    Some(match parts[..] {
        [LOG_ENTRY] if !is_folder => ArchiveEntryKind::Log,
        ["attachments", file] if !is_folder && !file.starts_with('.') => ArchiveEntryKind::Attachment,
        ["artifacts", turn, file]
            if !is_folder && !file.starts_with('.') && turn.parse::<TurnId>().is_ok() =>
        {
            ArchiveEntryKind::Artifact
        }
        _ => ArchiveEntryKind::Elsewhere,
    })
}

fn is_plain(part: &str) -> bool {
    let plain = |c: char| !c.is_control() && c != '\\' && c != ':';
    !part.is_empty() && part.len() <= MAX_NAME && part != "." && part != ".." && part.chars().all(plain)
}

/// Reads an entry to its end and returns how long it is.
fn check_entry(name: &str, content: &mut dyn Read, limit: u64) -> Result<u64, ImportError> {
    let length = io::copy(&mut content.take(limit + 1), &mut io::sink())
        .map_err(|error| ImportError::Refused(format!("the archive is damaged in {name:?}: {error}")))?;
    if length > limit {
        return Err(ImportError::Refused(format!("{name:?} is larger than a session's files may be")));
    }
    Ok(length)
}

fn damaged(error: impl std::fmt::Display) -> ImportError {
    ImportError::Refused(format!("the archive is damaged: {error}"))
}

fn too_many_entries() -> ImportError {
    ImportError::Refused("the archive has more entries than a session can have".to_owned())
}

fn no_log() -> ImportError {
    ImportError::Refused(format!("the archive has no {LOG_ENTRY}"))
}

#[cfg(test)]
mod tests {
    use super::{ArchiveEntryKind, entry_kind};

    #[test]
    fn only_names_inside_the_folder_are_taken() {
        let turn = "turn_0190f3c4a5b67c8d9e0f112233445566";
        assert_eq!(entry_kind("events.ndjson"), Some(ArchiveEntryKind::Log));
        assert_eq!(entry_kind("attachments/a b.png"), Some(ArchiveEntryKind::Attachment));
        assert_eq!(entry_kind(&format!("artifacts/{turn}/out.txt")), Some(ArchiveEntryKind::Artifact));
        for name in [
            "context.md",
            "attachments/",
            "attachments/a/b",
            "attachments/.part-1",
            "artifacts/x/y",
            "a/events.ndjson",
        ] {
            assert_eq!(entry_kind(name), Some(ArchiveEntryKind::Elsewhere), "{name}");
        }
        for name in [
            "",
            "/",
            "/etc/passwd",
            "../x",
            "attachments/../../x",
            "a//b",
            "a\\b",
            "C:x",
            "a\0",
            "attachments/.",
        ] {
            assert_eq!(entry_kind(name), None, "{name:?}");
        }
    }
}
