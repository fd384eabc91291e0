//! How a session that names no model comes by one.

use ostler_models::{
    ModelError, ModelRegistry, ModelSettings, PRESETS, ProviderConfig, ProviderKey, ProviderKind,
    ProviderReadiness, Secret,
};
use ostler_types::{Ability, ModelPolicy, Resolution, ResolvedBy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A preset, with a key or without, whose server cannot be asked: nothing listens there.
fn preset(name: &str, key: bool) -> ProviderConfig {
    let preset = PRESETS.iter().find(|preset| preset.name == name).unwrap();
    let variable = preset.key_variables.first().copied().unwrap_or_default();
    ProviderConfig {
        api_key: if key { ProviderKey::Fixed(Secret::new("sk-1")) } else { ProviderKey::None },
        readiness: ProviderReadiness::from_check(move || (!key).then(|| format!("set {variable}"))),
        preset: Some(preset.name),
        configured: false,
        ..ProviderConfig::new(preset.name, preset.kind, "http://127.0.0.1:9/v1")
    }
}

async fn choose(
    providers: Vec<ProviderConfig>,
    policy: &ModelPolicy,
    default: Option<&str>,
) -> Result<Resolution, ModelError> {
    ModelRegistry::new(providers).choose(policy, default).await
}

fn shown(resolution: Result<Resolution, ModelError>) -> (String, ResolvedBy) {
    let resolution = resolution.unwrap();
    assert!(!resolution.detail.is_empty());
    (resolution.model, resolution.reason)
}

/// A server on this machine that lists these models, each with whether it has tools.
async fn server(models: &'static str) -> (ProviderConfig, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            if stream.read(&mut head).await.unwrap_or(0) > 0 {
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length:";
                let answer = format!("{head} {}\r\n\r\n{models}", models.len());
                stream.write_all(answer.as_bytes()).await.ok();
            }
        }
    });
    (ProviderConfig::new("here", ProviderKind::OpenAiChat, format!("http://{address}/v1")), task)
}

const TWO: &str = r#"{"data": [
    {"id": "plain", "context_length": 4096, "capabilities": {"function_calling": false}},
    {"id": "handy", "context_length": 4096, "capabilities": {"function_calling": true}}]}"#;

#[tokio::test]
async fn the_order_is_policy_default_key_server_demo() {
    let (here, task) = server(TWO).await;
    let all =
        || vec![preset("anthropic", false), preset("openai", true), preset("gemini", true), here.clone()];
    let none = ModelPolicy::default();
    let prefers = |names: &[&str]| ModelPolicy {
        prefer: names.iter().map(|&name| name.to_owned()).collect(),
        ..ModelPolicy::default()
    };
    for (default, policy, model, reason) in [
        (Some("openai:gpt-9"), &prefers(&["gemini"]), "gemini:gemini-3.5-flash", ResolvedBy::Policy),
        (Some("openai:gpt-9"), &prefers(&["anthropic", "nobody"]), "openai:gpt-9", ResolvedBy::Configured),
        (Some("openai:gpt-9"), &none, "openai:gpt-9", ResolvedBy::Configured),
        (Some("openai/gpt-5.5"), &none, "openai:gpt-5.5", ResolvedBy::Configured),
        (Some("gemini"), &none, "gemini:gemini-3.5-flash", ResolvedBy::Configured),
        (Some("here"), &none, "here:handy", ResolvedBy::Configured),
        (Some("  "), &none, "openai:gpt-5.5", ResolvedBy::KeyFound),
        (None, &none, "openai:gpt-5.5", ResolvedBy::KeyFound),
        (None, &prefers(&["gemini:gemini-2.5-pro"]), "gemini:gemini-2.5-pro", ResolvedBy::Policy),
        (
            None,
            &prefers(&["anthropic:claude-sonnet-5", "nobody:x", "here:plain"]),
            "here:plain",
            ResolvedBy::Policy,
        ),
        (None, &prefers(&["anthropic", "nobody"]), "openai:gpt-5.5", ResolvedBy::KeyFound),
        (None, &prefers(&["demo:demo"]), "demo:demo", ResolvedBy::Policy),
    ] {
        let chosen = shown(choose(all(), policy, default).await);
        assert_eq!(chosen, (model.to_owned(), reason), "{default:?} {policy:?}");
    }
    let server_only = vec![preset("anthropic", false), here.clone()];
    assert_eq!(
        shown(choose(server_only, &none, None).await),
        ("here:handy".to_owned(), ResolvedBy::LocalServer)
    );
    let nothing = vec![preset("anthropic", false), preset("openai", false)];
    assert_eq!(shown(choose(nothing, &none, None).await), ("demo:demo".to_owned(), ResolvedBy::Demo));
    task.abort();
}

