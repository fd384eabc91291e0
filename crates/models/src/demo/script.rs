//! An answer of the demo model as a stream: text in pieces of a few words, calls, usage, stop.

use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use ostler_types::{Cost, Usage};

use super::clause::CallIntent;
use crate::{ModelError, ModelEvent, ModelRequest};

/// The pause between two words that are said slowly.
const SLOW_WORD_PAUSE: Duration = Duration::from_millis(60);
/// How many words a piece of text holds.
const WORDS_PER_PIECE: usize = 4;
/// How many characters of a call's input come at once.
const INPUT_PER_PIECE: usize = 24;

/// What will be streamed.
#[derive(Debug)]
pub(super) struct Script {
    events: Vec<TimedEvent>,
    usage_bytes: UsageBytes,
}

#[derive(Debug)]
struct TimedEvent {
    pause: Option<Duration>,
    event: ModelEvent,
}

#[derive(Debug, Default)]
struct UsageBytes {
    input: usize,
    output: usize,
    reasoning: usize,
}

impl Script {
    /// An empty answer to this request.
    pub(super) fn new(request: &ModelRequest) -> Script {
        let system = request.system.as_ref().map_or(0, String::len);
        let messages: usize = request.messages.iter().map(|message| message.size()).sum();
        let tools = request.tools.iter();
        let tools: usize =
            tools.map(|tool| tool.description.len() + tool.input_schema.to_string().len()).sum();
        let usage_bytes = UsageBytes { input: system + messages + tools, ..UsageBytes::default() };
        Script { events: Vec::new(), usage_bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Adds a paragraph.
    pub(super) fn say(&mut self, text: &str) {
        self.paragraph();
        for piece in pieces(text, WORDS_PER_PIECE) {
            self.text(piece, None);
        }
    }

    /// Adds a paragraph that comes word by word.
    pub(super) fn say_slowly(&mut self, text: &str) {
        self.paragraph();
        for (index, word) in pieces(text, 1).enumerate() {
            self.text(word, (index > 0).then_some(SLOW_WORD_PAUSE));
        }
    }

    /// Adds reasoning.
    pub(super) fn reason(&mut self, text: &str) {
        for piece in pieces(text, WORDS_PER_PIECE) {
            self.usage_bytes.reasoning += piece.len();
            self.events.push(TimedEvent { pause: None, event: ModelEvent::Reasoning(piece.to_owned()) });
        }
    }

    /// Ends the answer with these calls, numbered on from those of the conversation so that ids stay
    /// unique in it.
    pub(super) fn end_with_calls(mut self, calls_so_far: usize, calls: &[CallIntent]) -> Script {
        for (index, call) in calls.iter().enumerate() {
            let id = Some(format!("demo_call_{}", calls_so_far + index + 1));
            let (name, input) = (call.tool.to_owned(), call.input().to_string());
            self.usage_bytes.output += name.len() + input.len();
            self.events.push(TimedEvent { pause: None, event: ModelEvent::CallStarted { index, id, name } });
            let characters: Vec<char> = input.chars().collect();
            for piece in characters.chunks(INPUT_PER_PIECE) {
                let fragment = piece.iter().collect();
                self.events
                    .push(TimedEvent { pause: None, event: ModelEvent::CallInput { index, fragment } });
            }
        }
        self.stop("tool_calls")
    }

    /// Ends the answer, and with it the turn.
    pub(super) fn end_turn(self) -> Script {
        self.stop("end_turn")
    }

    /// Plays it.
    pub(super) fn stream(self) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let play = |beat: TimedEvent| async move {
            if let Some(pause) = beat.pause {
                tokio::time::sleep(pause).await;
            }
            Ok(beat.event)
        };
        stream::iter(self.events).then(play).boxed()
    }

    /// Sets what follows apart from the text before it.
    fn paragraph(&mut self) {
        if self.events.iter().any(|beat| matches!(beat.event, ModelEvent::Text(_))) {
            self.text("\n\n", None);
        }
    }

    fn text(&mut self, piece: &str, pause: Option<Duration>) {
        self.usage_bytes.output += piece.len();
        self.events.push(TimedEvent { pause, event: ModelEvent::Text(piece.to_owned()) });
    }

    fn stop(mut self, reason: &str) -> Script {
        let UsageBytes { input, output, reasoning } = self.usage_bytes;
        let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX);
        let usage = Usage {
            input_tokens: tokens(input),
            output_tokens: tokens(output + reasoning),
            reasoning_tokens: tokens(reasoning),
            cost_usd: Some(Cost::default()),
            ..Usage::default()
        };
        for event in [ModelEvent::Usage(usage), ModelEvent::Stop(reason.to_owned())] {
            self.events.push(TimedEvent { pause: None, event });
        }
        self
    }
}

/// Cuts text after every so many words; the pieces joined are the text.
fn pieces(text: &str, words: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut seen = 0;
        let mut in_word = false;
        let end = rest.char_indices().find_map(|(at, c)| {
            let begins = !in_word && !c.is_whitespace();
            in_word = !c.is_whitespace();
            seen += usize::from(begins);
            (begins && seen > words).then_some(at)
        });
        let (piece, tail) = rest.split_at(end.unwrap_or(rest.len()));
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_joined_are_the_text() {
        for text in ["", " ", "one", "one two", "  a\n\nb  c\td e ", "ä€ 😀 ü"] {
            for words in 1..4 {
                assert_eq!(pieces(text, words).collect::<String>(), text);
            }
        }
        assert_eq!(pieces("a b c d e", 2).collect::<Vec<_>>(), ["a b ", "c d ", "e"]);
    }
}
