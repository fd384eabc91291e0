//! Which model a session gets that names none. Pure: it looks at a snapshot of what there is, and says
//! whom to ask when that is not enough. Asking, and knowing the models, is the registry's.

use ostler_types::{Ability, ModelInfo, ModelPolicy, Resolution, ResolvedBy};

use crate::ModelError;

/// A provider as the choice sees it. They come in the order in which they are preferred.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Offer {
    pub(crate) provider: String,
    pub(crate) state: State,
    /// Its models, the ones to be taken first at the front.
    pub(crate) models: Vec<ModelInfo>,
}

/// How a provider stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// It has a key.
    Keyed,
    /// It lacks a key.
    Locked {
        /// What is missing, and what to do about it.
        missing: String,
        /// Whether somebody wrote it down, so that its absence is worth a word.
        configured: bool,
    },
    /// It wants no key, and has not been asked whether it is there.
    Unasked,
    /// It wants no key, and is there.
    There,
    /// It wants no key, and did not answer.
    Absent(String),
    /// It is used only when it is named.
    ByName,
    /// It is there for when there is nothing else.
    Last,
}

/// What comes of choosing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// This one.
    Chosen(Resolution),
    /// That depends on whether these providers are there.
    Ask(Vec<String>),
    /// None.
    Nothing(ModelError),
}

/// Chooses. `info` tells of models that no offer lists.
pub(crate) fn choose(
    offers: &[Offer],
    policy: &ModelPolicy,
    default: Option<&str>,
    info: &dyn Fn(&str) -> ModelInfo,
) -> Outcome {
    let choice = Choice { offers, policy, info };
    if let Some(name) = default.map(str::trim).filter(|name| !name.is_empty()) {
        return choice.configured(name);
    }
    let mut excluded = Vec::new();
    let steps = [Choice::preferred, Choice::keyed, Choice::served, Choice::last];
    steps
        .iter()
        .find_map(|step| step(&choice, &mut excluded))
        .unwrap_or_else(|| Outcome::Nothing(no_model(policy, &excluded)))
}

/// A model's name, taken apart: `provider:model`, `provider/model`, or a provider alone.
pub(crate) fn split(name: &str) -> (&str, Option<&str>) {
    match name.trim().split_once([':', '/']) {
        Some((provider, model)) => (provider, Some(model)),
        None => (name.trim(), None),
    }
}

struct Choice<'a> {
    offers: &'a [Offer],
    policy: &'a ModelPolicy,
    info: &'a dyn Fn(&str) -> ModelInfo,
}

type Excluded = Vec<String>;

