//! What is known of one model, from all who have something to say: what the owner of this machine wrote
//! is stronger than what its server says, and that is stronger than what came with this program; field by
//! field.

use std::collections::BTreeMap;

use ostler_types::{Ability, InfoSource, ModelInfo, Prices};

use crate::catalogue::{self, CatalogueRow};
use crate::discovery::DiscoveredModel;
use crate::profile::{ModelProfile, ThinkingControl};
use crate::{ProviderConfig, ProviderKind};

/// What the owner of this machine says of a model. What is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelOverride {
    /// Tokens that a conversation and its answer may have together.
    pub context_window: Option<u64>,
    /// Tokens that one answer may have.
    pub max_output_tokens: Option<u64>,
    /// What it costs.
    pub prices: Option<Prices>,
    /// All that it can do.
    pub abilities: Option<Vec<Ability>>,
}

/// Puts together what is known of a provider's model.
pub(crate) fn profile(
    provider: &ProviderConfig,
    id: &str,
    found: Option<&DiscoveredModel>,
    overrides: &BTreeMap<String, ModelOverride>,
) -> ModelProfile {
    let name = format!("{}:{id}", provider.name);
    let row = catalogue::find_row(provider.catalogue_preset().map(|preset| preset.name), id);
    let mut info = ModelInfo::unknown(name);
    let mut thinking = row.map_or(ThinkingControl::Unknown, |row| thinking_for_protocol(provider.kind, row));
    if let Some(row) = row {
        info.context_window = Some(row.context_window);
        info.max_output_tokens = Some(row.max_output_tokens).filter(|tokens| *tokens > 0);
        info.prices = row.prices;
        info.abilities = Some(row.abilities.to_vec());
        info.source = InfoSource::Builtin;
    }
    if provider.is_free() {
        info.prices = Some(Prices::FREE);
    }
    if let Some(found) = found {
        info.context_window = found.context_window.or(info.context_window);
        info.max_output_tokens = found.max_output_tokens.or(info.max_output_tokens);
        info.prices = found.prices.or(info.prices);
        info.abilities = with_abilities(info.abilities, &found.abilities);
        thinking = found.thinking.unwrap_or(thinking);
        info.source = InfoSource::Discovered;
    }
    if let Some(own) = overrides.get(&info.name) {
        info.context_window = own.context_window.or(info.context_window);
        info.max_output_tokens = own.max_output_tokens.or(info.max_output_tokens);
        info.prices = own.prices.or(info.prices);
        info.abilities = own.abilities.clone().or(info.abilities);
        info.source = InfoSource::Configured;
    }
    // No answer is longer than the window that it has to fit into.
    if let (Some(window), Some(output)) = (info.context_window, info.max_output_tokens) {
        info.max_output_tokens = Some(output.min(window));
    }
    if info.cannot(Ability::Reasoning) {
        thinking = ThinkingControl::Never;
    }
    ModelProfile { id: id.to_owned(), info, thinking }
}

/// How a model is told to think depends on the protocol that it is reached by.
fn thinking_for_protocol(kind: ProviderKind, row: CatalogueRow) -> ThinkingControl {
    match (row.thinking, kind) {
        (ThinkingControl::Never, _) => ThinkingControl::Never,
        (ThinkingControl::Unknown, _) => ThinkingControl::Unknown,
        (ThinkingControl::Budget | ThinkingControl::Adaptive, ProviderKind::Anthropic) => row.thinking,
        (ThinkingControl::Effort, ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses) => row.thinking,
        (ThinkingControl::Budget | ThinkingControl::Adaptive | ThinkingControl::Effort, _) => {
            ThinkingControl::Unknown
        }
    }
}

