//! Models as people choose them: what one can do, what it costs, and how a session comes by one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Failure, Usage};

/// Something that a model may or may not be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// Call tools.
    Tools,
    /// Look at pictures.
    Vision,
    /// Read documents such as PDFs.
    Files,
    /// Think before it answers.
    Reasoning,
    /// Read a repeated beginning from its provider's cache.
    Caching,
}

impl Ability {
    /// The word used on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Ability::Tools => "tools",
            Ability::Vision => "vision",
            Ability::Files => "files",
            Ability::Reasoning => "reasoning",
            Ability::Caching => "caching",
        }
    }
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Not at all, where it can be switched off.
    None,
    /// A little.
    Low,
    /// As its maker thinks best for most work.
    Medium,
    /// A lot.
    High,
    /// As much as it can.
    Max,
}

impl Effort {
    /// The word used on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Effort::None => "none",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Max => "max",
        }
    }
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelInfo {
    /// Its full name, `provider:model`.
    pub name: String,
    /// Tokens that a conversation and its answer may have together, if known.
    pub context_window: Option<u64>,
    /// Tokens that one answer may have, if known.
    pub max_output_tokens: Option<u64>,
    /// What it costs, if known. A model that runs at home costs nothing, which is known.
    pub prices: Option<Prices>,
    /// What it can do; absent when nobody has said.
    pub abilities: Option<Vec<Ability>>,
    /// Where this knowledge comes from.
    pub source: InfoSource,
    /// Why it cannot be used now, such as a missing key.
    pub unavailable: Option<String>,
}

impl ModelInfo {
    /// A model of which only the name is known.
    pub fn unknown(name: impl Into<String>) -> ModelInfo {
        ModelInfo {
            name: name.into(),
            context_window: None,
            max_output_tokens: None,
            prices: None,
            abilities: None,
            source: InfoSource::Unknown,
            unavailable: None,
        }
    }

    /// Whether it is known to be able to.
    pub fn can(&self, ability: Ability) -> bool {
        self.abilities.as_ref().is_some_and(|abilities| abilities.contains(&ability))
    }

    /// Whether it is known not to be able to. What nobody has said may be tried.
    pub fn cannot(&self, ability: Ability) -> bool {
        self.abilities.as_ref().is_some_and(|abilities| !abilities.contains(&ability))
    }
}

/// Where knowledge of a model comes from; the later ones are stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InfoSource {
    /// From nowhere: only the name is known.
    Unknown,
    /// It came with this program.
    Builtin,
    /// Its server said so.
    Discovered,
    /// The owner of this machine said so.
    Configured,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// What is sent.
    pub input: f64,
    /// What the model writes, reasoning included.
    pub output: f64,
    /// What is read from the provider's cache; like other input when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// What is written to the provider's cache; like other input when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Prices {
    /// Nothing at all.
    pub const FREE: Prices = Prices { input: 0.0, output: 0.0, cached: None, cache_write: None };

    /// What this usage costs.
    pub fn cost(&self, usage: &Usage) -> Cost {
        let special = usage.cached_tokens.saturating_add(usage.cache_write_tokens);
        let plain = usage.input_tokens.saturating_sub(special);
        let (cached, cache_write) =
            (self.cached.unwrap_or(self.input), self.cache_write.unwrap_or(self.input));
        let per_million = plain as f64 * self.input
            + usage.cached_tokens as f64 * cached
            + usage.cache_write_tokens as f64 * cache_write
            + usage.output_tokens as f64 * self.output;
        Cost::from_usd(per_million / 1e6)
    }
}

/// An amount of money, in billionths of a US dollar, so that sums do not depend on their order. On
/// every wire it is a number of dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Cost(u64);

impl Cost {
    /// The amount nearest to this many dollars; nothing, if it is negative or no number.
    pub fn from_usd(usd: f64) -> Cost {
        // A cast saturates, and makes 0 of what is no number.
        Cost((usd * 1e9).round() as u64)
    }

    /// So many billionths of a dollar.
    pub fn from_nanos(nanos: u64) -> Cost {
        Cost(nanos)
    }

    /// In billionths of a dollar.
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// In dollars.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Cost) -> Cost {
        Cost(self.0.saturating_add(other.0))
    }
}

impl From<f64> for Cost {
    fn from(usd: f64) -> Cost {
        Cost::from_usd(usd)
    }
}

impl From<Cost> for f64 {
    fn from(cost: Cost) -> f64 {
        cost.usd()
    }
}

impl JsonSchema for Cost {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cost".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "minimum": 0, "description": "US dollars." })
    }
}

/// How a session that names no model comes by one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelPolicy {
    /// What the model must be able to do.
    pub require: Vec<Ability>,
    /// The most that a million input tokens may cost, in US dollars.
    pub max_input_price: Option<f64>,
    /// The most that a million output tokens may cost, in US dollars.
    pub max_output_price: Option<f64>,
    /// Models to be taken before all others, the first that can be used.
    pub prefer: Vec<String>,
}

/// The model that was found for a session, and why that one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    /// The model, as `provider:model`.
    pub model: String,
    /// A stable word for why.
    pub reason: ResolvedBy,
    /// The same for people, in a sentence.
    pub detail: String,
    /// The model that it takes the place of, after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// How that one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// Why a session has its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    /// The configuration names it.
    Configured,
    /// The model policy prefers it, or leaves no other.
    Policy,
    /// Its provider has a key.
    KeyFound,
    /// A server on this machine answered.
    LocalServer,
    /// There is nothing else.
    Demo,
    /// The model before it in the session's list could not answer.
    Failover,
}

#[cfg(test)]
mod tests {
    use super::{Cost, Prices};
    use crate::Usage;

    #[test]
    fn cached_tokens_have_their_own_price() {
        let prices = Prices { input: 3.0, output: 15.0, cached: Some(0.3), cache_write: Some(3.75) };
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cached_tokens: 600_000,
            cache_write_tokens: 200_000,
            ..Usage::default()
        };
        assert_eq!(prices.cost(&usage), Cost::from_usd(0.6 + 0.18 + 0.75 + 1.5));
        let plain = Prices { cached: None, cache_write: None, ..prices };
        assert_eq!(plain.cost(&usage), Cost::from_usd(4.5));
    }

    #[test]
    fn money_is_a_number_of_dollars_on_the_wire_and_comes_back_the_same() {
        for nanos in [0, 1, 123_456_789, 9_007_199_254_740_992] {
            let text = serde_json::to_string(&Cost::from_nanos(nanos)).unwrap();
            assert_eq!(serde_json::from_str::<Cost>(&text).unwrap().nanos(), nanos, "{text}");
        }
        assert_eq!(Cost::from_usd(-1.0), Cost::default());
        assert_eq!(Cost::from_usd(f64::NAN), Cost::default());
    }
}
