//! From the configuration to the models: which providers there are, in which order a default is looked
//! for, and how the doors see them. Where keys come from is `keys`'s.
//!
//! Addresses and keys come from the configuration and the daemon's own environment, never from a
//! workspace.

mod keys;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_api_types::ConfiguredProvider;
use ostler_config::{self as config, Config, Environment, ProviderSection};
use ostler_door_kit::ModelChoices;
use ostler_models::{
    ModelError, ModelRegistry, ModelSettings, PRESETS, ProviderConfig, ProviderKey, ProviderPreset,
    ProviderReadiness,
};
use ostler_process::ProgramFinder;
use ostler_types::{ModelInfo, ModelPolicy, Refusal, Resolution, Secrets};

use keys::KeyLocation;

/// The models that the configuration and the environment lead to. No key is looked up yet; each becomes one of the
/// secrets when it is.
pub fn models(
    config: &Config,
    environment: &Environment,
    programs: &ProgramFinder,
    secrets: &Secrets,
) -> ModelRegistry {
    let settings = ModelSettings {
        overrides: config.models.overrides(),
        discover: config.models.discover,
        ..ModelSettings::default()
    };
    let hidden = |provider: ProviderConfig| {
        let api_key = masked_key(secrets, provider.api_key);
        ProviderConfig { api_key, ..provider }
    };
    let providers = providers(config, environment, programs).into_iter().map(hidden).collect();
    ModelRegistry::with_settings(providers, settings)
}

/// A key that is masked wherever it turns up, from the moment that it is known.
fn masked_key(secrets: &Secrets, key: ProviderKey) -> ProviderKey {
    match key {
        ProviderKey::None => ProviderKey::None,
        ProviderKey::Fixed(secret) => {
            secrets.add(secret.expose());
            ProviderKey::Fixed(secret)
        }
        ProviderKey::Found(source) => {
            let secrets = secrets.clone();
            ProviderKey::Found(Arc::new(move |fresh| {
                let (found, secrets) = (source(fresh), secrets.clone());
                async move { found.await.inspect(|secret| secrets.add(secret.expose())) }.boxed()
            }))
        }
    }
}

/// The models as the doors see them.
pub struct ConfiguredModels {
    models: Arc<ModelRegistry>,
    default: Option<String>,
}

impl ConfiguredModels {
    /// These models, with the default that the configuration names, if it names one.
    pub fn new(models: Arc<ModelRegistry>, config: &Config) -> ConfiguredModels {
        ConfiguredModels { models, default: config.models.named_default().map(str::to_owned) }
    }
}

impl ModelChoices for ConfiguredModels {
    fn list(&self, refresh: bool) -> BoxFuture<'_, Vec<ModelInfo>> {
        self.models.list(refresh).boxed()
    }

    fn choose<'a>(&'a self, policy: &'a ModelPolicy) -> BoxFuture<'a, Result<Resolution, Refusal>> {
        async move { self.models.choose(policy, self.default.as_deref()).await.map_err(refusal) }.boxed()
    }

    fn check(&self, name: &str) -> Result<(), Refusal> {
        self.models.check_name(name).map_err(refusal)
    }

    fn info(&self, name: &str) -> ModelInfo {
        self.models.info(name)
    }
}

/// Every provider, in the order in which a default is looked for: those that somebody wrote down, then
/// the presets.
pub fn providers(
    config: &Config,
    environment: &Environment,
    programs: &ProgramFinder,
) -> Vec<ProviderConfig> {
    let mut written: Vec<(&String, &ProviderSection)> = config.providers.iter().collect();
    // Stable, so that providers that are like no preset stay in the order of their names, at the end.
    written.sort_by_key(|(name, provider)| {
        let preset = provider.preset(name).map(|preset| preset.name);
        PRESETS.iter().position(|known| Some(known.name) == preset).unwrap_or(PRESETS.len())
    });
    let unwritten = PRESETS.iter().filter(|preset| !config.providers.contains_key(preset.name));
    let absent = ProviderSection::default();
    let unwritten: Vec<ProviderConfig> = unwritten
        .map(|preset| ProviderConfig {
            configured: false,
            ..provider(preset.name, &absent, environment, programs)
        })
        .collect();
    let written = written.into_iter().map(|(name, each)| provider(name, each, environment, programs));
    written.chain(unwritten).collect()
}

/// What people are shown of a provider: of its key, only whether there is one.
pub(crate) fn provider_description(provider: &ProviderConfig) -> ConfiguredProvider {
    let problem = provider.readiness.missing();
    ConfiguredProvider {
        name: provider.name.clone(),
        kind: config::ProviderProtocol::from(provider.kind).as_str().to_owned(),
        base_url: provider.base_url.clone(),
        has_key: problem.is_none() && !matches!(provider.api_key, ProviderKey::None),
        problem,
    }
}

fn provider(
    name: &str,
    provider: &ProviderSection,
    environment: &Environment,
    programs: &ProgramFinder,
) -> ProviderConfig {
    let preset = provider.preset(name);
    let kind = provider.kind(name).expect("a configuration that was checked says what a provider speaks");
    let (base_url, misplaced) = match preset_address_override(provider, preset, environment) {
        Some(Ok(base_url)) => (base_url, None),
        Some(Err(why)) => (String::new(), Some(why)),
        None => (provider.base_url(name), None),
    };
    let host = |url: &str| url.split('/').nth(2).map(str::to_owned);
    let is_moved = preset.is_some_and(|preset| host(preset.base_url) != host(&base_url));
    let KeyLocation { key, readiness, from } = match &provider.api_key_command {
        Some(command) => keys::key_from_command(name, command, programs),
        None => {
            keys::locate_key(name, provider, preset.filter(|_| kind_has_key(kind)), is_moved, environment)
        }
    };
    let readiness = match misplaced {
        Some(why) => ProviderReadiness::from_check(move || Some(why.clone())),
        None => readiness,
    };
    ProviderConfig {
        api_key: key,
        key_from: from,
        models: provider.models.clone(),
        preset: preset.map(|preset| preset.name),
        readiness,
        recording: provider.file.as_deref().map(|file| keys::expand_home(file, environment)),
        ..ProviderConfig::new(name, kind.into(), base_url)
    }
}

fn kind_has_key(kind: config::ProviderProtocol) -> bool {
    match kind {
        config::ProviderProtocol::OpenAiChat
        | config::ProviderProtocol::OpenAiResponses
        | config::ProviderProtocol::Anthropic => true,
        config::ProviderProtocol::Replay => false,
    }
}

/// Where the customary variable of a preset moves it, unless the configuration says where it is.
fn preset_address_override(
    provider: &ProviderSection,
    preset: Option<&ProviderPreset>,
    environment: &Environment,
) -> Option<Result<String, String>> {
    let variable = preset.filter(|_| provider.base_url.is_none())?.base_url_variable?;
    let value = environment.get(variable)?;
    let url = value.to_str().map(str::trim).filter(|url| config::is_base_url(url));
    Some(url.map(str::to_owned).ok_or_else(|| {
        // It may hold a password, so it is not repeated.
        format!("the variable {variable} holds no URL that can be used; it begins with http:// or https:// and holds no user or password")
    }))
}

fn refusal(error: ModelError) -> Refusal {
    let refusal = Refusal::invalid(error.code, error.message);
    match error.hint {
        Some(hint) => refusal.hint(hint),
        None => refusal,
    }
}
