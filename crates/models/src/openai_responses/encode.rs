//! From a conversation to the body of a Responses request.
//!
//! The body is written once, from borrowed text. Reasoning goes back only to the provider that sealed
//! it, exactly as it came, and before what it led to.

mod body;

use ostler_types::{Effort, Message, Part, Picture, Role, ToolCall};
use serde_json::Value;

use super::PROTOCOL;
use crate::profile::{ModelProfile, ThinkingControl};
use crate::request_encoding::attachment::{AttachmentLimits, DataUrl, EncodedAttachment, RequestAttachments};
use crate::request_encoding::call_ids::{IdRule, cache_key, tool_name};
use crate::request_encoding::quirks::HostQuirks;
use crate::request_encoding::reasoning_origin::ReasoningRecipient;
use crate::request_encoding::{CONTINUE_PROMPT, effort, is_blank, object_input};
use crate::{ModelError, ModelRequest, failure};
use body::{
    ResponsesBody, ResponsesCallOutput, ResponsesContent, ResponsesInputItem, ResponsesReasoning,
    ResponsesTool,
};

const ATTACHMENT_LIMITS: AttachmentLimits =
    AttachmentLimits { image: 20 * 1024 * 1024, document: 25 * 1024 * 1024 };
/// The least that the provider takes as a limit of an answer.
const MIN_OUTPUT: u64 = 16;

/// The JSON to send. Fails on parts that this model cannot take, rather than leaving them out.
pub(super) fn body(
    provider: &str,
    profile: &ModelProfile,
    quirks: HostQuirks,
    request: &ModelRequest,
) -> Result<Vec<u8>, ModelError> {
    let mut encoder = ResponsesEncoder {
        quirks,
        recipient: ReasoningRecipient { protocol: PROTOCOL, provider, profile },
        attachments: RequestAttachments::new(profile, request, ATTACHMENT_LIMITS),
        items: Vec::with_capacity(request.messages.len()),
    };
    for (place, message) in request.messages.iter().enumerate() {
        encoder.add(place, message)?;
    }
    let most = profile.info.max_output_tokens;
    let limit = request.max_output_tokens.map(|wished| wished.min(most.unwrap_or(wished)));
    let body = ResponsesBody {
        model: &profile.id,
        instructions: request.system.as_deref().filter(|text| !is_blank(text)),
        input: encoder.finish(),
        tools: request.tools.iter().map(ResponsesTool::from_spec).collect(),
        parallel_tool_calls: (!request.tools.is_empty()).then_some(true),
        max_output_tokens: limit.map(|limit| limit.max(MIN_OUTPUT)),
        reasoning: request.effort.filter(|_| profile.thinking != ThinkingControl::Never).map(|wished| {
            ResponsesReasoning {
                effort: effort::openai_word(&profile.id, wished),
                summary: (wished != Effort::None).then_some("auto"),
            }
        }),
        prompt_cache_key: request.cache_key.as_deref().map(cache_key),
        include: if may_reason(profile) { &["reasoning.encrypted_content"] } else { &[] },
        store: false,
        stream: true,
    };
    serde_json::to_vec(&body).map_err(|error| failure::body_not_encodable(&error))
}

/// Whether a model may have reasoning to seal. The server refuses a request that asks for it one that
/// has none.
fn may_reason(profile: &ModelProfile) -> bool {
    match profile.thinking {
        ThinkingControl::Never => false,
        ThinkingControl::Effort | ThinkingControl::Budget | ThinkingControl::Adaptive => true,
        ThinkingControl::Unknown => {
            let name = profile.id.rsplit('/').next().unwrap_or(&profile.id);
            let older = ["gpt-3", "gpt-4", "chatgpt-"].iter().any(|start| name.starts_with(start));
            !older && !name.contains("-chat")
        }
    }
}

/// Reasoning that waits for the item that it led to: without it, the server refuses the request.
struct PendingReasoning<'a> {
    item: &'a Value,
    /// The call that it led to, if it was one of this message.
    call: Option<&'a str>,
}

struct ResponsesEncoder<'a> {
    quirks: HostQuirks,
    recipient: ReasoningRecipient<'a>,
    attachments: RequestAttachments<'a>,
    items: Vec<ResponsesInputItem<'a>>,
}

