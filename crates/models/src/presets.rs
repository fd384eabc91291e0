//! Providers that work without configuration: where they are, what they speak, which variable holds
//! their key. Says nothing about their models but which one is taken first; reading variables is left to
//! the caller.

use crate::ProviderKind;

/// A provider that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderPreset {
    /// What comes before the colon in a model's name.
    pub name: &'static str,
    /// The protocol that it speaks.
    pub kind: ProviderKind,
    /// Where its endpoints lie.
    pub base_url: &'static str,
    /// The variable by which its users move it elsewhere, if there is a customary one.
    pub base_url_variable: Option<&'static str>,
    /// The variables that customarily hold its key, the first that is set; none if it asks for no key.
    pub key_variables: &'static [&'static str],
    /// The model that is taken when nobody names one; none where only the server knows what it has.
    pub flagship: Option<&'static str>,
}

/// All presets, in the order in which a default is looked for.
pub const PRESETS: [ProviderPreset; 12] = [
    ProviderPreset {
        base_url_variable: Some("ANTHROPIC_BASE_URL"),
        ..hosted(
            "anthropic",
            ProviderKind::Anthropic,
            "https://api.anthropic.com/v1",
            &["ANTHROPIC_API_KEY"],
            "claude-sonnet-5",
        )
    },
    ProviderPreset {
        base_url_variable: Some("OPENAI_BASE_URL"),
        ..hosted(
            "openai",
            ProviderKind::OpenAiResponses,
            "https://api.openai.com/v1",
            &["OPENAI_API_KEY"],
            "gpt-5.5",
        )
    },
    chat("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"], "anthropic/claude-sonnet-5"),
    chat(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        "gemini-3.5-flash",
    ),
    chat("xai", "https://api.x.ai/v1", &["XAI_API_KEY"], "grok-4.3"),
    chat("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"], "mistral-medium-2604"),
    chat("deepseek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"], "deepseek-v4-pro"),
    chat("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], "openai/gpt-oss-120b"),
    local("ollama", "http://127.0.0.1:11434/v1"),
    local("llamacpp", "http://127.0.0.1:8080/v1"),
    local("lmstudio", "http://127.0.0.1:1234/v1"),
    local("vllm", "http://127.0.0.1:8000/v1"),
];

impl ProviderPreset {
    /// The preset of this name.
    pub fn named(name: &str) -> Option<&'static ProviderPreset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The hosted preset whose endpoints lie on this host.
    pub(crate) fn on_host(host: &str) -> Option<&'static ProviderPreset> {
        PRESETS.iter().find(|preset| {
            let own = preset.base_url.split_once("://").and_then(|(_, rest)| rest.split('/').next());
            !preset.key_variables.is_empty() && own == Some(host)
        })
    }
}

const fn hosted(
    name: &'static str,
    kind: ProviderKind,
    base_url: &'static str,
    key_variables: &'static [&'static str],
    flagship: &'static str,
) -> ProviderPreset {
    ProviderPreset { name, kind, base_url, base_url_variable: None, key_variables, flagship: Some(flagship) }
}

const fn chat(
    name: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
    flagship: &'static str,
) -> ProviderPreset {
    hosted(name, ProviderKind::OpenAiChat, base_url, key_variables, flagship)
}

const fn local(name: &'static str, base_url: &'static str) -> ProviderPreset {
    ProviderPreset {
        name,
        kind: ProviderKind::OpenAiChat,
        base_url,
        base_url_variable: None,
        key_variables: &[],
        flagship: None,
    }
}

#[cfg(test)]
mod tests {
    use super::{PRESETS, ProviderPreset};
    use crate::catalogue;

    #[test]
    fn hosted_presets_have_a_key_and_a_flagship_that_the_catalogue_knows() {
        for preset in &PRESETS {
            assert_eq!(preset.key_variables.is_empty(), preset.flagship.is_none(), "{}", preset.name);
            let Some(flagship) = preset.flagship else { continue };
            let rows = catalogue::rows(preset.name);
            assert!(rows.iter().any(|row| row.id == flagship), "{}: {flagship}", preset.name);
        }
    }

    #[test]
    fn a_host_belongs_to_a_hosted_preset_only() {
        assert_eq!(ProviderPreset::on_host("api.openai.com").map(|preset| preset.name), Some("openai"));
        assert_eq!(ProviderPreset::on_host("127.0.0.1"), None);
        assert_eq!(ProviderPreset::on_host("127.0.0.1:8080"), None);
    }
}
