//! Reads events and records. The name of an event says which subject it belongs to; derived code would try one subject
//! after the other, and forget why the right one failed.
//!
//! The data stays text until the name is known, and then one function reads it. Code that is generic over the
//! deserializer would be compiled for each of them, and a flattened event would be copied member by member first.

use std::fmt;

use jiff::Timestamp;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{Event, EventName, Record, SessionId, TurnId};

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
        let EventText { name, data } = EventText::deserialize(deserializer)?;
        Event::read(name, &data).map_err(D::Error::custom)
    }
}

#[derive(Deserialize)]
struct EventText {
    #[serde(rename = "type")]
    name: EventName,
    data: Box<RawValue>,
}

/// A record whose event has not been read yet.
#[derive(Deserialize)]
pub(crate) struct RecordText {
    seq: u64,
    ts: Timestamp,
    session_id: SessionId,
    turn_id: Option<TurnId>,
    #[serde(rename = "type")]
    name: EventName,
    data: Box<RawValue>,
}

impl TryFrom<RecordText> for Record {
    type Error = EventError;

    fn try_from(text: RecordText) -> Result<Record, EventError> {
        let RecordText { seq, ts, session_id, turn_id, name, data } = text;
        Ok(Record { seq, ts, session_id, turn_id, event: Event::read(name, &data)? })
    }
}

impl Event {
    fn read(name: EventName, data: &RawValue) -> Result<Event, EventError> {
        let text = format!(r#"{{"type":"{}","data":{data}}}"#, name.as_str());
        Event::from_text(name, &text).map_err(|error| EventError { name, error })
    }
}

/// The data of an event is not what its name says.
#[derive(Debug, thiserror::Error)]
#[error("in the data of `{}`: {error}", name.as_str())]
pub(crate) struct EventError {
    name: EventName,
    error: serde_json::Error,
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
