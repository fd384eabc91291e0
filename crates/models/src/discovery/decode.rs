//! Lists of models as servers write them: OpenAI's shape with what OpenRouter, vLLM, llama.cpp, Groq,
//! Mistral and Anthropic add to it. Fields that are absent or odd say nothing; only the list itself must
//! be one.

use ostler_types::{Ability, Prices};
use serde_json::Value;

use super::DiscoveredModel;
use crate::profile::ThinkingControl;

/// The models of a list; none if it is no list.
pub(super) fn parse_list(body: &[u8]) -> Option<Vec<DiscoveredModel>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let models = body.get("data").or_else(|| body.get("models")).unwrap_or(&body).as_array()?;
    Some(models.iter().filter_map(parse_model).collect())
}

/// Words in the names of models that do not answer conversations.
const NON_CHAT_WORDS: [&str; 18] = [
    "embed",
    "whisper",
    "tts",
    "dall-e",
    "moderation",
    "realtime",
    "audio",
    "image",
    "transcribe",
    "sora",
    "veo",
    "imagen",
    "imagine",
    "lyria",
    "rerank",
    "guard",
    "orpheus",
    "ocr",
];

fn parse_model(model: &Value) -> Option<DiscoveredModel> {
    let id = model.get("id")?.as_str()?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    let name = id.to_ascii_lowercase();
    if id.is_empty() || id.len() > 200 || NON_CHAT_WORDS.iter().any(|word| name.contains(word)) {
        return None;
    }
    let chats = model.pointer("/capabilities/completion_chat").and_then(Value::as_bool);
    if chats == Some(false) || model.get("active").and_then(Value::as_bool) == Some(false) {
        return None;
    }
    Some(DiscoveredModel {
        id: id.to_owned(),
        context_window: number(model, &WINDOW_PATHS),
        max_output_tokens: number(model, &OUTPUT_PATHS),
        prices: model.get("pricing").and_then(prices),
        abilities: abilities(model),
        thinking: thinking(model),
    })
}

/// Where the size of the window stands: what is in use before what is possible.
const WINDOW_PATHS: [&str; 9] = [
    "/meta/n_ctx",
    "/loaded_context_length",
    "/top_provider/context_length",
    "/context_length",
    "/context_window",
    "/max_model_len",
    "/max_context_length",
    "/max_input_tokens",
    "/meta/n_ctx_train",
];

const OUTPUT_PATHS: [&str; 4] =
    ["/top_provider/max_completion_tokens", "/max_completion_tokens", "/max_output_length", "/max_tokens"];

fn number(model: &Value, paths: &[&str]) -> Option<u64> {
    paths.iter().find_map(|path| model.pointer(path)?.as_u64().filter(|number| *number > 0))
}

/// Dollars for a token, as text.
fn prices(pricing: &Value) -> Option<Prices> {
    let price = |name: &str| -> Option<f64> {
        let dollars: f64 = match pricing.get(name)? {
            Value::String(text) => text.parse().ok()?,
            value => value.as_f64()?,
        };
        // Rounded to what a bill can show. A price below nothing means that it varies.
        (dollars.is_finite() && dollars >= 0.0).then(|| (dollars * 1e12).round() / 1e6)
    };
    Some(Prices {
        input: price("prompt")?,
        output: price("completion")?,
        cached: price("input_cache_read"),
        cache_write: price("input_cache_write"),
    })
}

fn abilities(model: &Value) -> Vec<(Ability, bool)> {
    let mut said = Vec::new();
    if let Some(parameters) = string_list(model.get("supported_parameters")) {
        said.push((Ability::Tools, parameters.contains(&"tools")));
        said.push((Ability::Reasoning, parameters.contains(&"reasoning")));
        said.push((Ability::Caching, model.pointer("/pricing/input_cache_read").is_some()));
    }
    if let Some(inputs) = string_list(model.pointer("/architecture/input_modalities")) {
        said.push((Ability::Vision, inputs.contains(&"image")));
        said.push((Ability::Files, inputs.contains(&"file")));
    }
    let flag = |path: &str| model.pointer(path).and_then(Value::as_bool);
    for (path, ability) in [
        ("/capabilities/function_calling", Ability::Tools),
        ("/capabilities/vision", Ability::Vision),
        ("/capabilities/reasoning", Ability::Reasoning),
        ("/capabilities/image_input/supported", Ability::Vision),
        ("/capabilities/pdf_input/supported", Ability::Files),
        ("/capabilities/thinking/supported", Ability::Reasoning),
    ] {
        said.extend(flag(path).map(|can| (ability, can)));
    }
    said
}

/// How Anthropic's own list says it.
fn thinking(model: &Value) -> Option<ThinkingControl> {
    let flag = |path: &str| model.pointer(path).and_then(Value::as_bool);
    match flag("/capabilities/thinking/supported")? {
        false => Some(ThinkingControl::Never),
        true if flag("/capabilities/thinking/types/adaptive/supported") == Some(true) => {
            Some(ThinkingControl::Adaptive)
        }
        true => flag("/capabilities/thinking/types/enabled/supported")?.then_some(ThinkingControl::Budget),
    }
}

/// The elements of a list of words.
pub(super) fn string_list(value: Option<&Value>) -> Option<Vec<&str>> {
    Some(value?.as_array()?.iter().filter_map(Value::as_str).collect())
}
