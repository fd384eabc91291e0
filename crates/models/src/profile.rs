//! What a provider's client knows of the model that it speaks to.

use ostler_types::ModelInfo;

/// One model of one provider.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelProfile {
    /// Its name at its provider.
    pub(crate) id: String,
    /// What is known of it.
    pub(crate) info: ModelInfo,
    /// How it is told how much to think.
    pub(crate) thinking: ThinkingControl,
}

/// How a model is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingControl {
    /// Nobody has said. It is told only when someone asks, in the way that its protocol prefers.
    Unknown,
    /// It does not think; telling it would be refused.
    Never,
    /// By a word.
    Effort,
    /// By a number of tokens.
    Budget,
    /// It decides for itself, and a word guides it.
    Adaptive,
}

impl ModelProfile {
    /// A model of which only the name is known.
    #[cfg(test)]
    pub(crate) fn unknown(provider: &str, id: &str) -> ModelProfile {
        let info = ModelInfo::unknown(format!("{provider}:{id}"));
        ModelProfile { id: id.to_owned(), info, thinking: ThinkingControl::Unknown }
    }
}
