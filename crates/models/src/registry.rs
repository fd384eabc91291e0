//! Which models there are: from a name like `provider:model` to the model, and from nothing to a default.
//!
//! The providers are given by the caller; nothing here reads the environment, nor any file but the
//! recording of a replay, and no connection is made before somebody asks a model something or asks what
//! there is.

mod knowledge;
mod offers;
mod priced;
mod provider;
mod recording;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_types::{Ability, InfoSource, ModelInfo, ModelPolicy, Prices, Resolution};

use crate::anthropic::Anthropic;
use crate::default_model::{self, ChoiceOutcome};
use crate::discovery::{Discovery, DiscoveryAnswer, LIST_LIFETIME, NoModelList};
use crate::http::HttpClients;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::profile::ModelProfile;
use crate::wire_client::WireClient;
use crate::{Demo, Model, ModelError, RetryPolicy, RetryingModel, Timeouts, catalogue};
use priced::PricedModel;
use recording::RecordedModel;

pub use knowledge::ModelOverride;
pub use provider::{ProviderConfig, ProviderKind, ProviderReadiness};

/// The provider that is always there, and the name of its one model.
const DEMO: &str = "demo";

/// All models that can be chosen.
#[derive(Debug)]
pub struct ModelRegistry {
    providers: Vec<Arc<ProviderConfig>>,
    settings: ModelSettings,
    http: Arc<HttpClients>,
    discovery: Discovery,
    /// What replays answer from, by file.
    recordings: HashMap<PathBuf, Arc<RecordedModel>>,
}

/// What holds for all models.
#[derive(Clone)]
pub struct ModelSettings {
    /// How long each phase of a request may take.
    pub timeouts: Timeouts,
    /// How often a model is asked.
    pub retry: RetryPolicy,
    /// What the owner of this machine says of models, by full name.
    pub overrides: BTreeMap<String, ModelOverride>,
    /// Whether providers are asked which models they have.
    pub discover: bool,
}

impl Default for ModelSettings {
    fn default() -> ModelSettings {
        ModelSettings {
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
            overrides: BTreeMap::new(),
            discover: true,
        }
    }
}

impl std::fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelSettings")
            .field("timeouts", &self.timeouts)
            .field("discover", &self.discover)
            .finish_non_exhaustive()
    }
}

impl ModelRegistry {
    /// These providers, in the order in which a default is looked for, and the demo. A name that is given
    /// twice means the last one.
    pub fn new(providers: Vec<ProviderConfig>) -> ModelRegistry {
        ModelRegistry::with_settings(providers, ModelSettings::default())
    }

    /// The same with other timeouts, and each model asked once only.
    pub fn with_timeouts(providers: Vec<ProviderConfig>, timeouts: Timeouts) -> ModelRegistry {
        let settings = ModelSettings { timeouts, retry: RetryPolicy::once(), ..ModelSettings::default() };
        ModelRegistry::with_settings(providers, settings)
    }

    /// The same with other settings.
    pub fn with_settings(providers: Vec<ProviderConfig>, settings: ModelSettings) -> ModelRegistry {
        let mut kept: Vec<Arc<ProviderConfig>> = Vec::new();
        for provider in providers {
            kept.retain(|earlier| earlier.name != provider.name);
            kept.push(Arc::new(provider));
        }
        kept.retain(|provider| provider.name != DEMO);
        let http = Arc::new(HttpClients::new(settings.timeouts));
        let files = kept.iter().filter_map(|provider| provider.recording.clone());
        let recordings = files.map(|file| (file.clone(), Arc::new(RecordedModel::new(file)))).collect();
        ModelRegistry { providers: kept, settings, discovery: Discovery::new(http.clone()), http, recordings }
    }

    /// The model of this name: `provider:model`, `provider/model`, or a provider alone for its first model.
    pub fn resolve(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let Some((provider, id)) = self.find(name)? else { return Ok(Arc::new(Demo)) };
        let (profile, http) = (self.profile(&provider, &id), self.http.clone());
        let prices = profile.info.prices;
        let client: Arc<dyn Model> = match provider.kind {
            ProviderKind::OpenAiChat => Arc::new(WireClient::<OpenAiChat>::new(provider, profile, http)?),
            ProviderKind::OpenAiResponses => {
                Arc::new(WireClient::<OpenAiResponses>::new(provider, profile, http)?)
            }
            ProviderKind::Anthropic => Arc::new(WireClient::<Anthropic>::new(provider, profile, http)?),
            ProviderKind::Replay => return self.replay(&provider),
        };
        let client: Arc<dyn Model> = Arc::new(RetryingModel::new(client, self.settings.retry.clone()));
        Ok(match prices {
            Some(prices) => Arc::new(PricedModel::new(client, prices)),
            None => client,
        })
    }

