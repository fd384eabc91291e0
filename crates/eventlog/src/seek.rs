//! Finding a place in a log without reading it from its start: its end, and any record by its seq.

use std::io;

use crate::check::LogDamage;
use crate::log_heads::LogHead;
use crate::log_walk::{LogFile, LogWalk, RawLines, RawStep, WalkStep, is_torn};
use crate::sealed_line::{self, LineHeader, MAX_APPEND, MAX_LINE, RecordChain};

/// The first look at the end of a file; it grows until it holds what is needed.
const FIRST_TAIL_BYTES: u64 = 16 << 10;
/// The last look: a torn append, and the two records before it.
const MAX_TAIL_BYTES: u64 = (2 * MAX_APPEND + 2 * MAX_LINE) as u64;
/// A search that has come this close goes on line by line.
const LINEAR_SCAN_BYTES: u64 = 32 << 10;

/// What a look at a log found.
#[derive(Debug)]
pub(crate) struct LogSurvey {
    /// The last record that is whole, as is the append that it belongs to.
    pub(crate) head: LogHead,
    /// The first record that cannot be trusted, if one was found.
    pub(crate) damage: Option<LogDamage>,
}

/// Finds the end of a log. Only when something is wrong there does it read the log from its start.
pub(crate) fn survey(log: &LogFile<'_>, end: u64) -> io::Result<LogSurvey> {
    match tail(log, end)? {
        Some(head) => Ok(LogSurvey { head, damage: None }),
        None => survey_all(log, end),
    }
}

/// Goes through a whole log.
pub(crate) fn survey_all(log: &LogFile<'_>, end: u64) -> io::Result<LogSurvey> {
    let mut walk = LogWalk::new(log, LogHead::EMPTY, end);
    loop {
        match walk.next()? {
            WalkStep::Line { .. } => {}
            WalkStep::End => return Ok(LogSurvey { head: walk.whole, damage: None }),
            WalkStep::Damaged(damage) => return Ok(LogSurvey { head: walk.head, damage: Some(damage) }),
        }
    }
}

/// The end of a log by its last lines; none when they do not prove each other.
pub(crate) fn tail(log: &LogFile<'_>, end: u64) -> io::Result<Option<LogHead>> {
    let mut window = FIRST_TAIL_BYTES;
    loop {
        let start = end.saturating_sub(window);
        let length = usize::try_from(end - start).unwrap_or(usize::MAX);
        let bytes = log.read(start, length)?;
        match last_whole(&log.session, &bytes, start) {
            TailSearch::Found(head) => return Ok(Some(head)),
            TailSearch::Bad => return Ok(None),
            TailSearch::NeedsMore if window >= MAX_TAIL_BYTES => return Ok(None),
            TailSearch::NeedsMore => window *= 4,
        }
    }
}

enum TailSearch {
    Found(LogHead),
    Bad,
    NeedsMore,
}

/// The last record in `bytes`, which stand at `start`, that ends its append.
fn last_whole(session: &str, bytes: &[u8], start: u64) -> TailSearch {
    let mut feeds = memchr::memrchr_iter(b'\n', bytes).peekable();
    let mut last = true;
    while let Some(feed) = feeds.next() {
        let from = match feeds.peek() {
            Some(before) => before + 1,
            None if start == 0 => 0,
            None => return TailSearch::NeedsMore,
        };
        let raw = &bytes[from..feed];
        let (text, continued) = sealed_line::strip_continuation(raw);
        let torn = last && feed + 1 == bytes.len() && is_torn(raw);
        last = false;
        if continued || torn {
            continue;
        }
        let previous = match feeds.next() {
            Some(before) => {
                let raw = match feeds.peek() {
                    Some(earlier) => &bytes[earlier + 1..before],
                    None if start == 0 => &bytes[..before],
                    None => return TailSearch::NeedsMore,
                };
                let text = sealed_line::strip_continuation(raw).0;
                LineHeader::parse(text).map(|header| header.seq).zip(RecordChain::claimed(text))
            }
            None => Some((0, RecordChain::START)),
        };
        let Some((seq, chain)) = previous.map(|(seq, chain)| (seq + 1, chain)) else {
            return TailSearch::Bad;
        };
        return match sealed_line::verify(text, session, seq, chain) {
            Ok(chain) => TailSearch::Found(LogHead { seq, chain, length: start + feed as u64 + 1 }),
            Err(_) => TailSearch::Bad,
        };
    }
    if start == 0 { TailSearch::Found(LogHead::EMPTY) } else { TailSearch::NeedsMore }
}

/// A walk whose next record is `from`, in the bytes before `end`. Where the lines on the way make no
/// sense it is a walk from the start instead, which comes upon the damage.
pub(crate) fn seek<'a>(log: &'a LogFile<'a>, from: u64, end: u64) -> io::Result<LogWalk<'a>> {
    let before = if from <= 1 { Some(LogHead::EMPTY) } else { find(log, from - 1, end)? };
    Ok(LogWalk::new(log, before.unwrap_or(LogHead::EMPTY), end))
}

/// Record `target`, unproven, by halving the bytes that it may stand in.
fn find(log: &LogFile<'_>, target: u64, end: u64) -> io::Result<Option<LogHead>> {
    let (mut low, mut high) = (0, end);
    while high - low > LINEAR_SCAN_BYTES {
        let middle = low + (high - low) / 2;
        let Some(start) = line_start(log, middle, high)? else {
            high = middle;
            continue;
        };
        let Some((seq, _)) = sealed_line::seq(&log.read(start, 32)?).map(|(seq, rest)| (seq, rest.len()))
        else {
            return Ok(None);
        };
        if seq <= target {
            low = start;
        } else {
            high = middle;
        }
    }
    let mut lines = RawLines::new(log, low, end);
    while let RawStep::Line { offset, bytes } = lines.next()? {
        match sealed_line::seq(&bytes) {
            Some((seq, _)) if seq < target => {}
            Some((seq, _)) if seq == target => {
                let chain = RecordChain::claimed(sealed_line::strip_continuation(&bytes).0);
                let length = offset + bytes.len() as u64 + 1;
                return Ok(chain.map(|chain| LogHead { seq, chain, length }));
            }
            Some(_) | None => return Ok(None),
        }
    }
    Ok(None)
}

/// The first line that begins at `from` or after it, and before `high`.
fn line_start(log: &LogFile<'_>, from: u64, high: u64) -> io::Result<Option<u64>> {
    let mut offset = from - 1;
    let mut step = 2 << 10;
    while offset + 1 < high {
        let length = (high - 1 - offset).min(step);
        let bytes = log.read(offset, usize::try_from(length).unwrap_or(usize::MAX))?;
        if let Some(found) = memchr::memchr(b'\n', &bytes) {
            return Ok(Some(offset + found as u64 + 1));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        offset += bytes.len() as u64;
        step = (step * 2).min(256 << 10);
    }
    Ok(None)
}
