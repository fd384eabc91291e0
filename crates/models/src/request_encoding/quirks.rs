//! In what servers of one protocol differ, by the host that is asked. A host that is not known gets
//! what most servers take, and no field that only some know.

use reqwest::Url;

use super::call_ids::IdRule;

/// How one host wants to be spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HostQuirks {
    /// The field that limits an answer in Chat Completions.
    pub(crate) limit: LimitField,
    /// The field that says how much to think in Chat Completions.
    pub(crate) effort: EffortField,
    /// Whether `none` is among its words for that. Where it is not, or nobody knows, nothing is said.
    pub(crate) none_is_a_word: bool,
    /// Whether it takes `prompt_cache_key` in Chat Completions.
    pub(crate) cache_key: bool,
    /// What it wants back of a model's reasoning in Chat Completions.
    pub(crate) reasoning: ReturnedReasoning,
    /// Whether a system message may stand inside a conversation.
    pub(crate) late_system: bool,
    /// Whether a result of a call may hold images in Responses.
    pub(crate) images_in_results: bool,
    /// The ids of calls that it takes in Chat Completions.
    pub(crate) ids: IdRule,
    /// Whether the user may speak right after a result in Chat Completions.
    pub(crate) user_after_result: bool,
    /// Whether it wants a signature of Google's with the calls of a step in Chat Completions.
    pub(crate) signed_calls: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffortField {
    /// `reasoning_effort`, in the words that each of OpenAI's models has.
    OpenAi,
    /// `reasoning_effort`, in the words that most servers have.
    Plain,
    /// `reasoning: {effort}`.
    Nested,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReturnedReasoning {
    Nothing,
    /// The `reasoning_details` that it gave.
    Details,
    /// The text, in `reasoning_content` of messages with calls, which are refused without it.
    Content,
}

/// A server of which nothing is known.
pub(crate) const UNKNOWN_HOST: HostQuirks = HostQuirks {
    limit: LimitField::MaxTokens,
    effort: EffortField::Plain,
    none_is_a_word: false,
    cache_key: false,
    reasoning: ReturnedReasoning::Nothing,
    late_system: false,
    images_in_results: false,
    ids: IdRule::Short,
    user_after_result: true,
    signed_calls: false,
};

/// OpenAI's own.
pub(crate) const OPENAI: HostQuirks = HostQuirks {
    limit: LimitField::MaxCompletionTokens,
    effort: EffortField::OpenAi,
    none_is_a_word: true,
    cache_key: true,
    late_system: true,
    images_in_results: true,
    ..UNKNOWN_HOST
};

/// One that passes requests on to many others.
pub(crate) const OPENROUTER: HostQuirks = HostQuirks {
    effort: EffortField::Nested,
    none_is_a_word: true,
    reasoning: ReturnedReasoning::Details,
    late_system: true,
    ..UNKNOWN_HOST
};

const REASONING_CONTENT: HostQuirks = HostQuirks { reasoning: ReturnedReasoning::Content, ..UNKNOWN_HOST };
const XAI: HostQuirks = HostQuirks { none_is_a_word: true, ..UNKNOWN_HOST };

/// Mistral's own.
pub(crate) const MISTRAL: HostQuirks =
    HostQuirks { ids: IdRule::NineLetters, user_after_result: false, none_is_a_word: true, ..UNKNOWN_HOST };

/// Google's own.
pub(crate) const GOOGLE: HostQuirks = HostQuirks { signed_calls: true, ..UNKNOWN_HOST };

/// Hosts by the end of their name.
const HOSTS: [(&str, HostQuirks); 8] = [
    ("api.openai.com", OPENAI),
    ("openrouter.ai", OPENROUTER),
    ("deepseek.com", REASONING_CONTENT),
    ("moonshot.ai", REASONING_CONTENT),
    ("moonshot.cn", REASONING_CONTENT),
    ("mistral.ai", MISTRAL),
    ("api.x.ai", XAI),
    ("googleapis.com", GOOGLE),
];

impl HostQuirks {
    /// The quirks of the host of an address.
    pub(crate) fn for_url(url: &Url) -> HostQuirks {
        let host = url.host_str().unwrap_or_default();
        let known = HOSTS.iter().find(|(name, _)| {
            host.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        });
        known.map_or(UNKNOWN_HOST, |(_, quirks)| *quirks)
    }
}

#[cfg(test)]
mod tests {
    use super::{GOOGLE, HostQuirks, MISTRAL, OPENAI, OPENROUTER, REASONING_CONTENT, UNKNOWN_HOST, XAI};

    #[test]
    fn hosts_are_known_by_their_whole_name() {
        for (url, expected) in [
            ("https://api.openai.com/v1/chat/completions", OPENAI),
            ("https://eu.api.openai.com/v1/responses", OPENAI),
            ("https://openrouter.ai/api/v1/chat/completions", OPENROUTER),
            ("https://api.deepseek.com/v1", REASONING_CONTENT),
            ("https://api.mistral.ai/v1", MISTRAL),
            ("https://api.x.ai/v1", XAI),
            ("https://generativelanguage.googleapis.com/v1beta/openai", GOOGLE),
            ("https://notopenrouter.ai/v1", UNKNOWN_HOST),
            ("https://openrouter.ai.example.org/v1", UNKNOWN_HOST),
            ("http://127.0.0.1:8080/v1", UNKNOWN_HOST),
        ] {
            assert_eq!(HostQuirks::for_url(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
