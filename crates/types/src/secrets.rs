//! Words that must not be written down or shown: keys of providers, tokens, what servers and agents are given. One set
//! for the whole daemon; a key that is only fetched when it is needed becomes known then.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use crate::Event;
use crate::printable::{printable, visible_chars};

/// What is written in a secret's place.
const MASK: &str = "[secret]";
/// A shorter word is found in ordinary text, and hiding it would hide nothing.
const MIN_SECRET_BYTES: usize = 8;
/// From this length on any word counts; a shorter one has to look like a key.
const LONG_SECRET_BYTES: usize = 20;

/// The known secrets. Cheap to clone; all clones know the same.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest first: one that is part of another must not tear it.
    known: Arc<RwLock<Arc<Vec<SecretWord>>>>,
}

struct SecretWord {
    plain: String,
    /// As it stands in a JSON string.
    in_json: String,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.words().len())
    }
}

impl Secrets {
    /// Hides a word from now on, unless it is too plain to be a secret: a placeholder such as `lm-studio` is not worth
    /// the harm of masking it everywhere.
    pub fn add(&self, word: &str) {
        let word = word.trim();
        let is_plain = |c: char| c.is_ascii_lowercase() || matches!(c, '-' | '_' | '.' | ' ');
        if word.len() < MIN_SECRET_BYTES || (word.len() < LONG_SECRET_BYTES && word.chars().all(is_plain)) {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.iter().any(|other| other.plain == word) {
            return;
        }
        let quoted = Value::String(word.to_owned()).to_string();
        let in_json = quoted[1..quoted.len() - 1].to_owned();
        let mut words: Vec<(String, String)> =
            known.iter().map(|word| (word.plain.clone(), word.in_json.clone())).collect();
        words.push((word.to_owned(), in_json));
        words.sort_by_key(|(plain, _)| std::cmp::Reverse(plain.len()));
        *known = Arc::new(words.into_iter().map(|(plain, in_json)| SecretWord { plain, in_json }).collect());
    }

    /// Hides the value of a variable, a header or the like, if its name or its looks say that it is secret. Paths,
    /// addresses and words are not: masking them would make sessions unreadable.
    pub fn add_named(&self, name: &str, value: &str) {
        const NAMES: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE"];
        let name = name.to_uppercase();
        let is_place = value.starts_with(['/', '~', '.']) || value.contains("://");
        let is_named = NAMES.iter().any(|part| name.contains(part)) && !is_place;
        let has = |test: fn(char) -> bool| value.chars().any(test);
        let looks = value.len() >= LONG_SECRET_BYTES
            && has(|c| c.is_ascii_digit())
            && has(|c| c.is_ascii_alphabetic())
            && !has(|c| c.is_whitespace() || "/:,;=()".contains(c));
        if is_named || looks {
            self.add(value.strip_prefix("Bearer ").unwrap_or(value));
        }
    }

    /// Whether nothing is known, so that nothing has to be looked for.
    pub fn is_empty(&self) -> bool {
        self.words().is_empty()
    }

    /// The text with a mask in place of each secret, also where colours or characters that nobody sees stand between
    /// its letters: whoever shows the text leaves them out.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.words().iter().fold(Cow::Borrowed(text), |text, word| {
            let found = occurrences(&text, &word.plain);
            if found.is_empty() {
                text
            } else {
                Cow::Owned(replace_ranges(&text, &found, |_| MASK.to_owned()))
            }
        })
    }

    /// The same of bytes that may be no text.
    pub fn mask_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let words = self.words();
        words.iter().fold(bytes, |bytes, word| replace_bytes(bytes, word.plain.as_bytes()))
    }

    /// The same in every string of a value, names of members included.
    pub fn mask_value(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if let Cow::Owned(masked) = self.mask(text) {
                    *text = masked;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask_value(value)),
            Value::Object(members) => {
                if members.keys().any(|name| matches!(self.mask(name), Cow::Owned(_))) {
                    let renamed = std::mem::take(members).into_iter();
                    *members = renamed.map(|(name, value)| (self.mask(&name).into_owned(), value)).collect();
                }
                members.values_mut().for_each(|value| self.mask_value(value));
            }
        }
    }

    /// The event as it may be written down.
    pub fn mask_event(&self, event: Event) -> Event {
        let words = self.words();
        if words.is_empty() {
            return event;
        }
        let Ok(text) = serde_json::to_string(&event) else { return event };
        // What is invisible is written as it is, or begins with a backslash.
        let hides_something = text.contains("\\u") || printable(&text).len() != text.len();
        if !hides_something && !words.iter().any(|word| text.contains(&word.in_json)) {
            return event;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(&text) else { return event };
        self.mask_value(&mut value);
        // A mask is a string like any other, so only a field with few allowed values could refuse it; none of those
        // can be a secret.
        serde_json::from_value(value).unwrap_or(event)
    }

    /// The text of a stream with stars in place of secrets, so that no offset moves, and how many bytes at its end may
    /// be the beginning of one and have to wait for what follows.
    pub fn mask_stream<'a>(&self, text: &'a str) -> (Cow<'a, str>, usize) {
        let words = self.words();
        let stars = |text: Cow<'a, str>, word: &SecretWord| {
            let found = occurrences(&text, &word.plain);
            if found.is_empty() {
                text
            } else {
                Cow::Owned(replace_ranges(&text, &found, |length| "*".repeat(length)))
            }
        };
        let masked = words.iter().fold(Cow::Borrowed(text), stars);
        let begun = words.iter().map(|word| partial_match_length(&masked, &word.plain)).max().unwrap_or(0);
        (masked, begun)
    }

    fn words(&self) -> Arc<Vec<SecretWord>> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The shortest beginning of a secret that is held back. Fewer bytes give nothing away, and most texts end so.
