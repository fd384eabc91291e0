//! From the events of a Responses stream to ours.
//!
//! What an item says is taken from its deltas, or from the whole item where none came. Text is handed
//! on as it comes and not kept. No IO happens here.

use std::collections::VecDeque;

use ostler_types::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::PROTOCOL;
use super::wire::{
    ArgumentsDone, ItemEvent, ResponseEvent, ResponsesDelta, ResponsesEventHead, ResponsesItem,
    ResponsesResponse, ResponsesTextPiece, ResponsesUsage,
};
use crate::exchange::Decode;
use crate::{ModelError, ModelEvent, failure};

/// How many items an answer may hold.
const MAX_ITEMS: usize = 1024;

/// The state of one answer.
#[derive(Debug, Default)]
pub(crate) struct ResponsesDecoder {
    items: Vec<OpenItem>,
    /// How many of the items are calls.
    calls: usize,
    /// Where the last reasoning text came from; none once that reasoning is over.
    last_reasoning: Option<ReasoningRun>,
    /// A reasoning item that is whole, held until it is known which item it led to.
    held_reasoning: Option<Value>,
    refused: bool,
    /// Whether the answer holds any text.
    spoken: bool,
    /// Whether [`ModelEvent::Stop`] has been given.
    stopped: bool,
}

/// An item that is being received.
#[derive(Debug)]
struct OpenItem {
    /// The server's number for it.
    key: Option<u64>,
    /// Its place among the calls, once it has begun as one.
    call: Option<usize>,
    /// Whether deltas brought what it holds.
    streamed: bool,
}

/// A run of reasoning text that belongs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReasoningRun {
    key: Option<u64>,
    summary: bool,
    piece: Option<u64>,
}

