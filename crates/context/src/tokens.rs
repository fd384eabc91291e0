//! How many tokens a conversation has, about. Nothing here knows a model's tokenizer: text is counted by its
//! bytes, and what the provider said of the last request corrects the rest.

use std::io::Write;
use std::sync::Arc;

use ostler_types::{Message, Part, ToolSpec};
use serde::Serialize;

/// Two sevenths of a token per byte: between prose, with four bytes to a token, and code, with three.
const TOKENS_PER_BYTES: (u64, u64) = (2, 7);
/// What wraps a message, and what wraps a part that is not text.
const PER_MESSAGE: u64 = 4;
const PER_PART: u64 = 8;
/// What a picture takes at the size to which providers bring it.
pub(crate) const PER_PICTURE: u64 = 1_600;
/// What a sound or a document takes, of which nothing is known here but that it is there.
const PER_FILE: u64 = 3_000;
/// How far a provider's own count may be from ours; beyond, it counted something else.
const MIN_RATIO: f64 = 0.4;
const MAX_RATIO: f64 = 4.0;

/// Roughly how many tokens something has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenEstimate(u64);

impl TokenEstimate {
    /// So many.
    pub fn from_tokens(tokens: u64) -> TokenEstimate {
        TokenEstimate(tokens)
    }

    /// Those of one message.
    pub fn of_message(message: &Message) -> TokenEstimate {
        TokenEstimate(PER_MESSAGE + message.parts.iter().map(part_tokens).sum::<u64>())
    }

    /// Those of a conversation.
    pub fn of_messages(messages: &[Arc<Message>]) -> TokenEstimate {
        TokenEstimate(messages.iter().map(|message| TokenEstimate::of_message(message).0).sum())
    }

    /// Those of a whole request.
    pub fn of_request(system: Option<&str>, messages: &[Arc<Message>], tools: &[ToolSpec]) -> TokenEstimate {
        let system = system.map_or(0, |system| PER_MESSAGE + text_tokens(system));
        let tools: u64 = tools.iter().map(|tool| PER_PART + json_tokens(tool)).sum();
        TokenEstimate(system + tools + TokenEstimate::of_messages(messages).0)
    }

    /// How many tokens a request has now, when the provider counted `last_request_tokens` in one that was
    /// estimated at `then` and is estimated at `now`. What has not changed counts as the provider counted it.
    #[must_use]
    pub fn calibrated(last_request_tokens: u64, then: TokenEstimate, now: TokenEstimate) -> TokenEstimate {
        if last_request_tokens == 0 || then.0 == 0 {
            return now;
        }
        let ratio = (last_request_tokens as f64 / then.0 as f64).clamp(MIN_RATIO, MAX_RATIO);
        let known = (then.0 as f64 * ratio) as u64;
        TokenEstimate(if now.0 >= then.0 {
            known + ((now.0 - then.0) as f64 * ratio) as u64
        } else {
            (now.0 as f64 * ratio) as u64
        })
    }

    /// The number.
    pub fn tokens(self) -> u64 {
        self.0
    }
}

/// How many tokens a text has, about.
pub fn text_tokens(text: &str) -> u64 {
    byte_tokens(text.len())
}

/// How many bytes of text so many tokens are, about.
pub fn tokens_to_bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(TOKENS_PER_BYTES.1) / TOKENS_PER_BYTES.0).unwrap_or(usize::MAX)
}

fn byte_tokens(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(TOKENS_PER_BYTES.0).div_ceil(TOKENS_PER_BYTES.1)
}

fn part_tokens(part: &Part) -> u64 {
    match part {
        Part::Text { text } => text_tokens(text),
        Part::Image { .. } => PER_PICTURE,
        Part::Audio { .. } | Part::File { .. } => PER_FILE,
        Part::Reasoning { text, opaque } => {
            // What is opaque is mostly the same text again, sealed; the larger of the two is what counts.
            text_tokens(text).max(opaque.as_ref().map_or(0, json_tokens))
        }
        Part::ToolCall { call } => PER_PART + text_tokens(&call.name) + json_tokens(&call.input),
        Part::ToolResult { name, text, images, .. } => {
            PER_PART + text_tokens(name) + text_tokens(text) + PER_PICTURE * images.len() as u64
        }
    }
}

/// The tokens of a value's JSON, which is counted and not kept.
fn json_tokens(value: &impl Serialize) -> u64 {
    let mut counter = ByteCounter(0);
    // A value that cannot be written is not sent either, and counting cannot fail.
    let _ = serde_json::to_writer(&mut counter, value);
    byte_tokens(counter.0)
}

struct ByteCounter(usize);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenEstimate, text_tokens, tokens_to_bytes};

    #[test]
    fn bytes_and_tokens_agree() {
        for tokens in [0, 1, 7, 100, 12_345] {
            let text = "x".repeat(tokens_to_bytes(tokens));
            assert!(text_tokens(&text) <= tokens, "{tokens}");
            assert!(text_tokens(&format!("{text}xxxx")) > tokens, "{tokens}");
        }
    }

    #[test]
    fn what_the_provider_counted_corrects_the_estimate() {
        let of = TokenEstimate::from_tokens;
        for (last, then, now, expected) in [
            // Nothing is known yet.
            (0, of(100), of(150), 150),
            (100, of(0), of(150), 150),
            // The provider counts more, or less, than we do.
            (200, of(100), of(150), 300),
            (50, of(100), of(200), 100),
            // The conversation was made shorter since.
            (200, of(100), of(50), 100),
            // It counted something else altogether.
            (100_000, of(100), of(100), 400),
        ] {
            assert_eq!(
                TokenEstimate::calibrated(last, then, now).tokens(),
                expected,
                "{last} {then:?} {now:?}"
            );
        }
    }
}