    /// Whether a model can be named at all, and why not.
    pub fn check_name(&self, name: &str) -> Result<(), ModelError> {
        match self.find(name)? {
            Some((provider, _)) if provider.kind == ProviderKind::Replay => Ok(()),
            Some(_) | None => self.resolve(name).map(drop),
        }
    }

    /// What is known of a model now. Nobody is asked.
    pub fn info(&self, name: &str) -> ModelInfo {
        match self.find(name) {
            Ok(Some((provider, id))) => self.info_of(&provider, &id),
            Ok(None) => demo_info(),
            Err(error) => ModelInfo { unavailable: Some(error.message), ..ModelInfo::unknown(name.trim()) },
        }
    }

    /// Asks a model's provider about it, unless that is known, so that [`ModelRegistry::info`] and
    /// [`ModelRegistry::resolve`] know what the provider does.
    pub async fn refresh_info(&self, name: &str) {
        if let Some(provider) = self.provider(default_model::split_model_name(name).0) {
            self.ask(&provider, LIST_LIFETIME).await.ok();
        }
    }

    /// Every model that is offered, by full name, the demo first. Nobody is asked.
    pub fn names(&self) -> Vec<String> {
        let configured = self.providers.iter().flat_map(|provider| {
            provider.models.iter().map(move |model| format!("{}:{model}", provider.name))
        });
        std::iter::once(format!("{DEMO}:{DEMO}")).chain(configured).collect()
    }

    /// Everything that can be chosen, what can be used first. Asks the providers, unless they were asked
    /// lately and `refresh` is not set.
    pub async fn list(&self, refresh: bool) -> Vec<ModelInfo> {
        if refresh {
            self.discovery.clear();
        }
        let listed = self.providers.iter().map(|provider| self.models_of(provider));
        let mut models: Vec<ModelInfo> = join_all(listed).await.into_iter().flatten().collect();
        models.push(demo_info());
        models.sort_by_key(|model| model.unavailable.is_some());
        models
    }

    /// The model of a session that names none: what the policy prefers, else the default if there is one,
    /// else one whose provider has a key, else one of a server that answers, else the demo; the first of
    /// them that the policy allows. Asks providers where the choice depends on what they have, so that it
    /// does not depend on who has asked them before.
    pub async fn choose(
        &self,
        policy: &ModelPolicy,
        default: Option<&str>,
    ) -> Result<Resolution, ModelError> {
        let mut asked: HashSet<String> = HashSet::new();
        loop {
            let offers = self.offers(&asked, default_model::needs_model_info(policy)).await;
            match default_model::choose(&offers, policy, default, &|name| self.info(name)) {
                ChoiceOutcome::Chosen(resolution) => return Ok(resolution),
                ChoiceOutcome::Nothing(error) => return Err(error),
                // Ends, since nobody is asked twice.
                ChoiceOutcome::Ask(providers) => asked.extend(providers),
            }
        }
    }

    /// The provider and the model's own name; none for the demo.
    fn find(&self, name: &str) -> Result<Option<(Arc<ProviderConfig>, String)>, ModelError> {
        let name = name.trim();
        let (provider, model) = default_model::split_model_name(name);
        if provider == DEMO && model.is_none_or(|model| model == DEMO) {
            return Ok(None);
        }
        let config = self.provider(provider).ok_or_else(|| self.unknown(name))?;
        let model = match model {
            Some(model) => model.to_owned(),
            None => self.first_model(&config).unwrap_or_default(),
        };
        if model.is_empty() {
            return Err(ModelError::new("unknown_model", format!("`{name}` names a provider but no model"))
                .hint(format!("write `{provider}:` and the name of one of its models")));
        }
        Ok(Some((config, model)))
    }

    fn provider(&self, name: &str) -> Option<Arc<ProviderConfig>> {
        self.providers.iter().find(|provider| provider.name == name).cloned()
    }

    fn first_model(&self, provider: &ProviderConfig) -> Option<String> {
        let flagship = || provider.catalogue_preset().and_then(|preset| preset.flagship).map(str::to_owned);
        let found = || Some(self.discovery.cached(&provider.name)?.first()?.id.clone());
        let recorded = || (provider.kind == ProviderKind::Replay).then(|| "recording".to_owned());
        provider.models.first().cloned().or_else(flagship).or_else(recorded).or_else(found)
    }

