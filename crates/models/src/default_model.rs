//! Which model a session gets that names none. Pure: it looks at a snapshot of what there is, and says
//! whom to ask when that is not enough. Asking, and knowing the models, is the registry's.

use ostler_types::{Ability, ModelInfo, ModelPolicy, Resolution, ResolvedBy};

use crate::ModelError;

/// A provider as the choice sees it. They come in the order in which they are preferred.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProviderOffer {
    pub(crate) provider: String,
    pub(crate) state: ProviderState,
    /// Its models, the ones to be taken first at the front.
    pub(crate) models: Vec<ModelInfo>,
}

/// How a provider stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProviderState {
    /// It has a key.
    HasKey {
        /// Why it has not said what it has, if it has not.
        silence: Option<String>,
    },
    /// It lacks a key.
    LacksKey {
        /// What is missing, and what to do about it.
        missing: String,
        /// Whether somebody wrote it down, so that its absence is worth a word.
        configured: bool,
    },
    /// It has not been asked what it has, and whether it is there if it wants no key.
    NotAsked {
        /// Whether it has a key.
        keyed: bool,
    },
    /// It wants no key, and is there.
    Reachable,
    /// It wants no key, and did not answer.
    Unreachable(String),
    /// It is used only when it is named.
    ByName,
    /// It is there for when there is nothing else.
    LastResort,
}

/// What comes of choosing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChoiceOutcome {
    /// This one.
    Chosen(Resolution),
    /// That depends on what these providers say.
    Ask(Vec<String>),
    /// None.
    Nothing(ModelError),
}

/// Chooses. `info` tells of models that no offer lists.
pub(crate) fn choose(
    offers: &[ProviderOffer],
    policy: &ModelPolicy,
    default: Option<&str>,
    info: &dyn Fn(&str) -> ModelInfo,
) -> ChoiceOutcome {
    let default = default.map(str::trim).filter(|name| !name.is_empty());
    let choice = DefaultModelChoice { offers, policy, default, info };
    let mut excluded = Vec::new();
    let steps = [
        DefaultModelChoice::preferred,
        DefaultModelChoice::configured,
        DefaultModelChoice::keyed,
        DefaultModelChoice::keyless,
        DefaultModelChoice::last_resort,
    ];
    steps
        .iter()
        .find_map(|step| step(&choice, &mut excluded))
        .unwrap_or_else(|| ChoiceOutcome::Nothing(no_model(policy, &excluded)))
}

/// Whether what is known of a model decides if a policy allows it.
pub(crate) fn needs_model_info(policy: &ModelPolicy) -> bool {
    !policy.require.is_empty() || policy.max_input_price.is_some() || policy.max_output_price.is_some()
}

/// A model's name, taken apart: `provider:model`, `provider/model`, or a provider alone.
pub(crate) fn split_model_name(name: &str) -> (&str, Option<&str>) {
    match name.trim().split_once([':', '/']) {
        Some((provider, model)) => (provider, Some(model)),
        None => (name.trim(), None),
    }
}

struct DefaultModelChoice<'a> {
    offers: &'a [ProviderOffer],
    policy: &'a ModelPolicy,
    /// The model that the configuration names.
    default: Option<&'a str>,
    info: &'a dyn Fn(&str) -> ModelInfo,
}

/// What was passed over on the way, in order.
type Excluded = Vec<Exclusion>;

/// Something that was passed over.
struct Exclusion {
    what: String,
    why: String,
    /// Whether the policy did it, rather than the state of things.
    by_policy: bool,
}

