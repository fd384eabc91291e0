//! A model that answers from a recording: the `raw.jsonl` of a session, for tests and for looking into
//! what went wrong.
//!
//! Nothing is kept between two requests: each finds the exchange that answered the same conversation, by
//! [`ConversationShape`]. Recorded events go through the decoder of the protocol that they came by, so the answer and
//! its error are what they were. There is no network, no wait and no key.

mod conversation_shape;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::exchange::{RecordedResponse, replay_response};
use crate::failure::ProviderPeer;
use crate::{Model, ModelError, ModelEvent, ModelRequest, ProviderConfig, ProviderKind};
use crate::{anthropic, openai_chat, openai_responses};
use conversation_shape::ConversationShape;

/// The largest recording that is read; the recorder stops before.
const MAX_FILE: u64 = 320 * 1024 * 1024;
const BAD_RECORDING: &str = "bad_recording";

/// A recording that answers.
pub struct ReplayModel {
    exchanges: Arc<[RecordedExchange]>,
}

/// One request and what came of it.
struct RecordedExchange {
    shape: ConversationShape,
    peer: ProviderPeer,
    protocol: RecordedProtocol,
    recorded: RecordedResponse,
    /// Whether the recorder had to leave out something of it.
    has_holes: bool,
}

/// The protocol that an exchange went by.
#[derive(Debug, Clone, Copy)]
enum RecordedProtocol {
    Chat,
    Responses,
    Messages,
}

/// A line of a recording. Times are of no interest.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum RawLogLine {
    Request { endpoint: String, payload: Value },
    Response { status: u16, body: Value },
    StreamChunk { event: String, chunk: Value },
    Dropped {},
    Stopped {},
}

impl ReplayModel {
    /// Reads a recording.
    pub fn load(file: &Path) -> Result<ReplayModel, ModelError> {
        let unreadable = |error: std::io::Error| {
            ModelError::new(BAD_RECORDING, format!("cannot read the recording {}: {error}", file.display()))
                .hint("set `file` to the raw.jsonl of a session that was recorded")
        };
        let mut text = String::new();
        let read = File::open(file).and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text));
        if read.map_err(unreadable)? as u64 > MAX_FILE {
            let message = format!("the recording {} is larger than 320 MiB", file.display());
            return Err(
                ModelError::new(BAD_RECORDING, message).hint("keep only the part that is to be replayed")
            );
        }
        ReplayModel::parse(&text)
    }

    /// Takes the lines of a recording.
    pub fn parse(text: &str) -> Result<ReplayModel, ModelError> {
        let mut exchanges: Vec<RecordedExchange> = Vec::new();
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        for (number, line) in lines {
            let bad = |why: &str| {
                let message = format!("line {} of the recording cannot be read: {why}", number + 1);
                ModelError::new(BAD_RECORDING, message).hint("remove the line, or record the session again")
            };
            let line = serde_json::from_str(line).map_err(|error| bad(&error.to_string()))?;
            if let RawLogLine::Request { endpoint, payload } = &line {
                exchanges.push(RecordedExchange::from_request(endpoint, payload));
            } else {
                let exchange = exchanges.last_mut().ok_or_else(|| bad("nothing was asked before it"))?;
                exchange.apply_line(line).ok_or_else(|| bad("it holds no status of a response"))?;
            }
        }
        Ok(ReplayModel { exchanges: exchanges.into() })
    }

    /// The exchange that answered the same conversation; the last one if it was asked several times, as
    /// that is what its turn went on with.
    fn find(&self, request: &ModelRequest) -> Option<&RecordedExchange> {
        let asked = ConversationShape::from_request(request);
        let last =
            |fits: &dyn Fn(&ConversationShape) -> bool| self.exchanges.iter().rfind(|one| fits(&one.shape));
        last(&|shape| shape.is_same(&asked))
            .or_else(|| last(&|shape| shape.ends_like(&asked)))
            .or_else(|| self.at(asked.answers))
    }

    /// The exchange at a place, where those that were asked again count once.
    fn at(&self, place: usize) -> Option<&RecordedExchange> {
        let is_last = |(index, exchange): &(usize, &RecordedExchange)| {
            let next = self.exchanges.get(index + 1);
            next.is_none_or(|next| !next.shape.is_same(&exchange.shape))
        };
        self.exchanges.iter().enumerate().filter(is_last).nth(place).map(|(_, exchange)| exchange)
    }
}

