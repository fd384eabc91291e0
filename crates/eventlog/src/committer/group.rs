//! A group of appends and drafts on its way to the disk: staged, written, synced, published.

mod commit;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ostler_types::SessionId;

use super::{AppendRequest, LogReply};
use crate::disk::DiskFile;
use crate::feed::FeedEntry;
use crate::log::{LogError, LogLine};
use crate::log_heads::LogHead;
use crate::sealed_line;

/// What is committed together.
#[derive(Default)]
pub(super) struct CommitGroup {
    /// How many bytes it will write.
    pub(super) size: usize,
    sessions: Vec<StagedLog>,
    by_session: HashMap<SessionId, usize>,
    drafts: BTreeMap<SessionId, Vec<u8>>,
    /// The sessions that settle after all that is appended.
    settling: Vec<(SessionId, LogReply<()>)>,
    /// The records in the order in which they came, with the place of their session.
    feed_entries: Vec<(usize, FeedEntry)>,
}

/// What a group does to one log.
struct StagedLog {
    session: SessionId,
    file: Arc<DiskFile>,
    /// The log's end before the group, and after it.
    before: LogHead,
    after: LogHead,
    buffer: Vec<u8>,
    waiters: Vec<(LogReply<Vec<LogLine>>, LineRanges)>,
    ends_message: bool,
    failed: Option<LogError>,
}

/// Where an append's lines stand in the buffer, with their seqs.
type LineRanges = Vec<(u64, Range<usize>)>;

/// An append that has its place in a group.
pub(super) struct StagedAppend {
    index: usize,
    lines: LineRanges,
}

impl CommitGroup {
    pub(super) fn find(&self, session: SessionId) -> Option<usize> {
        self.by_session.get(&session).copied()
    }

    pub(super) fn add(&mut self, session: SessionId, file: Arc<DiskFile>, head: LogHead) -> usize {
        let index = self.sessions.len();
        self.by_session.insert(session, index);
        self.sessions.push(StagedLog {
            session,
            file,
            before: head,
            after: head,
            buffer: Vec::new(),
            waiters: Vec::new(),
            ends_message: false,
            failed: None,
        });
        index
    }

    /// Seals an append's records as the next ones of their log.
    pub(super) fn stage(&mut self, index: usize, append: &AppendRequest) -> Result<StagedAppend, LogError> {
        let staged = &mut self.sessions[index];
        let next = staged.after.seq + 1;
        if append.expected_seq != next {
            return Err(LogError::Conflict { expected: append.expected_seq, next });
        }
        let (mut lines, start) = (Vec::with_capacity(append.records.len()), staged.buffer.len());
        let mut left = append.records.len();
        for record in &append.records {
            let from = staged.buffer.len();
            let chain = sealed_line::seal(record, staged.after.chain, &mut staged.buffer);
            let range = from..staged.buffer.len();
            left -= 1;
            if left > 0 {
                staged.buffer.push(b' ');
            }
            staged.buffer.push(b'\n');
            let seq = staged.after.seq + 1;
            let offset = staged.before.length + from as u64;
            let length = u32::try_from(range.len()).expect("a line is at most 4 MiB long");
            self.feed_entries
                .push((index, FeedEntry { session: append.session, seq, offset, length, chain }));
            staged.after = LogHead { seq, chain, length: staged.before.length + staged.buffer.len() as u64 };
            lines.push((seq, range));
        }
        staged.ends_message |= append.ends_message;
        self.size += staged.buffer.len() - start;
        if append.ends_message {
            self.drafts.remove(&append.session);
        }
        Ok(StagedAppend { index, lines })
    }

    /// Remembers whom to tell of a staged append.
    pub(super) fn add_waiter(&mut self, staged: StagedAppend, reply: LogReply<Vec<LogLine>>) {
        self.sessions[staged.index].waiters.push((reply, staged.lines));
    }

    /// Whether the group holds the end of a message of this session.
    pub(super) fn ends_message(&self, session: SessionId) -> bool {
        self.find(session).is_some_and(|index| self.sessions[index].ends_message)
    }

    /// Whether the group settles this session.
    pub(super) fn settles(&self, session: SessionId) -> bool {
        self.settling.iter().any(|(settling, _)| *settling == session)
    }

    pub(super) fn add_settling(&mut self, session: SessionId, reply: LogReply<()>) {
        self.settling.push((session, reply));
    }

    pub(super) fn add_draft(&mut self, session: SessionId, line: &[u8]) {
        self.size += line.len();
        self.drafts.entry(session).or_default().extend_from_slice(line);
    }
}

impl StagedLog {
    fn is_good(&self) -> bool {
        self.failed.is_none() && !self.buffer.is_empty()
    }

    /// Tells all who wait.
    fn answer(self) {
        let bytes = Bytes::from(self.buffer);
        for (reply, lines) in self.waiters {
            let result = match &self.failed {
                Some(error) => Err(error.clone()),
                None => Ok(lines
                    .into_iter()
                    .map(|(seq, range)| LogLine { seq, bytes: bytes.slice(range) })
                    .collect()),
            };
            let _ = reply.send(result);
        }
    }
}