impl DefaultModelChoice<'_> {
    fn preferred(&self, excluded: &mut Excluded) -> Option<ChoiceOutcome> {
        for name in &self.policy.prefer {
            let model = match self.named(name) {
                NamedModel::Model(model) => model,
                NamedModel::Ask(provider) => return Some(ChoiceOutcome::Ask(vec![provider])),
                NamedModel::Nothing(why) => {
                    excluded.push(Exclusion { what: name.clone(), why, by_policy: false });
                    continue;
                }
            };
            let by_policy = model.unavailable.is_none();
            match model.unavailable.clone().or_else(|| self.objection(&model)) {
                Some(why) => excluded.push(Exclusion { what: model.name, why, by_policy }),
                None => {
                    let detail = "it is the first usable model that the model policy prefers";
                    return Some(chosen(model.name, ResolvedBy::Policy, detail));
                }
            }
        }
        None
    }

    /// The model that the configuration names is taken even if it may not work, with a warning; only the
    /// policy goes before it.
    fn configured(&self, excluded: &mut Excluded) -> Option<ChoiceOutcome> {
        let name = self.default?;
        let model = match self.named(name) {
            NamedModel::Model(model) => model,
            NamedModel::Ask(provider) => return Some(ChoiceOutcome::Ask(vec![provider])),
            NamedModel::Nothing(why) => return Some(ChoiceOutcome::Nothing(unusable(name, &why))),
        };
        if let Some(why) = self.objection(&model) {
            excluded.push(Exclusion { what: format!("the default {}", model.name), why, by_policy: true });
            return None;
        }
        let warning = model.unavailable.map(|why| format!("; beware: {why}")).unwrap_or_default();
        let detail = format!("the configuration names it as the default (`models.default`){warning}");
        Some(chosen(model.name, ResolvedBy::Configured, detail))
    }

    fn keyed(&self, excluded: &mut Excluded) -> Option<ChoiceOutcome> {
        for offer in self.offers {
            let exclude = |why: String| Exclusion { what: offer.provider.clone(), why, by_policy: false };
            let silence = match &offer.state {
                ProviderState::HasKey { silence } => silence,
                ProviderState::NotAsked { keyed: true } => {
                    return Some(ChoiceOutcome::Ask(vec![offer.provider.clone()]));
                }
                ProviderState::LacksKey { missing, configured: true } => {
                    excluded.push(exclude(missing.clone()));
                    continue;
                }
                ProviderState::LacksKey { .. }
                | ProviderState::NotAsked { .. }
                | ProviderState::Reachable
                | ProviderState::Unreachable(_) => continue,
                ProviderState::ByName | ProviderState::LastResort => continue,
            };
            let Some(model) = self.first_allowed(offer, excluded) else {
                if offer.models.is_empty() {
                    let why = silence.as_deref().unwrap_or("it lists no models");
                    excluded.push(exclude(format!(
                        "it has a key, but no model of it is known ({why}); name some as `models` in [providers.{}]",
                        offer.provider
                    )));
                }
                continue;
            };
            let found = format!("provider `{}` has a key", offer.provider);
            let objections = exclusions_text(excluded.iter().filter(|one| one.by_policy));
            return Some(if objections.is_empty() {
                let detail = format!("{found}, and the configuration names no default");
                chosen(model, ResolvedBy::KeyFound, detail)
            } else {
                let detail = format!("{found}, and the model policy leaves none before it ({objections})");
                chosen(model, ResolvedBy::Policy, detail)
            });
        }
        None
    }

    fn keyless(&self, excluded: &mut Excluded) -> Option<ChoiceOutcome> {
        let unasked =
            self.offers.iter().filter(|offer| offer.state == ProviderState::NotAsked { keyed: false });
        let unasked: Vec<String> = unasked.map(|offer| offer.provider.clone()).collect();
        if !unasked.is_empty() {
            return Some(ChoiceOutcome::Ask(unasked));
        }
        for offer in self.offers.iter().filter(|offer| offer.state == ProviderState::Reachable) {
            let Some(model) = self.first_allowed(offer, excluded) else {
                if offer.models.is_empty() {
                    let why = "its server answers, but lists no models".to_owned();
                    excluded.push(Exclusion { what: offer.provider.clone(), why, by_policy: false });
                }
                continue;
            };
            let others = if excluded.is_empty() {
                "no provider has a key".to_owned()
            } else {
                format!("nothing before it can be used ({})", exclusions_text(excluded.iter()))
            };
            let detail = format!("{others}, and the server of provider `{}` answers", offer.provider);
            return Some(chosen(model, ResolvedBy::LocalServer, detail));
        }
        None
    }

    fn last_resort(&self, excluded: &mut Excluded) -> Option<ChoiceOutcome> {
        let offer = self.offers.iter().find(|offer| offer.state == ProviderState::LastResort)?;
        let others = if excluded.is_empty() {
            "no provider has a key and no local server answers".to_owned()
        } else {
            format!("nothing else can be used ({})", exclusions_text(excluded.iter()))
        };
        let model = self.first_allowed(offer, excluded)?;
        Some(chosen(model, ResolvedBy::Demo, format!("{others}, so this is the built-in demonstration")))
    }

    /// The first model of a provider that the policy allows.
    fn first_allowed(&self, offer: &ProviderOffer, excluded: &mut Excluded) -> Option<String> {
        for model in &offer.models {
            match self.objection(model) {
                Some(why) => excluded.push(Exclusion { what: model.name.clone(), why, by_policy: true }),
                None => return Some(model.name.clone()),
            }
        }
        None
    }

    fn named(&self, name: &str) -> NamedModel {
        let (provider, model) = split_model_name(name);
        let Some(offer) = self.offers.iter().find(|offer| offer.provider == provider) else {
            return NamedModel::Nothing(format!("there is no provider `{provider}`"));
        };
        let named = model.is_some_and(|model| !model.is_empty());
        let unsure = match &offer.state {
            // Nothing that it could say would change anything.
            ProviderState::NotAsked { keyed: true } if named && !needs_model_info(self.policy) => None,
            ProviderState::NotAsked { .. } => return NamedModel::Ask(provider.to_owned()),
            ProviderState::Unreachable(why) => Some(why.clone()),
            ProviderState::LacksKey { missing, .. } => Some(missing.clone()),
            ProviderState::HasKey { .. }
            | ProviderState::Reachable
            | ProviderState::ByName
            | ProviderState::LastResort => None,
        };
        let mut model = match model.filter(|model| !model.is_empty()) {
            Some(model) => match find_model(offer, model) {
                Some(known) => known.clone(),
                None => (self.info)(&format!("{provider}:{model}")),
            },
            None => match offer.models.first() {
                Some(first) => first.clone(),
                None => {
                    let silence = match &offer.state {
                        ProviderState::HasKey { silence } => silence.clone(),
                        ProviderState::NotAsked { .. }
                        | ProviderState::Reachable
                        | ProviderState::Unreachable(_) => None,
                        ProviderState::LacksKey { .. }
                        | ProviderState::ByName
                        | ProviderState::LastResort => None,
                    };
                    let why = unsure.or(silence);
                    return NamedModel::Nothing(
                        why.unwrap_or(format!("provider `{provider}` lists no models")),
                    );
                }
            },
        };
        model.unavailable = unsure.or(model.unavailable);
        NamedModel::Model(model)
    }

    /// What the policy has against a model.
    fn objection(&self, model: &ModelInfo) -> Option<String> {
        let ability = self
            .policy
            .require
            .iter()
            .find(|ability| !model.can(**ability))
            .map(|ability| lacks(model, *ability));
        ability.or_else(|| {
            let prices = model.prices;
            let sides = [
                ("input", self.policy.max_input_price, prices.map(|prices| prices.input)),
                ("output", self.policy.max_output_price, prices.map(|prices| prices.output)),
            ];
            sides.into_iter().find_map(|(side, most, price)| match (most?, price) {
                (_, None) => Some("its price is not known, and the model policy sets a limit".to_owned()),
                (most, Some(price)) => (price > most).then(|| {
                    format!("a million {side} tokens cost ${price}, and the model policy allows ${most}")
                }),
            })
        })
    }
}

