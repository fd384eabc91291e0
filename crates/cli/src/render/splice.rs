//! Remembers how much of each streamed part has been drawn, and says what is new in a piece of it.

use std::collections::VecDeque;

/// What is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKind {
    Text,
    Reasoning,
}

/// How far the newest parts are drawn.
#[derive(Debug, Default)]
pub(super) struct Splicer {
    streams: VecDeque<Stream>,
    /// Messages that are drawn to their end; a late delta of theirs adds nothing.
    completed: VecDeque<String>,
}

#[derive(Debug)]
struct Stream {
    message: String,
    part: u32,
    /// In bytes of the original text.
    drawn: usize,
}

/// How many parts and messages are remembered. A session writes one message at a time, and a
/// connection that comes back repeats no more than that one.
const REMEMBERED: usize = 64;

impl Splicer {
    /// What has not been drawn of a piece that belongs at `offset`. A piece beyond the end of what is
    /// drawn is left: the text between would be missing, and the completed message brings both.
    pub(super) fn splice<'a>(
        &mut self,
        message: &str,
        part: u32,
        offset: u64,
        text: &'a str,
    ) -> Option<&'a str> {
        if self.completed.iter().any(|completed| completed == message) {
            return None;
        }
        let offset = usize::try_from(offset).ok()?;
        let stream = self.stream(message, part);
        let fresh = text.get(stream.drawn.checked_sub(offset)?..)?;
        stream.drawn += fresh.len();
        (!fresh.is_empty()).then_some(fresh)
    }

    /// The message is whole.
    pub(super) fn complete(&mut self, message: &str) {
        self.streams.retain(|stream| stream.message != message);
        if self.completed.len() == REMEMBERED {
            self.completed.pop_front();
        }
        self.completed.push_back(message.to_owned());
    }

    fn stream(&mut self, message: &str, part: u32) -> &mut Stream {
        let known = self.streams.iter().position(|stream| stream.message == message && stream.part == part);
        let index = known.unwrap_or_else(|| {
            if self.streams.len() == REMEMBERED {
                self.streams.pop_front();
            }
            self.streams.push_back(Stream { message: message.to_owned(), part, drawn: 0 });
            self.streams.len() - 1
        });
        &mut self.streams[index]
    }
}
