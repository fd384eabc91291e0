//! The section `models`: which model a session gets that names none, and what is known of models.

use std::collections::BTreeMap;

use ostler_models::ModelOverride;
use ostler_types::{Ability, ModelPolicy, Prices};
use serde::{Deserialize, Serialize};

/// Which model a session gets that names none, and what is known of models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelsSection {
    /// The model, as `provider:model`; without one, one is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Models that take the place of one that cannot answer, in this order.
    pub fallback: Vec<String>,
    /// Models to be taken before all others, the first that can be used.
    pub prefer: Vec<String>,
    /// What a model must be able to do to be chosen.
    pub require: Vec<Ability>,
    /// The most that a million input tokens of it may cost, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_input_price: Option<f64>,
    /// The most that a million output tokens of it may cost, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_price: Option<f64>,
    /// Whether providers are asked which models they have.
    pub discover: bool,
    /// What the owner of this machine says of models, by full name.
    pub info: BTreeMap<String, ModelFacts>,
}

impl Default for ModelsSection {
    fn default() -> ModelsSection {
        ModelsSection {
            default: None,
            fallback: Vec::new(),
            prefer: Vec::new(),
            require: Vec::new(),
            max_input_price: None,
            max_output_price: None,
            discover: true,
            info: BTreeMap::new(),
        }
    }
}

impl ModelsSection {
    /// The default, if one is named.
    pub fn named_default(&self) -> Option<&str> {
        self.default.as_deref().map(str::trim).filter(|name| !name.is_empty())
    }

    /// How a session comes by a model when nobody names one.
    pub fn policy(&self) -> ModelPolicy {
        ModelPolicy {
            require: self.require.clone(),
            max_input_price: self.max_input_price,
            max_output_price: self.max_output_price,
            prefer: self.prefer.clone(),
        }
    }

    /// What the owner says of models, by full name.
    pub fn overrides(&self) -> BTreeMap<String, ModelOverride> {
        self.info.iter().map(|(name, facts)| (name.clone(), facts.clone().into())).collect()
    }
}

/// What the owner of this machine says of a model. What is absent is found elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelFacts {
    /// Tokens that a conversation and its answer may have together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens that one answer may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// What it costs, in US dollars per million tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// All that it can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abilities: Option<Vec<Ability>>,
}

impl From<ModelFacts> for ModelOverride {
    fn from(facts: ModelFacts) -> ModelOverride {
        let ModelFacts { context_window, max_output_tokens, prices, abilities } = facts;
        ModelOverride { context_window, max_output_tokens, prices, abilities }
    }
}
