//! Text as it streams, put together from its deltas.
//!
//! Whoever shows text as it comes keeps a [`LiveText`]; whoever has a text of its own uses [`splice`] or [`unseen_part`].
//! None of them copies the text that has come before, so that a delta costs what it brings.

use std::collections::VecDeque;

use crate::{CallEvent, Delta, DeltaKind, Event, MessageEvent, MessageId};

/// Streams and finished messages that are remembered. A session writes one message at a time, and a connection that
/// comes back repeats no more than that one.
const MAX_STREAMS: usize = 64;
/// Bytes of a part that are put together; a longer one is seen when its message is completed.
const PART_BYTES: usize = 1 << 20;

/// The text of messages and calls that are not completed, as far as it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveText {
    streams: VecDeque<LiveStream>,
    /// Completed messages: a late delta of theirs adds nothing.
    completed: VecDeque<MessageId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LiveStream {
    kind: DeltaKind,
    /// The text of a message's part. The output of a call is not kept: it has no bound.
    text: String,
    /// Bytes up to its end, in the count of the deltas.
    end: u64,
}

/// The change that a delta makes to its stream: from `at` on, the stream has this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spliced<'a> {
    /// Bytes of the stream before the text.
    pub at: u64,
    /// The text.
    pub text: &'a str,
    /// Bytes that the stream had before.
    pub known: u64,
}

impl<'a> Spliced<'a> {
    /// The text beyond what the stream had, for whoever cannot take back what is shown.
    pub fn appended(&self) -> Option<&'a str> {
        unseen_part(self.known, self.at, self.text)
    }
}

impl LiveText {
    /// Takes in a delta. `None` when it changes nothing.
    pub fn splice<'a>(&mut self, delta: &'a Delta) -> Option<Spliced<'a>> {
        self.splice_at(&delta.kind, delta.offset, &delta.text)
    }

    /// Takes in a piece of a stream. `None` when it changes nothing: it is known, its message is completed, or text
    /// before it is missing, which the completed message brings.
    pub fn splice_at<'a>(&mut self, kind: &DeltaKind, offset: u64, text: &'a str) -> Option<Spliced<'a>> {
        match kind {
            DeltaKind::Text { message_id, .. } | DeltaKind::Reasoning { message_id, .. } => {
                let ends_at = usize::try_from(offset).ok()?.checked_add(text.len())?;
                if self.completed.contains(message_id) || ends_at > PART_BYTES {
                    return None;
                }
                let stream = match self.position(kind) {
                    Some(index) => &mut self.streams[index],
                    None if offset == 0 => self.add(kind, 0),
                    None => return None,
                };
                let spliced = splice(&mut stream.text, offset, text)?;
                stream.end = stream.text.len() as u64;
                Some(spliced)
            }
            // The engine leaves out text when a call prints too fast, so a gap is not waited for.
            DeltaKind::ToolOutput { .. } => {
                let stream = match self.position(kind) {
                    Some(index) => &mut self.streams[index],
                    None => self.add(kind, offset),
                };
                let known = stream.end;
                let fresh = unseen_part(known, offset, text)?;
                stream.end = offset + text.len() as u64;
                Some(Spliced { at: stream.end - fresh.len() as u64, text: fresh, known })
            }
        }
    }

    /// The part of a completed text that its deltas have not brought. `None` when nothing is left.
    pub fn remainder<'a>(&self, kind: &DeltaKind, text: &'a str) -> Option<&'a str> {
        let is_completed = match kind {
            DeltaKind::Text { message_id, .. } | DeltaKind::Reasoning { message_id, .. } => {
                self.completed.contains(message_id)
            }
            DeltaKind::ToolOutput { .. } => false,
        };
        let seen = self.position(kind).map_or(0, |index| self.streams[index].end);
        unseen_part(seen, 0, text).filter(|_| !is_completed)
    }

    /// The text of a part of a message that is not completed.
    pub fn text(&self, kind: &DeltaKind) -> Option<&str> {
        self.position(kind).map(|index| self.streams[index].text.as_str())
    }

    /// Lets go of what an event completes.
    pub fn apply(&mut self, event: &Event) {
        if let Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) = event {
            self.complete(message.id);
        } else if let Event::Call(CallEvent::Completed { tool_call, .. }) = event {
            let is_other = |stream: &LiveStream| !matches!(&stream.kind, DeltaKind::ToolOutput { tool_call_id, .. } if *tool_call_id == tool_call.id);
            self.streams.retain(is_other);
        } else if event.name().ends_turn() {
            self.streams.clear();
        }
    }

    /// Lets go of a message, and takes nothing more of it.
    pub fn complete(&mut self, id: MessageId) {
        let is_other = |stream: &LiveStream| match stream.kind {
            DeltaKind::Text { message_id, .. } | DeltaKind::Reasoning { message_id, .. } => message_id != id,
            DeltaKind::ToolOutput { .. } => true,
        };
        self.streams.retain(is_other);
        if self.completed.len() == MAX_STREAMS {
            self.completed.pop_front();
        }
        self.completed.push_back(id);
    }

    fn position(&self, kind: &DeltaKind) -> Option<usize> {
        self.streams.iter().position(|stream| stream.kind == *kind)
    }

    fn add(&mut self, kind: &DeltaKind, end: u64) -> &mut LiveStream {
        if self.streams.len() == MAX_STREAMS {
            self.streams.pop_front();
        }
        self.streams.push_back(LiveStream { kind: kind.clone(), text: String::new(), end });
        self.streams.back_mut().expect("a stream was just added")
    }
}