impl Model for ReplayModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let answer = match self.find(&request) {
            Some(exchange) => exchange.answer(),
            None => vec![Err(self.exhausted(&request))],
        };
        stream::iter(answer).boxed()
    }
}

impl ReplayModel {
    fn exhausted(&self, request: &ModelRequest) -> ModelError {
        let ConversationShape { answers, .. } = ConversationShape::from_request(request);
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

impl RecordedExchange {
    fn from_request(endpoint: &str, payload: &Value) -> RecordedExchange {
        let protocol = RecordedProtocol::from_request(endpoint, payload);
        let provider = ProviderConfig::new("replay", protocol.kind(), endpoint);
        let (shape, peer) = (ConversationShape::from_payload(payload), ProviderPeer::new(Arc::new(provider)));
        RecordedExchange { shape, peer, protocol, recorded: RecordedResponse::default(), has_holes: false }
    }

    /// Adds a line. None if it makes no sense.
    fn apply_line(&mut self, line: RawLogLine) -> Option<()> {
        let text = |value: Value| match value {
            Value::String(text) => text,
            Value::Null => String::new(),
            value => value.to_string(),
        };
        match line {
            RawLogLine::Request { .. } => return None,
            RawLogLine::Response { status, body } => {
                self.recorded.status = Some(StatusCode::from_u16(status).ok()?);
                self.recorded.body = text(body);
            }
            RawLogLine::StreamChunk { event, chunk } => self.recorded.chunks.push((event, text(chunk))),
            RawLogLine::Dropped {} | RawLogLine::Stopped {} => self.has_holes = true,
        }
        Some(())
    }

    fn answer(&self) -> Vec<Result<ModelEvent, ModelError>> {
        if self.has_holes {
            let error = ModelError::new(BAD_RECORDING, "the recorder had to leave out a part of this answer");
            return vec![Err(error.hint("record the session again"))];
        }
        let mut answer = match self.protocol {
            RecordedProtocol::Chat => replay_response::<openai_chat::ChatDecoder>(&self.peer, &self.recorded),
            RecordedProtocol::Responses => {
                replay_response::<openai_responses::ResponsesDecoder>(&self.peer, &self.recorded)
            }
            RecordedProtocol::Messages => {
                replay_response::<anthropic::AnthropicDecoder>(&self.peer, &self.recorded)
            }
        };
        if let Some(Err(error)) = answer.last_mut() {
            error.hint = Some("this is how it went when it was recorded; nobody was asked now".to_owned());
        }
        answer
    }
}

impl RecordedProtocol {
    /// By where it was sent, else by what was sent.
    fn from_request(endpoint: &str, payload: &Value) -> RecordedProtocol {
        let path = endpoint.trim_end_matches('/');
        if path.ends_with("/messages") {
            RecordedProtocol::Messages
        } else if path.ends_with("/responses") {
            RecordedProtocol::Responses
        } else if path.ends_with("/chat/completions") {
            RecordedProtocol::Chat
        } else if payload.get("input").is_some() {
            RecordedProtocol::Responses
        } else if payload.get("max_tokens").is_some() && payload.get("stream_options").is_none() {
            RecordedProtocol::Messages
        } else {
            RecordedProtocol::Chat
        }
    }

    fn kind(self) -> ProviderKind {
        match self {
            RecordedProtocol::Chat => ProviderKind::OpenAiChat,
            RecordedProtocol::Responses => ProviderKind::OpenAiResponses,
            RecordedProtocol::Messages => ProviderKind::Anthropic,
        }
    }
}
