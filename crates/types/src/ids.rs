//! Ids. Each is a UUIDv7 behind a prefix that says what it names; a tool call keeps the model's own id.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// The hex digits of an id.
const DIGITS: usize = 32;

/// Why a string is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `{prefix}` followed by 32 lower-case hex digits")]
pub struct IdError {
    /// The prefix that the id should have had.
    pub prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// The text before the digits.
            pub const PREFIX: &'static str = $prefix;

            /// Names the thing with this UUID.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID inside, for doors that write it in their own way.
            pub const fn uuid(&self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(s: &str) -> Result<Self, IdError> {
                parse($prefix, s).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut room = [0; $prefix.len() + DIGITS];
                serializer.serialize_str(spell($prefix, &self.0, &mut room))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Spelled($prefix)).map(Self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": concat!("^", $prefix, "[0-9a-f]{32}$")})
            }
        }
    };
}

id!(
    /// Names a session, the same at every door.
    SessionId, "sess_"
);
id!(
    /// Names a turn.
    TurnId, "turn_"
);
id!(
    /// Names a message.
    MessageId, "msg_"
);

/// Names a tool call within its turn: the model's own id where it gave one, else `call_…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolCallId(pub String);

impl fmt::Display for ToolCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes an id without taking memory for it: each delta and each record has some.
fn spell<'a>(prefix: &str, uuid: &Uuid, room: &'a mut [u8]) -> &'a str {
    room[..prefix.len()].copy_from_slice(prefix.as_bytes());
    uuid.simple().encode_lower(&mut room[prefix.len()..]);
    str::from_utf8(room).expect("a prefix and hex digits are text")
}

/// Reads an id with this prefix in the same way.
struct Spelled(&'static str);

impl Visitor<'_> for Spelled {
    type Value = Uuid;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` followed by {DIGITS} lower-case hex digits", self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Uuid, E> {
        parse(self.0, text).map_err(E::custom)
    }
}

/// Only the exact form is accepted: an id is also a file name, so there must be one spelling.
fn parse(prefix: &'static str, s: &str) -> Result<Uuid, IdError> {
    let digits = s.strip_prefix(prefix).ok_or(IdError { prefix })?;
    let exact = digits.len() == DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !exact {
        return Err(IdError { prefix });
    }
    Uuid::try_parse(digits).map_err(|_| IdError { prefix })
}

#[cfg(test)]
mod tests {
    use super::SessionId;

    #[test]
    fn an_id_has_one_spelling() {
        let good = "sess_0190f3c4a5b67c8d9e0f112233445566";
        assert_eq!(good.parse::<SessionId>().unwrap().to_string(), good);
        let id: SessionId = serde_json::from_value(good.into()).unwrap();
        assert_eq!(serde_json::to_value(id).unwrap(), good);
        for bad in [
            "",
            "sess_",
            "turn_0190f3c4a5b67c8d9e0f112233445566",
            "sess_0190F3C4A5B67C8D9E0F112233445566",
            "sess_0190f3c4-a5b6-7c8d-9e0f-112233445566",
            "sess_../../../../../../../etc/passwd00",
            "sess_0190f3c4a5b67c8d9e0f1122334455667",
        ] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
            assert!(serde_json::from_value::<SessionId>(bad.into()).is_err(), "{bad}");
        }
    }
}
