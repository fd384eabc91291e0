//! A word that must not be shown. It keeps itself out of logs; where it comes from is the caller's
//! business.

use std::fmt;

/// What is shown in a secret's place.
pub(crate) const SHOWN: &str = "[secret]";

/// An API key. Its `Debug` hides it, so that a struct that holds one can be logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps the word. White space around it is dropped, since a key read from a file ends in a newline.
    pub fn new(word: impl AsRef<str>) -> Secret {
        Secret(word.as_ref().trim().to_owned())
    }

    /// The word itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text with every occurrence of the word hidden.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, SHOWN) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SHOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_does_not_show_itself() {
        let secret = Secret::new("sk-12345\n");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "[secret] Some([secret])");
        assert_eq!(secret.redact("key sk-12345, again sk-12345"), "key [secret], again [secret]");
        assert_eq!(Secret::new("").redact("as it was"), "as it was");
    }
}