#[tokio::test]
async fn the_policy_filters_every_step() {
    let both = || vec![preset("anthropic", true), preset("deepseek", true)];
    let cheap = ModelPolicy { max_output_price: Some(1.0), ..ModelPolicy::default() };
    assert_eq!(
        shown(choose(both(), &cheap, None).await),
        ("deepseek:deepseek-v4-pro".to_owned(), ResolvedBy::Policy)
    );
    let seeing = ModelPolicy { require: vec![Ability::Vision], ..cheap.clone() };
    let error = choose(both(), &seeing, None).await.unwrap_err();
    assert_eq!(error.code, "no_model");
    assert!(error.message.contains("anthropic:claude-sonnet-5: a million output tokens cost $10"), "{error}");
    assert!(error.message.contains("and ") && error.message.contains(" more"), "{error}");
    assert!(error.hint.unwrap().contains("ease the model policy"));
    let demo = choose(vec![preset("anthropic", true)], &cheap, None).await.unwrap();
    assert_eq!(demo.reason, ResolvedBy::Demo);
    assert!(
        demo.detail.contains("nothing else can be used (anthropic:claude-sonnet-5: a million"),
        "{}",
        demo.detail
    );
    let modest = ModelPolicy { max_output_price: Some(5.0), ..ModelPolicy::default() };
    assert_eq!(
        shown(choose(both(), &modest, None).await),
        ("anthropic:claude-haiku-4-5".to_owned(), ResolvedBy::Policy)
    );
    let prefers = ModelPolicy { prefer: vec!["anthropic:claude-opus-4-8".to_owned()], ..modest };
    assert_eq!(shown(choose(both(), &prefers, None).await).0, "anthropic:claude-haiku-4-5");
}

