//! Ids and names of tool calls as each provider takes them. A session may have used another provider
//! before, whose ids this one would refuse.

use std::borrow::Cow;

/// Which ids of tool calls a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// Letters, digits, `_` and `-`, at most 64.
    WordCharacters,
    /// Any visible characters, at most 40.
    Short,
    /// Exactly nine letters and digits.
    NineLetters,
}

impl IdRule {
    /// The id itself where it is taken, else another one that follows from it, so that a call and its
    /// result keep the same.
    pub(crate) fn apply(self, id: &str) -> Cow<'_, str> {
        if self.accepts(id) {
            return Cow::Borrowed(id);
        }
        Cow::Owned(match self {
            IdRule::WordCharacters | IdRule::Short => format!("call_{:016x}", fingerprint(id)),
            IdRule::NineLetters => nine_letters(fingerprint(id)),
        })
    }

    fn accepts(self, id: &str) -> bool {
        let length = id.len();
        match self {
            IdRule::WordCharacters => (1..=64).contains(&length) && id.bytes().all(is_word),
            IdRule::Short => (1..=40).contains(&length) && id.bytes().all(|byte| byte.is_ascii_graphic()),
            IdRule::NineLetters => length == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        }
    }
}

/// A tool's name as every provider takes it. A model can call a tool that there never was.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    if (1..=64).contains(&name.len()) && name.bytes().all(is_word) {
        return Cow::Borrowed(name);
    }
    let spelled = |c: char| u8::try_from(c).ok().filter(|&byte| is_word(byte)).map_or('_', char::from);
    let name: String = name.chars().take(64).map(spelled).collect();
    Cow::Owned(if name.is_empty() { "unknown".to_owned() } else { name })
}

/// A key for the provider's cache, which may have 64 characters.
pub(crate) fn cache_key(key: &str) -> Cow<'_, str> {
    if key.chars().count() <= 64 {
        Cow::Borrowed(key)
    } else {
        Cow::Owned(format!("{:016x}", fingerprint(key)))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// FNV-1a: the same for ever and on every machine, since requests must stay the same as a conversation
/// grows.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn nine_letters(mut number: u64) -> String {
    let mut letters = String::with_capacity(9);
    for _ in 0..9 {
        let digit = u32::try_from(number % 36).unwrap_or_default();
        letters.push(char::from_digit(digit, 36).unwrap_or('0'));
        number /= 36;
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::{IdRule, cache_key, tool_name};

    #[test]
    fn ids_that_are_taken_stay_and_others_become_ones_that_are() {
        let long = "x".repeat(65);
        let cases = [
            (IdRule::WordCharacters, "toolu_01-A", true),
            (IdRule::WordCharacters, "functions.shell:0", false),
            (IdRule::WordCharacters, &long, false),
            (IdRule::WordCharacters, "", false),
            (IdRule::Short, "functions.shell:0", true),
            (IdRule::Short, "with space", false),
            (IdRule::Short, &long[..41], false),
            (IdRule::NineLetters, "D681PevKs", true),
            (IdRule::NineLetters, "call_1234", false),
            (IdRule::NineLetters, "c1", false),
        ];
        for (rule, id, stays) in cases {
            let applied = rule.apply(id);
            assert_eq!(applied == id, stays, "{rule:?} {id}");
            assert_eq!(rule.apply(&applied), applied, "{rule:?} {id}");
            assert!(rule.accepts(&applied), "{rule:?} {id} {applied}");
        }
        assert_ne!(IdRule::WordCharacters.apply("a.b"), IdRule::WordCharacters.apply("a:b"));
        assert_eq!(IdRule::WordCharacters.apply("functions.shell:0"), "call_94905e79dfdfefb8");
    }

    #[test]
    fn names_and_keys_fit() {
        assert_eq!(tool_name("read_file"), "read_file");
        assert_eq!(tool_name("functions.rëad"), "functions_r_ad");
        assert_eq!(tool_name(""), "unknown");
        assert_eq!(tool_name(&"x".repeat(99)).len(), 64);
        assert_eq!(cache_key("ses_1"), "ses_1");
        assert_eq!(cache_key(&"x".repeat(99)).len(), 16);
    }
}
