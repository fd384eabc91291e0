//! How sessions and turns are named on the command line: by id, by the start of an id, by `last`, or by the number in a
//! list. What such a name stands for is found in [`crate::resolve`].

use std::str::FromStr;

use ostler_types::{SessionId, TurnId};

/// The longest number that is a place in a list; anything longer is the start of an id.
const MAX_NUMBER_DIGITS: usize = 3;
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 32;

/// A session, as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionRef {
    /// Its id.
    Id(SessionId),
    /// The start of its id, without `sess_`.
    Prefix(String),
    /// Its number in the last list that was printed.
    Number(usize),
    /// The session with the newest activity.
    Last,
}

/// A turn of a session, as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnRef {
    /// Its id.
    Id(TurnId),
    /// The start of its id, without `turn_`.
    Prefix(String),
    /// Its number, counted from the newest, which is 1.
    Number(usize),
}

impl FromStr for SessionRef {
    type Err = String;

    fn from_str(text: &str) -> Result<SessionRef, String> {
        if let Ok(id) = text.parse() {
            return Ok(SessionRef::Id(id));
        }
        if text == "last" {
            return Ok(SessionRef::Last);
        }
        if let Some(number) = list_number(text) {
            return Ok(SessionRef::Number(number));
        }
        let prefix = hex_prefix(text, "sess_");
        prefix.map(SessionRef::Prefix).ok_or_else(|| {
            "expected a session id or the start of one, `last`, or a number from `ostler sessions`".to_owned()
        })
    }
}

impl FromStr for TurnRef {
    type Err = String;

    fn from_str(text: &str) -> Result<TurnRef, String> {
        if let Ok(id) = text.parse() {
            return Ok(TurnRef::Id(id));
        }
        if text == "last" {
            return Ok(TurnRef::Number(1));
        }
        if let Some(number) = list_number(text) {
            return Ok(TurnRef::Number(number));
        }
        let prefix = hex_prefix(text, "turn_");
        prefix.map(TurnRef::Prefix).ok_or_else(|| {
            "expected a turn id or the start of one, `last`, or a number (1 is the newest turn)".to_owned()
        })
    }
}

/// Ids begin with the time, and that with a zero for a long time to come: numbers have no zero in front.
fn list_number(text: &str) -> Option<usize> {
    let is_number = text.len() <= MAX_NUMBER_DIGITS && !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_number)
}

fn hex_prefix(text: &str, kind: &str) -> Option<String> {
    let digits = text.strip_prefix(kind).unwrap_or(text).to_ascii_lowercase();
    let is_prefix =
        (1..=ID_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_prefix.then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::{SessionRef, TurnRef};

    #[test]
    fn ids_prefixes_numbers_and_last_are_told_apart() {
        let id = "sess_0190f3c4a5b67c8d9e0f112233445566";
        let parse = |text: &str| text.parse::<SessionRef>();
        assert_eq!(parse(id), Ok(SessionRef::Id(id.parse().unwrap())));
        for text in ["sess_0190F3", "0190f3"] {
            assert_eq!(parse(text), Ok(SessionRef::Prefix("0190f3".to_owned())), "{text}");
        }
        assert_eq!(parse("019"), Ok(SessionRef::Prefix("019".to_owned())));
        assert_eq!(parse("12"), Ok(SessionRef::Number(12)));
        assert_eq!(parse("1900"), Ok(SessionRef::Prefix("1900".to_owned())));
        assert_eq!(parse("last"), Ok(SessionRef::Last));
        for wrong in ["", "sess_", "turn_01", "newest", "-1", "+1", "sess_0190f3c4a5b67c8d9e0f1122334455667"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!("last".parse(), Ok(TurnRef::Number(1)));
        assert_eq!("turn_01a".parse(), Ok(TurnRef::Prefix("01a".to_owned())));
    }
}
