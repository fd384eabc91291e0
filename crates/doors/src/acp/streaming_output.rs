//! What streams: text of the model, of which each piece is told once, and output of running calls, which this
//! protocol replaces as a whole, so that only its end is told, and not too often.

use std::time::Duration;

use ostler_types::{MessageId, unseen_part};
use tokio::time::Instant;

/// Bytes of a running call's output that are shown; its result has more.
const MAX_OUTPUT_BYTES: usize = 16 * 1024;
/// How long new output may wait for more.
const MAX_UPDATE_DELAY: Duration = Duration::from_millis(100);
/// Parts of messages of which it is known how much was told.
const PARTS: usize = 64;

/// How much of each part has been told.
#[derive(Default)]
pub(super) struct EditorTextCursor(Vec<(MessageId, u32, u64)>);

impl EditorTextCursor {
    /// What is new of a piece; nothing when it was told, or when something before it is missing, which will
    /// come with the whole message.
    pub(super) fn advance<'a>(&mut self, id: MessageId, part: u32, offset: u64, text: &'a str) -> &'a str {
        let place = self.0.iter().position(|(of, number, _)| (*of, *number) == (id, part));
        let place = place.unwrap_or_else(|| {
            if self.0.len() == PARTS {
                self.0.remove(0);
            }
            self.0.push((id, part, 0));
            self.0.len() - 1
        });
        let told = &mut self.0[place].2;
        let Some(fresh) = unseen_part(*told, offset, text).filter(|_| offset <= *told) else { return "" };
        *told += fresh.len() as u64;
        fresh
    }

    /// Forgets a message that is whole.
    pub(super) fn forget(&mut self, id: MessageId) {
        self.0.retain(|(of, ..)| *of != id);
    }
}

/// The output of a running call.
#[derive(Default)]
pub(super) struct EditorCallOutput {
    text: String,
    /// How much has come of each stream.
    streams: Vec<(String, u64)>,
    unshown_since: Option<Instant>,
}

impl EditorCallOutput {
    /// Takes a piece. One that has been seen adds only what is new of it; what lies between is left out.
    pub(super) fn splice(&mut self, stream: &str, offset: u64, text: &str) {
        let place = self.streams.iter().position(|(name, _)| name == stream).unwrap_or_else(|| {
            self.streams.push((stream.to_owned(), 0));
            self.streams.len() - 1
        });
        let seen = &mut self.streams[place].1;
        let Some(fresh) = unseen_part(*seen, offset, text) else { return };
        *seen = offset + text.len() as u64;
        self.text.push_str(fresh);
        if self.text.len() > 2 * MAX_OUTPUT_BYTES {
            let cut = self.text.ceil_char_boundary(self.text.len() - MAX_OUTPUT_BYTES);
            self.text.drain(..cut);
        }
        self.unshown_since.get_or_insert_with(Instant::now);
    }

    /// When what has come is to be told.
    pub(super) fn update_due_at(&self) -> Option<Instant> {
        self.unshown_since.map(|since| since + MAX_UPDATE_DELAY)
    }

    /// The end of it, if something is new and it is time.
    pub(super) fn take(&mut self, now: Instant) -> Option<String> {
        self.update_due_at().filter(|due| *due <= now)?;
        self.unshown_since = None;
        let from = self.text.ceil_char_boundary(self.text.len().saturating_sub(MAX_OUTPUT_BYTES));
        Some(self.text[from..].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::MessageId;
    use uuid::Uuid;

    use super::EditorTextCursor;

    #[test]
    fn each_piece_is_told_once_and_none_before_its_time() {
        let (mut told, id) = (EditorTextCursor::default(), MessageId::new(Uuid::from_u128(1)));
        assert_eq!(told.advance(id, 0, 0, "ein "), "ein ");
        assert_eq!(told.advance(id, 0, 0, "ein ä"), "ä", "a piece that grew");
        assert_eq!(told.advance(id, 0, 4, "ä"), "", "a piece that was told");
        assert_eq!(told.advance(id, 0, 9, "later"), "", "something is missing before it");
        assert_eq!(told.advance(id, 1, 0, "other"), "other", "another part");
        assert_eq!(told.advance(id, 0, 0, "ein ä und later"), " und later", "the whole message");
    }
}