impl Decode for ResponsesDecoder {
    fn event(&mut self, name: &str, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let data = data.trim();
        // Some servers end their streams with `[DONE]`, which says no more than the end does.
        if self.stopped || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        // The server names each event outside its data as well; its other fields are then read once.
        let head: ResponsesEventHead<'_> =
            if name.starts_with("response.") { ResponsesEventHead::default() } else { parse(data)? };
        match head.r#type.as_ref().map_or(name, |kind| &kind.0) {
            "response.output_text.delta" => self.text_delta(parse(data)?, events),
            "response.refusal.delta" => {
                self.refused = true;
                self.text_delta(parse(data)?, events);
            }
            "response.reasoning_summary_text.delta" => self.reasoning_delta(true, parse(data)?, events),
            "response.reasoning_text.delta" => self.reasoning_delta(false, parse(data)?, events),
            "response.function_call_arguments.delta" => self.input_delta(parse(data)?, events),
            "response.function_call_arguments.done" => {
                let done: ArgumentsDone = parse(data)?;
                if let Some(at) = self.find(done.output_index) {
                    self.whole_input(at, done.arguments, events);
                }
            }
            "response.output_item.added" => return self.added(&parse(data)?, events),
            "response.output_item.done" => return self.done(&parse(data)?, events),
            "response.completed" => {
                return self
                    .completed(&parse::<ResponseEvent<'_>>(data)?.response.unwrap_or_default(), events);
            }
            "response.incomplete" => {
                self.incomplete(&parse::<ResponseEvent<'_>>(data)?.response.unwrap_or_default(), events);
            }
            "response.failed" => {
                let response = parse::<ResponseEvent<'_>>(data)?.response.unwrap_or_default();
                self.count(response.usage, events);
                return Err(response_error(&response));
            }
            "error" => return Err(failure::from_report(data)),
            _ if head.error.is_some() => return Err(failure::from_report(data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let response: ResponsesResponse<'_> = parse(body)?;
        if response.error.is_some() {
            return Err(response_error(&response));
        }
        let Some(output) = response.output else {
            return Err(failure::unreadable("it holds no answer", body));
        };
        for (key, item) in (0..).zip(parse::<Vec<&RawValue>>(output.get())?) {
            self.done(&ItemEvent { output_index: Some(key), item }, events)?;
        }
        match response.status.as_ref().map_or("completed", |status| &status.0) {
            "completed" => return self.completed(&response, events),
            "incomplete" => self.incomplete(&response, events),
            "failed" => return Err(response_error(&response)),
            other => return Err(failure::unreadable(&format!("its status is `{other}`"), "")),
        }
        Ok(())
    }

    fn end(&mut self, _events: &mut VecDeque<ModelEvent>) -> Result<bool, ModelError> {
        Ok(self.stopped)
    }

    /// The last event brings the usage with it, so nothing is waited for after the last word.
    fn finished(&self) -> bool {
        self.stopped
    }

    fn stopped(&self) -> bool {
        self.stopped
    }
}

impl ResponsesDecoder {
    fn text_delta(&mut self, piece: ResponsesDelta<'_>, events: &mut VecDeque<ModelEvent>) {
        self.mark_streamed(piece.output_index);
        self.text(piece.delta.into_owned(), events);
    }

    fn reasoning_delta(
        &mut self,
        summary: bool,
        piece: ResponsesDelta<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) {
        self.mark_streamed(piece.output_index);
        let index = if summary { piece.summary_index } else { piece.content_index };
        let place = ReasoningRun { key: piece.output_index, summary, piece: index };
        self.reasoning(place, piece.delta.into_owned(), events);
    }

    /// Input of a call that did not begin is left to the whole item, which names the call.
    fn input_delta(&mut self, piece: ResponsesDelta<'_>, events: &mut VecDeque<ModelEvent>) {
        let Some(item) = self.find(piece.output_index).map(|at| &mut self.items[at]) else { return };
        let Some(index) = item.call.filter(|_| !piece.delta.is_empty()) else { return };
        item.streamed = true;
        events.push_back(ModelEvent::CallInput { index, fragment: piece.delta.into_owned() });
    }

    fn added(&mut self, event: &ItemEvent<'_>, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let at = self.open(event.output_index)?;
        match parse::<ResponsesItem>(event.item.get())? {
            ResponsesItem::FunctionCall { call_id, name: Some(name), .. } if !name.is_empty() => {
                self.start(at, call_id, name, events);
            }
            // Its name comes with the whole item.
            ResponsesItem::FunctionCall { .. } => {}
            ResponsesItem::Message { .. } | ResponsesItem::Reasoning { .. } | ResponsesItem::Other => {
                self.release_reasoning(None, events)
            }
        }
        Ok(())
    }

    fn done(&mut self, event: &ItemEvent<'_>, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let key = event.output_index;
        let at = match self.find(key) {
            Some(at) => at,
            None => self.open(key)?,
        };
        match parse::<ResponsesItem>(event.item.get())? {
            ResponsesItem::FunctionCall { call_id, name, arguments } => {
                if self.items[at].call.is_none() {
                    let name = name.filter(|name| !name.is_empty()).ok_or_else(nameless_call_error)?;
                    self.start(at, call_id, name, events);
                }
                self.whole_input(at, arguments, events);
            }
            ResponsesItem::Message { content } if !self.items[at].streamed => {
                for ResponsesTextPiece { text, refusal } in content.into_iter().flatten() {
                    self.refused |= refusal.is_some();
                    self.text(text.or(refusal).unwrap_or_default(), events);
                }
            }
            ResponsesItem::Reasoning { summary, content, encrypted_content } => {
                if !self.items[at].streamed {
                    self.whole_reasoning(key, true, summary, events);
                    self.whole_reasoning(key, false, content, events);
                }
                if encrypted_content.is_some_and(|sealed| !sealed.is_empty()) {
                    self.release_reasoning(None, events);
                    self.held_reasoning = Some(parse(event.item.get())?);
                }
            }
            ResponsesItem::Message { .. } | ResponsesItem::Other => {}
        }
        Ok(())
    }

    fn completed(
        &mut self,
        response: &ResponsesResponse<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let reason = match (self.calls, self.refused) {
            (1.., _) => "tool_calls",
            (0, true) => "refusal",
            (0, false) => "end_turn",
        };
        self.count(response.usage, events);
        if reason == "end_turn" && !self.spoken {
            return Err(failure::empty_answer());
        }
        self.stop(reason, events);
        Ok(())
    }

    fn incomplete(&mut self, response: &ResponsesResponse<'_>, events: &mut VecDeque<ModelEvent>) {
        let reason = response.incomplete_details.as_ref().and_then(|details| details.reason.as_ref());
        let reason = match reason.map_or("incomplete", |reason| &reason.0) {
            "max_output_tokens" => "max_tokens",
            "content_filter" => "refusal",
            other => other,
        };
        self.cut_calls(events);
        self.count(response.usage, events);
        self.stop(reason, events);
    }

    /// A call whose input was still to come must not look like one without input, which could run: a brace
    /// that nothing closes keeps it from that.
    fn cut_calls(&mut self, events: &mut VecDeque<ModelEvent>) {
        for item in self.items.iter_mut().filter(|item| !item.streamed) {
            if let Some(index) = item.call {
                item.streamed = true;
                events.push_back(ModelEvent::CallInput { index, fragment: "{".to_owned() });
            }
        }
    }

    /// The last count comes right before the end, and after all reasoning.
    fn count(&mut self, usage: Option<&RawValue>, events: &mut VecDeque<ModelEvent>) {
        self.release_reasoning(None, events);
        let usage = usage.and_then(|usage| serde_json::from_str::<ResponsesUsage>(usage.get()).ok());
        events.extend(usage.map(|usage| ModelEvent::Usage(Usage::from(usage))));
    }

    fn stop(&mut self, reason: &str, events: &mut VecDeque<ModelEvent>) {
        events.push_back(ModelEvent::Stop(reason.to_owned()));
        self.stopped = true;
    }

    fn text(&mut self, text: String, events: &mut VecDeque<ModelEvent>) {
        if !text.is_empty() {
            self.release_reasoning(None, events);
            self.last_reasoning = None;
            self.spoken = true;
            events.push_back(ModelEvent::Text(text));
        }
    }

    /// A blank line goes between two pieces of reasoning, which say nothing of each other.
    fn reasoning(&mut self, place: ReasoningRun, text: String, events: &mut VecDeque<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        self.release_reasoning(None, events);
        let text = match self.last_reasoning.replace(place) {
            Some(before) if before != place => format!("\n\n{text}"),
            Some(_) | None => text,
        };
        events.push_back(ModelEvent::Reasoning(text));
    }

    fn whole_reasoning(
        &mut self,
        key: Option<u64>,
        summary: bool,
        pieces: Option<Vec<ResponsesTextPiece>>,
        events: &mut VecDeque<ModelEvent>,
    ) {
        for (index, piece) in (0..).zip(pieces.into_iter().flatten()) {
            let place = ReasoningRun { key, summary, piece: Some(index) };
            self.reasoning(place, piece.text.unwrap_or_default(), events);
        }
    }

    fn start(&mut self, at: usize, call_id: Option<String>, name: String, events: &mut VecDeque<ModelEvent>) {
        let (index, id) = (self.calls, call_id.filter(|id| !id.is_empty()));
        self.release_reasoning(id.as_deref(), events);
        self.items[at].call = Some(index);
        self.calls += 1;
        events.push_back(ModelEvent::CallStarted { index, id, name });
    }

    fn whole_input(&mut self, at: usize, arguments: Option<Value>, events: &mut VecDeque<ModelEvent>) {
        let item = &mut self.items[at];
        let fragment = match arguments {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => return,
            Some(value) => value.to_string(),
        };
        if let Some(index) = item.call.filter(|_| !item.streamed && !fragment.is_empty()) {
            item.streamed = true;
            events.push_back(ModelEvent::CallInput { index, fragment });
        }
    }

    /// Hands on the reasoning item that is held, with the call that it led to. Calls are kept apart from
    /// the rest of an answer, so its place among them would be lost otherwise.
    fn release_reasoning(&mut self, call: Option<&str>, events: &mut VecDeque<ModelEvent>) {
        if let Some(item) = self.held_reasoning.take() {
            self.last_reasoning = None;
            let mut opaque = json!({"provider": PROTOCOL, "item": item});
            if let Some(call) = call {
                opaque["before"] = call.into();
            }
            events.push_back(ModelEvent::ReasoningOpaque(opaque));
        }
    }

    fn open(&mut self, key: Option<u64>) -> Result<usize, ModelError> {
        if self.items.len() == MAX_ITEMS {
            return Err(failure::unreadable("it holds too many items", ""));
        }
        self.items.push(OpenItem { key, call: None, streamed: false });
        Ok(self.items.len() - 1)
    }

    /// The item with this number, or the last one for a server that gives none.
    fn find(&self, key: Option<u64>) -> Option<usize> {
        match key {
            Some(_) => self.items.iter().rposition(|item| item.key == key),
            None => self.items.len().checked_sub(1),
        }
    }

    fn mark_streamed(&mut self, key: Option<u64>) {
        if let Some(at) = self.find(key) {
            self.items[at].streamed = true;
        }
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(text).map_err(|error| failure::unreadable(&error.to_string(), text))
}

fn response_error(response: &ResponsesResponse<'_>) -> ModelError {
    failure::from_report(response.error.map_or(r#"{"message":""}"#, RawValue::get))
}

fn nameless_call_error() -> ModelError {
    failure::unreadable("a tool call came without a name", "")
}