impl Choice<'_> {
    /// The model that the configuration names is taken whatever the policy says; a warning will do.
    fn configured(&self, name: &str) -> Outcome {
        let model = match self.named(name) {
            Named::Model(model) => model,
            Named::Ask(provider) => return Outcome::Ask(vec![provider]),
            Named::Nothing(why) => return Outcome::Nothing(unusable(name, &why)),
        };
        let objection = self.objection(&model).or(model.unavailable);
        let warning = objection.map(|why| format!("; beware: {why}")).unwrap_or_default();
        let detail = format!("the configuration names it as the default (`models.default`){warning}");
        chosen(model.name, ResolvedBy::Configured, detail)
    }

    fn preferred(&self, excluded: &mut Excluded) -> Option<Outcome> {
        for name in &self.policy.prefer {
            let model = match self.named(name) {
                Named::Model(model) => model,
                Named::Ask(provider) => return Some(Outcome::Ask(vec![provider])),
                Named::Nothing(why) => {
                    excluded.push(why);
                    continue;
                }
            };
            match model.unavailable.clone().or_else(|| self.objection(&model)) {
                Some(why) => excluded.push(format!("{}: {why}", model.name)),
                None => {
                    let detail = "it is the first usable model that the model policy prefers";
                    return Some(chosen(model.name, ResolvedBy::Policy, detail));
                }
            }
        }
        None
    }

    fn keyed(&self, excluded: &mut Excluded) -> Option<Outcome> {
        let before = excluded.len();
        for offer in self.offers {
            match &offer.state {
                State::Keyed => {}
                State::Locked { missing, configured: true } => {
                    excluded.push(format!("{}: {missing}", offer.provider));
                    continue;
                }
                State::Locked { .. } | State::Unasked | State::There | State::Absent(_) => continue,
                State::ByName | State::Last => continue,
            }
            let Some(model) = self.first(offer, excluded) else { continue };
            let found = format!("provider `{}` has a key", offer.provider);
            return Some(if self.spoke(&excluded[before..]) {
                let detail = format!("{found}, and the model policy leaves none before it");
                chosen(model, ResolvedBy::Policy, detail)
            } else {
                chosen(
                    model,
                    ResolvedBy::KeyFound,
                    format!("{found}, and the configuration names no default"),
                )
            });
        }
        None
    }

    fn served(&self, excluded: &mut Excluded) -> Option<Outcome> {
        let unasked = self.offers.iter().filter(|offer| offer.state == State::Unasked);
        let unasked: Vec<String> = unasked.map(|offer| offer.provider.clone()).collect();
        if !unasked.is_empty() {
            return Some(Outcome::Ask(unasked));
        }
        for offer in self.offers.iter().filter(|offer| offer.state == State::There) {
            let Some(model) = self.first(offer, excluded) else { continue };
            let others =
                if excluded.is_empty() { "no provider has a key" } else { "nothing before it can be used" };
            let detail = format!("{others}, and the server of provider `{}` answers", offer.provider);
            return Some(chosen(model, ResolvedBy::LocalServer, detail));
        }
        None
    }

    fn last(&self, excluded: &mut Excluded) -> Option<Outcome> {
        let offer = self.offers.iter().find(|offer| offer.state == State::Last)?;
        let others = if excluded.is_empty() {
            "no provider has a key and no local server answers".to_owned()
        } else {
            format!("nothing else can be used ({})", told(excluded))
        };
        let model = self.first(offer, excluded)?;
        Some(chosen(model, ResolvedBy::Demo, format!("{others}, so this is the built-in demonstration")))
    }

    /// The first model of a provider that the policy allows.
    fn first(&self, offer: &Offer, excluded: &mut Excluded) -> Option<String> {
        for model in &offer.models {
            match self.objection(model) {
                Some(why) => excluded.push(format!("{}: {why}", model.name)),
                None => return Some(model.name.clone()),
            }
        }
        None
    }

    /// Whether the policy, rather than a missing key, excluded anything.
    fn spoke(&self, excluded: &[String]) -> bool {
        let locked = |why: &&String| {
            self.offers.iter().any(|offer| match &offer.state {
                State::Locked { missing, .. } => **why == format!("{}: {missing}", offer.provider),
                State::Keyed
                | State::Unasked
                | State::There
                | State::Absent(_)
                | State::ByName
                | State::Last => false,
            })
        };
        excluded.iter().any(|why| !locked(&why))
    }

    fn named(&self, name: &str) -> Named {
        let (provider, model) = split(name);
        let Some(offer) = self.offers.iter().find(|offer| offer.provider == provider) else {
            return Named::Nothing(format!("there is no provider `{provider}`"));
        };
        let unsure = match &offer.state {
            State::Unasked => return Named::Ask(provider.to_owned()),
            State::Absent(why) => Some(why.clone()),
            State::Locked { missing, .. } => Some(missing.clone()),
            State::Keyed | State::There | State::ByName | State::Last => None,
        };
        let mut model = match model.filter(|model| !model.is_empty()) {
            Some(model) => match known(offer, model) {
                Some(known) => known.clone(),
                None => (self.info)(&format!("{provider}:{model}")),
            },
            None => match offer.models.first() {
                Some(first) => first.clone(),
                None => {
                    return Named::Nothing(unsure.unwrap_or(format!("provider `{provider}` has no model")));
                }
            },
        };
        model.unavailable = unsure.or(model.unavailable);
        Named::Model(model)
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
enum Named {
    Model(ModelInfo),
    Ask(String),
    Nothing(String),
}

/// The model of an offer that a name means; Ollama's `latest` goes without saying.
fn known<'a>(offer: &'a Offer, model: &str) -> Option<&'a ModelInfo> {
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

fn chosen(model: String, reason: ResolvedBy, detail: impl Into<String>) -> Outcome {
    Outcome::Chosen(Resolution { model, reason, detail: detail.into(), instead_of: None, error: None })
}

fn unusable(name: &str, why: &str) -> ModelError {
    ModelError::new("unknown_model", format!("the default model `{name}` cannot be used: {why}"))
        .hint("set `models.default` to a model that `ostler models` lists, or leave it out")
}

/// How many exclusions are told.
const TOLD: usize = 8;

fn told(excluded: &[String]) -> String {
    let mut told: Vec<String> = excluded.iter().take(TOLD).cloned().collect();
    let more = excluded.len().saturating_sub(TOLD);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told.join("; ")
}

fn no_model(policy: &ModelPolicy, excluded: &[String]) -> ModelError {
    let advice = if *policy == ModelPolicy::default() {
        "set a key such as ANTHROPIC_API_KEY, start a local server, or name a model"
    } else {
        "ease the model policy, set a key for another provider, or name a model; `ostler models` lists what there is"
    };
    ModelError::new("no_model", format!("no model can be used ({})", told(excluded))).hint(advice)
}
