//! From places in the feed to the records that stand there.

use std::collections::HashMap;
use std::fs::File;

use ostler_types::SessionId;

use crate::feed::FeedEntry;
use crate::log::{FeedPosition, FeedRecord, LogError, LogLine};
use crate::log_walk::LogFile;
use crate::sealed_line::{self, RecordChain};
use crate::shared::{FileLogShared, disk_error};

/// The most that one read returns, whatever was asked for.
const MAX_RECORDS: usize = 4096;
const MAX_BYTES: usize = 8 << 20;
/// Logs held open during one read.
const MAX_FILES: usize = 64;
/// As much of the line before a record as shows its chain: the suffix, a space and a line feed.
const PREVIOUS_LINE_TAIL: u64 = 30;

/// Reads records in the order of the feed.
pub(crate) fn read(
    shared: &FileLogShared,
    from: FeedPosition,
    limit: usize,
) -> Result<Vec<FeedRecord>, LogError> {
    let limit = limit.clamp(1, MAX_RECORDS);
    let (mut records, mut size) = (Vec::new(), 0);
    let mut position = from.0;
    let mut files = HashMap::new();
    // What was removed leaves places without records: an empty answer must mean the end all the same.
    while records.is_empty() {
        let places = shared.feed.read(position, limit).map_err(|error| {
            disk_error("reading the feed; its end is repaired with the next append", &error)
        })?;
        if places.is_empty() {
            break;
        }
        for place in places {
            position += 1;
            let Some(line) = line_at(shared, &mut files, place)? else { continue };
            size += line.bytes.len();
            records.push(FeedRecord { next: FeedPosition(position), session_id: place.session, line });
            if size >= MAX_BYTES {
                return Ok(records);
            }
        }
    }
    Ok(records)
}

/// The record at a place; none when its session was removed, or when another record stands there now,
/// as after a salvage.
fn line_at(
    shared: &FileLogShared,
    files: &mut HashMap<SessionId, Option<File>>,
    place: FeedEntry,
) -> Result<Option<LogLine>, LogError> {
    if files.len() >= MAX_FILES && !files.contains_key(&place.session) {
        files.clear();
    }
    let file =
        files.entry(place.session).or_insert_with(|| File::open(shared.layout.log(place.session)).ok());
    let Some(file) = file else { return Ok(None) };
    let log = LogFile::new(file, place.session, &shared.bytes_read);
    let before = place.offset.min(PREVIOUS_LINE_TAIL);
    let length = usize::try_from(before).unwrap_or(0) + place.length as usize;
    let bytes =
        log.read(place.offset - before, length).map_err(|error| disk_error("reading a log", &error))?;
    let (head, text) = bytes.split_at(bytes.len().min(usize::try_from(before).unwrap_or(0)));
    let previous = if place.offset == 0 {
        Some(RecordChain::START)
    } else {
        head.strip_suffix(b"\n")
            .and_then(|head| RecordChain::claimed(sealed_line::strip_continuation(head).0))
    };
    let proven = previous.map(|previous| sealed_line::verify(text, &log.session, place.seq, previous));
    if proven == Some(Ok(place.chain)) {
        let text = bytes::Bytes::from(bytes).slice(usize::try_from(before).unwrap_or(0)..);
        return Ok(Some(LogLine { seq: place.seq, bytes: text }));
    }
    tracing::warn!(session = %place.session, seq = place.seq, "a record in the feed is no longer in its log");
    Ok(None)
}
