//! From the chunks of a Chat Completions stream to events.
//!
//! Servers differ in what they leave out, repeat and send at once; every difference that is known is
//! settled here. Text is handed on as it comes and not kept. No IO happens here.

use std::borrow::Cow;
use std::collections::VecDeque;

use ostler_types::Usage;
use serde_json::json;
use serde_json::value::RawValue;

use super::PROTOCOL;
use super::reasoning_details::ReasoningDetails;
use super::wire::{ChatCallDelta, ChatChunk, ChatContent, ChatDelta, ChatFunctionDelta, ChatText, ChatUsage};
use crate::exchange::Decode;
use crate::{ModelError, ModelEvent, failure};

/// How many tool calls an answer may hold.
const MAX_CALLS: usize = 256;

/// The state of one answer.
#[derive(Debug, Default)]
pub(crate) struct ChatDecoder {
    calls: Vec<OpenChatCall>,
    usage: Option<Usage>,
    finish_reason: Option<String>,
    /// What the provider wants back of the reasoning.
    details: ReasoningDetails,
    /// Whether the answer holds anything yet.
    begun: bool,
    /// Whether it holds any text.
    spoken: bool,
    refused: bool,
    /// Whether [`ModelEvent::Stop`] has been given.
    stopped: bool,
}

/// A tool call that is being received. It starts for the caller once its name is known.
#[derive(Debug)]
struct OpenChatCall {
    /// The server's number for it.
    key: Option<u64>,
    id: Option<String>,
    started: bool,
    /// Input that came before the name.
    held: String,
    /// Whether any input has been handed on.
    fed: bool,
}

impl Decode for ChatDecoder {
    fn event(&mut self, name: &str, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let data = data.trim();
        if self.stopped || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.done(events);
        }
        if name == "error" {
            return Err(failure::from_report(data));
        }
        self.chunk(data, events)
    }

    fn whole(&mut self, body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        self.chunk(body, events)?;
        self.done(events)
    }

    fn end(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<bool, ModelError> {
        if !self.stopped && self.finish_reason.is_some() {
            self.stop(events)?;
        }
        Ok(self.stopped)
    }

    fn finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn stopped(&self) -> bool {
        self.stopped
    }
}

impl ChatDecoder {
    /// The server says that this was all. One that gives no reason is believed if it said anything.
    fn done(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if self.finish_reason.is_none() && !self.begun {
            return Err(failure::unreadable("it holds no answer", ""));
        }
        self.stop(events)
    }

    fn stop(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let whole = matches!(
            self.finish_reason.as_deref().unwrap_or("stop"),
            "stop" | "tool_calls" | "function_call"
        );
        if whole && self.calls.iter().any(|call| !call.started) {
            return Err(failure::unreadable("a tool call came without a name", ""));
        }
        if !whole {
            self.cut_calls(events);
        }
        self.stopped = true;
        if let Some(details) = self.details.take() {
            let opaque = json!({"provider": PROTOCOL, "reasoning_details": details});
            events.push_back(ModelEvent::ReasoningOpaque(opaque));
        }
        // Some servers say `stop` after tool calls as well.
        let reason = match self.finish_reason.as_deref().unwrap_or("stop") {
            "stop" | "tool_calls" | "function_call" if !self.calls.is_empty() => "tool_calls",
            "stop" if self.refused => "refusal",
            "stop" | "tool_calls" | "function_call" if !self.spoken => return Err(failure::empty_answer()),
            "stop" | "tool_calls" | "function_call" => "end_turn",
            "length" => "max_tokens",
            "content_filter" => "refusal",
            other => other,
        };
        events.push_back(ModelEvent::Stop(reason.to_owned()));
        Ok(())
    }

    /// The answer was cut, mostly by the limit of tokens. A call whose input was still to come must not
    /// look like one without input, which could run: a brace that nothing closes keeps it from that.
    fn cut_calls(&mut self, events: &mut VecDeque<ModelEvent>) {
        for (index, call) in self.calls.iter_mut().enumerate().filter(|(_, call)| call.started && !call.fed) {
            call.fed = true;
            events.push_back(ModelEvent::CallInput { index, fragment: "{".to_owned() });
        }
    }

