//! The shapes of a Chat Completions response, as far as they are read. What they mean is left to the
//! decoder. A piece of text is borrowed, and nothing is made on the way to it.

use std::borrow::Cow;
use std::fmt;

use ostler_types::Usage;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// One chunk of the stream, or a whole completion.
#[derive(Deserialize)]
pub(super) struct ChatChunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<ChatChoices<'a>>,
    /// Read only where there is one: most chunks have none.
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// Of an error that is not wrapped in `error`.
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
}

/// The choices of a chunk. There is one in nearly all, for which no list is made.
#[derive(Default)]
pub(super) struct ChatChoices<'a> {
    first: Option<ChatChoice<'a>>,
    rest: Vec<ChatChoice<'a>>,
}

impl<'a> ChatChoices<'a> {
    pub(super) fn into_iter(self) -> impl Iterator<Item = ChatChoice<'a>> {
        self.first.into_iter().chain(self.rest)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ChatChoices<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ChatChoices<'a>, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = ChatChoices<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ChatChoices<'de>, A::Error> {
                let mut choices = ChatChoices { first: list.next_element()?, rest: Vec::new() };
                while let Some(choice) = list.next_element()? {
                    choices.rest.push(choice);
                }
                Ok(choices)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

#[derive(Deserialize)]
pub(super) struct ChatChoice<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<ChatDelta<'a>>,
    /// In place of `delta`, in a completion that is not streamed.
    #[serde(borrow)]
    pub(super) message: Option<ChatDelta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<ChatText<'a>>,
}

/// A piece of an answer.
#[derive(Deserialize)]
pub(super) struct ChatDelta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<ChatContent<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<ChatText<'a>>,
    #[serde(borrow)]
    pub(super) reasoning: Option<ChatText<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<ChatText<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ChatCallDelta<'a>>>,
}

/// Text, or a list of pieces of it, which some servers send for models that think.
pub(super) enum ChatContent<'a> {
    Text(Cow<'a, str>),
    Pieces(Vec<ChatContentPiece<'a>>),
}

impl<'de: 'a, 'a> Deserialize<'de> for ChatContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ChatContent<'a>, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ChatContent<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of pieces")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<ChatContent<'de>, E> {
                Ok(ChatContent::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<ChatContent<'de>, E> {
                Ok(ChatContent::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ChatContent<'de>, A::Error> {
                let mut pieces = Vec::new();
                while let Some(piece) = list.next_element()? {
                    pieces.push(piece);
                }
                Ok(ChatContent::Pieces(pieces))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[derive(Deserialize)]
pub(super) struct ChatContentPiece<'a> {
    #[serde(borrow)]
    pub(super) text: Option<ChatText<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Vec<Thought<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct Thought<'a> {
    #[serde(borrow)]
    pub(super) text: Option<ChatText<'a>>,
}

/// A piece of a tool call.
#[derive(Deserialize)]
pub(super) struct ChatCallDelta<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Option<ChatText<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<ChatFunctionDelta<'a>>,
    /// What Google wants back with the call.
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
pub(super) struct ChatFunctionDelta<'a> {
    #[serde(borrow)]
    pub(super) name: Option<ChatText<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A wrapper because an optional `Cow` would always be copied.
#[derive(Deserialize)]
pub(super) struct ChatText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[derive(Deserialize)]
pub(super) struct ChatUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// Where DeepSeek says what came from its cache.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl From<ChatUsage> for Usage {
    fn from(wire: ChatUsage) -> Usage {
        let (prompt, completion) = (wire.prompt_tokens_details, wire.completion_tokens_details);
        let cached = prompt.as_ref().and_then(|details| details.cached_tokens);
        let input = wire.prompt_tokens.unwrap_or(0);
        // xAI leaves the reasoning out of the completion, and counts it in the total only.
        let rest = wire.total_tokens.map_or(0, |total| total.saturating_sub(input));
        Usage {
            input_tokens: input,
            output_tokens: wire.completion_tokens.unwrap_or(0).max(rest),
            cached_tokens: cached.or(wire.prompt_cache_hit_tokens).unwrap_or(0),
            cache_write_tokens: prompt.and_then(|details| details.cache_write_tokens).unwrap_or(0),
            reasoning_tokens: completion.and_then(|details| details.reasoning_tokens).unwrap_or(0),
            ..Usage::default()
        }
    }
}