#[tokio::test]
async fn what_nobody_has_said_does_not_pass_a_policy() {
    let (here, task) = server(r#"{"data": [{"id": "stranger", "context_length": 4096}]}"#).await;
    let requires = ModelPolicy { require: vec![Ability::Tools], ..ModelPolicy::default() };
    let chosen = choose(vec![here.clone()], &requires, None).await;
    assert_eq!(shown(chosen), ("demo:demo".to_owned(), ResolvedBy::Demo), "the demo has tools");
    let far = ProviderConfig {
        models: vec!["stranger".to_owned()],
        api_key: ProviderKey::Fixed(Secret::new("sk-1")),
        ..ProviderConfig::new("far", ProviderKind::OpenAiChat, "https://models.example.org/v1")
    };
    let ceiling = ModelPolicy { max_input_price: Some(1.0), ..ModelPolicy::default() };
    assert_eq!(shown(choose(vec![far, here], &ceiling, None).await).0, "here:stranger", "home costs nothing");
    task.abort();
}

#[tokio::test]
async fn a_named_default_is_taken_with_a_warning() {
    let default = Some("deepseek:deepseek-v4-pro");
    let locked = choose(vec![preset("deepseek", false)], &ModelPolicy::default(), default).await.unwrap();
    assert_eq!(locked.reason, ResolvedBy::Configured);
    assert!(locked.detail.contains("beware: set DEEPSEEK_API_KEY"), "{}", locked.detail);
    let error = choose(Vec::new(), &ModelPolicy::default(), default).await.unwrap_err();
    assert_eq!(error.code, "unknown_model");
}

#[tokio::test]
async fn a_named_default_that_the_policy_excludes_is_passed_over() {
    let default = Some("deepseek:deepseek-v4-pro");
    let both = || vec![preset("deepseek", true), preset("anthropic", true)];
    let seeing = ModelPolicy { require: vec![Ability::Vision], ..ModelPolicy::default() };
    let chosen = choose(both(), &seeing, default).await.unwrap();
    assert_eq!((chosen.model.as_str(), chosen.reason), ("anthropic:claude-sonnet-5", ResolvedBy::Policy));
    let why = "the default deepseek:deepseek-v4-pro: it does not have the ability `vision`";
    assert!(chosen.detail.contains(why), "{}", chosen.detail);
    let modest = ModelPolicy { max_output_price: Some(5.0), ..ModelPolicy::default() };
    let chosen = choose(both(), &modest, Some("anthropic")).await.unwrap();
    assert_eq!((chosen.model.as_str(), chosen.reason), ("deepseek:deepseek-v4-pro", ResolvedBy::Policy));
    assert!(chosen.detail.contains("the default anthropic:claude-sonnet-5: a million"), "{}", chosen.detail);
    let first = ModelPolicy { prefer: vec!["anthropic:claude-haiku-4-5".to_owned()], ..modest };
    assert_eq!(shown(choose(both(), &first, default).await).0, "anthropic:claude-haiku-4-5");
}

/// A provider with a key, and a server of this machine that lists these models.
async fn keyed(name: &str, models: &'static str) -> (ProviderConfig, JoinHandle<()>) {
    let (here, task) = server(models).await;
    let key = ProviderKey::Fixed(Secret::new("sk-1"));
    (ProviderConfig { name: name.to_owned(), api_key: key, ..here }, task)
}

#[tokio::test]
async fn a_provider_with_a_key_and_no_list_is_asked() {
    let (mine, task) = keyed("mine", TWO).await;
    let models = ModelRegistry::new(vec![mine]);
    let chosen = shown(models.choose(&ModelPolicy::default(), None).await);
    assert_eq!(chosen, ("mine:handy".to_owned(), ResolvedBy::KeyFound));
    let named = shown(models.choose(&ModelPolicy::default(), Some("mine")).await);
    assert_eq!(named, ("mine:handy".to_owned(), ResolvedBy::Configured));
    task.abort();
    let (empty, task) = keyed("mine", r#"{"data": []}"#).await;
    let demo = choose(vec![empty], &ModelPolicy::default(), None).await.unwrap();
    assert_eq!(demo.reason, ResolvedBy::Demo);
    assert!(
        demo.detail.contains("mine: it has a key, but no model of it is known (it lists no models)"),
        "{}",
        demo.detail
    );
    task.abort();
    let gone = ProviderConfig { preset: None, name: "mine".to_owned(), ..preset("openai", true) };
    let demo = choose(vec![gone.clone()], &ModelPolicy::default(), None).await.unwrap();
    assert!(
        demo.detail.contains("(provider `mine` does not run: nothing answers at 127.0.0.1:9)"),
        "{}",
        demo.detail
    );
    assert!(demo.detail.contains("`models` in [providers.mine]"), "{}", demo.detail);
    let off = ModelSettings { discover: false, ..ModelSettings::default() };
    let demo =
        ModelRegistry::with_settings(vec![gone], off).choose(&ModelPolicy::default(), None).await.unwrap();
    assert!(demo.detail.contains("`models.discover` is off"), "{}", demo.detail);
    let (silent, task) = server(r#"{"data": []}"#).await;
    let demo = choose(vec![silent], &ModelPolicy::default(), None).await.unwrap();
    assert!(demo.detail.contains("here: its server answers, but lists no models"), "{}", demo.detail);
    task.abort();
}

#[tokio::test]
async fn a_default_does_not_depend_on_who_asked_before() {
    for (list, expected) in [
        (r#"{"data": [{"id": "new"}, {"id": "gpt-5.5"}]}"#, "openai:gpt-5.5"),
        (r#"{"data": [{"id": "new"}, {"id": "gpt-4.1"}]}"#, "openai:gpt-4.1"),
        (r#"{"data": [{"id": "new"}]}"#, "openai:new"),
    ] {
        let (server, task) = keyed("openai", list).await;
        let provider = ProviderConfig { preset: Some("openai"), ..server };
        for before in [false, true] {
            let models = ModelRegistry::new(vec![provider.clone()]);
            if before {
                models.list(false).await;
            }
            let chosen = shown(models.choose(&ModelPolicy::default(), None).await);
            assert_eq!(chosen, (expected.to_owned(), ResolvedBy::KeyFound), "listed before: {before}");
        }
        task.abort();
    }
    let away = choose(vec![preset("openai", true)], &ModelPolicy::default(), None).await;
    assert_eq!(shown(away).0, "openai:gpt-5.5", "a server that cannot be asked");
}

#[tokio::test]
async fn configured_providers_come_in_their_order_with_their_first_model() {
    let mine = ProviderConfig {
        models: vec!["best".to_owned(), "other".to_owned()],
        api_key: ProviderKey::Fixed(Secret::new("sk-1")),
        ..ProviderConfig::new("mine", ProviderKind::OpenAiChat, "https://models.example.org/v1")
    };
    let chosen = choose(vec![mine, preset("anthropic", true)], &ModelPolicy::default(), None).await;
    assert_eq!(shown(chosen), ("mine:best".to_owned(), ResolvedBy::KeyFound));
}

#[tokio::test]
async fn without_discovery_only_what_is_written_down_is_taken() {
    let written = ProviderConfig {
        models: vec!["m".to_owned()],
        ..ProviderConfig::new("home", ProviderKind::OpenAiChat, "http://127.0.0.1:9/v1")
    };
    let unwritten = ProviderConfig { name: "other".to_owned(), models: Vec::new(), ..written.clone() };
    let off = || ModelSettings { discover: false, ..ModelSettings::default() };
    let policy = ModelPolicy::default();
    let models = ModelRegistry::with_settings(vec![unwritten.clone(), written], off());
    assert_eq!(shown(models.choose(&policy, None).await), ("home:m".to_owned(), ResolvedBy::LocalServer));
    let models = ModelRegistry::with_settings(vec![unwritten], off());
    assert_eq!(shown(models.choose(&policy, None).await).1, ResolvedBy::Demo);
}

#[tokio::test]
async fn a_recording_is_used_by_name_only() {
    let replay = ProviderConfig::new("again", ProviderKind::Replay, "");
    let chosen = choose(vec![replay.clone()], &ModelPolicy::default(), None).await;
    assert_eq!(shown(chosen).1, ResolvedBy::Demo);
    let named = choose(vec![replay], &ModelPolicy::default(), Some("again")).await;
    assert_eq!(shown(named).1, ResolvedBy::Configured);
}
