//! One client of each kind, and what it has been told. Each fails where its own wire would: on a gap, on something that
//! comes twice, on text that does not fit together.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::facts::{ObservedFacts, of_gateway, of_line, of_record};
use super::socket::GatewayClient;
use super::sse::{ReceivedEvent, SseConnection};
use crate::rpc::child::RpcChild;

/// A stream of records: the http door's, or that of a `send` to the pool.
pub(super) struct RecordObserver {
    pub(super) events: SseConnection,
    /// The newest record; none before the first, which may be any.
    pub(super) last: Option<u64>,
    pub(super) facts: ObservedFacts,
    /// The newest question.
    pub(super) asked: Value,
    /// The response at the end of a `send`.
    pub(super) result: Option<Value>,
    /// The text of each message that streams.
    texts: HashMap<String, String>,
}

impl RecordObserver {
    pub(super) fn new(events: SseConnection, last: Option<u64>) -> RecordObserver {
        let (facts, texts) = (ObservedFacts::default(), HashMap::new());
        RecordObserver { events, last, facts, asked: Value::Null, result: None, texts }
    }

    pub(super) async fn until(&mut self, wanted: &str) {
        while !self.facts.find(wanted) {
            assert!(self.step().await, "the stream ended before {wanted}: {:?}", self.facts.all);
        }
    }

    pub(super) async fn until_both(&mut self, one: &str, other: &str) {
        while !self.facts.find_both(one, other) {
            assert!(self.step().await, "the stream ended before {one} and {other}: {:?}", self.facts.all);
        }
    }

    /// Takes one event; false at the end.
    pub(super) async fn step(&mut self) -> bool {
        let Some(ReceivedEvent { id, name, data }) = self.events.next().await else { return false };
        if let Some(id) = id {
            assert!(self.last.is_none_or(|last| id == last + 1), "{id} after {:?}", self.last);
            self.last = Some(id);
            assert_eq!(data["seq"], id);
            if name == "approval_requested" {
                self.asked = data.clone();
            }
            if name == "model_output_completed" {
                let message = &data["data"]["message"];
                let shown = self.texts.remove(message["id"].as_str().unwrap()).unwrap_or_default();
                let whole = message["parts"][0]["text"].as_str().unwrap_or_default();
                assert!(whole.starts_with(&shown), "{shown:?} was shown of {whole:?}");
            }
            of_record(&data).into_iter().for_each(|fact| self.facts.push(fact));
        } else if name == "model_output_delta" {
            let text = self.texts.entry(data["data"]["message_id"].as_str().unwrap().to_owned()).or_default();
            let offset = usize::try_from(data["data"]["offset"].as_u64().unwrap()).unwrap();
            assert!(offset <= text.len(), "a hole in the text");
            text.truncate(offset);
            text.push_str(data["data"]["text"].as_str().unwrap());
            self.facts.push("delta");
        } else if name == "result" {
            self.result = Some(data);
        }
        true
    }
}

/// A socket of the gateway.
pub(super) struct GatewayObserver {
    pub(super) client: GatewayClient,
    pub(super) facts: ObservedFacts,
    /// The newest question.
    pub(super) asked: Value,
    /// What has been said since the last thing that is no text.
    text: String,
}

impl GatewayObserver {
    pub(super) fn new(client: GatewayClient) -> GatewayObserver {
        GatewayObserver { client, facts: ObservedFacts::default(), asked: Value::Null, text: String::new() }
    }

    pub(super) async fn until(&mut self, wanted: &str) {
        while !self.facts.find(wanted) {
            self.step().await;
        }
    }

    pub(super) async fn until_both(&mut self, one: &str, other: &str) {
        while !self.facts.find_both(one, other) {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        let event = self.client.event().await;
        if event["event"] == "chat.delta" {
            self.text += event["data"]["text"].as_str().unwrap();
            return self.facts.push("delta");
        }
        let said = std::mem::take(&mut self.text);
        if !said.is_empty() {
            self.facts.push(format!("text {said}"));
        }
        if event["event"] == "exec.approval_request" {
            self.asked = event["data"]["approvalId"].clone();
        }
        of_gateway(&event).into_iter().for_each(|fact| self.facts.push(fact));
    }

    /// What it has been told of text that goes on.
    pub(super) fn unfinished(&self) -> &str {
        &self.text
    }
}

/// `ostler rpc`.
pub(super) struct RpcObserver {
    pub(super) child: RpcChild,
    session: String,
    pub(super) facts: ObservedFacts,
    /// The newest question.
    pub(super) asked: Value,
    next_seq: u64,
}

impl RpcObserver {
    pub(super) fn new(child: RpcChild, session: String) -> RpcObserver {
        RpcObserver { child, session, facts: ObservedFacts::default(), asked: Value::Null, next_seq: 0 }
    }

    pub(super) async fn until(&mut self, wanted: &str) {
        while !self.facts.find(wanted) {
            self.step().await;
        }
    }

    pub(super) async fn until_both(&mut self, one: &str, other: &str) {
        while !self.facts.find_both(one, other) {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        let frame = self.child.next().await;
        match frame["type"].as_str().unwrap() {
            "event" => {
                assert_eq!(
                    (&frame["session_id"], &frame["event_seq"]),
                    (&json!(self.session), &json!(self.next_seq))
                );
                self.next_seq += 1;
                let event = &frame["event"];
                if event["type"] == "message_update" {
                    return self.facts.push("delta");
                }
                of_line(event).into_iter().for_each(|fact| self.facts.push(fact));
            }
            "ui_request" => {
                self.asked = frame["id"].clone();
                self.facts.push("asked");
            }
            "ui_settled" => {
                let how = match frame["outcome"].as_str().unwrap() {
                    "approved" => "granted",
                    other => other,
                };
                let by = frame["by"].as_str().and_then(|by| by.split(' ').next()).unwrap_or("nobody");
                self.facts.push(format!("{how} by {by}"));
            }
            "pong" => self.facts.push("pong"),
            other => panic!("{other} was not expected: {frame}"),
        }
    }
}