impl<'a> ResponsesEncoder<'a> {
    /// Adds a message, as however many items it makes. What is blank is left out.
    fn add(&mut self, place: usize, message: &'a Message) -> Result<(), ModelError> {
        let (start, mut waiting) = (self.items.len(), Vec::new());
        for part in &message.parts {
            match (part, message.role) {
                (Part::Text { text }, Role::System | Role::User | Role::Assistant) if is_blank(text) => {}
                (Part::Text { text }, Role::System) => {
                    self.say(DEVELOPER, ResponsesContent::text(text), start)
                }
                (Part::Text { text }, Role::User) => self.say(USER, ResponsesContent::text(text), start),
                (Part::Text { text }, Role::Assistant) => {
                    self.release_reasoning(&mut waiting, None);
                    self.say(ASSISTANT, ResponsesContent::OutputText { text }, start);
                }
                (Part::ToolCall { call }, Role::Assistant) => {
                    self.release_reasoning(&mut waiting, Some(&call.id.0));
                    self.items.push(function_call(call));
                }
                (Part::ToolResult { tool_call_id, name, text, images, .. }, Role::Tool) => {
                    self.add_result(&tool_call_id.0, name, text, images);
                }
                (Part::Reasoning { opaque, .. }, Role::Assistant) => {
                    waiting.extend(self.sealed_reasoning(message, opaque.as_ref()));
                }
                (Part::Reasoning { .. }, Role::System | Role::User | Role::Tool) => {}
                (Part::Image { reference, mime_type }, Role::User | Role::System) => {
                    let image = self.attachments.image(place, reference, mime_type)?;
                    self.say(USER, attached(image), start);
                }
                (Part::Audio { reference, .. }, Role::User | Role::System) => {
                    let audio = self.attachments.audio(place, reference)?;
                    self.say(USER, attached(audio), start);
                }
                (Part::File { reference, mime_type }, Role::User | Role::System) => {
                    let file = self.attachments.file(place, reference, mime_type)?;
                    self.say(USER, attached(file), start);
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

    /// Adds to the message that this role began last since `start`, or begins one.
    fn say(&mut self, role: &'static str, more: ResponsesContent<'a>, start: usize) {
        match self.items[start..].last_mut() {
            Some(ResponsesInputItem::Message { role: speaker, content }) if *speaker == role => {
                content.push(more)
            }
            Some(_) | None => self.items.push(ResponsesInputItem::Message { role, content: vec![more] }),
        }
    }

    /// Adds what a tool answered, with its images where the host takes them there, else behind it.
    fn add_result(&mut self, id: &'a str, name: &'a str, text: &'a str, images: &'a [Picture]) {
        let call_id = IdRule::WordCharacters.apply(id);
        let mut shown: Vec<ResponsesContent<'a>> = images
            .iter()
            .map(|image| attached(self.attachments.picture(&image.reference, &image.mime_type)))
            .collect();
        if shown.is_empty() || !self.quirks.images_in_results {
            self.items.push(ResponsesInputItem::FunctionCallOutput {
                call_id,
                output: ResponsesCallOutput::Text(text),
            });
        } else {
            if !is_blank(text) {
                shown.insert(0, ResponsesContent::text(text));
            }
            let output = ResponsesCallOutput::Parts(std::mem::take(&mut shown));
            self.items.push(ResponsesInputItem::FunctionCallOutput { call_id, output });
        }
        if !shown.is_empty() {
            shown.insert(0, ResponsesContent::text(format!("What `{name}` shows:")));
            self.items.push(ResponsesInputItem::Message { role: USER, content: shown });
        }
    }

    /// The item that this model left with a reasoning part. One that does not reason refuses any.
    fn sealed_reasoning(
        &self,
        message: &'a Message,
        opaque: Option<&'a Value>,
    ) -> Option<PendingReasoning<'a>> {
        let recipient = self.recipient;
        let opaque =
            opaque.filter(|opaque| may_reason(recipient.profile) && recipient.made_by_model(opaque))?;
        let item = opaque.get("item").filter(|item| item.is_object())?;
        let call = opaque["before"].as_str().filter(|id| message.tool_calls().any(|call| call.id.0 == **id));
        Some(PendingReasoning { item, call })
    }

    /// Puts down the reasoning that led to what comes next.
    fn release_reasoning(&mut self, waiting: &mut Vec<PendingReasoning<'a>>, next: Option<&str>) {
        waiting.retain(|reasoning| {
            let due = reasoning.call.is_none() || reasoning.call == next;
            if due {
                self.items.push(ResponsesInputItem::Reasoning(reasoning.item));
            }
            !due
        });
    }

    fn finish(mut self) -> Vec<ResponsesInputItem<'a>> {
        if let Some(ResponsesInputItem::Message { role: ASSISTANT, .. }) = self.items.last() {
            self.items.push(ResponsesInputItem::Message {
                role: USER,
                content: vec![ResponsesContent::text(CONTINUE_PROMPT)],
            });
        }
        self.items
    }
}

const USER: &str = "user";
const ASSISTANT: &str = "assistant";
const DEVELOPER: &str = "developer";

fn function_call(call: &ToolCall) -> ResponsesInputItem<'_> {
    let (call_id, name) = (IdRule::WordCharacters.apply(&call.id.0), tool_name(&call.name));
    ResponsesInputItem::FunctionCall { call_id, name, arguments: object_input(&call.input).to_string() }
}

fn attached(attached: EncodedAttachment<'_>) -> ResponsesContent<'_> {
    match attached {
        EncodedAttachment::Image(data) => ResponsesContent::InputImage { image_url: DataUrl(data) },
        EncodedAttachment::Document(filename, data) => {
            ResponsesContent::InputFile { filename, file_data: DataUrl(data) }
        }
        EncodedAttachment::Text(text) => ResponsesContent::text(text),
    }
}

#[cfg(test)]
mod tests;
