//! The models that sessions can have, as the doors need to know them. Which there are and how one is
//! found is not theirs: whoever wires a daemon together brings it.

use futures_util::future::BoxFuture;
use ostler_types::{ModelInfo, ModelPolicy, Refusal, Resolution};

/// The models that sessions can have.
pub trait ModelChoices: Send + Sync + 'static {
    /// All that can be chosen; asks their servers anew when `refresh` is set.
    fn list(&self, refresh: bool) -> BoxFuture<'_, Vec<ModelInfo>>;

    /// The model of a session that names none.
    fn choose<'a>(&'a self, policy: &'a ModelPolicy) -> BoxFuture<'a, Result<Resolution, Refusal>>;

    /// Whether a model can be named at all, and why not. Its server is not asked.
    fn check(&self, name: &str) -> Result<(), Refusal>;
}