const MIN_PREFIX_BYTES: usize = 4;
/// How much of what was shown is looked at again at most.
const MAX_TAIL_BYTES: usize = 1024;

/// From where on the end of a text that was shown has to be looked at again with what follows, since a secret may begin
/// in it.
pub fn stream_tail_start(text: &str) -> usize {
    let end = text.floor_char_boundary(text.len().saturating_sub(MAX_TAIL_BYTES));
    let seen: Vec<usize> = visible_chars(&text[end..]).map(|(at, _)| end + at).collect();
    seen.len().checked_sub(MIN_PREFIX_BYTES - 1).map_or(end, |first| seen[first])
}

/// Where a word stands in a text, without overlaps, whatever invisible stands between its letters.
fn occurrences(text: &str, word: &str) -> Vec<Range<usize>> {
    let Cow::Owned(_) = printable(text) else {
        return text.match_indices(word).map(|(at, _)| at..at + word.len()).collect();
    };
    let seen: Vec<(usize, char)> = visible_chars(text).collect();
    let plain: String = seen.iter().map(|(_, c)| *c).collect();
    // Where each byte of what is seen stands in the text.
    let places: Vec<usize> = seen.iter().flat_map(|(at, c)| (*at..).take(c.len_utf8())).collect();
    let range = |(at, _): (usize, &str)| places[at]..places[at + word.len() - 1] + 1;
    plain.match_indices(word).map(range).collect()
}

/// The text with something else in these places.
fn replace_ranges(text: &str, places: &[Range<usize>], cover: impl Fn(usize) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after = 0;
    for place in places {
        out.push_str(&text[after..place.start]);
        out.push_str(&cover(place.len()));
        after = place.end;
    }
    out.push_str(&text[after..]);
    out
}

/// How many bytes at the end of a text are the beginning of a word, or may be when more is known.
fn partial_match_length(text: &str, word: &str) -> usize {
    let from = text.floor_char_boundary(text.len().saturating_sub(word.len().max(MAX_TAIL_BYTES)));
    let end = &text[from..];
    // Nearly every text has nothing invisible in it, and is asked about with every delta.
    let Cow::Owned(_) = printable(end) else { return prefix_match_length(end, word) };
    let seen: Vec<(usize, char)> = visible_chars(end).collect();
    let plain: String = seen.iter().map(|(_, c)| *c).collect();
    let places: Vec<usize> = seen.iter().flat_map(|(at, c)| (*at..).take(c.len_utf8())).collect();
    match prefix_match_length(&plain, word) {
        0 => 0,
        length => end.len() - places[plain.len() - length],
    }
}