    fn chunk(&mut self, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let chunk: ChatChunk<'_> =
            serde_json::from_str(data).map_err(|error| failure::unreadable(&error.to_string(), data))?;
        if chunk.error.is_some() || (chunk.choices.is_none() && chunk.message.is_some()) {
            return Err(failure::from_report(data));
        }
        // One answer was asked for; a server that gives several is heard on the first.
        let choices = chunk.choices.unwrap_or_default();
        for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            if let Some(piece) = choice.delta.or(choice.message) {
                self.piece(piece, events)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.0.is_empty()) {
                self.finish_reason = Some(reason.0.into_owned());
            }
        }
        self.count(chunk.usage, events);
        Ok(())
    }

    /// Counts are handed on as they come, since an answer that breaks off has cost something too. Some
    /// servers repeat them with every chunk.
    fn count(&mut self, usage: Option<&RawValue>, events: &mut VecDeque<ModelEvent>) {
        let usage = usage.and_then(|usage| serde_json::from_str::<ChatUsage>(usage.get()).ok());
        let Some(usage) = usage.map(Usage::from) else { return };
        if self.usage.replace(usage) != Some(usage) {
            events.push_back(ModelEvent::Usage(usage));
        }
    }

    fn piece(&mut self, piece: ChatDelta<'_>, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let non_empty = |text: &ChatText<'_>| !text.0.is_empty();
        let reasoning = piece.reasoning_content.filter(non_empty).or(piece.reasoning.filter(non_empty));
        if let Some(text) = reasoning {
            self.reasoning(text.0, events);
        }
        if let Some(details) = piece.reasoning_details {
            self.details.add(details.get());
        }
        match piece.content {
            Some(ChatContent::Text(text)) => self.text(text, events),
            Some(ChatContent::Pieces(pieces)) => {
                for piece in pieces {
                    for thought in piece.thinking.into_iter().flatten().filter_map(|thought| thought.text) {
                        self.reasoning(thought.0, events);
                    }
                    self.text(piece.text.map(|text| text.0).unwrap_or_default(), events);
                }
            }
            None => {}
        }
        // A refusal is the answer's text by another name.
        if let Some(text) = piece.refusal.filter(non_empty) {
            self.refused = true;
            self.text(text.0, events);
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.call(call, events)?;
            self.begun = true;
        }
        Ok(())
    }

    fn text(&mut self, text: Cow<'_, str>, events: &mut VecDeque<ModelEvent>) {
        if !text.is_empty() {
            events.push_back(ModelEvent::Text(text.into_owned()));
            (self.begun, self.spoken) = (true, true);
        }
    }

    fn reasoning(&mut self, text: Cow<'_, str>, events: &mut VecDeque<ModelEvent>) {
        if !text.is_empty() {
            events.push_back(ModelEvent::Reasoning(text.into_owned()));
            self.begun = true;
        }
    }

    fn call(
        &mut self,
        piece: ChatCallDelta<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let ChatCallDelta { index: key, id, function, extra_content } = piece;
        let id = id.map(|id| id.0).filter(|id| !id.is_empty());
        let ChatFunctionDelta { name, arguments } = function.unwrap_or_default();
        let name = name.map(|name| name.0).filter(|name| !name.is_empty());
        let index = match self.belongs_to(key, id.as_deref(), name.is_some()) {
            Some(index) => index,
            None if self.calls.len() == MAX_CALLS => {
                return Err(failure::unreadable("it holds too many tool calls", ""));
            }
            None => {
                self.calls.push(OpenChatCall {
                    key,
                    id: None,
                    started: false,
                    held: String::new(),
                    fed: false,
                });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[index];
        if call.id.is_none() {
            call.id = id.map(Cow::into_owned);
        }
        if let Some(name) = name.filter(|_| !call.started) {
            call.started = true;
            if let Some(extra) = extra_content.and_then(|extra| serde_json::from_str(extra.get()).ok()) {
                let extra: serde_json::Value = extra;
                let opaque = json!({"provider": PROTOCOL, "extra_content": extra});
                events.push_back(ModelEvent::ReasoningOpaque(opaque));
            }
            events.push_back(ModelEvent::CallStarted { index, id: call.id.clone(), name: name.into_owned() });
            if !call.held.is_empty() {
                call.fed = true;
                events.push_back(ModelEvent::CallInput { index, fragment: std::mem::take(&mut call.held) });
            }
        }
        let fragment = arguments.map(fragment).transpose()?.unwrap_or_default();
        if !fragment.is_empty() && call.started {
            call.fed = true;
            events.push_back(ModelEvent::CallInput { index, fragment: fragment.into_owned() });
        } else if !fragment.is_empty() {
            call.held.push_str(&fragment);
        }
        Ok(())
    }

    /// Which open call a piece goes on with. A number is trusted unless a name and another id come with
    /// it, since some servers give every call the same one; without a number, a name or a new id begins
    /// a call.
    fn belongs_to(&self, key: Option<u64>, id: Option<&str>, named: bool) -> Option<usize> {
        let last = match key {
            Some(_) => self.calls.iter().rposition(|call| call.key == key)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[last];
        let other_id = id.is_some() && call.id.is_some() && call.id.as_deref() != id;
        let begins_anew = match key {
            Some(_) => other_id && named,
            None if id.is_some() => other_id || (call.id.is_none() && named),
            None => named && call.started,
        };
        (!begins_anew).then_some(last)
    }
}

/// The arguments are JSON inside a string; some servers send the object itself.
fn fragment(raw: &RawValue) -> Result<Cow<'_, str>, ModelError> {
    let text = raw.get();
    if !text.starts_with('"') {
        return Ok(Cow::Borrowed(text));
    }
    let parsed = serde_json::from_str::<ChatText<'_>>(text);
    parsed.map(|text| text.0).map_err(|error| failure::unreadable(&error.to_string(), text))
}
