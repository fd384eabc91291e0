//! From a conversation to the body of a Chat Completions request.
//!
//! The body is written once, from borrowed text. The templates of many open models want the roles to
//! take turns, so neighbours of one role become one message, and results stand right behind the calls
//! that they answer. Fields that only some servers know are sent only to those.

mod body;

use std::borrow::Cow;

use ostler_types::{Effort, Message, Part, Picture, Role, ToolCall};
use serde_json::{Value, json};

use super::PROTOCOL;
use crate::profile::{ModelProfile, ThinkingControl};
use crate::request_encoding::attachment::{AttachmentLimits, DataUrl, EncodedAttachment, RequestAttachments};
use crate::request_encoding::call_ids::{cache_key, tool_name};
use crate::request_encoding::quirks::{EffortField, HostQuirks, LimitField, ReturnedReasoning};
use crate::request_encoding::reasoning_origin::ReasoningRecipient;
use crate::request_encoding::{CONTINUE_PROMPT, effort, is_blank, object_input, system_note};
use crate::{ModelError, ModelRequest, failure};
use body::{
    ChatBody, ChatCall, ChatCallFunction, ChatMessage, ChatReasoning, ChatTool, ContentPart, FileData,
    ImageUrl, StreamOptions,
};

/// Said for the model where a host wants it to speak between a result and the user.
const RESULTS_SEEN_TEXT: &str = "I have seen the results.";
/// What Google documents to be sent in place of a signature with calls that its model did not make.
const UNSIGNED_CALL_SIGNATURE: &str = "skip_thought_signature_validator";
const ATTACHMENT_LIMITS: AttachmentLimits =
    AttachmentLimits { image: 20 * 1024 * 1024, document: 25 * 1024 * 1024 };

/// The JSON to send. Fails on parts that this model cannot take, rather than leaving them out.
pub(super) fn body(
    provider: &str,
    profile: &ModelProfile,
    quirks: HostQuirks,
    request: &ModelRequest,
) -> Result<Vec<u8>, ModelError> {
    let mut encoder = ChatEncoder {
        quirks,
        recipient: ReasoningRecipient { protocol: PROTOCOL, provider, profile },
        attachments: RequestAttachments::new(profile, request, ATTACHMENT_LIMITS),
        messages: Vec::with_capacity(request.messages.len() + 1),
        results_at: None,
    };
    if let Some(system) = request.system.as_deref().filter(|text| !is_blank(text)) {
        encoder.say(Role::System, ContentPart::text(system));
    }
    for (place, message) in request.messages.iter().enumerate() {
        encoder.add(place, message)?;
    }
    let most = profile.info.max_output_tokens;
    let limit = request.max_output_tokens.map(|wished| wished.min(most.unwrap_or(wished)).max(1));
    let (max_tokens, max_completion_tokens) = match quirks.limit {
        LimitField::MaxTokens => (limit, None),
        LimitField::MaxCompletionTokens => (None, limit),
    };
    let (reasoning_effort, reasoning) = effort_fields(profile, quirks, request.effort);
    let body = ChatBody {
        model: &profile.id,
        messages: encoder.finish(),
        tools: request.tools.iter().map(ChatTool::from_spec).collect(),
        max_tokens,
        max_completion_tokens,
        reasoning_effort,
        reasoning,
        prompt_cache_key: request.cache_key.as_deref().filter(|_| quirks.cache_key).map(cache_key),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
    };
    serde_json::to_vec(&body).map_err(|error| failure::body_not_encodable(&error))
}

/// How much to think, in the field where this host looks for it.
fn effort_fields(
    profile: &ModelProfile,
    quirks: HostQuirks,
    wished: Option<Effort>,
) -> (Option<&'static str>, Option<ChatReasoning>) {
    let said = |wished: &Effort| *wished != Effort::None || quirks.none_is_a_word;
    let wished = wished.filter(|_| profile.thinking != ThinkingControl::Never).filter(said);
    let Some(wished) = wished else { return (None, None) };
    match quirks.effort {
        EffortField::OpenAi => (Some(effort::openai_word(&profile.id, wished)), None),
        EffortField::Plain => (Some(effort::plain_word(wished)), None),
        EffortField::Nested => (None, Some(ChatReasoning { effort: effort::openrouter_word(wished) })),
    }
}

