//! Reads an event by its name, which says the subject that it belongs to. Derived code would try one subject after the
//! other, and forget why the right one failed.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Error, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use crate::{Event, EventName};

const TYPE: &str = "type";
const DATA: &str = "data";

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
        deserializer.deserialize_struct("Event", &[TYPE, DATA], Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Event;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with `type` and `data`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Event, A::Error> {
        let mut data: Option<Value> = None;
        loop {
            match members.next_key()? {
                Some(Member::Type) => break,
                Some(Member::Data) => data = Some(members.next_value()?),
                Some(Member::Other) => {
                    members.next_value::<IgnoredAny>()?;
                }
                None => return Err(A::Error::missing_field(TYPE)),
            }
        }
        let name: EventName = members.next_value()?;
        let Some(data) = data else {
            // As every log has it: the data is read as it comes, without a copy.
            return Event::read(
                name,
                MapAccessDeserializer::new(TypeFirst { name: Some(name), rest: members }),
            );
        };
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        let members = [(TYPE, Value::from(name.as_str())), (DATA, data)];
        Event::read(name, MapDeserializer::new(members.into_iter()))
            .map_err(A::Error::custom::<serde_json::Error>)
    }
}

/// The members of an event whose `type` has been read already: it is given once more, then come the others.
struct TypeFirst<A> {
    name: Option<EventName>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TypeFirst<A> {
    type Error = A::Error;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.name {
            Some(_) => seed.deserialize(TYPE.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.name.take() {
            Some(name) => seed.deserialize(name.as_str().into_deserializer()),
            None => self.rest.next_value_seed(seed),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Member {
    Type,
    Data,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for EventName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EventName, D::Error> {
        struct Name;

        impl Visitor<'_> for Name {
            type Value = EventName;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of an event")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<EventName, E> {
                name.parse().map_err(|_unknown| E::custom(format_args!("no event is called `{name}`")))
            }
        }

        deserializer.deserialize_str(Name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{Event, MessageId, Record};

    const RECORD: &str = r#"{"seq":7,"ts":"2026-01-02T03:04:05Z","session_id":"sess_019b76daa80070008000000000000001",
        "turn_id":null,"type":"tool_batch_completed","data":{},"chain":"x"}"#;

    fn withdrawn() -> Value {
        let id = MessageId::new(uuid::Uuid::from_u128(1));
        json!({"message_id": id, "by": "ann"})
    }

    #[test]
    fn members_may_come_in_any_order_and_beside_others() {
        let data = withdrawn();
        let orders = [
            format!(r#"{{"type":"message_withdrawn","data":{data}}}"#),
            format!(r#"{{"data":{data},"type":"message_withdrawn"}}"#),
            format!(r#"{{"a":1,"data":{data},"b":[],"type":"message_withdrawn","c":{{}}}}"#),
            format!(r#"{{"a":1,"type":"message_withdrawn","b":[2],"data":{data},"c":null}}"#),
        ];
        let [first, others @ ..] =
            orders.each_ref().map(|text| serde_json::from_str::<Event>(text).expect("an event"));
        assert!(others.iter().all(|event| *event == first));
        assert_eq!(
            serde_json::from_str::<Value>(&orders[1]).and_then(serde_json::from_value::<Event>).ok(),
            Some(first)
        );
    }

    #[test]
    fn a_record_is_read_with_what_stands_around_its_event() {
        let record: Record = serde_json::from_str(RECORD).expect("a record");
        assert_eq!(record.event.name().as_str(), "tool_batch_completed");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |text: &str| serde_json::from_str::<Event>(text).expect_err("no event").to_string();
        assert!(wrong(r#"{"type":"turn_ended","data":{}}"#).contains("no event is called `turn_ended`"));
        assert!(wrong(r#"{"data":{}}"#).contains("missing field `type`"));
        assert!(wrong(r#"{"type":"message_withdrawn"}"#).contains("missing field `data`"));
        let nobody = r#"{"type":"message_withdrawn","data":{"by":"ann"}}"#;
        assert!(wrong(nobody).contains("missing field `message_id`"));
        assert!(
            wrong(r#"{"data":{"by":"ann"},"type":"message_withdrawn"}"#)
                .contains("missing field `message_id`")
        );
    }
}