/// What a name leads to.
enum NamedModel {
    Model(ModelInfo),
    Ask(String),
    Nothing(String),
}

/// The model of an offer that a name means; Ollama's `latest` goes without saying.
fn find_model<'a>(offer: &'a ProviderOffer, model: &str) -> Option<&'a ModelInfo> {
    let full = format!("{}:{model}", offer.provider);
    let exact = offer.models.iter().find(|info| info.name == full);
    exact.or_else(|| offer.models.iter().find(|info| info.name.strip_suffix(":latest") == Some(&full)))
}

fn lacks(model: &ModelInfo, ability: Ability) -> String {
    let word = ability.as_str();
    if model.cannot(ability) {
        format!("it does not have the ability `{word}`, which the model policy requires")
    } else {
        format!("nobody has said whether it has the ability `{word}`, which the model policy requires")
    }
}

fn chosen(model: String, reason: ResolvedBy, detail: impl Into<String>) -> ChoiceOutcome {
    ChoiceOutcome::Chosen(Resolution { model, reason, detail: detail.into(), instead_of: None, error: None })
}

fn unusable(name: &str, why: &str) -> ModelError {
    ModelError::new("unknown_model", format!("the default model `{name}` cannot be used: {why}"))
        .hint("set `models.default` to a model that `ostler models` lists, or leave it out")
}

/// How many exclusions are told.
const MAX_TOLD_EXCLUSIONS: usize = 8;

fn exclusions_text<'a>(excluded: impl IntoIterator<Item = &'a Exclusion>) -> String {
    let all: Vec<String> = excluded.into_iter().map(|one| format!("{}: {}", one.what, one.why)).collect();
    let more = all.len().saturating_sub(MAX_TOLD_EXCLUSIONS);
    let mut told = all.into_iter().take(MAX_TOLD_EXCLUSIONS).collect::<Vec<String>>().join("; ");
    if more > 0 {
        told.push_str(&format!("; and {more} more"));
    }
    told
}

fn no_model(policy: &ModelPolicy, excluded: &[Exclusion]) -> ModelError {
    let advice = if *policy == ModelPolicy::default() {
        "set a key such as ANTHROPIC_API_KEY, start a local server, or name a model"
    } else {
        "ease the model policy, set a key for another provider, or name a model; `ostler models` lists what there is"
    };
    ModelError::new("no_model", format!("no model can be used ({})", exclusions_text(excluded))).hint(advice)
}
