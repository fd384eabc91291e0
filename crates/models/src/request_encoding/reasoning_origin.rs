//! Who made what a provider wants back, so that nobody else gets it: another provider cannot read a
//! sealed reasoning, and refuses the request that holds it.

use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt};
use serde_json::Value;

use crate::profile::ModelProfile;
use crate::{ModelError, ModelEvent, ProviderConfig};

/// Writes who made it on everything that the provider wants back.
pub(crate) fn tag_origin(
    events: BoxStream<'static, Result<ModelEvent, ModelError>>,
    provider: Arc<ProviderConfig>,
    model: String,
) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
    let signed = move |mut event: Result<ModelEvent, ModelError>| {
        if let Ok(ModelEvent::ReasoningOpaque(Value::Object(opaque))) = &mut event {
            opaque.insert("name".to_owned(), provider.name.as_str().into());
            opaque.insert("model".to_owned(), model.as_str().into());
        }
        event
    };
    events.map(signed).boxed()
}

/// To whom something sealed may go back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReasoningRecipient<'a> {
    /// The protocol's mark.
    pub(crate) protocol: &'static str,
    /// The provider's configured name.
    pub(crate) provider: &'a str,
    pub(crate) profile: &'a ModelProfile,
}

impl ReasoningRecipient<'_> {
    /// Whether it came from this provider. What names no provider is of the time before they were
    /// named, and told apart by the protocol alone.
    pub(crate) fn made_by_provider(self, opaque: &Value) -> bool {
        let is = |field: &str, expected: &str| opaque.get(field).is_none_or(|value| value == expected);
        opaque.get("provider").is_some_and(|protocol| protocol == self.protocol) && is("name", self.provider)
    }

    /// Whether it came from this very model.
    pub(crate) fn made_by_model(self, opaque: &Value) -> bool {
        self.made_by_provider(opaque)
            && opaque.get("model").is_none_or(|model| model == self.profile.id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ReasoningRecipient;
    use crate::profile::ModelProfile;

    #[test]
    fn what_is_sealed_goes_back_to_its_maker_only() {
        let profile = ModelProfile::unknown("home", "large");
        let recipient = ReasoningRecipient { protocol: "anthropic", provider: "home", profile: &profile };
        let cases = [
            (json!({"provider": "anthropic"}), true, true),
            (json!({"provider": "anthropic", "name": "home", "model": "large"}), true, true),
            (json!({"provider": "anthropic", "name": "home", "model": "small"}), true, false),
            (json!({"provider": "anthropic", "name": "work", "model": "large"}), false, false),
            (json!({"provider": "openai-chat", "name": "home", "model": "large"}), false, false),
            (json!({"name": "home"}), false, false),
            (json!("text"), false, false),
        ];
        for (opaque, provider, model) in cases {
            assert_eq!(
                (recipient.made_by_provider(&opaque), recipient.made_by_model(&opaque)),
                (provider, model),
                "{opaque}"
            );
        }
    }
}