/// Writes a piece of streamed text at its offset, over what may stand there. `None` when nothing changes: the text has
/// the piece already, or the piece would leave a gap or tear a character.
pub fn splice<'a>(text: &mut String, offset: u64, piece: &'a str) -> Option<Spliced<'a>> {
    let start = usize::try_from(offset).ok().filter(|start| text.is_char_boundary(*start))?;
    let known = text.len();
    let (at, fresh) = match piece.strip_prefix(&text[start..]) {
        Some(fresh) => (known, fresh),
        None if text[start..].starts_with(piece) => return None,
        None => (start, piece),
    };
    if fresh.is_empty() {
        return None;
    }
    text.truncate(at);
    text.push_str(fresh);
    Some(Spliced { at: at as u64, text: fresh, known: known as u64 })
}

/// The part of a piece at `offset` that is new to whoever has seen a stream up to `seen`. Text that is missing before
/// the piece is not looked at.
pub fn unseen_part(seen: u64, offset: u64, piece: &str) -> Option<&str> {
    let known = usize::try_from(seen.saturating_sub(offset)).ok()?;
    piece.get(known..).filter(|fresh| !fresh.is_empty())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{LiveText, PART_BYTES, splice, unseen_part};
    use crate::{DeltaKind, MessageId, ToolCallId};

    fn part(message: u128, part: u32) -> DeltaKind {
        DeltaKind::Text { message_id: MessageId::new(Uuid::from_u128(message)), part }
    }

    fn written(pieces: &[(u64, &str)]) -> String {
        let mut text = String::new();
        for (offset, piece) in pieces {
            splice(&mut text, *offset, piece);
        }
        text
    }

    #[test]
    fn a_piece_goes_where_it_belongs_however_often_it_comes() {
        assert_eq!(
            written(&[(0, "Grüße "), (8, "aus "), (0, "Grüße "), (0, "Grüße aus "), (12, "Wien")]),
            "Grüße aus Wien"
        );
        assert_eq!(written(&[(0, "one"), (9, "three")]), "one", "a gap");
        assert_eq!(written(&[(0, "ü"), (1, "x")]), "ü", "a torn character");
        assert_eq!(written(&[(0, "one two"), (4, "three")]), "one three", "other text at the same place");
    }

    #[test]
    fn a_change_says_where_it_begins() {
        let mut text = "one two".to_owned();
        let change = splice(&mut text, 4, "two three").unwrap();
        assert_eq!((change.at, change.text, change.appended()), (7, " three", Some(" three")));
        let change = splice(&mut text, 4, "four and five").unwrap();
        assert_eq!((change.at, change.text, change.appended()), (4, "four and five", Some("five")));
    }

    #[test]
    fn what_has_been_seen_is_not_new() {
        assert_eq!(unseen_part(3, 0, "one two"), Some(" two"));
        assert_eq!(unseen_part(3, 5, "later"), Some("later"), "a gap is not looked at");
        assert_eq!((unseen_part(7, 0, "one two"), unseen_part(9, 0, "one two")), (None, None));
        assert_eq!(unseen_part(1, 0, "ü"), None, "a torn character");
    }

    #[test]
    fn a_completed_message_takes_no_late_text() {
        let mut live = LiveText::default();
        assert!(live.splice_at(&part(1, 0), 3, "lo").is_none(), "its beginning is missing");
        assert!(live.splice_at(&part(1, 0), 0, "Hel").is_some());
        assert!(live.splice_at(&part(1, 1), 0, "and").is_some());
        assert_eq!((live.text(&part(1, 0)), live.text(&part(1, 1))), (Some("Hel"), Some("and")));
        assert_eq!(live.remainder(&part(1, 0), "Hello"), Some("lo"));
        live.complete(MessageId::new(Uuid::from_u128(1)));
        assert_eq!(live.text(&part(1, 0)), None);
        assert!(live.splice_at(&part(1, 0), 0, "Hello").is_none());
        assert_eq!(live.remainder(&part(1, 0), "Hello"), None);
        assert!(live.splice_at(&part(2, 0), 0, "Next").is_some());
    }

    #[test]
    fn the_output_of_a_call_is_passed_on_and_not_kept() {
        let mut live = LiveText::default();
        let kind = DeltaKind::ToolOutput { tool_call_id: ToolCallId("c".into()), stream: "stdout".into() };
        let mut fresh = |offset, text| live.splice_at(&kind, offset, text).map(|it| (it.at, it.text));
        assert_eq!(fresh(10, "ten "), Some((10, "ten ")), "who comes late begins in the middle");
        assert_eq!(fresh(10, "ten more"), Some((14, "more")));
        assert_eq!(fresh(10, "ten more"), None);
        assert_eq!(fresh(40, "later"), Some((40, "later")));
        assert_eq!(live.text(&kind), Some(""));
    }

    #[test]
    fn what_is_kept_has_a_limit() {
        let mut live = LiveText::default();
        for number in 0..200 {
            live.splice_at(&part(number, 0), 0, "x");
            live.complete(MessageId::new(Uuid::from_u128(1000 + number)));
        }
        assert!(live.streams.len() <= super::MAX_STREAMS && live.completed.len() <= super::MAX_STREAMS);
        let long = "x".repeat(PART_BYTES);
        assert!(live.splice_at(&part(500, 0), 0, &long).is_some());
        assert!(live.splice_at(&part(500, 0), long.len() as u64, "y").is_none());
        assert_eq!(
            live.remainder(&part(500, 0), &format!("{long}yz")),
            Some("yz"),
            "the message has all of it"
        );
    }
}