/// How many bytes at the end of a text are the beginning of a word; none if it is too short a beginning.
fn prefix_match_length(text: &str, word: &str) -> usize {
    let longest = word.len().min(text.len() + 1).saturating_sub(1);
    let is_end = |length: &usize| text.as_bytes().ends_with(&word.as_bytes()[..*length]);
    (MIN_PREFIX_BYTES..=longest).rev().find(is_end).unwrap_or(0)
}

fn replace_bytes(bytes: Vec<u8>, word: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = &bytes[..];
    while let Some(at) = rest.windows(word.len()).position(|window| window == word) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(MASK.as_bytes());
        rest = &rest[at + word.len()..];
    }
    if out.is_empty() && rest.len() == bytes.len() {
        return bytes;
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Secrets;

    const KEY: &str = "sk-live-0123456789";

    fn secrets(words: &[&str]) -> Secrets {
        let secrets = Secrets::default();
        words.iter().for_each(|word| secrets.add(word));
        secrets
    }

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let known = secrets(&[KEY, "sk-live-0123", "a\"b\\cdef9"]);
        assert_eq!(known.mask(&format!("x {KEY} sk-live-0123.")), "x [secret] [secret].");
        let mut value = json!({ KEY: [format!("<{KEY}>"), 1], "b": "a\"b\\cdef9" });
        known.mask_value(&mut value);
        assert_eq!(value, json!({ "[secret]": ["<[secret]>", 1], "b": "[secret]" }));
        assert_eq!(known.mask_bytes([b"\xff", KEY.as_bytes(), b"\0"].concat()), b"\xff[secret]\0");
        assert_eq!(format!("{known:?}"), "Secrets(3)");
        for hidden in ["sk-live-\u{1b}[31m\u{1b}[K0123456789", "s\u{200b}k-live-01234\u{7}56789"] {
            assert_eq!(known.mask(&format!("a {hidden} b")), "a [secret] b");
            let (stars, held) = known.mask_stream(hidden);
            assert!(stars.chars().all(|c| c == '*') && stars.len() == hidden.len() && held == 0);
            let event = crate::Event::Session(crate::SessionEvent::Completed { by: hidden.to_owned() });
            let crate::Event::Session(crate::SessionEvent::Completed { by }) = known.mask_event(event) else {
                unreachable!()
            };
            assert_eq!(by, "[secret]");
        }
        let event =
            crate::Event::Session(crate::SessionEvent::Completed { by: format!("{KEY} a\"b\\cdef9") });
        let crate::Event::Session(crate::SessionEvent::Completed { by }) = known.mask_event(event) else {
            unreachable!()
        };
        assert_eq!(by, "[secret] [secret]");
    }

    #[test]
    fn words_that_are_no_secrets_stay() {
        assert!(secrets(&["", "short1", "lm-studio", "not-needed"]).is_empty());
        let known = Secrets::default();
        for (name, value) in [
            ("HOME", "/home/somebody/1"),
            ("TOKEN_FILE", "/run/secrets/token1"),
            ("URL", "http://localhost:8080/v1"),
            ("LANG", "en_US.UTF-8"),
            ("MODE", "production"),
        ] {
            known.add_named(name, value);
        }
        assert!(known.is_empty(), "{known:?}");
        known.add_named("Authorization", &format!("Bearer {KEY}"));
        known.add_named("X", "ghp_0123456789abcdefABCDEF");
        assert_eq!(known.mask(&format!("{KEY} ghp_0123456789abcdefABCDEF")), "[secret] [secret]");
    }

    #[test]
    fn a_stream_keeps_its_length_and_holds_back_what_may_be_a_beginning() {
        let known = secrets(&[KEY]);
        let (shown, held) = known.mask_stream("say sk-live-0123456789 and sk-liv");
        assert_eq!((shown.as_ref(), held), ("say ****************** and sk-liv", 6));
        assert_eq!((known.mask_stream("task").1, known.mask_stream("task sk-l").1), (0, 4));
        assert_eq!(known.mask_stream("nothing").1, 0);
        assert_eq!(Secrets::default().mask_stream("sk-live-"), ("sk-live-".into(), 0));
    }
}
