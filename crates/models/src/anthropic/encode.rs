//! From a conversation to the body of a Messages request.
//!
//! The protocol has two roles that take turns, so neighbours of one role become one message, and a
//! tool's results stand first in the user's. The ends of the system prompt, the tools and the last two
//! messages of the user are marked for the provider's cache, which pays because a conversation only
//! grows: what is written here for a message does not depend on those that come after it.

mod body;

use std::borrow::Cow;

use ostler_types::{Effort, Message, Part, Role, ToolCall};

use super::PROVIDER;
use crate::profile::{ModelProfile, ThinkingControl};
use crate::request_encoding::attachment::{AttachmentLimits, EncodedAttachment, RequestAttachments};
use crate::request_encoding::call_ids::{IdRule, tool_name};
use crate::request_encoding::reasoning_origin::ReasoningRecipient;
use crate::request_encoding::{CONTINUE_PROMPT, effort, is_blank, object_input, system_note};
use crate::{ModelError, ModelRequest, failure};
use body::{
    ASSISTANT, AnthropicBlock, AnthropicBody, AnthropicMessage, AnthropicTool, EPHEMERAL, OutputConfig,
    ResultContent, ThinkingConfig, USER,
};

/// How long an answer may be where nothing is known of the model; the protocol has no default.
const MAX_TOKENS: u64 = 8192;
/// The same for a model of the maker's that is newer than what is known here.
const MAX_TOKENS_CLAUDE: u64 = 32_000;
/// Stands for what came before a conversation that begins with the model.
const OMITTED_NOTE: &str = "(What came before is not shown.)";
/// The provider counts the 5 MiB of an image in base64, and 32 MiB for the whole request.
const ATTACHMENT_LIMITS: AttachmentLimits = AttachmentLimits { image: 3_932_160, document: 20 * 1024 * 1024 };

/// The JSON to send. Fails on parts that this model cannot take, rather than leaving them out.
pub(super) fn body(
    provider: &str,
    profile: &ModelProfile,
    request: &ModelRequest,
) -> Result<Vec<u8>, ModelError> {
    let max_tokens = max_tokens(profile, request.max_output_tokens);
    let plan = ThinkingPlan::new(profile, request.effort, max_tokens);
    let recipient = ReasoningRecipient { protocol: PROVIDER, provider, profile };
    let attachments = RequestAttachments::new(profile, request, ATTACHMENT_LIMITS);
    let mut encoder = AnthropicEncoder {
        recipient,
        attachments,
        keeps_thinking: plan.keeps_thinking,
        messages: Vec::new(),
    };
    for (place, message) in request.messages.iter().enumerate() {
        encoder.add(place, message)?;
    }
    let mut messages = encoder.finish();
    for message in messages.iter_mut().rev().filter(|message| message.role == USER).take(2) {
        message.content.last_mut().into_iter().for_each(AnthropicBlock::mark_cache_end);
    }
    let thinking = plan.thinking.filter(|thinking| thinking.may_begin_anywhere() || may_think_on(&messages));
    let system = request.system.as_deref().filter(|text| !is_blank(text));
    let mut tools: Vec<AnthropicTool<'_>> = request.tools.iter().map(AnthropicTool::from_spec).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(EPHEMERAL);
    }
    let body = AnthropicBody {
        model: &profile.id,
        max_tokens,
        stream: true,
        thinking,
        output_config: plan.effort.map(|effort| OutputConfig { effort }),
        system: system
            .map(|text| AnthropicBlock::Text { text: Cow::Borrowed(text), cache_control: Some(EPHEMERAL) }),
        tools,
        messages,
    };
    serde_json::to_vec(&body).map_err(|error| failure::body_not_encodable(&error))
}

/// How long the answer may be. An answer and its conversation share the window, so without a wish it
/// leaves most of that to the conversation.
fn max_tokens(profile: &ModelProfile, wished: Option<u64>) -> u64 {
    let most = profile.info.max_output_tokens;
    let default = if names_claude(profile) { MAX_TOKENS_CLAUDE } else { MAX_TOKENS };
    let tokens = match wished {
        Some(wished) => wished.min(most.unwrap_or(wished)),
        None => {
            let share = profile.info.context_window.map_or(u64::MAX, |window| window / 4);
            most.unwrap_or(default).min(share)
        }
    };
    tokens.max(1)
}

fn names_claude(profile: &ModelProfile) -> bool {
    profile.id.contains("claude")
}

/// What is said about thinking.
struct ThinkingPlan {
    thinking: Option<ThinkingConfig>,
    effort: Option<&'static str>,
    /// Whether earlier thinking is of use. The provider passes it over where there is none now.
    keeps_thinking: bool,
}

impl ThinkingPlan {
    fn new(profile: &ModelProfile, wished: Option<Effort>, max_tokens: u64) -> ThinkingPlan {
        let style = match (profile.thinking, wished) {
            (ThinkingControl::Unknown, None | Some(Effort::None)) => {
                return ThinkingPlan { thinking: None, effort: None, keeps_thinking: true };
            }
            // All newer models of the maker, and nobody else, take a word.
            (ThinkingControl::Unknown, Some(_)) if names_claude(profile) => ThinkingControl::Adaptive,
            (ThinkingControl::Unknown, Some(_)) => ThinkingControl::Budget,
            (style, _) => style,
        };
        match style {
            ThinkingControl::Unknown | ThinkingControl::Never => {
                ThinkingPlan { thinking: None, effort: None, keeps_thinking: false }
            }
            ThinkingControl::Budget => {
                let budget_tokens = wished.and_then(|wished| effort::thinking_budget(wished, max_tokens));
                let thinking = budget_tokens.map(ThinkingConfig::enabled);
                ThinkingPlan { thinking, effort: None, keeps_thinking: thinking.is_some() }
            }
            ThinkingControl::Adaptive | ThinkingControl::Effort => {
                // To leave it out is no thinking at older models, and the same as `adaptive` at newer
                // ones, some of which refuse to have it switched off.
                let thinking = (wished != Some(Effort::None)).then_some(ThinkingConfig::ADAPTIVE);
                ThinkingPlan { thinking, effort: wished.map(effort::anthropic_word), keeps_thinking: true }
            }
        }
    }
}