/// Lays what was said over what was known.
fn with_abilities(known: Option<Vec<Ability>>, said: &[(Ability, bool)]) -> Option<Vec<Ability>> {
    if said.is_empty() {
        return known;
    }
    let mut abilities = known.unwrap_or_default();
    for (ability, can) in said {
        abilities.retain(|known| known != ability);
        if *can {
            abilities.push(*ability);
        }
    }
    abilities.sort();
    Some(abilities)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ostler_types::{Ability, InfoSource, Prices};

    use super::{ModelOverride, profile};
    use crate::discovery::DiscoveredModel;
    use crate::profile::ThinkingControl;
    use crate::{ProviderConfig, ProviderKey, ProviderKind, Secret};

    fn provider(kind: ProviderKind, base_url: &str) -> ProviderConfig {
        ProviderConfig::new("p", kind, base_url)
    }

    #[test]
    fn how_a_model_thinks_depends_on_who_serves_it() {
        let (anthropic, chat) = (ProviderKind::Anthropic, ProviderKind::OpenAiChat);
        for (kind, base_url, id, thinking) in [
            (anthropic, "https://api.anthropic.com/v1", "claude-sonnet-5", ThinkingControl::Adaptive),
            (anthropic, "https://api.anthropic.com", "claude-haiku-4-5", ThinkingControl::Budget),
            (anthropic, "https://proxy.example.org", "claude-haiku-4-5-20251001", ThinkingControl::Budget),
            (chat, "https://proxy.example.org/v1", "claude-haiku-4-5", ThinkingControl::Unknown),
            (chat, "https://openrouter.ai/api/v1", "anthropic/claude-sonnet-5", ThinkingControl::Effort),
            (ProviderKind::OpenAiResponses, "https://api.openai.com/v1", "gpt-5.5", ThinkingControl::Effort),
            (ProviderKind::OpenAiResponses, "https://api.openai.com/v1", "gpt-4.1", ThinkingControl::Never),
            (anthropic, "http://127.0.0.1:8080", "gpt-oss:20b", ThinkingControl::Unknown),
            (chat, "http://127.0.0.1:8080/v1", "gpt-oss:20b", ThinkingControl::Effort),
            (chat, "http://127.0.0.1:8080/v1", "nobody-knows", ThinkingControl::Unknown),
        ] {
            let profile = profile(&provider(kind, base_url), id, None, &BTreeMap::new());
            assert_eq!(profile.thinking, thinking, "{base_url} {id}");
        }
    }

    #[test]
    fn only_the_shop_itself_has_its_prices_and_home_is_free() {
        let chat = ProviderKind::OpenAiChat;
        let input = |base_url, preset| {
            let provider = ProviderConfig { preset, ..provider(chat, base_url) };
            profile(&provider, "gpt-4.1", None, &BTreeMap::new()).info.prices.map(|prices| prices.input)
        };
        assert_eq!(input("https://api.openai.com/v1", None), Some(2.0));
        assert_eq!(input("https://proxy.example.org/v1", None), None);
        assert_eq!(input("https://proxy.example.org/v1", Some("openai")), Some(2.0));
        assert_eq!(input("http://localhost:4000/v1", Some("openai")), Some(2.0), "a way to the shop");
        assert_eq!(input("http://localhost:4000/v1", Some("vllm")), Some(0.0));
        assert_eq!(input("http://[::1]:4000/v1", None), Some(0.0));
        let keyed = ProviderConfig {
            api_key: ProviderKey::Fixed(Secret::new("sk-1")),
            ..provider(chat, "http://localhost:4000/v1")
        };
        let prices =
            |provider: &ProviderConfig| profile(provider, "large", None, &BTreeMap::new()).info.prices;
        assert_eq!(prices(&keyed), None, "who wants a key may send a bill");
        assert_eq!(prices(&provider(ProviderKind::Replay, "")), Some(Prices::FREE));
    }

    #[test]
    fn the_stronger_source_wins_field_by_field() {
        let provider = provider(ProviderKind::OpenAiChat, "https://api.openai.com/v1");
        let found = DiscoveredModel {
            id: "gpt-4.1".to_owned(),
            context_window: Some(100),
            abilities: vec![(Ability::Vision, false), (Ability::Reasoning, true)],
            ..DiscoveredModel::default()
        };
        let prices = Prices { input: 9.0, output: 9.0, cached: None, cache_write: None };
        let own = ModelOverride { prices: Some(prices), ..ModelOverride::default() };
        let overrides = BTreeMap::from([("p:gpt-4.1".to_owned(), own)]);
        let info = profile(&provider, "gpt-4.1", Some(&found), &overrides).info;
        assert_eq!(
            (info.context_window, info.max_output_tokens),
            (Some(100), Some(100)),
            "the window holds both"
        );
        assert_eq!((info.prices, info.source), (Some(prices), InfoSource::Configured));
        assert_eq!(
            info.abilities.unwrap(),
            [Ability::Tools, Ability::Files, Ability::Reasoning, Ability::Caching]
        );
        let blind = ModelOverride { abilities: Some(Vec::new()), ..ModelOverride::default() };
        let overrides = BTreeMap::from([("p:gpt-5.5".to_owned(), blind)]);
        let profile = profile(&provider, "gpt-5.5", None, &overrides);
        assert!(profile.info.cannot(Ability::Tools));
        assert_eq!(profile.thinking, ThinkingControl::Never);
    }
}
