//! A session from a `zip` export.
//!
//! Of the entries only the log and the files beside it are taken; the views are made again from the log.

use std::collections::HashSet;
use std::io::{self, BufReader, Read, Seek};

use ostler_types::{SessionId, TurnId};

use super::{ImportError, Imported, read_ndjson};
use crate::zip::{Entry, ZipReader};

/// The log's name in an archive.
const LOG: &str = "events.ndjson";
/// Bytes of one file beside the log, and of all entries together.
const MAX_FILE: u64 = 64 << 20;
const MAX_ALL: u64 = 1 << 30;
/// Bytes in a name.
const MAX_NAME: usize = 200;

/// An archive that was found to be whole and safe.
pub struct Archive<R> {
    zip: ZipReader<R>,
    log: Entry,
    /// Attachments and artifacts.
    files: Vec<Entry>,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the whole archive once: every name must stay inside a session's folder, every entry must match its
    /// checksum, and nothing may be larger than it may be.
    pub fn open(input: R) -> Result<Archive<R>, ImportError> {
        let mut zip = ZipReader::open(input).map_err(|error| refused(&error))?;
        let entries = zip.entries.clone();
        let mut seen = HashSet::new();
        let (mut log, mut files, mut room) = (None, Vec::new(), MAX_ALL);
        for entry in entries {
            let name = entry.name.clone();
            let place = place(&name).ok_or_else(|| {
                ImportError::Refused(format!("the archive has an entry with the unsafe name {name:?}"))
            })?;
            if !seen.insert(name.to_lowercase()) {
                return Err(ImportError::Refused(format!("the archive has two entries {name:?}")));
            }
            room -= check(&mut zip, &entry, if place == Place::Log { MAX_ALL } else { MAX_FILE }, room)?;
            match place {
                Place::Log => log = Some(entry),
                Place::Beside => files.push(entry),
                Place::Elsewhere => {}
            }
        }
        let log = log.ok_or_else(|| ImportError::Refused(format!("the archive has no {LOG}")))?;
        Ok(Archive { zip, log, files })
    }

    /// The session in it; see [`read_ndjson`].
    pub fn session(&mut self, id: Option<SessionId>) -> Result<Imported, ImportError> {
        let log = self.zip.read(&self.log).map_err(|error| refused(&error))?;
        read_ndjson(BufReader::new(log), id)
    }

    /// Hands over the files beside the log, each with the name by which the records refer to it.
    pub fn files(
        &mut self,
        keep: &mut dyn FnMut(&str, Vec<u8>) -> io::Result<()>,
    ) -> Result<(), ImportError> {
        for entry in &self.files {
            let mut content = Vec::new();
            self.zip
                .read(entry)
                .map_err(|error| refused(&error))?
                .take(MAX_FILE + 1)
                .read_to_end(&mut content)?;
            keep(&entry.name, content)?;
        }
        Ok(())
    }
}

/// Where an entry belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Log,
    /// Among the files beside the log.
    Beside,
    /// To what is made again, or to what we know nothing of.
    Elsewhere,
}

/// Where an entry of that name belongs; `None` when it could mean a place outside the session's folder.
fn place(name: &str) -> Option<Place> {
    let path = name.strip_suffix('/').unwrap_or(name);
    let parts: Vec<&str> = path.split('/').collect();
    if !parts.iter().all(|part| is_plain(part)) {
        return None;
    }
    let is_folder = path.len() < name.len();
    Some(match parts[..] {
        [LOG] if !is_folder => Place::Log,
        ["attachments", file] if !is_folder && !file.starts_with('.') => Place::Beside,
        ["artifacts", turn, file]
            if !is_folder && !file.starts_with('.') && turn.parse::<TurnId>().is_ok() =>
        {
            Place::Beside
        }
        _ => Place::Elsewhere,
    })
}

fn is_plain(part: &str) -> bool {
    let plain = |c: char| !c.is_control() && c != '\\' && c != ':';
    !part.is_empty() && part.len() <= MAX_NAME && part != "." && part != ".." && part.chars().all(plain)
}

/// Reads an entry to its end and returns how long it is.
fn check<R: Read + Seek>(
    zip: &mut ZipReader<R>,
    entry: &Entry,
    limit: u64,
    room: u64,
) -> Result<u64, ImportError> {
    let limit = limit.min(room);
    let mut reader = zip.read(entry).map_err(|error| refused(&error))?.take(limit + 1);
    let length = io::copy(&mut reader, &mut io::sink()).map_err(|error| {
        ImportError::Refused(format!("the archive is damaged in {:?}: {error}", entry.name))
    })?;
    if length > limit {
        return Err(ImportError::Refused(format!(
            "{:?} is larger than a session's files may be",
            entry.name
        )));
    }
    Ok(length)
}

fn refused(error: &io::Error) -> ImportError {
    ImportError::Refused(format!("the archive is damaged: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{Place, place};

    #[test]
    fn only_names_inside_the_folder_are_taken() {
        let turn = "turn_0190f3c4a5b67c8d9e0f112233445566";
        assert_eq!(place("events.ndjson"), Some(Place::Log));
        assert_eq!(place("attachments/a b.png"), Some(Place::Beside));
        assert_eq!(place(&format!("artifacts/{turn}/out.txt")), Some(Place::Beside));
        for name in [
            "context.md",
            "attachments/",
            "attachments/a/b",
            "attachments/.part-1",
            "artifacts/x/y",
            "a/events.ndjson",
        ] {
            assert_eq!(place(name), Some(Place::Elsewhere), "{name}");
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
            assert_eq!(place(name), None, "{name:?}");
        }
    }
}