/// Whether the model may think on by a budget: in the middle of its calls only if it did from the start.
fn may_think_on(messages: &[AnthropicMessage<'_>]) -> bool {
    let [.., asked, results] = messages else { return true };
    results.results == 0 || matches!(asked.content.first(), Some(AnthropicBlock::Verbatim(_)))
}

struct AnthropicEncoder<'a> {
    recipient: ReasoningRecipient<'a>,
    attachments: RequestAttachments<'a>,
    keeps_thinking: bool,
    messages: Vec<AnthropicMessage<'a>>,
}

impl<'a> AnthropicEncoder<'a> {
    /// Adds what a message holds. What is blank is left out, as the provider refuses it.
    fn add(&mut self, place: usize, message: &'a Message) -> Result<(), ModelError> {
        for part in &message.parts {
            match (part, message.role) {
                (Part::Text { text }, Role::System | Role::User | Role::Assistant) if is_blank(text) => {}
                (Part::Text { text }, Role::User) => self.push(USER, AnthropicBlock::text(text)),
                (Part::Text { text }, Role::Assistant) => self.push(ASSISTANT, AnthropicBlock::text(text)),
                (Part::Text { text }, Role::System) => {
                    self.push(USER, AnthropicBlock::text(system_note(text)))
                }
                (Part::ToolCall { call }, Role::Assistant) => self.push(ASSISTANT, tool_use(call)),
                (Part::ToolResult { tool_call_id, ok, text, images, .. }, Role::Tool) => {
                    let images: Vec<AnthropicBlock<'a>> = images
                        .iter()
                        .map(|image| attached(self.attachments.picture(&image.reference, &image.mime_type)))
                        .collect();
                    self.add_result(&tool_call_id.0, *ok, text, images);
                }
                (Part::Reasoning { opaque, .. }, Role::Assistant) => {
                    let made = |opaque: &&serde_json::Value| self.recipient.made_by_model(opaque);
                    let opaque = opaque.as_ref().filter(|_| self.keeps_thinking).filter(made);
                    let block = opaque.and_then(|opaque| opaque.get("block"));
                    if let Some(block) = block.filter(|block| block.is_object()) {
                        self.push(ASSISTANT, AnthropicBlock::Verbatim(block));
                    }
                }
                (Part::Reasoning { .. }, Role::System | Role::User | Role::Tool) => {}
                (Part::Image { reference, mime_type }, Role::User | Role::System) => {
                    let image = self.attachments.image(place, reference, mime_type)?;
                    self.push(USER, attached(image));
                }
                (Part::Audio { reference, .. }, Role::User | Role::System) => {
                    let audio = self.attachments.audio(place, reference)?;
                    self.push(USER, attached(audio));
                }
                (Part::File { reference, mime_type }, Role::User | Role::System) => {
                    let file = self.attachments.file(place, reference, mime_type)?;
                    self.push(USER, attached(file));
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

    /// Adds what a tool answered. A failure may hold text only, so its images follow it.
    fn add_result(&mut self, id: &'a str, ok: bool, text: &'a str, images: Vec<AnthropicBlock<'a>>) {
        let (inside, after) = if ok { (images, Vec::new()) } else { (Vec::new(), images) };
        let text = (!is_blank(text)).then_some(text);
        let content = if inside.is_empty() {
            text.map(ResultContent::Text)
        } else {
            Some(ResultContent::Blocks(text.map(AnthropicBlock::text).into_iter().chain(inside).collect()))
        };
        let tool_use_id = IdRule::WordCharacters.apply(id);
        self.push(
            USER,
            AnthropicBlock::ToolResult { tool_use_id, content, is_error: !ok, cache_control: None },
        );
        for image in after {
            self.push(USER, image);
        }
    }

    /// Adds a block to the message of this role, and a tool's result before everything else that the
    /// user said after the call.
    fn push(&mut self, role: &'static str, block: AnthropicBlock<'a>) {
        if self.messages.is_empty() && role == ASSISTANT {
            self.push(USER, AnthropicBlock::text(OMITTED_NOTE));
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.add(block),
            Some(_) | None => {
                let mut message = AnthropicMessage { role, content: Vec::new(), results: 0 };
                message.add(block);
                self.messages.push(message);
            }
        }
    }

    fn finish(mut self) -> Vec<AnthropicMessage<'a>> {
        if self.messages.last().is_some_and(|last| last.role == ASSISTANT) {
            self.push(USER, AnthropicBlock::text(CONTINUE_PROMPT));
        }
        self.messages
    }
}

fn tool_use(call: &ToolCall) -> AnthropicBlock<'_> {
    let (id, name) = (IdRule::WordCharacters.apply(&call.id.0), tool_name(&call.name));
    AnthropicBlock::ToolUse { id, name, input: object_input(&call.input) }
}

fn attached(attached: EncodedAttachment<'_>) -> AnthropicBlock<'_> {
    match attached {
        EncodedAttachment::Image(data) => AnthropicBlock::image(data),
        EncodedAttachment::Document(name, data) => AnthropicBlock::document(name, data),
        EncodedAttachment::Text(text) => AnthropicBlock::text(text),
    }
}

#[cfg(test)]
mod tests;
