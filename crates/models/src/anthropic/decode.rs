//! From the events of a Messages stream to ours.
//!
//! Text is handed on as it comes and not kept; reasoning is kept until its block ends, as the provider
//! wants it back with its signature. Events and blocks that are not known are passed over, since the
//! provider adds to them. No IO happens here.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::PROVIDER;
use super::wire::{
    AnthropicDelta, AnthropicEvent, AnthropicResponseBlock, AnthropicText, AnthropicUsage, WholeMessage,
};
use crate::exchange::Decode;
use crate::{ModelError, ModelEvent, failure};

/// How many tool calls an answer may hold.
const MAX_CALLS: usize = 256;
/// How many blocks may be open at a time; the provider opens one after the other.
const MAX_OPEN: usize = 64;

/// The events that mean something here. The provider names each one outside its data as well, so that
/// others need not be read.
const EVENTS: [&str; 6] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
];

/// The state of one answer.
#[derive(Debug, Default)]
pub(crate) struct AnthropicDecoder {
    open: Vec<OpenBlock>,
    calls: usize,
    /// Calls that ended without any input: whether that is all of it, or the limit of tokens cut it, is
    /// known by what follows.
    empty_calls: Vec<usize>,
    usage: Option<AnthropicUsage>,
    stop_reason: Option<String>,
    /// Whether the answer holds anything yet.
    begun: bool,
    /// Whether it holds any text.
    spoken: bool,
    /// Whether [`ModelEvent::Stop`] has been given.
    stopped: bool,
}

/// A block of the answer that is being received.
#[derive(Debug)]
struct OpenBlock {
    /// The server's number for it.
    key: u64,
    content: AnthropicBlockContent,
}

#[derive(Debug)]
enum AnthropicBlockContent {
    Text,
    Reasoning {
        text: String,
        signature: String,
    },
    Call {
        index: usize,
        /// The input that the block began with, which counts unless pieces follow.
        input: Option<String>,
    },
}

