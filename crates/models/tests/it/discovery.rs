//! Asking servers which models they have, against servers on this machine that list them in their way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ostler_models::{
    ModelOverride, ModelRegistry, ModelSettings, ProviderConfig, ProviderKey, ProviderKind,
    ProviderReadiness, Secret,
};
use ostler_types::{Ability, InfoSource, ModelInfo, Prices};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const KEY: &str = "sk-canary-4711";

/// A server that answers by path, with 401 where a page is null, and counts what it was asked.
struct ModelListServer {
    address: String,
    asked: Arc<AtomicUsize>,
    heads: Arc<std::sync::Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for ModelListServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ModelListServer {
    async fn start(pages: &[(&'static str, Value)]) -> ModelListServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let heads: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
        let pages: Vec<(String, String)> =
            pages.iter().map(|(path, page)| ((*path).to_owned(), page.to_string())).collect();
        let (counter, seen) = (asked.clone(), heads.clone());
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 16 * 1024];
                let length = stream.read(&mut head).await.unwrap_or(0);
                if length == 0 {
                    continue;
                }
                let head = String::from_utf8_lossy(&head[..length]).into_owned();
                let line = head.lines().next().unwrap_or_default().to_owned();
                counter.fetch_add(1, Ordering::SeqCst);
                let page = pages.iter().find(|(path, _)| line.starts_with(path.as_str()));
                let (status, body) = match page {
                    Some((_, body)) if body == "null" => ("401 Unauthorized", "{}"),
                    Some((_, body)) => ("200 OK", body.as_str()),
                    None => ("404 Not Found", "{}"),
                };
                seen.lock().unwrap().push(head);
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).await.ok();
            }
        });
        ModelListServer { address, asked, heads, task }
    }

    fn provider(&self, kind: ProviderKind) -> ProviderConfig {
        ProviderConfig::new("here", kind, format!("http://{}/v1", self.address))
    }

    fn keyed(&self, kind: ProviderKind) -> ProviderConfig {
        ProviderConfig { api_key: ProviderKey::Fixed(Secret::new(KEY)), ..self.provider(kind) }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn listed(provider: ProviderConfig) -> Vec<ModelInfo> {
    let mut models = ModelRegistry::new(vec![provider]).list(false).await;
    assert_eq!(models.pop().map(|demo| demo.name).as_deref(), Some("demo:demo"));
    models
}

fn names(models: &[ModelInfo]) -> Vec<&str> {
    models.iter().map(|model| model.name.as_str()).collect()
}

#[tokio::test]
async fn openrouter_tells_prices_windows_and_abilities() {
    let list = json!({"data": [
        {"id": "maker/large", "context_length": 262_144, "pricing": {"prompt": "0.00000125", "completion": "0.00001", "input_cache_read": "0.000000125"},
         "top_provider": {"context_length": 200_000, "max_completion_tokens": 65_536},
         "supported_parameters": ["tools", "max_tokens", "reasoning"], "architecture": {"input_modalities": ["text", "image", "file"]}},
        {"id": "maker/varies", "context_length": 8192, "pricing": {"prompt": "-1", "completion": "-1"}, "supported_parameters": [], "architecture": {"input_modalities": ["text"]}},
        {"id": "maker/text-embedding-9"},
        {"name": "without an id"},
    ]});
    let server = ModelListServer::start(&[("GET /v1/models ", list)]).await;
    let models = listed(server.keyed(ProviderKind::OpenAiChat)).await;
    assert_eq!(names(&models), ["here:maker/large", "here:maker/varies"]);
    let large = &models[0];
    assert_eq!((large.context_window, large.max_output_tokens), (Some(200_000), Some(65_536)));
    let prices = Prices { input: 1.25, output: 10.0, cached: Some(0.125), cache_write: None };
    assert_eq!(large.prices, Some(prices));
    let all = [Ability::Tools, Ability::Vision, Ability::Files, Ability::Reasoning, Ability::Caching];
    assert!(all.iter().all(|ability| large.can(*ability)), "{large:?}");
    assert_eq!(large.source, InfoSource::Discovered);
    assert!(models[1].cannot(Ability::Tools) && models[1].cannot(Ability::Vision));
    let head = server.heads.lock().unwrap()[0].to_lowercase();
    assert!(head.contains(&format!("authorization: bearer {KEY}")), "{head}");
}

#[tokio::test]
async fn windows_are_found_wherever_a_server_puts_them() {
    for (model, window) in [
        (json!({"id": "m", "owned_by": "vllm", "max_model_len": 32_768}), 32_768),
        (json!({"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072, "n_ctx": 8192}}), 8192),
        (json!({"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072}}), 131_072),
        (json!({"id": "m", "context_window": 131_072, "active": true}), 131_072),
        (json!({"id": "m", "max_context_length": 4096, "capabilities": {"function_calling": true}}), 4096),
    ] {
        let server =
            ModelListServer::start(&[("GET /v1/models ", json!({"object": "list", "data": [model]}))]).await;
        let models = listed(server.provider(ProviderKind::OpenAiChat)).await;
        assert_eq!(models[0].context_window, Some(window), "{models:?}");
        assert_eq!(models[0].prices, Some(Prices::FREE), "a server on this machine costs nothing");
    }
}

#[tokio::test]
async fn anthropic_tells_limits_and_how_a_model_thinks() {
    let list = json!({"data": [{"type": "model", "id": "claude-next", "max_input_tokens": 500_000, "max_tokens": 99_000,
        "capabilities": {"image_input": {"supported": true}, "pdf_input": {"supported": false}, "thinking": {"supported": true}}}],
        "has_more": false});
    let server = ModelListServer::start(&[("GET /v1/models?limit=1000 ", list)]).await;
    let base_url = format!("http://{}", server.address);
    let models = listed(ProviderConfig { base_url, ..server.keyed(ProviderKind::Anthropic) }).await;
    assert_eq!((models[0].context_window, models[0].max_output_tokens), (Some(500_000), Some(99_000)));
    assert!(models[0].can(Ability::Vision) && models[0].cannot(Ability::Files));
    let head = server.heads.lock().unwrap()[0].to_lowercase();
    assert!(head.contains(&format!("x-api-key: {KEY}")) && head.contains("anthropic-version: "), "{head}");
}

#[tokio::test]
async fn ollama_is_asked_about_each_model() {
    let show = json!({"capabilities": ["completion", "tools", "thinking"], "parameters": "temperature 1\nnum_ctx 16384",
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960}});
    let server = ModelListServer::start(&[
        ("GET /v1/models ", json!({"data": [{"id": "loaded:8b", "owned_by": "library"}, {"id": "resting:latest", "owned_by": "library"}]})),
        ("GET /api/ps ", json!({"models": [{"name": "loaded:8b", "context_length": 4096}]})),
        ("POST /api/show ", show),
    ])
    .await;
    let models = ModelRegistry::new(vec![server.provider(ProviderKind::OpenAiChat)]);
    let list = models.list(false).await;
    assert_eq!(names(&list), ["here:loaded:8b", "here:resting:latest", "demo:demo"]);
    assert_eq!((list[0].context_window, list[1].context_window), (Some(4096), Some(16_384)));
    assert!(
        list[0].can(Ability::Tools) && list[0].can(Ability::Reasoning) && list[0].cannot(Ability::Vision)
    );
    assert_eq!(models.info("here:resting").context_window, Some(16_384), "`latest` goes without saying");
}

#[tokio::test]
async fn lm_studio_is_asked_in_its_own_way() {
    let own = json!({"data": [
        {"id": "big", "type": "vlm", "max_context_length": 131_072, "loaded_context_length": 8192, "capabilities": ["tool_use"]},
        {"id": "words", "type": "embeddings", "max_context_length": 512},
    ]});
    let server = ModelListServer::start(&[
        ("GET /v1/models ", json!({"data": [{"id": "big"}, {"id": "words"}]})),
        ("GET /api/v0/models ", own),
    ])
    .await;
    let models = listed(server.provider(ProviderKind::OpenAiChat)).await;
    assert_eq!(names(&models), ["here:big"]);
    assert_eq!(models[0].context_window, Some(8192));
    assert!(models[0].can(Ability::Tools) && models[0].can(Ability::Vision));
}

#[tokio::test]
async fn a_key_goes_to_no_endpoint_but_the_list() {
    let server = ModelListServer::start(&[("GET /v1/models ", json!({"data": [{"id": "m"}]}))]).await;
    listed(server.keyed(ProviderKind::OpenAiChat)).await;
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn what_is_known_is_asked_once_and_again_on_request() {
    let server = ModelListServer::start(&[(
        "GET /v1/models ",
        json!({"data": [{"id": "m", "context_length": 4096}]}),
    )])
    .await;
    let models = ModelRegistry::new(vec![server.provider(ProviderKind::OpenAiChat)]);
    assert_eq!(models.info("here:m").context_window, None);
    let (one, other, ()) =
        tokio::join!(models.list(false), models.list(false), models.refresh_info("here:m"));
    assert_eq!(one, other);
    assert_eq!(server.asked(), 1, "whoever asks at the same time shares the answer");
    models.list(false).await;
    assert_eq!(server.asked(), 1);
    assert_eq!(models.info("here:m").context_window, Some(4096));
    models.list(true).await;
    assert_eq!(server.asked(), 2);
    assert_eq!(models.info("here:m").context_window, Some(4096));
}

#[tokio::test]
async fn a_failure_is_remembered_and_told_without_the_key() {
    let server = ModelListServer::start(&[]).await;
    let provider = ProviderConfig { models: vec!["m".to_owned()], ..server.keyed(ProviderKind::OpenAiChat) };
    let models = ModelRegistry::new(vec![provider]);
    let list = models.list(false).await;
    assert_eq!(
        names(&list),
        ["here:m", "demo:demo"],
        "what the configuration lists can be used all the same"
    );
    models.list(false).await;
    assert_eq!(server.asked(), 1);
    assert!(!format!("{models:?} {list:?}").contains(KEY));
}

#[tokio::test]
async fn a_refused_key_is_told() {
    let server = ModelListServer::start(&[("GET /v1/models ", Value::Null)]).await;
    let preset = ProviderConfig {
        configured: false,
        models: vec!["m".to_owned()],
        ..server.keyed(ProviderKind::OpenAiChat)
    };
    let list = ModelRegistry::new(vec![preset]).list(false).await;
    assert_eq!(names(&list), ["demo:demo", "here:m"]);
    let why = list[1].unavailable.as_deref().unwrap();
    assert!(why.contains("answered 401") && why.contains("check its key"), "{why}");
}

#[tokio::test]
async fn a_server_that_is_not_there_says_so_and_stands_last() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let gone = ProviderConfig {
        models: vec!["m".to_owned()],
        ..ProviderConfig::new("gone", ProviderKind::OpenAiChat, format!("http://{address}/v1"))
    };
    let preset =
        ProviderConfig { name: "other".to_owned(), configured: false, models: Vec::new(), ..gone.clone() };
    let list = ModelRegistry::new(vec![preset, gone]).list(false).await;
    assert_eq!(names(&list), ["demo:demo", "gone:m"], "a preset that is not there is left out");
    assert!(list[1].unavailable.as_deref().unwrap().contains("does not run"), "{list:?}");
}

#[tokio::test]
async fn odd_answers_are_no_list_and_long_lists_are_cut() {
    for odd in [json!("hello"), json!({"data": 5}), json!({"status": "ok"})] {
        let server = ModelListServer::start(&[("GET /v1/models ", odd)]).await;
        assert_eq!(listed(server.provider(ProviderKind::OpenAiChat)).await, []);
    }
    let many: Vec<Value> = (0..3000).map(|n| json!({"id": format!("m{n}"), "context_length": 1})).collect();
    let server = ModelListServer::start(&[("GET /v1/models ", json!({"data": many}))]).await;
    assert_eq!(listed(server.provider(ProviderKind::OpenAiChat)).await.len(), 2000);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let provider = ProviderConfig {
        models: vec!["m".to_owned()],
        ..ProviderConfig::new("mute", ProviderKind::OpenAiChat, format!("http://{address}/v1"))
    };
    let list = ModelRegistry::new(vec![provider]).list(false).await;
    let why = list[1].unavailable.as_deref().unwrap();
    assert!(why.contains("did not list its models within 3s"), "{why}");
    drop(listener);
}

#[tokio::test]
async fn the_owner_is_believed_before_the_server_and_the_server_before_the_catalogue() {
    let list = json!({"data": [{"id": "qwen3:8b", "max_model_len": 10_000}]});
    let server = ModelListServer::start(&[("GET /v1/models ", list)]).await;
    let overrides = BTreeMap::from([(
        "here:qwen3:8b".to_owned(),
        ModelOverride { max_output_tokens: Some(1234), ..ModelOverride::default() },
    )]);
    let settings = ModelSettings { overrides, ..ModelSettings::default() };
    let models = ModelRegistry::with_settings(vec![server.provider(ProviderKind::OpenAiChat)], settings);
    let builtin = models.info("here:qwen3:14b");
    assert_eq!((builtin.context_window, builtin.source), (Some(40_960), InfoSource::Builtin));
    let before = models.info("here:qwen3:8b");
    assert_eq!((before.context_window, before.max_output_tokens), (Some(40_960), Some(1234)));
    models.refresh_info("here").await;
    let after = models.info("here:qwen3:8b");
    assert_eq!((after.context_window, after.max_output_tokens), (Some(10_000), Some(1234)));
    assert_eq!((after.can(Ability::Tools), after.source), (true, InfoSource::Configured));
}

#[tokio::test]
async fn nobody_is_asked_when_discovery_is_off_or_a_key_is_missing() {
    let server = ModelListServer::start(&[("GET /v1/models ", json!({"data": [{"id": "m"}]}))]).await;
    let settings = ModelSettings { discover: false, ..ModelSettings::default() };
    let models = ModelRegistry::with_settings(vec![server.provider(ProviderKind::OpenAiChat)], settings);
    assert_eq!(names(&models.list(true).await), ["demo:demo"]);
    let locked = ProviderConfig {
        readiness: ProviderReadiness::from_check(|| Some("set HERE_KEY".to_owned())),
        models: vec!["m".to_owned()],
        ..server.keyed(ProviderKind::OpenAiChat)
    };
    let list = ModelRegistry::new(vec![locked]).list(false).await;
    assert_eq!(list[1].unavailable.as_deref(), Some("set HERE_KEY"));
    assert_eq!(server.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_good_for_minutes_and_a_failure_for_seconds() {
    let good =
        ModelListServer::start(&[("GET /v1/models ", json!({"data": [{"id": "m", "context_length": 1}]}))])
            .await;
    let bad = ModelListServer::start(&[]).await;
    let failing = ProviderConfig { name: "bad".to_owned(), ..bad.keyed(ProviderKind::OpenAiChat) };
    let models = ModelRegistry::new(vec![good.provider(ProviderKind::OpenAiChat), failing]);
    for (seconds, asked_good, asked_bad) in [(0, 1, 1), (29, 1, 1), (2, 1, 2), (260, 1, 3), (10, 2, 3)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        models.list(false).await;
        assert_eq!((good.asked(), bad.asked()), (asked_good, asked_bad), "{seconds} s later");
    }
}
