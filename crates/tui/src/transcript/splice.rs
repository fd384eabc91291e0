//! Text as it streams, put where it belongs. A piece that comes twice, or late, changes nothing.

use ostler_types::{Delta, DeltaKind, MessageId, ToolCallId, TurnId};

use super::{CallStatus, Kind, Spoken, Transcript};

/// How much of a running tool's output is held: its end.
const OUTPUT_BYTES: usize = 32 << 10;
/// The longest text that is spliced; a message that is longer is seen when it is whole.
const TEXT_BYTES: usize = 1 << 20;

impl Transcript {
    /// Splices a delta. Says whether anything changed.
    pub fn splice(&mut self, turn: Option<TurnId>, delta: &Delta) -> bool {
        if self.detached {
            return false;
        }
        match &delta.kind {
            DeltaKind::Text { message_id, part } => self.spoken(turn, *message_id, *part, false, delta),
            DeltaKind::Reasoning { message_id, part } => self.spoken(turn, *message_id, *part, true, delta),
            DeltaKind::ToolOutput { tool_call_id, stream } => self.printed(turn, tool_call_id, stream, delta),
        }
    }

    fn spoken(
        &mut self,
        turn: Option<TurnId>,
        id: MessageId,
        part: u32,
        thinking: bool,
        delta: &Delta,
    ) -> bool {
        if self.completed.contains(&id) {
            return false;
        }
        let mut changed = false;
        let found = self.change(
            |entry| matches!(&entry.kind, Kind::Answer(spoken) | Kind::Thinking(spoken) if spoken.id == id && spoken.part == part),
            |entry| {
                if let Kind::Answer(spoken) | Kind::Thinking(spoken) = &mut entry.kind
                    && !spoken.done
                {
                    changed = splice(&mut spoken.text, delta);
                }
            },
        );
        if found {
            return changed;
        }
        // Whoever comes late is given the text from its beginning; a piece without one is left for the whole.
        if delta.offset > 0 {
            return false;
        }
        let spoken = Spoken { id, part, text: delta.text.clone(), done: false };
        let kind = if thinking { Kind::Thinking(spoken) } else { Kind::Answer(spoken) };
        self.push(self.cursor, turn, kind);
        true
    }

    fn printed(&mut self, turn: Option<TurnId>, id: &ToolCallId, stream: &str, delta: &Delta) -> bool {
        let mut changed = false;
        self.change(
            |entry| super::is_call(entry, turn, id),
            |entry| {
                let Kind::Call(call) = &mut entry.kind else { return };
                if call.status.is_over() {
                    return;
                }
                call.advance(CallStatus::Running);
                let known = call.streams.iter().position(|(name, _)| name == stream);
                let index = known.unwrap_or_else(|| {
                    call.streams.push((stream.to_owned(), delta.offset));
                    call.streams.len() - 1
                });
                let at = &mut call.streams[index].1;
                let seen = usize::try_from(at.saturating_sub(delta.offset)).unwrap_or(usize::MAX);
                let Some(fresh) = delta.text.get(seen..).filter(|fresh| !fresh.is_empty()) else { return };
                *at = delta.offset + delta.text.len() as u64;
                call.output.push_str(fresh);
                cut_front(&mut call.output);
                changed = true;
            },
        );
        changed
    }
}

/// Writes a piece at its offset, over what may stand there. Beyond the end it is left: the whole text brings it.
fn splice(text: &mut String, delta: &Delta) -> bool {
    let Ok(offset) = usize::try_from(delta.offset) else { return false };
    let end = offset + delta.text.len();
    if offset > text.len() || end > TEXT_BYTES || !text.is_char_boundary(offset) {
        return false;
    }
    if text.get(offset..end) == Some(delta.text.as_str()) {
        return false;
    }
    text.truncate(offset);
    text.push_str(&delta.text);
    true
}

fn cut_front(output: &mut String) {
    if output.len() > 2 * OUTPUT_BYTES {
        let mut at = output.len() - OUTPUT_BYTES;
        while !output.is_char_boundary(at) {
            at += 1;
        }
        output.drain(..at);
    }
}
