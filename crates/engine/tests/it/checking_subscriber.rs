//! A client that follows a session and checks, at every step, what no client may ever see: a gap, a
//! record twice, or text that does not fit.

use std::collections::HashMap;

use ostler_engine::{Subscription, SubscriptionItem};
use ostler_types::{Event, MessageEvent, MessageId, Record};
use serde_json::Value;

/// What a client has seen so far.
pub(crate) struct CheckingSubscriber {
    subscription: Subscription,
    pub(crate) records: Vec<Record>,
    /// How many deltas it was shown.
    pub(crate) deltas: usize,
    texts: HashMap<MessageId, String>,
    finished: HashMap<MessageId, String>,
    next_seq: u64,
}

impl CheckingSubscriber {
    pub(crate) fn new(subscription: Subscription) -> CheckingSubscriber {
        let next_seq = subscription.seen() + 1;
        let (records, texts, finished) = (Vec::new(), HashMap::new(), HashMap::new());
        CheckingSubscriber { subscription, records, deltas: 0, texts, finished, next_seq }
    }

    /// Reads one item; false when no more will come.
    pub(crate) async fn step(&mut self) -> bool {
        match self.subscription.next().await.unwrap() {
            Some(SubscriptionItem::Record(line)) => {
                assert_eq!(line.seq, self.next_seq, "a gap or a record twice");
                self.next_seq += 1;
                self.take(line.record().unwrap());
            }
            Some(SubscriptionItem::Delta(line)) => {
                self.splice(&serde_json::from_slice(line.bytes()).unwrap())
            }
            None => return false,
        }
        true
    }

    /// Reads until so many records of a name have been seen.
    pub(crate) async fn until(&mut self, name: &str, count: usize) {
        while self.count(name) < count {
            assert!(self.step().await, "the session went away before {count} {name}");
        }
    }

    /// Reads until the text of a message that is still written is this.
    pub(crate) async fn until_text(&mut self, text: &str) {
        while !self.texts.values().any(|so_far| so_far == text) {
            assert!(self.step().await, "the session went away before {text:?}");
        }
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.records.iter().filter(|record| record.event.name().as_str() == name).count()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.records.iter().map(|record| record.event.name().as_str()).collect()
    }

    fn take(&mut self, record: Record) {
        if let Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) = &record.event {
            let streamed = self.texts.remove(&message.id).unwrap_or_default();
            assert!(
                message.text().starts_with(&streamed),
                "{streamed:?} is not the start of {:?}",
                message.text()
            );
            self.finished.insert(message.id, message.text());
        }
        self.records.push(record);
    }

    fn splice(&mut self, delta: &Value) {
        self.deltas += 1;
        let id: MessageId = delta["data"]["message_id"].as_str().unwrap().parse().unwrap();
        assert!(!self.finished.contains_key(&id), "a delta after its message was finished: {delta}");
        let text = self.texts.entry(id).or_default();
        let offset = usize::try_from(delta["data"]["offset"].as_u64().unwrap()).unwrap();
        let more = delta["data"]["text"].as_str().unwrap();
        assert!(offset <= text.len(), "a gap in the text: {offset} after {}", text.len());
        let known = (text.len() - offset).min(more.len());
        assert_eq!(&text.as_bytes()[offset..offset + known], &more.as_bytes()[..known], "the text changed");
        text.push_str(&more[known..]);
    }
}