    fn profile(&self, provider: &ProviderConfig, id: &str) -> ModelProfile {
        let known = self.discovery.cached(&provider.name);
        let latest = format!("{id}:latest");
        let found = known.as_deref().and_then(|list| {
            let exact = list.iter().find(|found| found.id == id);
            exact.or_else(|| list.iter().find(|found| found.id == latest))
        });
        knowledge::profile(provider, id, found, &self.settings.overrides)
    }

    fn info_of(&self, provider: &ProviderConfig, id: &str) -> ModelInfo {
        let info = self.profile(provider, id).info;
        ModelInfo { unavailable: provider.readiness.missing(), ..info }
    }

    fn replay(&self, provider: &ProviderConfig) -> Result<Arc<dyn Model>, ModelError> {
        let file = provider.recording.as_ref().ok_or_else(|| {
            let message = format!("provider `{}` has no recording to answer from", provider.name);
            ModelError::new("bad_recording", message)
                .hint(format!("name one as `file` in [providers.{}]", provider.name))
        })?;
        let recording =
            self.recordings.get(file).expect("every provider's recording is known from the start");
        Ok(Arc::new(PricedModel::new(recording.clone(), Prices::FREE)))
    }

    /// Asks a provider what it has, if that is allowed at all.
    async fn ask(&self, provider: &Arc<ProviderConfig>, age: Duration) -> DiscoveryAnswer {
        if !self.settings.discover || provider.kind == ProviderKind::Replay {
            let why = format!("provider `{}` is not asked: `models.discover` is off", provider.name);
            return Err(NoModelList { why, usable: false });
        }
        if let Some(why) = provider.readiness.missing() {
            return Err(NoModelList { why, usable: false });
        }
        self.discovery.ask(provider, age).await
    }

    /// A provider's models, for people to choose from.
    async fn models_of(&self, provider: &Arc<ProviderConfig>) -> Vec<ModelInfo> {
        let missing = provider.readiness.missing();
        if missing.is_some() && !provider.configured {
            return Vec::new();
        }
        let silent = match self.ask(provider, LIST_LIFETIME).await {
            Err(silence) if self.settings.discover && !silence.usable => Some(silence.why),
            Ok(_) | Err(_) => None,
        };
        if silent.is_some() && provider.is_keyless() && !provider.configured {
            return Vec::new();
        }
        let unavailable = missing.or(silent);
        let infos = self.candidates(provider).into_iter();
        infos.map(|info| ModelInfo { unavailable: unavailable.clone(), ..info }).collect()
    }

    /// A provider's models: those that the configuration lists, then the flagship and what else the
    /// catalogue has, unless the provider says otherwise, then what only the provider knows.
    fn candidates(&self, provider: &ProviderConfig) -> Vec<ModelInfo> {
        let shop = provider.catalogue_preset();
        let flagship = shop.and_then(|preset| preset.flagship).map(str::to_owned);
        let found = self.discovery.cached(&provider.name);
        let rows = shop.iter().flat_map(|preset| catalogue::rows(preset.name)).map(|row| row.id.to_owned());
        let known: Vec<String> = flagship.into_iter().chain(rows).collect();
        let mut ids = provider.models.clone();
        match &found {
            Some(list) => {
                let has = |id: &String| list.iter().any(|found| found.id == *id);
                ids.extend(known.into_iter().filter(has));
                ids.extend(list.iter().map(|found| found.id.clone()));
            }
            None => ids.extend(known),
        }
        let mut seen = HashSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        if ids.is_empty() {
            ids.extend(self.first_model(provider));
        }
        ids.iter().map(|id| self.profile(provider, id).info).collect()
    }

    fn unknown(&self, name: &str) -> ModelError {
        let there = self
            .providers
            .iter()
            .filter(|provider| provider.configured || provider.readiness.missing().is_none());
        let unlisted = there.filter(|provider| provider.models.is_empty());
        let unlisted = unlisted.map(|provider| format!("{}:…", provider.name));
        let there: Vec<String> = self.names().into_iter().chain(unlisted).collect();
        let message = format!("there is no model `{name}`; there are {}", there.join(", "));
        ModelError::new("unknown_model", message).hint(
            "`ostler models` lists what there is; add a `[providers.NAME]` section to the configuration for more",
        )
    }
}

fn demo_info() -> ModelInfo {
    ModelInfo {
        prices: Some(Prices::FREE),
        abilities: Some(vec![Ability::Tools]),
        source: InfoSource::Builtin,
        ..ModelInfo::unknown(format!("{DEMO}:{DEMO}"))
    }
}

#[cfg(test)]
mod tests;
