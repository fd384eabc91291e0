//! How much of the streaming message a socket has been sent. Text comes twice when a socket falls behind or joins late (as
//! deltas, as the text so far, as the completed message), and is sent once.

use ostler_types::{MessageId, unseen_part};

/// The read position in the message that streams. A session writes one message at a time.
#[derive(Debug, Default)]
pub(super) struct TextCursor {
    message_id: Option<MessageId>,
    /// The text parts that were sent, and how many bytes of each.
    parts: Vec<(u32, u64)>,
}

/// Text that a socket has not been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnsentText<'a> {
    pub(super) text: &'a str,
    /// Whether it begins a further part of its message. The history joins the parts by line feeds, so events do too.
    pub(super) on_new_line: bool,
}

impl TextCursor {
    /// Moves past a piece of a message's part, and returns the text in it that is new. Text after a gap is left out: the
    /// record of the completed message brings all of it.
    pub(super) fn advance<'a>(
        &mut self,
        message_id: MessageId,
        part: u32,
        offset: u64,
        piece: &'a str,
    ) -> Option<UnsentText<'a>> {
        let has_begun = self.message_id == Some(message_id);
        let known = self.parts.iter_mut().find(|(index, _)| has_begun && *index == part);
        let start = known.as_ref().map_or(0, |(_, bytes)| *bytes);
        let text = unseen_part(start, offset, piece).filter(|_| offset <= start)?;
        let end = offset + piece.len() as u64;
        match known {
            Some((_, bytes)) => *bytes = end,
            None => {
                if !has_begun {
                    self.message_id = Some(message_id);
                    self.parts.clear();
                }
                self.parts.push((part, end));
            }
        }
        Some(UnsentText { text, on_new_line: has_begun && start == 0 })
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::MessageId;
    use uuid::Uuid;

    use super::TextCursor;

    /// What is sent of these pieces (message, part, offset, text), a line feed before each further part.
    fn sent(pieces: &[(u128, u32, u64, &str)]) -> Vec<String> {
        let mut cursor = TextCursor::default();
        let mut send = |&(message, part, offset, text): &(u128, u32, u64, &str)| {
            let fresh = cursor.advance(MessageId::new(Uuid::from_u128(message)), part, offset, text)?;
            Some(format!("{}{}", if fresh.on_new_line { "\n" } else { "" }, fresh.text))
        };
        pieces.iter().filter_map(&mut send).collect()
    }

    #[test]
    fn text_is_sent_once_however_often_it_comes() {
        assert_eq!(sent(&[(1, 0, 0, "ab"), (1, 0, 2, "cd"), (1, 0, 0, "abcdef")]), ["ab", "cd", "ef"]);
        assert_eq!(
            sent(&[(1, 0, 0, "abcd"), (1, 0, 0, "ab"), (1, 0, 2, "cd"), (1, 0, 2, "cde")]),
            ["abcd", "e"]
        );
    }

    #[test]
    fn text_after_a_gap_waits_for_the_whole_message() {
        assert_eq!(sent(&[(1, 0, 4, "ef"), (1, 0, 0, "abcdef")]), ["abcdef"]);
        assert_eq!(sent(&[(1, 0, 0, "ab"), (1, 0, 4, "ef"), (1, 0, 0, "abcdef")]), ["ab", "cdef"]);
    }

    #[test]
    fn each_further_part_of_a_message_begins_on_a_new_line() {
        let parts = [(1, 0, 0, "a"), (1, 2, 0, "b"), (1, 2, 1, "c"), (1, 0, 0, "a"), (1, 2, 0, "bcd")];
        assert_eq!(sent(&parts), ["a", "\nb", "c", "d"]);
        assert_eq!(sent(&[(1, 0, 0, "a"), (2, 0, 0, "b"), (2, 1, 0, "c")]), ["a", "b", "\nc"]);
    }
}
