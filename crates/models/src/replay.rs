//! A model that answers from a recording: the `raw.jsonl` of a session, for tests and for looking into
//! what went wrong.
//!
//! Nothing is kept between two requests: each finds the exchange that answered the same conversation, by
//! [`Shape`]. Recorded events go through the decoder of the protocol that they came by, so the answer and
//! its error are what they were. There is no network, no wait and no key.

mod shape;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::exchange::{Recorded, answer_again};
use crate::failure::Peer;
use crate::{Model, ModelError, ModelEvent, ModelRequest, ProviderConfig, ProviderKind};
use crate::{anthropic, openai_chat, openai_responses};
use shape::Shape;

/// The largest recording that is read; the recorder stops before.
const MAX_FILE: u64 = 320 * 1024 * 1024;
const BAD: &str = "bad_recording";

/// A recording that answers.
pub struct Replay {
    exchanges: Arc<[Exchange]>,
}

/// One request and what came of it.
struct Exchange {
    shape: Shape,
    peer: Peer,
    protocol: Protocol,
    recorded: Recorded,
    /// Whether the recorder had to leave out something of it.
    has_holes: bool,
}

/// The protocol that an exchange went by.
#[derive(Debug, Clone, Copy)]
enum Protocol {
    Chat,
    Responses,
    Messages,
}

/// A line of a recording. Times are of no interest.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Request { endpoint: String, payload: Value },
    Response { status: u16, body: Value },
    StreamChunk { event: String, chunk: Value },
    Dropped {},
    Stopped {},
}

impl Replay {
    /// Reads a recording.
    pub fn load(file: &Path) -> Result<Replay, ModelError> {
        let unreadable = |error: std::io::Error| {
            ModelError::new(BAD, format!("cannot read the recording {}: {error}", file.display()))
                .hint("set `file` to the raw.jsonl of a session that was recorded")
        };
        let mut text = String::new();
        let read = File::open(file).and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text));
        if read.map_err(unreadable)? as u64 > MAX_FILE {
            let message = format!("the recording {} is larger than 320 MiB", file.display());
            return Err(ModelError::new(BAD, message).hint("keep only the part that is to be replayed"));
        }
        Replay::parse(&text)
    }

    /// Takes the lines of a recording.
    pub fn parse(text: &str) -> Result<Replay, ModelError> {
        let mut exchanges: Vec<Exchange> = Vec::new();
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        for (number, line) in lines {
            let bad = |why: &str| {
                let message = format!("line {} of the recording cannot be read: {why}", number + 1);
                ModelError::new(BAD, message).hint("remove the line, or record the session again")
            };
            let line = serde_json::from_str(line).map_err(|error| bad(&error.to_string()))?;
            if let Line::Request { endpoint, payload } = &line {
                exchanges.push(Exchange::of(endpoint, payload));
            } else {
                let exchange = exchanges.last_mut().ok_or_else(|| bad("nothing was asked before it"))?;
                exchange.take(line).ok_or_else(|| bad("it holds no status of a response"))?;
            }
        }
        Ok(Replay { exchanges: exchanges.into() })
    }

    /// The exchange that answered the same conversation; the last one if it was asked several times, as
    /// that is what its turn went on with.
    fn find(&self, request: &ModelRequest) -> Option<&Exchange> {
        let asked = Shape::of_request(request);
        let last = |fits: &dyn Fn(&Shape) -> bool| self.exchanges.iter().rfind(|one| fits(&one.shape));
        last(&|shape| shape.is_same(&asked))
            .or_else(|| last(&|shape| shape.ends_like(&asked)))
            .or_else(|| self.at(asked.answers))
    }

    /// The exchange at a place, where those that were asked again count once.
    fn at(&self, place: usize) -> Option<&Exchange> {
        let is_last = |(index, exchange): &(usize, &Exchange)| {
            let next = self.exchanges.get(index + 1);
            next.is_none_or(|next| !next.shape.is_same(&exchange.shape))
        };
        self.exchanges.iter().enumerate().filter(is_last).nth(place).map(|(_, exchange)| exchange)
    }
}

impl Model for Replay {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let answer = match self.find(&request) {
            Some(exchange) => exchange.answer(),
            None => vec![Err(self.exhausted(&request))],
        };
        stream::iter(answer).boxed()
    }
}

impl Replay {
    fn exhausted(&self, request: &ModelRequest) -> ModelError {
        let Shape { answers, .. } = Shape::of_request(request);
        let asked = request.messages.last().map(|message| message.text()).unwrap_or_default();
        let asked: String = asked.chars().take(80).collect();
        let message = format!(
            "the recording holds no answer to a conversation with {answers} answers that ends in `{asked}`; it holds {} exchanges",
            self.exchanges.len()
        );
        ModelError::new("replay_exhausted", message)
            .hint("say what was said when it was recorded, or record more")
    }
}

impl Exchange {
    fn of(endpoint: &str, payload: &Value) -> Exchange {
        let protocol = Protocol::of(endpoint, payload);
        let provider = ProviderConfig::new("replay", protocol.kind(), endpoint);
        let (shape, peer) = (Shape::of_payload(payload), Peer::new(Arc::new(provider)));
        Exchange { shape, peer, protocol, recorded: Recorded::default(), has_holes: false }
    }

    /// Adds a line. None if it makes no sense.
    fn take(&mut self, line: Line) -> Option<()> {
        let text = |value: Value| match value {
            Value::String(text) => text,
            Value::Null => String::new(),
            value => value.to_string(),
        };
        match line {
            Line::Request { .. } => return None,
            Line::Response { status, body } => {
                self.recorded.status = Some(StatusCode::from_u16(status).ok()?);
                self.recorded.body = text(body);
            }
            Line::StreamChunk { event, chunk } => self.recorded.chunks.push((event, text(chunk))),
            Line::Dropped {} | Line::Stopped {} => self.has_holes = true,
        }
        Some(())
    }

    fn answer(&self) -> Vec<Result<ModelEvent, ModelError>> {
        if self.has_holes {
            let error = ModelError::new(BAD, "the recorder had to leave out a part of this answer");
            return vec![Err(error.hint("record the session again"))];
        }
        let mut answer = match self.protocol {
            Protocol::Chat => answer_again::<openai_chat::Decoder>(&self.peer, &self.recorded),
            Protocol::Responses => answer_again::<openai_responses::Decoder>(&self.peer, &self.recorded),
            Protocol::Messages => answer_again::<anthropic::Decoder>(&self.peer, &self.recorded),
        };
        if let Some(Err(error)) = answer.last_mut() {
            error.hint = Some("this is how it went when it was recorded; nobody was asked now".to_owned());
        }
        answer
    }
}

impl Protocol {
    /// By where it was sent, else by what was sent.
    fn of(endpoint: &str, payload: &Value) -> Protocol {
        let path = endpoint.trim_end_matches('/');
        if path.ends_with("/messages") {
            Protocol::Messages
        } else if path.ends_with("/responses") {
            Protocol::Responses
        } else if path.ends_with("/chat/completions") {
            Protocol::Chat
        } else if payload.get("input").is_some() {
            Protocol::Responses
        } else if payload.get("max_tokens").is_some() && payload.get("stream_options").is_none() {
            Protocol::Messages
        } else {
            Protocol::Chat
        }
    }

    fn kind(self) -> ProviderKind {
        match self {
            Protocol::Chat => ProviderKind::OpenAiChat,
            Protocol::Responses => ProviderKind::OpenAiResponses,
            Protocol::Messages => ProviderKind::Anthropic,
        }
    }
}
