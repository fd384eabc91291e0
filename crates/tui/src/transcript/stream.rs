//! Text as it streams, shown where it belongs.

use ostler_types::{DeltaKind, LiveText, MessageId, Spliced, ToolCallId, TurnId};

use super::{EntryKind, ModelText, Transcript, TranscriptCallStatus};

/// How much of a running tool's output is held: its end.
const OUTPUT_BYTES: usize = 32 << 10;

impl Transcript {
    /// Shows a delta: the text of its stream as far as it has come, and what the delta has changed of it.
    pub fn stream(
        &mut self,
        turn: Option<TurnId>,
        kind: &DeltaKind,
        live: &LiveText,
        spliced: Option<Spliced<'_>>,
    ) {
        let Some(text) = live.text(kind).filter(|_| !self.detached) else { return };
        match kind {
            DeltaKind::Text { message_id, part } => {
                self.spoken(turn, (*message_id, *part), EntryKind::Answer, text, spliced);
            }
            DeltaKind::Reasoning { message_id, part } => {
                self.spoken(turn, (*message_id, *part), EntryKind::Thinking, text, spliced);
            }
            DeltaKind::ToolOutput { tool_call_id, .. } => self.printed(turn, tool_call_id, spliced),
        }
    }

    fn spoken(
        &mut self,
        turn: Option<TurnId>,
        (id, part): (MessageId, u32),
        kind: impl Fn(ModelText) -> EntryKind,
        text: &str,
        spliced: Option<Spliced<'_>>,
    ) {
        let is_part = |kind: &EntryKind| matches!(kind, EntryKind::Answer(spoken) | EntryKind::Thinking(spoken) if spoken.id == id && spoken.part == part);
        // The transcript may have begun anew since the text began to stream.
        if !text.is_empty() && !self.entries.iter().rev().any(|entry| is_part(&entry.kind)) {
            let spoken = ModelText { id, part, text: text.to_owned(), done: false };
            return self.push(self.cursor, turn, kind(spoken));
        }
        let Some(spliced) = spliced else { return };
        self.change(
            |entry| is_part(&entry.kind),
            |entry| {
                if let EntryKind::Answer(spoken) | EntryKind::Thinking(spoken) = &mut entry.kind
                    && !spoken.done
                {
                    spoken.text.truncate(usize::try_from(spliced.at).unwrap_or(usize::MAX));
                    spoken.text.push_str(spliced.text);
                }
            },
        );
    }

    fn printed(&mut self, turn: Option<TurnId>, id: &ToolCallId, spliced: Option<Spliced<'_>>) {
        self.change(
            |entry| super::is_call(entry, turn, id),
            |entry| {
                let EntryKind::ToolCall(call) = &mut entry.kind else { return };
                if call.status.is_over() {
                    return;
                }
                call.advance(TranscriptCallStatus::Running);
                if let Some(spliced) = spliced {
                    call.output.push_str(spliced.text);
                    cut_front(&mut call.output);
                }
            },
        );
    }
}

fn cut_front(output: &mut String) {
    if output.len() > 2 * OUTPUT_BYTES {
        let at = output.ceil_char_boundary(output.len() - OUTPUT_BYTES);
        output.drain(..at);
    }
}