impl Decode for AnthropicDecoder {
    fn event(&mut self, name: &str, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let data = data.trim();
        if self.stopped || data.is_empty() {
            return Ok(());
        }
        if name == "error" {
            return Err(failure::from_report(data));
        }
        if !name.is_empty() && !EVENTS.contains(&name) {
            return Ok(());
        }
        let event: AnthropicEvent<'_> =
            serde_json::from_str(data).map_err(|error| failure::unreadable(&error.to_string(), data))?;
        let key = event.index.unwrap_or(0);
        match event.r#type.as_ref().map_or(name, |kind| &kind.0) {
            "message_start" => {
                if let Some(message) = event.message {
                    self.count(message.usage, events);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.begin(key, block, events)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta.filter(AnthropicDelta::is_known) {
                    self.piece(key, delta, events);
                }
            }
            "content_block_stop" => self.close(key, events),
            "message_delta" => {
                self.count(event.usage, events);
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.stop_reason = reason.map(|reason| reason.0.into_owned()).or(self.stop_reason.take());
            }
            "message_stop" => return self.stop(events),
            "error" => return Err(failure::from_report(data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let message: WholeMessage<'_> =
            serde_json::from_str(body).map_err(|error| failure::unreadable(&error.to_string(), body))?;
        if message.error.is_some() {
            return Err(failure::from_report(body));
        }
        self.stop_reason = message.stop_reason.map(|reason| reason.0.into_owned());
        for block in message.content.into_iter().flatten() {
            self.begin(0, block, events)?;
            self.close(0, events);
        }
        self.count(message.usage, events);
        self.stop(events)
    }

    fn end(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<bool, ModelError> {
        if !self.stopped && self.stop_reason.is_some() {
            self.stop(events)?;
        }
        Ok(self.stopped)
    }

    fn finished(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn stopped(&self) -> bool {
        self.stopped
    }
}

impl AnthropicDecoder {
    /// Counts are of the whole answer so far, and an event may leave some out. They are handed on as they
    /// come, since an answer that breaks off has cost something too.
    fn count(&mut self, usage: Option<&RawValue>, events: &mut VecDeque<ModelEvent>) {
        let Some(usage) = usage.and_then(|usage| serde_json::from_str::<AnthropicUsage>(usage.get()).ok())
        else {
            return;
        };
        let usage = self.usage.unwrap_or_default().max(usage);
        if self.usage.replace(usage) != Some(usage) {
            events.push_back(ModelEvent::Usage(usage.into()));
        }
    }

    fn begin(
        &mut self,
        key: u64,
        raw: &RawValue,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let unreadable = |error: serde_json::Error| failure::unreadable(&error.to_string(), raw.get());
        let block: AnthropicResponseBlock<'_> = serde_json::from_str(raw.get()).map_err(unreadable)?;
        // A number that is used again belongs to a new block.
        self.close(key, events);
        self.end_empty_calls("{}", events);
        let content = match block.r#type.as_ref().map(|kind| kind.0.as_ref()) {
            Some("text") => AnthropicBlockContent::Text,
            Some("thinking") => {
                AnthropicBlockContent::Reasoning { text: String::new(), signature: String::new() }
            }
            Some("redacted_thinking") => {
                self.begun = true;
                let block: Value = serde_json::from_str(raw.get()).map_err(unreadable)?;
                events.push_back(opaque(&block));
                return Ok(());
            }
            Some("tool_use") => self.begin_call(&block, events)?,
            _ => return Ok(()),
        };
        if self.open.len() == MAX_OPEN {
            return Err(failure::unreadable("it opens too many blocks at a time", ""));
        }
        self.open.push(OpenBlock { key, content });
        let AnthropicResponseBlock { text, thinking, signature, .. } = block;
        self.piece(key, AnthropicDelta { text, thinking, signature, ..AnthropicDelta::default() }, events);
        Ok(())
    }

    fn begin_call(
        &mut self,
        block: &AnthropicResponseBlock<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<AnthropicBlockContent, ModelError> {
        let text = |text: &Option<AnthropicText<'_>>| text.as_ref().map(|text| text.0.to_string());
        let name = text(&block.name).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| failure::unreadable("a tool call came without a name", ""))?;
        if self.calls == MAX_CALLS {
            return Err(failure::unreadable("it holds too many tool calls", ""));
        }
        let index = self.calls;
        self.calls += 1;
        self.begun = true;
        let id = text(&block.id).filter(|id| !id.is_empty());
        events.push_back(ModelEvent::CallStarted { index, id, name });
        Ok(AnthropicBlockContent::Call { index, input: block.input.map(|input| input.get().to_owned()) })
    }

    /// More of an open block. What its kind does not hold is passed over, as are unknown blocks.
    fn piece(&mut self, key: u64, delta: AnthropicDelta<'_>, events: &mut VecDeque<ModelEvent>) {
        let Some(block) = self.open.iter_mut().find(|block| block.key == key) else { return };
        match &mut block.content {
            AnthropicBlockContent::Text => {
                if let Some(more) = non_empty(delta.text) {
                    self.begun = true;
                    self.spoken = true;
                    events.push_back(ModelEvent::Text(more.into_owned()));
                }
            }
            AnthropicBlockContent::Reasoning { text, signature } => {
                if let Some(more) = non_empty(delta.thinking) {
                    self.begun = true;
                    text.push_str(&more);
                    events.push_back(ModelEvent::Reasoning(more.into_owned()));
                }
                if let Some(more) = non_empty(delta.signature) {
                    signature.push_str(&more);
                }
            }
            AnthropicBlockContent::Call { index, input } => {
                if let Some(fragment) = non_empty(delta.partial_json) {
                    *input = None;
                    let fragment = fragment.into_owned();
                    events.push_back(ModelEvent::CallInput { index: *index, fragment });
                }
            }
        }
    }

    /// Ends a block, which is whole.
    fn close(&mut self, key: u64, events: &mut VecDeque<ModelEvent>) {
        let Some(place) = self.open.iter().position(|block| block.key == key) else { return };
        match self.open.remove(place).content {
            AnthropicBlockContent::Text => {}
            AnthropicBlockContent::Reasoning { text, signature } => {
                // Without a signature it would be refused when it came back.
                if !signature.is_empty() {
                    self.begun = true;
                    let block = json!({"type": "thinking", "thinking": text, "signature": signature});
                    events.push_back(opaque(&block));
                }
            }
            AnthropicBlockContent::Call { index, input } => match input {
                Some(fragment) if is_empty_object(&fragment) => self.empty_calls.push(index),
                Some(fragment) => events.push_back(ModelEvent::CallInput { index, fragment }),
                None => {}
            },
        }
    }

    /// Gives the calls that ended without input the input that they have after all.
    fn end_empty_calls(&mut self, input: &str, events: &mut VecDeque<ModelEvent>) {
        for index in self.empty_calls.drain(..) {
            events.push_back(ModelEvent::CallInput { index, fragment: input.to_owned() });
        }
    }

    /// The answer is whole. Blocks that are still open were cut short, mostly by the limit of tokens.
    fn stop(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if self.stop_reason.is_none() && !self.begun {
            return Err(failure::unreadable("it holds no answer", ""));
        }
        let reason = match self.stop_reason.as_deref().unwrap_or("end_turn") {
            "model_context_window_exceeded" => return Err(failure::context_overflow()),
            "end_turn" | "stop_sequence" | "tool_use" if self.calls > 0 => "tool_calls",
            "end_turn" | "stop_sequence" | "tool_use" => "end_turn",
            other => other,
        };
        let reason = reason.to_owned();
        let keys: Vec<u64> = self.open.iter().map(|block| block.key).collect();
        keys.into_iter().for_each(|key| self.close(key, events));
        // Input that was still to come is not an empty input; a brace that nothing closes keeps the call
        // from being run.
        self.end_empty_calls(if reason == "tool_calls" { "{}" } else { "{" }, events);
        self.stopped = true;
        if reason == "end_turn" && !self.spoken {
            return Err(failure::empty_answer());
        }
        events.push_back(ModelEvent::Stop(reason));
        Ok(())
    }
}

fn opaque(block: &Value) -> ModelEvent {
    ModelEvent::ReasoningOpaque(json!({ "provider": PROVIDER, "block": block }))
}

fn non_empty(text: Option<AnthropicText<'_>>) -> Option<Cow<'_, str>> {
    text.map(|text| text.0).filter(|text| !text.is_empty())
}

fn is_empty_object(json: &str) -> bool {
    json.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|inside| inside.trim().is_empty())
}
