//! How far somebody has come in a session's events: the newest record, and how much of the message that streams.
//! A place decides of each entry whether it is news, so that a socket can change between what is shared and what
//! it reads for itself, and misses nothing and sees nothing twice.

use bytes::Bytes;
use ostler_types::MessageId;

/// How far somebody has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The newest record whose meaning is known.
    pub(super) seq: u64,
    /// How much is known of the message that was last seen to stream.
    text: Option<Shown>,
}

/// How much of a message has been shown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    message_id: MessageId,
    /// The parts that are text, and how many bytes of each.
    parts: Vec<(u32, u64)>,
}

/// Something to send, made once for all.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The record that it was made from; for text, the newest record before it.
    pub(super) seq: u64,
    /// Which text it is, if it is text.
    pub(super) span: Option<Span>,
    /// One or more frames.
    pub(super) wire: Bytes,
}

/// A piece of a message's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) message_id: MessageId,
    pub(super) part: u32,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// What an entry is to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// It is known.
    Old,
    /// It is the next thing to know.
    Next,
    /// Something before it is missing, or part of it is known.
    Gap,
}

impl Place {
    /// After this record, and before any text that follows it.
    pub(super) fn after(seq: u64) -> Place {
        Place { seq, text: None }
    }

    /// Goes to where another stands, without taking new memory for it.
    pub(super) fn move_to(&mut self, other: &Place) {
        self.seq = other.seq;
        match (&mut self.text, &other.text) {
            (Some(mine), Some(theirs)) => {
                mine.message_id = theirs.message_id;
                mine.parts.clone_from(&theirs.parts);
            }
            (mine, theirs) => mine.clone_from(theirs),
        }
    }

    /// How many bytes of a part are known.
    pub(super) fn known(&self, message_id: MessageId, part: u32) -> u64 {
        let shown = self.text.iter().filter(|shown| shown.message_id == message_id);
        let mut parts = shown.flat_map(|shown| &shown.parts);
        parts.find(|(index, _)| *index == part).map_or(0, |(_, bytes)| *bytes)
    }

    /// Whether anything of another part of the message has been shown.
    pub(super) fn has_begun(&self, message_id: MessageId) -> bool {
        self.text.as_ref().is_some_and(|shown| shown.message_id == message_id)
    }

    /// The message that was last seen to stream.
    pub(super) fn message(&self) -> Option<MessageId> {
        self.text.as_ref().map(|shown| shown.message_id)
    }

    /// Forgets how much of a message is known, once it is over for everybody.
    pub(super) fn forget(&mut self, message_id: MessageId) {
        self.text.take_if(|shown| shown.message_id == message_id);
    }

    /// What an entry is to whoever stands here. `finished` says at which record a message was finished, for
    /// every message that was finished by `self.seq`.
    pub(super) fn judge(&self, entry: &Entry, finished: impl Fn(MessageId) -> Option<u64>) -> News {
        let Some(span) = entry.span else {
            return if entry.seq > self.seq { News::Next } else { News::Old };
        };
        let known = self.known(span.message_id, span.part);
        if span.end <= known || finished(span.message_id).is_some_and(|seq| seq <= self.seq) {
            News::Old
        } else if span.start == known {
            News::Next
        } else {
            News::Gap
        }
    }

    /// Whether whoever stands here knows all that came before `base`.
    pub(super) fn covers(&self, base: &Place, finished: impl Fn(MessageId) -> Option<u64>) -> bool {
        let known = |shown: &Shown| {
            let over = finished(shown.message_id).is_some_and(|seq| seq <= self.seq);
            over || shown.parts.iter().all(|(part, bytes)| self.known(shown.message_id, *part) >= *bytes)
        };
        self.seq >= base.seq && base.text.as_ref().is_none_or(known)
    }

    /// Moves on past an entry.
    pub(super) fn pass(&mut self, entry: &Entry) {
        self.seq = self.seq.max(entry.seq);
        if let Some(span) = entry.span {
            self.show(span);
        }
    }

    /// Moves on past a piece of text.
    pub(super) fn show(&mut self, span: Span) {
        let shown = match &mut self.text {
            Some(shown) if shown.message_id == span.message_id => shown,
            text => text.insert(Shown { message_id: span.message_id, parts: Vec::with_capacity(1) }),
        };
        match shown.parts.iter_mut().find(|(part, _)| *part == span.part) {
            Some((_, bytes)) => *bytes = span.end.max(*bytes),
            None => shown.parts.push((span.part, span.end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ostler_types::MessageId;
    use uuid::Uuid;

    use super::{Entry, News, Place, Span};

    fn text(seq: u64, message: u128, start: u64, end: u64) -> Entry {
        let message_id = MessageId::new(Uuid::from_u128(message));
        Entry { seq, span: Some(Span { message_id, part: 0, start, end }), wire: Bytes::new() }
    }

    fn record(seq: u64) -> Entry {
        Entry { seq, span: None, wire: Bytes::new() }
    }

    #[test]
    fn text_is_taken_at_its_offset_and_nowhere_else() {
        let mut place = Place::after(5);
        let none = |_| None;
        assert_eq!(place.judge(&record(5), none), News::Old);
        assert_eq!(place.judge(&record(6), none), News::Next);
        assert_eq!(place.judge(&text(3, 1, 0, 4), none), News::Next, "it streams since before we came");
        assert_eq!(place.judge(&text(5, 1, 4, 8), none), News::Gap);
        assert_eq!(place.judge(&text(3, 1, 0, 4), |_| Some(5)), News::Old, "it is part of the history");
        assert_eq!(place.judge(&text(3, 1, 0, 4), |_| Some(6)), News::Next);
        place.pass(&text(5, 1, 0, 4));
        assert_eq!(place.judge(&text(5, 1, 0, 4), none), News::Old);
        assert_eq!(place.judge(&text(5, 1, 2, 6), none), News::Gap);
        assert_eq!(place.judge(&text(5, 1, 4, 6), none), News::Next);
        assert_eq!(place.judge(&text(5, 2, 0, 6), none), News::Next);
    }

    #[test]
    fn a_base_is_covered_when_nothing_before_it_is_missing() {
        let none = |_| None;
        let mut base = Place::after(5);
        assert!(Place::after(5).covers(&base, none) && !Place::after(4).covers(&base, none));
        base.pass(&text(5, 1, 0, 4));
        assert!(!Place::after(5).covers(&base, none), "four bytes are missing");
        assert!(!Place::after(9).covers(&base, none), "they may be missing");
        assert!(Place::after(9).covers(&base, |_| Some(7)), "they are in the history");
        let mut place = Place::after(5);
        place.pass(&text(5, 1, 0, 9));
        assert!(place.covers(&base, none));
    }
}