struct ChatEncoder<'a> {
    quirks: HostQuirks,
    recipient: ReasoningRecipient<'a>,
    attachments: RequestAttachments<'a>,
    messages: Vec<ChatMessage<'a>>,
    /// Where the next result belongs, behind the calls.
    results_at: Option<usize>,
}

impl<'a> ChatEncoder<'a> {
    /// Adds what a message holds. What is blank is left out, as some servers refuse it.
    fn add(&mut self, place: usize, message: &'a Message) -> Result<(), ModelError> {
        // What the provider wants back with the call that comes next.
        let mut extra = None;
        for part in &message.parts {
            match (part, message.role) {
                (Part::Text { text }, Role::System | Role::User | Role::Assistant) if is_blank(text) => {}
                (Part::Text { text }, Role::System) if !self.quirks.late_system => {
                    self.say(Role::User, ContentPart::text(system_note(text)));
                }
                (Part::Text { text }, Role::System | Role::User | Role::Assistant) => {
                    self.say(message.role, ContentPart::text(text));
                }
                (Part::ToolCall { call }, Role::Assistant) => self.add_call(call, extra.take()),
                (Part::ToolResult { tool_call_id, name, text, images, .. }, Role::Tool) => {
                    self.add_result(&tool_call_id.0, name, text, images);
                }
                (Part::Reasoning { text, opaque }, Role::Assistant) => {
                    extra = self.add_reasoning(text, opaque.as_ref()).or(extra);
                }
                (Part::Reasoning { .. }, Role::System | Role::User | Role::Tool) => {}
                (Part::Image { reference, mime_type }, Role::User | Role::System) => {
                    let image = self.attachments.image(place, reference, mime_type)?;
                    self.say(Role::User, attached(image));
                }
                (Part::Audio { reference, .. }, Role::User | Role::System) => {
                    let audio = self.attachments.audio(place, reference)?;
                    self.say(Role::User, attached(audio));
                }
                (Part::File { reference, mime_type }, Role::User | Role::System) => {
                    let file = self.attachments.file(place, reference, mime_type)?;
                    self.say(Role::User, attached(file));
                }
                (
                    Part::Text { .. }
                    | Part::ToolCall { .. }
                    | Part::ToolResult { .. }
                    | Part::Image { .. }
                    | Part::Audio { .. }
                    | Part::File { .. },
                    role,
                ) => return Err(failure::misplaced_part(role)),
            }
        }
        Ok(())
    }

    fn say(&mut self, role: Role, part: ContentPart<'a>) {
        self.message_of(role).content.push(part);
    }

