//! Models: one trait, and the providers behind it.
//!
//! A provider turns a conversation into a stream of [`ModelEvent`]s. It never panics and never
//! hangs, it knows no session, runs no tool, and keeps nothing between two requests.

mod anthropic;
mod demo;
mod exchange;
mod failure;
mod http;
mod openai_chat;
mod openai_responses;
mod registry;
mod secret;
mod sse;

use std::sync::Arc;

use futures_util::stream::BoxStream;
use ostler_types::{Message, ToolSpec, Usage};
use serde_json::Value;

pub use demo::Demo;
pub use http::Timeouts;
pub use registry::{Models, ProviderConfig, ProviderKind};
pub use secret::Secret;

/// Answers a conversation.
pub trait Model: Send + Sync + 'static {
    /// Streams one answer. Dropping the stream ends the request. After an `Err` or a
    /// [`ModelEvent::Stop`] the stream ends; one that ends without either was cut, and the caller
    /// treats it as an error.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}

/// What a model is shown.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Instructions that frame the conversation.
    pub system: Option<String>,
    /// The conversation; calls and results pair.
    pub messages: Vec<Arc<Message>>,
    /// The tools that it may call.
    pub tools: Arc<[ToolSpec]>,
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
}

impl ModelError {
    /// An error that says what happened.
    pub fn new(code: &'static str, message: impl Into<String>) -> ModelError {
        ModelError { code, message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> ModelError {
        self.hint = Some(hint.into());
        self
    }
}
