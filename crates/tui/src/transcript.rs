//! The part of a session's transcript that is held: a window of its log, folded into entries.
//!
//! A record counts once, by its `seq`. Streamed text comes put together, from the session's view. What is over never
//! goes back. Older pages are put in front of the window; the window has a limit in entries
//! and bytes, whichever end it is cut at.

mod entry;
mod fold;
mod stream;

use std::collections::VecDeque;

use ostler_types::{Record, ToolCallId, TurnId};

pub(crate) use entry::is_picture;
pub use entry::{EntryKind, ModelText, Tone, TranscriptCall, TranscriptCallStatus, TranscriptEntry};

/// How many entries are held.
const MAX_ENTRIES: usize = 1500;
/// How many bytes they may have.
const MAX_BYTES: usize = 6 << 20;

/// A window of a session's log.
#[derive(Debug, Default)]
pub struct Transcript {
    entries: VecDeque<TranscriptEntry>,
    next_key: u64,
    /// The first record that the window covers.
    first: u64,
    /// The newest record that was folded.
    cursor: u64,
    bytes: usize,
    /// Whether the newest entries were let go, so that the window does not reach the end.
    detached: bool,
}

impl Transcript {
    /// An empty window after a record.
    pub fn after(cursor: u64) -> Transcript {
        Transcript { first: cursor + 1, cursor, ..Transcript::default() }
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &VecDeque<TranscriptEntry> {
        &self.entries
    }

    /// The newest record that was folded.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The first record that the window covers.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Whether there are records before the window.
    pub fn has_older(&self) -> bool {
        self.first > 1
    }

    /// Whether the window does not reach the newest record.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// Folds a record, unless it was folded before. Says whether it was new.
    pub fn apply(&mut self, record: &Record) -> bool {
        if record.seq <= self.cursor {
            return false;
        }
        self.cursor = record.seq;
        if !self.detached {
            self.fold(record);
            self.shrink_front();
        }
        true
    }

    /// Passes over a record that is not understood.
    pub fn skip(&mut self, seq: u64) {
        self.cursor = self.cursor.max(seq);
    }

    /// Puts an older page in front: records from `first` up to where the window begins. When there is too much
    /// then, the newest are let go, since the reader is looking at the oldest.
    pub fn prepend(&mut self, first: u64, records: &[Record]) {
        let mut older = Transcript::after(first.saturating_sub(1));
        // Keys grow from the middle outwards, so that those of the window stay as they are.
        older.next_key = self.next_key;
        for record in records.iter().filter(|record| record.seq < self.first) {
            older.cursor = record.seq;
            older.fold(record);
        }
        self.next_key = older.next_key;
        self.first = first.min(self.first);
        self.take_orphans(&mut older);
        self.bytes += older.entries.iter().map(TranscriptEntry::size).sum::<usize>();
        while let Some(entry) = older.entries.pop_back() {
            self.entries.push_front(entry);
        }
        self.shrink_back();
    }

    /// A call of which the window has only the end belongs to the page that has its beginning.
    fn take_orphans(&mut self, older: &mut Transcript) {
        let mut kept = VecDeque::with_capacity(self.entries.len());
        for entry in std::mem::take(&mut self.entries) {
            let EntryKind::ToolCall(call) = &entry.kind else {
                kept.push_back(entry);
                continue;
            };
            let begun = older.entries.iter_mut().rev().find(|begun| is_call(begun, entry.turn, &call.id));
            match begun {
                Some(begun) if call.orphan => {
                    if let EntryKind::ToolCall(first) = &mut begun.kind {
                        let input = std::mem::take(&mut first.input);
                        let kind = first.kind;
                        first.clone_from(call);
                        (first.input, first.kind, first.orphan) = (input, kind.or(first.kind), false);
                    }
                    begun.revision += 1;
                    self.bytes = self.bytes.saturating_sub(entry.size());
                }
                Some(_) | None => kept.push_back(entry),
            }
        }
        self.entries = kept;
    }

    /// The entry of this key.
    pub fn get(&self, key: u64) -> Option<&TranscriptEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Where the entry of this key stands.
    pub fn position(&self, key: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.key == key)
    }

    /// Folds an entry or unfolds it.
    pub fn toggle(&mut self, key: u64) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key && entry.can_fold()) {
            entry.folded = Some(!entry.is_folded());
            entry.revision += 1;
        }
    }

    /// Unfolds an entry.
    pub fn unfold(&mut self, key: u64) {
        if self.get(key).is_some_and(|entry| entry.can_fold() && entry.is_folded()) {
            self.toggle(key);
        }
    }

    /// Folds everything that can be, or unfolds it, if `wanted` holds for it.
    pub fn fold_all(&mut self, folded: bool, wanted: impl Fn(&EntryKind) -> bool) {
        for entry in self.entries.iter_mut().filter(|entry| entry.can_fold() && wanted(&entry.kind)) {
            entry.folded = Some(folded);
            entry.revision += 1;
        }
    }

    /// The first line that a person said, if the window reaches back so far.
    pub fn first_words(&self) -> Option<&str> {
        let said = |entry: &'_ TranscriptEntry| matches!(entry.kind, EntryKind::User { .. });
        let first = self.entries.iter().take(8).find(|entry| said(entry) && !self.has_older())?;
        let EntryKind::User { text, .. } = &first.kind else { return None };
        text.lines().map(str::trim).find(|line| !line.is_empty())
    }

    /// The newest text of the model, for copying.
    pub fn last_answer(&self) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| {
            if let EntryKind::Answer(spoken) = &entry.kind { Some(spoken.text.as_str()) } else { None }
        })
    }

    fn push(&mut self, seq: u64, turn: Option<TurnId>, kind: EntryKind) {
        let at = self.entries.len();
        self.insert(at, seq, turn, kind);
    }

    fn insert(&mut self, at: usize, seq: u64, turn: Option<TurnId>, kind: EntryKind) {
        let entry = TranscriptEntry { key: self.next_key, seq, turn, kind, folded: None, revision: 0 };
        self.next_key += 1;
        self.bytes += entry.size();
        self.entries.insert(at, entry);
    }

    /// Changes the newest entry that `wanted` finds, and counts the change.
    fn change(
        &mut self,
        wanted: impl Fn(&TranscriptEntry) -> bool,
        change: impl FnOnce(&mut TranscriptEntry),
    ) -> bool {
        let Some(entry) = self.entries.iter_mut().rev().find(|entry| wanted(entry)) else { return false };
        let before = entry.size();
        change(entry);
        entry.revision += 1;
        self.bytes = (self.bytes + entry.size()).saturating_sub(before);
        true
    }

    fn is_full(&self) -> bool {
        self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES
    }

    fn shrink_front(&mut self) {
        while self.is_full() && self.entries.len() > 1 {
            let Some(entry) = self.entries.pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(entry.size());
            let next = self.entries.front().map_or(self.cursor, |entry| entry.seq);
            self.first = next.max(self.first);
        }
    }

    fn shrink_back(&mut self) {
        while self.is_full() && self.entries.len() > 1 {
            let Some(entry) = self.entries.pop_back() else { return };
            self.bytes = self.bytes.saturating_sub(entry.size());
            self.detached = true;
        }
    }
}

fn is_call(entry: &TranscriptEntry, turn: Option<TurnId>, id: &ToolCallId) -> bool {
    matches!(&entry.kind, EntryKind::ToolCall(call) if call.id == *id)
        && (entry.turn == turn || turn.is_none())
}
