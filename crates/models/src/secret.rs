//! Words that must not be shown, and where a provider's key comes from. They keep themselves out of
//! logs and can be taken out of any text; reading files, variables and commands is the caller's business.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::ModelError;

/// What is shown in a secret's place.
pub(crate) const SECRET_PLACEHOLDER: &str = "[secret]";

/// An API key. Its `Debug` hides it, so that a struct that holds one can be logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Where the key of a provider comes from.
#[derive(Clone)]
pub enum ProviderKey {
    /// The provider wants none.
    None,
    /// It is known, and stays the same.
    Fixed(Secret),
    /// It is found when it is needed.
    Found(KeySource),
}

/// Finds a key. It is asked before every request, so it must remember what it found; an error of it is
/// shown as it stands, and must say which key is missing and where to put it.
pub type KeySource =
    Arc<dyn Fn(KeyFreshness) -> BoxFuture<'static, Result<Secret, ModelError>> + Send + Sync>;

/// Whether a remembered key will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyFreshness {
    /// Any key will do.
    Any,
    /// The provider has refused this one. A source that remembers another by now gives that one, so that
    /// many requests that fail at once do not each look for a new key.
    Replacing(Secret),
}

impl Secret {
    /// Wraps the word. White space around it is dropped, since a key read from a file ends in a newline.
    pub fn new(word: impl AsRef<str>) -> Secret {
        Secret(word.as_ref().trim().to_owned())
    }

    /// The word itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SECRET_PLACEHOLDER)
    }
}

impl ProviderKey {
    /// The key to send; none if the provider wants none. An empty one counts as none.
    pub(crate) async fn find(&self, fresh: KeyFreshness) -> Result<Option<Secret>, ModelError> {
        let key = match self {
            ProviderKey::None => return Ok(None),
            ProviderKey::Fixed(secret) => secret.clone(),
            ProviderKey::Found(source) => source(fresh).await?,
        };
        Ok((!key.is_empty()).then_some(key))
    }

    /// Whether another key may be found when one is refused.
    pub(crate) fn can_change(&self) -> bool {
        match self {
            ProviderKey::None | ProviderKey::Fixed(_) => false,
            ProviderKey::Found(_) => true,
        }
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProviderKey::None => "None",
            ProviderKey::Fixed(_) => "Fixed([secret])",
            ProviderKey::Found(_) => "Found(..)",
        })
    }
}

/// The secrets of one exchange, to be taken out of whatever is shown of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretRedactor(Vec<Secret>);

impl SecretRedactor {
    /// Hides one more.
    pub(crate) fn add(&mut self, secret: Secret) {
        if !secret.is_empty() && !self.0.contains(&secret) {
            self.0.push(secret);
            // A secret that is part of another one must not tear it first.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        }
    }

    /// The text without the secrets.
    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, secret| {
            if text.contains(&secret.0) {
                Cow::Owned(text.replace(&secret.0, SECRET_PLACEHOLDER))
            } else {
                text
            }
        })
    }

    /// The same for text that may be JSON, where an escape can hide a secret from a plain search.
    pub(crate) fn redact_json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let plain = self.redact(text);
        if self.0.is_empty() || !plain.contains('\\') {
            return plain;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(&plain) else { return plain };
        if self.redact_value(&mut value) { Cow::Owned(value.to_string()) } else { plain }
    }

    /// Takes the secrets out of every string of a value. True if there were any.
    pub(crate) fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => match self.redact(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(clean) => {
                    *text = clean;
                    true
                }
            },
            Value::Array(values) => self.redact_all(values.iter_mut()),
            Value::Object(members) => {
                let has_name = members.keys().any(|name| matches!(self.redact(name), Cow::Owned(_)));
                if has_name {
                    let renamed = std::mem::take(members).into_iter();
                    *members =
                        renamed.map(|(name, value)| (self.redact(&name).into_owned(), value)).collect();
                }
                self.redact_all(members.values_mut()) || has_name
            }
        }
    }

    fn redact_all<'a>(&self, values: impl Iterator<Item = &'a mut Value>) -> bool {
        values.filter_map(|value| self.redact_value(value).then_some(())).count() > 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use serde_json::json;

    use super::{KeyFreshness, ProviderKey, Secret, SecretRedactor};

    fn hidden(words: &[&str]) -> SecretRedactor {
        let mut hidden = SecretRedactor::default();
        words.iter().for_each(|word| hidden.add(Secret::new(word)));
        hidden
    }

    #[test]
    fn a_secret_does_not_show_itself() {
        let secret = Secret::new("sk-12345\n");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "[secret] Some([secret])");
        let source = secret.clone();
        let found = ProviderKey::Found(Arc::new(move |_| std::future::ready(Ok(source.clone())).boxed()));
        let keys = [ProviderKey::None, ProviderKey::Fixed(secret.clone()), found];
        assert_eq!(format!("{keys:?}"), "[None, Fixed([secret]), Found(..)]");
        assert_eq!(format!("{:?}", KeyFreshness::Replacing(secret)), "Replacing([secret])");
    }

    #[test]
    fn secrets_are_taken_out_wherever_they_stand() {
        assert_eq!(hidden(&["sk-1"]).redact("key sk-1, again sk-1"), "key [secret], again [secret]");
        assert_eq!(hidden(&["sk-1", "sk-12345"]).redact("sk-12345 sk-1"), "[secret] [secret]");
        assert_eq!(hidden(&["", " "]).redact("as it was"), "as it was");
        let escaped = r#"{"a\n":"k\u0065y/1","key\/1":[{"b":"x key/1"}],"n":1}"#;
        let clean = hidden(&["key/1"]).redact_json(escaped);
        assert_eq!(clean, r#"{"a\n":"[secret]","[secret]":[{"b":"x [secret]"}],"n":1}"#);
        assert_eq!(hidden(&["key"]).redact_json(r"no json \ key"), r"no json \ [secret]");
        let mut value = json!({ "a": 1, "b": ["fine"] });
        assert!(!hidden(&["key"]).redact_value(&mut value));
    }

    #[tokio::test]
    async fn a_key_is_found_when_it_is_needed_and_an_empty_one_is_none() {
        assert_eq!(ProviderKey::None.find(KeyFreshness::Any).await, Ok(None));
        assert_eq!(ProviderKey::Fixed(Secret::new(" ")).find(KeyFreshness::Any).await, Ok(None));
        let found = ProviderKey::Found(Arc::new(|fresh| {
            let word = match fresh {
                KeyFreshness::Any => "old",
                KeyFreshness::Replacing(_) => "new",
            };
            std::future::ready(Ok(Secret::new(word))).boxed()
        }));
        assert_eq!(found.find(KeyFreshness::Any).await, Ok(Some(Secret::new("old"))));
        let fresh = KeyFreshness::Replacing(Secret::new("old"));
        assert_eq!(found.find(fresh).await, Ok(Some(Secret::new("new"))));
    }
}
