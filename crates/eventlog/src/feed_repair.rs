//! Repairing the feed from the logs: after a crash, and after the disk failed under it.
//!
//! Only sessions with a marker can be missing from it, and only from their marker's position on, so
//! neither the feed nor the sessions are read as a whole.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use ostler_types::SessionId;

use crate::feed::FeedEntry;
use crate::log::LogError;
use crate::log_heads::LogHead;
use crate::log_walk::{LogFile, WalkStep};
use crate::markers::{self, Marker};
use crate::reader;
use crate::sealed_line::RecordChain;
use crate::seek::seek;
use crate::shared::{FileLogShared, disk_error};

/// How many places are handled at once.
const BATCH: u64 = 4096;

/// Makes the feed whole. At the start of the daemon whatever the file holds is looked at; later, what
/// was not synced is written anew.
pub(crate) fn repair(shared: &FileLogShared) -> Result<(), LogError> {
    let failed = |error: io::Error| disk_error("repairing the feed", &error);
    let markers = markers::list(&shared.layout).map_err(failed)?;
    let end = match shared.feed.verified_entries() {
        Some(end) => end,
        None => shared.feed.entries_in_file().map_err(failed)?,
    };
    let (keep, seen) = scan(shared, &markers, end).map_err(failed)?;
    let mut behind = Vec::new();
    for (session, marker) in markers {
        let last = seen.get(&session).copied().unwrap_or(0).max(marker.seq);
        behind.push((session, last));
    }
    let mut current: Option<MissingRecords> = None;
    shared
        .feed
        .repair(keep, || {
            loop {
                if let Some(missing) = &mut current
                    && let Some(places) = missing.next(shared)?
                {
                    return Ok(Some(places));
                }
                let Some((session, last)) = behind.pop() else { return Ok(None) };
                current = MissingRecords::open(shared, session, last);
            }
        })
        .map_err(failed)
}

/// Reads the feed from the lowest marker on. Returns how much of it is whole, and the last record seen
/// of each session since its marker.
fn scan(
    shared: &FileLogShared,
    markers: &[(SessionId, Marker)],
    end: u64,
) -> io::Result<(u64, HashMap<SessionId, u64>)> {
    let since: HashMap<SessionId, u64> = markers.iter().map(|(id, marker)| (*id, marker.feed)).collect();
    let mut position = since.values().copied().min().unwrap_or(end).min(end);
    let mut seen = HashMap::new();
    while position < end {
        let wanted = (end - position).min(BATCH);
        let places = shared.feed.read_raw(position, position + wanted)?;
        for (place, at) in places.iter().zip(position..) {
            if since.get(&place.session).is_some_and(|since| at >= *since) {
                seen.insert(place.session, place.seq);
            }
        }
        position += places.len() as u64;
        if (places.len() as u64) < wanted {
            tracing::warn!(position, "the feed ends in what is not whole, and is repaired from the logs");
            break;
        }
    }
    Ok((position, seen))
}

/// The records of one session that the feed lacks.
struct MissingRecords {
    file: File,
    session: SessionId,
    head: LogHead,
    end: u64,
}

impl MissingRecords {
    /// Finds the first of them. A log that cannot be read has none: its damage is reported by whoever
    /// reads the session itself.
    fn open(shared: &FileLogShared, session: SessionId, last: u64) -> Option<MissingRecords> {
        let readable = match reader::open(shared, session) {
            Ok(readable) => readable,
            Err(LogError::NotFound) => return None,
            Err(error) => {
                tracing::warn!(%session, %error, "a session's records could not be added to the feed");
                return None;
            }
        };
        if readable.last <= last {
            return None;
        }
        let log = LogFile::new(&readable.file, session, &shared.bytes_read);
        let head = seek(&log, last + 1, readable.end).ok()?.head;
        Some(MissingRecords { session, head, end: readable.end, file: readable.file })
    }

    fn next(&mut self, shared: &FileLogShared) -> io::Result<Option<Vec<FeedEntry>>> {
        let log = LogFile::new(&self.file, self.session, &shared.bytes_read);
        let mut walk = crate::log_walk::LogWalk::new(&log, self.head, self.end);
        let mut places = Vec::new();
        while (places.len() as u64) < BATCH {
            match walk.next()? {
                WalkStep::Line { line, offset } => places.push(FeedEntry {
                    session: self.session,
                    seq: line.seq,
                    offset,
                    length: u32::try_from(line.bytes.len()).unwrap_or(u32::MAX),
                    chain: RecordChain::claimed(&line.bytes).unwrap_or(RecordChain::START),
                }),
                WalkStep::End => break,
                WalkStep::Damaged(damage) => {
                    shared.quarantine.report(self.session, &damage);
                    break;
                }
            }
        }
        self.head = walk.head;
        Ok(if places.is_empty() { None } else { Some(places) })
    }
}
