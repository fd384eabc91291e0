//! Reading what must be a JSON object. Left to itself, serde takes an array for a struct as well, and
//! an empty one for a struct with defaults: then a mistake would look like a wish.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Reads a `T` from an object and from nothing else; for `#[serde(deserialize_with)]`.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(Object(PhantomData))
}

/// The same for a field that may be null.
pub fn optional_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_option(OptionalObject(PhantomData))
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

struct OptionalObject<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OptionalObject<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or null")
    }

    fn visit_none<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        object(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use crate::Policy;

    #[test]
    fn a_policy_is_an_object_all_the_way_down() {
        assert_eq!(serde_json::from_str::<Policy>("{}").unwrap(), Policy::default());
        for bad in [r#"{"approval":[]}"#, r#"{"verify":[true]}"#, r#"{"patch_review":["off"]}"#] {
            let error = serde_json::from_str::<Policy>(bad).unwrap_err().to_string();
            assert!(error.contains("expected an object"), "{bad}: {error}");
        }
    }
}
