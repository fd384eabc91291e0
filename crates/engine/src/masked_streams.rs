//! Text as it streams, without secrets. A key may come in several pieces: what could be the beginning of one is held
//! back until the next piece shows what it is. Masks are as long as what they hide, so that offsets stay true; the
//! record of the message, which follows, has the rest.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use ostler_types::{Delta, DeltaKind, Secrets, stream_tail_start};

/// Streams whose ends are remembered, the newest: a turn has one for its answer and one for each running call.
const MAX_STREAM_ENDS: usize = 256;

/// The streams of one turn.
#[derive(Default)]
pub(crate) struct MaskedStreams {
    ends: Mutex<VecDeque<StreamEnd>>,
}

/// The end of a stream as it came: the last bytes that were shown, with which a key may begin, and what is held back.
struct StreamEnd {
    kind: DeltaKind,
    offset: u64,
    text: String,
    /// Length of the part at its start that subscribers have seen, in bytes.
    shown: usize,
}

impl MaskedStreams {
    /// What may be shown of a stream after this delta; none if it has to wait.
    pub(crate) fn mask(&self, secrets: &Secrets, delta: Delta) -> Option<Delta> {
        if secrets.is_empty() {
            return Some(delta);
        }
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let before = ends.iter().position(|end| end.kind == delta.kind).and_then(|at| ends.remove(at));
        let StreamEnd { kind, offset, text, shown } = extended_end(before, delta);
        let (masked, waits) = secrets.mask_stream(&text);
        let end = masked.floor_char_boundary(masked.len() - waits).max(shown);
        let delta = (end > shown).then(|| Delta {
            kind: kind.clone(),
            offset: offset + shown as u64,
            text: masked[shown..end].to_owned(),
        });
        let kept = stream_tail_start(&text[..end]);
        if ends.len() == MAX_STREAM_ENDS {
            ends.pop_front();
        }
        ends.push_back(StreamEnd {
            kind,
            offset: offset + kept as u64,
            text: text[kept..].to_owned(),
            shown: end - kept,
        });
        delta
    }
}

/// The end of a stream with what follows it. One that is written over is forgotten.
fn extended_end(before: Option<StreamEnd>, delta: Delta) -> StreamEnd {
    match before {
        Some(before) if before.offset + before.text.len() as u64 == delta.offset => {
            StreamEnd { text: before.text + &delta.text, ..before }
        }
        Some(_) | None => StreamEnd { kind: delta.kind, offset: delta.offset, text: delta.text, shown: 0 },
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::{Delta, DeltaKind, MessageId, Secrets};

    use super::MaskedStreams;

    #[test]
    fn a_key_in_any_pieces_is_never_shown_and_no_offset_moves() {
        let (key, secrets) = ("sk-0123456789é", Secrets::default());
        secrets.add(key);
        let coloured = "sk-\u{1b}[31m012\u{200b}34567\u{1b}[m89é";
        let text = format!("sk say {key} and {key}{key} sk-01 {coloured} end");
        let kind = DeltaKind::Text { message_id: MessageId::new(uuid::Uuid::nil()), part: 0 };
        for size in 1..text.len() {
            let (streams, mut shown, mut offset) = (MaskedStreams::default(), String::new(), 0);
            while offset < text.len() {
                let mut end = (offset + size).min(text.len());
                while !text.is_char_boundary(end) {
                    end += 1;
                }
                let delta =
                    Delta { kind: kind.clone(), offset: offset as u64, text: text[offset..end].to_owned() };
                if let Some(delta) = streams.mask(&secrets, delta) {
                    assert_eq!(delta.offset, shown.len() as u64, "in pieces of {size}");
                    shown.push_str(&delta.text);
                }
                offset = end;
            }
            // A piece may end so soon in a key that nothing is known of it yet.
            let masked = text.replace(key, &"*".repeat(key.len()));
            let masked = masked.replace(coloured, &"*".repeat(coloured.len()));
            assert_eq!(shown.len(), text.len());
            for (place, (shown, masked)) in shown.bytes().zip(masked.bytes()).enumerate() {
                let begins = |start: &[u8]| {
                    (1..=start.len()).any(|end| text.as_bytes()[..=place].ends_with(&start[..end]))
                };
                let begins = begins(&key.as_bytes()[..3]) || begins(&coloured.as_bytes()[..8]);
                assert!(shown == masked || masked == b'*' && begins, "byte {place} in pieces of {size}");
            }
        }
    }
}
