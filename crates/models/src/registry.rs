//! Which models there are: from a name like `provider:model` to the model.
//!
//! The providers are given by the caller; nothing here reads the environment or a file, and no
//! connection is made before a model is asked something.

use std::sync::Arc;

use crate::anthropic::Anthropic;
use crate::http::Http;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::{Demo, Model, ModelError, Secret, Timeouts};

/// The provider that is always there, and the name of its one model.
const DEMO: &str = "demo";

/// All models that can be chosen.
#[derive(Debug)]
pub struct Models {
    providers: Vec<Arc<ProviderConfig>>,
    http: Arc<Http>,
}

/// A provider, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// What comes before the colon in a model's name.
    pub name: String,
    /// The protocol that it speaks.
    pub kind: ProviderKind,
    /// Where its endpoints lie, such as `https://api.openai.com/v1`. Must come from the user, never
    /// from a workspace, since the key is sent there.
    pub base_url: String,
    /// The key, if it wants one.
    pub api_key: Option<Secret>,
    /// The models to offer. Others of the provider can be used by name; the first is the default.
    pub models: Vec<String>,
}

/// The protocols that providers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// OpenAI's Chat Completions, which most other servers speak too.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
}

impl ProviderKind {
    /// The protocol's own name.
    pub(crate) fn protocol(self) -> &'static str {
        match self {
            ProviderKind::OpenAiChat => "OpenAI Chat Completions",
            ProviderKind::OpenAiResponses => "OpenAI Responses",
            ProviderKind::Anthropic => "Anthropic Messages",
        }
    }

    /// Where the endpoints of its maker lie.
    pub(crate) fn home(self) -> &'static str {
        match self {
            ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses => "https://api.openai.com/v1",
            ProviderKind::Anthropic => "https://api.anthropic.com",
        }
    }
}

impl Models {
    /// These providers, and the demo. A name that is given twice means the last one.
    pub fn new(providers: Vec<ProviderConfig>) -> Models {
        Models::with_timeouts(providers, Timeouts::default())
    }

    /// The same with other timeouts.
    pub fn with_timeouts(providers: Vec<ProviderConfig>, timeouts: Timeouts) -> Models {
        let mut kept: Vec<Arc<ProviderConfig>> = Vec::new();
        for provider in providers {
            kept.retain(|earlier| earlier.name != provider.name);
            kept.push(Arc::new(provider));
        }
        kept.retain(|provider| provider.name != DEMO);
        Models { providers: kept, http: Arc::new(Http::new(timeouts)) }
    }

    /// The model of this name: `provider:model`, `provider/model`, or a provider alone for its first model.
    pub fn resolve(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let name = name.trim();
        let (provider, model) = match name.split_once([':', '/']) {
            Some((provider, model)) => (provider, Some(model)),
            None => (name, None),
        };
        if provider == DEMO && model.is_none_or(|model| model == DEMO) {
            return Ok(Arc::new(Demo));
        }
        let config = self.providers.iter().find(|config| config.name == provider);
        let config = config.ok_or_else(|| self.unknown(name))?;
        let model = model.or_else(|| config.models.first().map(String::as_str)).unwrap_or_default();
        if model.is_empty() {
            return Err(ModelError::new("unknown_model", format!("`{name}` names a provider but no model"))
                .hint(format!("write `{provider}:` and the name of one of its models")));
        }
        match config.kind {
            ProviderKind::OpenAiChat => {
                Ok(Arc::new(OpenAiChat::new(config.clone(), model.to_owned(), self.http.clone())?))
            }
            ProviderKind::OpenAiResponses => {
                Ok(Arc::new(OpenAiResponses::new(config.clone(), model.to_owned(), self.http.clone())?))
            }
            ProviderKind::Anthropic => {
                Ok(Arc::new(Anthropic::new(config.clone(), model.to_owned(), self.http.clone())?))
            }
        }
    }

    /// Every model that is offered, by full name, the demo first.
    pub fn names(&self) -> Vec<String> {
        let configured = self.providers.iter().flat_map(|provider| {
            provider.models.iter().map(move |model| format!("{}:{model}", provider.name))
        });
        std::iter::once(format!("{DEMO}:{DEMO}")).chain(configured).collect()
    }

    fn unknown(&self, name: &str) -> ModelError {
        let unlisted = self.providers.iter().filter(|provider| provider.models.is_empty());
        let unlisted = unlisted.map(|provider| format!("{}:…", provider.name));
        let there: Vec<String> = self.names().into_iter().chain(unlisted).collect();
        let message = format!("there is no model `{name}`; there are {}", there.join(", "));
        ModelError::new("unknown_model", message).hint(
            "add a `[providers.NAME]` section to the configuration (`ostler config show` says where it is)",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Models, ProviderConfig, ProviderKind};
    use crate::Secret;

    fn provider(name: &str, models: &[&str]) -> ProviderConfig {
        ProviderConfig {
            name: name.to_owned(),
            kind: ProviderKind::OpenAiChat,
            base_url: "http://127.0.0.1:9/v1".to_owned(),
            api_key: Some(Secret::new("sk-hidden")),
            models: models.iter().map(|&model| model.to_owned()).collect(),
        }
    }

    #[test]
    fn names_are_understood_in_both_spellings() {
        let models = Models::new(vec![provider("local", &["small", "large"]), provider("router", &[])]);
        let fine = [
            "demo",
            "demo:demo",
            "demo/demo",
            "local",
            "local:small",
            "local/new",
            "router/a/b:free",
            " local:small ",
        ];
        for name in fine {
            assert!(models.resolve(name).is_ok(), "{name}");
        }
        for name in ["", "nobody", "nobody:small", "small", "demo:other", "router", "router:", ":small"] {
            assert_eq!(models.resolve(name).err().map(|error| error.code), Some("unknown_model"), "{name}");
        }
        assert_eq!(models.names(), ["demo:demo", "local:small", "local:large"]);
    }

    #[test]
    fn an_unknown_name_says_what_there_is() {
        let models = Models::new(vec![provider("local", &["small"]), provider("router", &[])]);
        let error = models.resolve("gpt-9").err().unwrap();
        assert_eq!(error.message, "there is no model `gpt-9`; there are demo:demo, local:small, router:…");
        assert!(error.hint.unwrap().contains("[providers.NAME]"));
    }

    #[test]
    fn the_demo_cannot_be_replaced_and_the_last_of_a_name_counts() {
        let again =
            vec![provider("demo", &["fake"]), provider("local", &["old"]), provider("local", &["new"])];
        assert_eq!(Models::new(again).names(), ["demo:demo", "local:new"]);
    }

    #[test]
    fn a_bad_address_is_told_before_anything_is_sent() {
        for base_url in ["", "localhost:8080", "ftp://example.org", "not a url"] {
            let config = ProviderConfig { base_url: base_url.to_owned(), ..provider("local", &["small"]) };
            let error = Models::new(vec![config]).resolve("local:small").err().unwrap();
            assert_eq!(error.code, "bad_base_url", "{base_url}");
        }
    }

    #[test]
    fn no_key_is_shown() {
        assert!(!format!("{:?}", Models::new(vec![provider("local", &["small"])])).contains("sk-hidden"));
    }
}