    /// The message that this role is speaking in.
    fn message_of(&mut self, role: Role) -> &mut ChatMessage<'a> {
        if self.messages.last().is_none_or(|last| last.role != role.as_str()) {
            self.messages.push(ChatMessage::new(role));
        }
        self.messages.last_mut().expect("a message has just been made if there was none")
    }

    fn add_call(&mut self, call: &'a ToolCall, extra_content: Option<&'a Value>) {
        let wire = ChatCall {
            id: self.quirks.ids.apply(&call.id.0),
            r#type: "function",
            function: ChatCallFunction {
                name: tool_name(&call.name),
                arguments: object_input(&call.input).to_string(),
            },
            extra_content: extra_content.map(Cow::Borrowed),
        };
        let wants_reasoning = self.quirks.reasoning == ReturnedReasoning::Content;
        let message = self.message_of(Role::Assistant);
        message.tool_calls.push(wire);
        if wants_reasoning {
            message.reasoning_content.get_or_insert_default();
        }
        self.results_at = Some(self.messages.len());
    }

    /// Keeps what this host wants back, and returns what belongs to the next call.
    fn add_reasoning(&mut self, text: &'a str, opaque: Option<&'a Value>) -> Option<&'a Value> {
        match self.quirks.reasoning {
            ReturnedReasoning::Content => {
                self.message_of(Role::Assistant).reasoning_content.get_or_insert_default().push_str(text);
            }
            ReturnedReasoning::Details | ReturnedReasoning::Nothing => {}
        }
        let opaque = opaque.filter(|opaque| self.recipient.made_by_model(opaque))?;
        if let Some(details) = opaque.get("reasoning_details").and_then(Value::as_array)
            && self.quirks.reasoning == ReturnedReasoning::Details
        {
            self.message_of(Role::Assistant).reasoning_details.extend(details);
        }
        opaque.get("extra_content")
    }

    /// Adds a result behind its call, whatever the user has said since. Its images follow all results,
    /// as only a user may show some.
    fn add_result(&mut self, id: &'a str, name: &'a str, text: &'a str, images: &'a [Picture]) {
        let mut message = ChatMessage::new(Role::Tool);
        message.content.push(ContentPart::text(text));
        message.tool_call_id = Some(self.quirks.ids.apply(id));
        let at = self.results_at.unwrap_or(self.messages.len());
        self.messages.insert(at, message);
        self.results_at = Some(at + 1);
        if !images.is_empty() {
            self.say(Role::User, ContentPart::text(format!("What `{name}` shows:")));
        }
        for Picture { reference, mime_type } in images {
            let image = attached(self.attachments.picture(reference, mime_type));
            self.say(Role::User, image);
        }
    }

    fn finish(mut self) -> Vec<ChatMessage<'a>> {
        // A message of which nothing is left, such as an answer cut in its reasoning, would be refused.
        self.messages.retain(|message| !message.content.is_empty() || !message.tool_calls.is_empty());
        if !self.quirks.user_after_result {
            self.separate_results_from_user();
        }
        if self.quirks.signed_calls && wants_signatures(&self.recipient.profile.id) {
            self.sign_calls();
        }
        if self.messages.last().is_some_and(|last| last.role == Role::Assistant.as_str()) {
            self.say(Role::User, ContentPart::text(CONTINUE_PROMPT));
        }
        self.messages
    }

    /// Has the model say a word wherever the user speaks right after a result.
    fn separate_results_from_user(&mut self) {
        let (tool, user) = (Role::Tool.as_str(), Role::User.as_str());
        let mut apart: Vec<ChatMessage<'a>> = Vec::with_capacity(self.messages.len());
        for message in self.messages.drain(..) {
            if message.role == user && apart.last().is_some_and(|last| last.role == tool) {
                let mut word = ChatMessage::new(Role::Assistant);
                word.content.push(ContentPart::text(RESULTS_SEEN_TEXT));
                apart.push(word);
            }
            apart.push(message);
        }
        self.messages = apart;
    }

    /// Marks the calls of a step that has no signature, because another model made them. The first call of
    /// a step stands for all of them.
    fn sign_calls(&mut self) {
        for message in &mut self.messages {
            if message.tool_calls.iter().all(|call| call.extra_content.is_none())
                && let Some(first) = message.tool_calls.first_mut()
            {
                first.extra_content =
                    Some(Cow::Owned(json!({"google": {"thought_signature": UNSIGNED_CALL_SIGNATURE}})));
            }
        }
    }
}

/// Whether a model of Google's refuses calls that it did not sign: all do from the third version on.
fn wants_signatures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name.starts_with("gemini-") && !["gemini-1", "gemini-2"].iter().any(|older| name.starts_with(older))
}

fn attached(attached: EncodedAttachment<'_>) -> ContentPart<'_> {
    match attached {
        EncodedAttachment::Image(data) => {
            ContentPart::ImageUrl { image_url: ImageUrl { url: DataUrl(data) } }
        }
        EncodedAttachment::Document(filename, data) => {
            ContentPart::File { file: FileData { filename, file_data: DataUrl(data) } }
        }
        EncodedAttachment::Text(text) => ContentPart::Text { text: Cow::Owned(text) },
    }
}

#[cfg(test)]
mod tests;
