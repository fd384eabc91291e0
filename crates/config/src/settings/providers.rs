//! The section `providers`: where models are found, and where the keys to them are.

use ostler_models::ProviderPreset;
use serde::{Deserialize, Serialize};

/// A provider of models. What is absent comes from the preset: the one that is named, or the one of the
/// same name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSection {
    /// The protocol that it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ProviderProtocol>,
    /// The preset that it is like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Where its endpoints lie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key. The key itself has no place in a file that people show around.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// The file that holds the key, which nobody else may read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<String>,
    /// The program that prints the key, and its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_command: Option<Vec<String>>,
    /// The recording that a replay answers from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The models to offer; the first is the provider's default.
    pub models: Vec<String>,
}

impl ProviderSection {
    /// The preset that a provider of this name is like, if any.
    pub fn preset(&self, name: &str) -> Option<&'static ProviderPreset> {
        ProviderPreset::named(self.preset.as_deref().unwrap_or(name))
    }

    /// The protocol that it speaks; none if nothing says it.
    pub fn kind(&self, name: &str) -> Option<ProviderProtocol> {
        self.kind.or_else(|| self.preset(name).map(|preset| preset.kind.into()))
    }

    /// Where its endpoints lie; the maker's own place if nothing says it.
    pub fn base_url(&self, name: &str) -> String {
        let given = self.base_url.as_deref().or_else(|| self.preset(name).map(|preset| preset.base_url));
        given.or_else(|| self.kind.map(ProviderProtocol::default_url)).unwrap_or_default().to_owned()
    }

    /// The keys that say where its key is.
    pub fn key_sources(&self) -> Vec<&'static str> {
        let given = [
            ("api_key_env", self.api_key_env.is_some()),
            ("api_key_file", self.api_key_file.is_some()),
            ("api_key_command", self.api_key_command.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

/// The protocols that providers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderProtocol {
    /// OpenAI's Chat Completions, which most other servers speak too.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI's Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// None: it answers from a recording.
    Replay,
}

impl ProviderProtocol {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            ProviderProtocol::OpenAiChat => "openai-chat",
            ProviderProtocol::OpenAiResponses => "openai-responses",
            ProviderProtocol::Anthropic => "anthropic",
            ProviderProtocol::Replay => "replay",
        }
    }

    /// Where the maker's own endpoints lie.
    fn default_url(self) -> &'static str {
        match self {
            ProviderProtocol::OpenAiChat | ProviderProtocol::OpenAiResponses => "https://api.openai.com/v1",
            ProviderProtocol::Anthropic => "https://api.anthropic.com/v1",
            ProviderProtocol::Replay => "",
        }
    }
}

impl From<ostler_models::ProviderKind> for ProviderProtocol {
    fn from(kind: ostler_models::ProviderKind) -> ProviderProtocol {
        match kind {
            ostler_models::ProviderKind::OpenAiChat => ProviderProtocol::OpenAiChat,
            ostler_models::ProviderKind::OpenAiResponses => ProviderProtocol::OpenAiResponses,
            ostler_models::ProviderKind::Anthropic => ProviderProtocol::Anthropic,
            ostler_models::ProviderKind::Replay => ProviderProtocol::Replay,
        }
    }
}

impl From<ProviderProtocol> for ostler_models::ProviderKind {
    fn from(kind: ProviderProtocol) -> ostler_models::ProviderKind {
        match kind {
            ProviderProtocol::OpenAiChat => ostler_models::ProviderKind::OpenAiChat,
            ProviderProtocol::OpenAiResponses => ostler_models::ProviderKind::OpenAiResponses,
            ProviderProtocol::Anthropic => ostler_models::ProviderKind::Anthropic,
            ProviderProtocol::Replay => ostler_models::ProviderKind::Replay,
        }
    }
}
