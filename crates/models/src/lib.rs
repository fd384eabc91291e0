//! Models: one trait, and the providers behind it.
//!
//! A provider turns a conversation into a stream of [`ModelEvent`]s. It never panics and never
//! hangs, it knows no session, runs no tool, and keeps nothing between two requests.

mod anthropic;
mod catalogue;
mod default_model;
mod demo;
mod discovery;
mod exchange;
mod failure;
mod http;
mod openai_chat;
mod openai_responses;
mod presets;
mod profile;
mod raw_traffic;
mod registry;
mod replay;
mod request_encoding;
mod retry;
mod secret;
mod sse;
mod wire_client;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use ostler_types::{Effort, Message, RawLine, ToolSpec, Usage};
use serde_json::Value;

pub use demo::Demo;
pub use http::Timeouts;
pub use presets::{PRESETS, ProviderPreset};
pub use registry::{
    ModelOverride, ModelRegistry, ModelSettings, ProviderConfig, ProviderKind, ProviderReadiness,
};
pub use replay::ReplayModel;
pub use retry::{Jitter, RetryPolicy, RetryingModel};
pub use secret::{KeyFreshness, KeySource, ProviderKey, Secret};

/// Answers a conversation.
pub trait Model: Send + Sync + 'static {
    /// Streams one answer. Dropping the stream ends the request. After an `Err` or a
    /// [`ModelEvent::Stop`] the stream ends; one that ends without either was cut, and the caller
    /// treats it as an error.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}

/// What a model is shown.
#[derive(Clone)]
pub struct ModelRequest {
    /// Instructions that frame the conversation.
    pub system: Option<String>,
    /// The conversation; calls and results pair.
    pub messages: Vec<Arc<Message>>,
    /// The tools that it may call.
    pub tools: Arc<[ToolSpec]>,
    /// How much it is to think; as its maker thinks best when absent.
    pub effort: Option<Effort>,
    /// Tokens that the answer may have; as many as the model can when absent.
    pub max_output_tokens: Option<u64>,
    /// Stays the same for one conversation, so that its provider can find what it has cached.
    pub cache_key: Option<String>,
    /// The content of the files that the messages refer to, by reference.
    pub files: Arc<HashMap<String, Bytes>>,
    /// Is shown everything that goes over the wire, without secrets. Must not block.
    pub raw: Option<RawTrafficSink>,
    /// The longest wait that a provider may ask for before it has failed, for a caller who has another
    /// model to ask meanwhile. As long as the retry policy says when absent.
    pub fallback_after: Option<Duration>,
}

/// Takes what goes over the wire.
pub type RawTrafficSink = Arc<dyn Fn(RawLine) + Send + Sync>;

impl ModelRequest {
    /// A request with a conversation and nothing else.
    pub fn new(messages: Vec<Arc<Message>>) -> ModelRequest {
        ModelRequest {
            system: None,
            messages,
            tools: Arc::from([]),
            effort: None,
            max_output_tokens: None,
            cache_key: None,
            files: Arc::default(),
            raw: None,
            fallback_after: None,
        }
    }
}

impl std::fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelRequest")
            .field("system", &self.system)
            .field("messages", &self.messages)
            .field("effort", &self.effort)
            .finish_non_exhaustive()
    }
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More of the answer's text.
    Text(String),
    /// More of the reasoning.
    Reasoning(String),
    /// What the provider wants back, verbatim, with the reasoning that was just streamed; without any,
    /// it is reasoning of which there is no text. It ends that reasoning: what follows is another one.
    ReasoningOpaque(Value),
    /// A tool call begins.
    CallStarted {
        /// Its place among the calls of this answer, from 0.
        index: usize,
        /// The model's own id for it, if it gave one.
        id: Option<String>,
        /// The tool's name.
        name: String,
    },
    /// More of a call's input, a fragment of JSON text.
    CallInput {
        /// Which call.
        index: usize,
        /// The fragment.
        fragment: String,
    },
    /// There is no answer yet, and the model will be asked again after a while. Comes only before
    /// anything of the answer.
    Waiting {
        /// Which attempt failed, from 1.
        attempt: u32,
        /// How many there are at most.
        attempts: u32,
        /// How long until the next.
        wait: Duration,
        /// How it failed.
        error: ModelError,
    },
    /// What the answer has cost so far; a later one replaces it.
    Usage(Usage),
    /// The answer is whole.
    Stop(String),
}

/// Why there is no (whole) answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// A stable word for programs.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// How long the provider wants to be left alone, if it said so.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// An error that says what happened.
    pub fn new(code: &'static str, message: impl Into<String>) -> ModelError {
        ModelError { code, message: message.into(), hint: None, retry_after: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> ModelError {
        self.hint = Some(hint.into());
        self
    }
}
