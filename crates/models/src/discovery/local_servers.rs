//! What servers on somebody's own machine tell in their own way, where OpenAI's list has names only:
//! Ollama by `/api/show`, LM Studio by `/api/v0/models`.

use std::time::Duration;

use ostler_types::Ability;
use reqwest::Url;
use reqwest::header::HeaderMap;
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout_at;

use super::decode::string_list;
use super::{DiscoveredModel, DiscoveryQuery};

/// How many models of an Ollama server are looked at, one by one.
const MAX_OLLAMA_MODELS: usize = 64;
/// Time that is left for handing in what was learned, which is worth more than nothing at all.
const RESERVE: Duration = Duration::from_millis(500);

/// Adds what the server's own endpoints say. A server that has none of them is left as it is.
pub(super) async fn add_native_details(asking: &DiscoveryQuery, found: &mut Vec<DiscoveredModel>) {
    let until = asking.deadline - RESERVE;
    let Ok(list) = timeout_at(until, get(asking, "api/v0/models")).await else { return };
    if let Some(models) = list.as_ref().and_then(|list| list.get("data")?.as_array()) {
        found.retain_mut(|model| {
            let said = models.iter().find(|said| said["id"].as_str() == Some(&model.id));
            said.is_none_or(|said| lm_studio(model, said))
        });
        return;
    }
    let Ok(Some(running)) = timeout_at(until, get(asking, "api/ps")).await else { return };
    if !running.get("models").is_some_and(Value::is_array) {
        return;
    }
    let mut others = Vec::new();
    for (place, model) in found.iter_mut().enumerate().take(MAX_OLLAMA_MODELS) {
        match timeout_at(until, ollama(asking, model, &running)).await {
            Ok(true) => {}
            Ok(false) => others.push(place),
            Err(_) => break,
        }
    }
    for place in others.into_iter().rev() {
        found.remove(place);
    }
}

/// False if it does not answer conversations.
fn lm_studio(model: &mut DiscoveredModel, said: &Value) -> bool {
    let kind = said["type"].as_str().unwrap_or_default();
    let windows = ["loaded_context_length", "max_context_length"];
    model.context_window = windows.iter().find_map(|name| said[*name].as_u64());
    model.abilities.push((Ability::Vision, kind == "vlm"));
    if let Some(can) = string_list(said.get("capabilities")) {
        model.abilities.push((Ability::Tools, can.contains(&"tool_use")));
    }
    kind != "embeddings"
}

/// False if it does not answer conversations.
async fn ollama(asking: &DiscoveryQuery, model: &mut DiscoveredModel, running: &Value) -> bool {
    #[derive(Serialize)]
    struct Show<'a> {
        model: &'a str,
    }
    let Some(url) = native_url(asking, "api/show") else { return true };
    let Ok(question) = serde_json::to_string(&Show { model: &model.id }) else { return true };
    let Ok(body) = asking.post(url, question).await else { return true };
    let Ok(said) = serde_json::from_slice::<Value>(&body) else { return true };
    model.context_window =
        loaded_window(running, &model.id).or_else(|| chosen_window(&said)).or_else(|| trained_window(&said));
    let Some(can) = string_list(said.get("capabilities")) else { return true };
    model.abilities = vec![
        (Ability::Tools, can.contains(&"tools")),
        (Ability::Vision, can.contains(&"vision")),
        (Ability::Reasoning, can.contains(&"thinking")),
    ];
    can.contains(&"completion")
}

/// The window of a model that is in memory: what the server really gives it.
fn loaded_window(running: &Value, id: &str) -> Option<u64> {
    let models = running["models"].as_array()?;
    models.iter().find(|model| model["name"].as_str() == Some(id))?["context_length"].as_u64()
}

/// The window that whoever made the model has set for it.
fn chosen_window(said: &Value) -> Option<u64> {
    said["parameters"].as_str()?.lines().find_map(|line| line.strip_prefix("num_ctx")?.trim().parse().ok())
}

/// The window that the model was trained for.
fn trained_window(said: &Value) -> Option<u64> {
    said["model_info"].as_object()?.iter().find(|(name, _)| name.ends_with(".context_length"))?.1.as_u64()
}

async fn get(asking: &DiscoveryQuery, path: &str) -> Option<Value> {
    let body = asking.get(native_url(asking, path)?, HeaderMap::new()).await.ok()?;
    serde_json::from_slice(&body).ok()
}

/// An address beside the endpoints that are compatible with OpenAI's.
fn native_url(asking: &DiscoveryQuery, path: &str) -> Option<Url> {
    let base_url = asking.provider.base_url.trim().trim_end_matches('/');
    Url::parse(&format!("{}/{path}", base_url.strip_suffix("/v1").unwrap_or(base_url))).ok()
}
