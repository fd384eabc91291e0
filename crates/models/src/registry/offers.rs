//! What there is to choose a default from: every provider, how it stands, and its models in the order in
//! which they are taken. Which one is taken is the choice's.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_types::Ability;

use super::{DEMO, ModelRegistry, demo_info};
use crate::default_model::{ProviderOffer, ProviderState};
use crate::discovery::LIST_LIFETIME;
use crate::{ProviderConfig, ProviderKind};

/// How long the answer of a server that wants no key is believed when a default is looked for.
const KEYLESS_ANSWER_LIFETIME: Duration = Duration::from_secs(30);

impl ModelRegistry {
    /// What there is to choose from, as far as these providers may be asked. `picky` says that the choice
    /// depends on what is known of each model.
    pub(super) async fn offers(&self, asked: &HashSet<String>, picky: bool) -> Vec<ProviderOffer> {
        let offers = self.providers.iter().map(|provider| self.offer(provider, asked, picky));
        let demo = ProviderOffer {
            provider: DEMO.to_owned(),
            state: ProviderState::LastResort,
            models: vec![demo_info()],
        };
        join_all(offers).await.into_iter().chain([demo]).collect()
    }

    async fn offer(
        &self,
        provider: &Arc<ProviderConfig>,
        asked: &HashSet<String>,
        picky: bool,
    ) -> ProviderOffer {
        let state = self.state(provider, asked, picky).await;
        let mut models = self.candidates(provider);
        let sorted = match state {
            ProviderState::Reachable => true,
            // Whoever wrote them down has put them in order.
            ProviderState::HasKey { .. } => provider.models.is_empty(),
            ProviderState::NotAsked { .. }
            | ProviderState::LacksKey { .. }
            | ProviderState::Unreachable(_) => false,
            ProviderState::ByName | ProviderState::LastResort => false,
        };
        if sorted {
            // Stable, so that what the configuration lists stays first among equals.
            models.sort_by_key(|model| (model.cannot(Ability::Tools), !model.can(Ability::Tools)));
        }
        ProviderOffer { provider: provider.name.clone(), state, models }
    }

    async fn state(
        &self,
        provider: &Arc<ProviderConfig>,
        asked: &HashSet<String>,
        picky: bool,
    ) -> ProviderState {
        if provider.kind == ProviderKind::Replay {
            return ProviderState::ByName;
        }
        if let Some(missing) = provider.readiness.missing() {
            return ProviderState::LacksKey { missing, configured: provider.configured };
        }
        let (keyed, listed) = (!provider.is_keyless(), !provider.models.is_empty());
        if keyed && listed && !picky {
            return ProviderState::HasKey { silence: None };
        }
        if self.settings.discover && !asked.contains(&provider.name) {
            return ProviderState::NotAsked { keyed };
        }
        match self.ask(provider, if keyed { LIST_LIFETIME } else { KEYLESS_ANSWER_LIFETIME }).await {
            // Its models can be used all the same, as far as they are known by other ways.
            answer if keyed => ProviderState::HasKey { silence: answer.err().map(|silence| silence.why) },
            Ok(_) => ProviderState::Reachable,
            // It is there but does not list its models, or nobody may ask; whoever wrote them down knows.
            Err(silence) if listed && (silence.usable || !self.settings.discover) => ProviderState::Reachable,
            Err(silence) => ProviderState::Unreachable(silence.why),
        }
    }
}
