//! From configuration and environment to providers and their keys.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ostler_cli::config::load;
use ostler_cli::paths::ConfigFile;
use ostler_config::{Config, Environment};
use ostler_daemon::models::{models, providers};
use ostler_models::{KeyFreshness, ModelError, ProviderConfig, ProviderKey, ProviderKind, Secret};
use ostler_process::ProgramFinder;

use crate::process;

const CANARY: &str = "sk-canary-0815";

/// Loads a file with this text, which is called `config.toml` in errors.
fn config(text: &str) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, text).unwrap();
    let file = ConfigFile { path, named: true };
    let loaded = load(Some(&file), &Environment::default(), &[]);
    let shown = format!("{}/", dir.path().display());
    loaded.map(|loaded| loaded.config).map_err(|error| error.to_string().replace(&shown, ""))
}

fn providers_of(text: &str, variables: &[(&str, &str)]) -> Vec<ProviderConfig> {
    let programs = ProgramFinder::new(None, Vec::new);
    providers(&config(text).unwrap(), &Environment::from_pairs(variables), &programs)
}

fn named(providers: &[ProviderConfig], name: &str) -> ProviderConfig {
    providers.iter().find(|provider| provider.name == name).unwrap_or_else(|| panic!("{name}")).clone()
}

async fn key(provider: &ProviderConfig, fresh: KeyFreshness) -> Result<String, ModelError> {
    match &provider.api_key {
        ProviderKey::None => Ok(String::new()),
        ProviderKey::Fixed(secret) => Ok(secret.expose().to_owned()),
        ProviderKey::Found(source) => source(fresh).await.map(|secret| secret.expose().to_owned()),
    }
}

/// A file with this content and mode.
fn file(dir: &Path, name: &str, content: &str, mode: u32) -> String {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_does_not_go_together_is_told_with_its_place() {
    for (text, expected) in [
        ("[providers.x]\n", "config.toml:1: `providers.x`: this section needs the key `kind`"),
        (
            "[providers.x]\npreset = \"olama\"\n",
            "config.toml:2: `providers.x.preset`: there is no such preset",
        ),
        (
            "[providers.openai]\napi_key_env = \"A\"\napi_key_file = \"/b\"\n",
            "config.toml:3: `providers.openai.api_key_file`: only one of",
        ),
        (
            "[providers.openai]\napi_key_file = \"sk-1\"\n",
            "config.toml:2: `providers.openai.api_key_file`: expected",
        ),
        (
            "[providers.openai]\napi_key_command = []\n",
            "config.toml:2: `providers.openai.api_key_command`: expected",
        ),
        (
            "[providers.openai]\napi_key_command = [\"./key\"]\n",
            "config.toml:2: `providers.openai.api_key_command`:",
        ),
        (
            "[providers.x]\nkind = \"replay\"\n",
            "config.toml:2: `providers.x.kind`: a replay needs the key `file`",
        ),
        (
            "[providers.openai]\nfile = \"/x\"\n",
            "config.toml:2: `providers.openai.file`: only a provider of kind",
        ),
        (
            "[models]\nmax_input_price = -1\n",
            "config.toml:2: `models.max_input_price`: expected a number of US",
        ),
        (
            "[models.info.qwen3]\ncontext_window = 1\n",
            "config.toml:1: `models.info`: `qwen3`: expected the full name",
        ),
        (
            "[models.info.\"a:b\"]\ncontext_window = 0\n",
            "config.toml:1: `models.info`: `a:b`: a number of tokens",
        ),
        (
            "[models.info.\"a:b\"]\ncontext_window = -1\n",
            "config.toml:2: `models.info.a:b.context_window`: this is",
        ),
        (
            "[models]\nrequire = [\"tool\"]\n",
            "config.toml:2: `models.require`: there is no such value as `tool`",
        ),
    ] {
        let error = config(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}\nshould begin {expected}");
        assert!(!error.contains("sk-1"), "{error}");
    }
    for fine in [
        "[providers.ollama]\n",
        "[models]\ndefault = \"\"\n",
        "[providers.replay]\nkind = \"replay\"\nfile = \"/x\"\n",
    ] {
        assert!(config(fine).is_ok(), "{fine}");
    }
}

#[test]
fn presets_need_no_configuration() {
    let all = providers_of("", &[("GEMINI_API_KEY", CANARY)]);
    let names: Vec<&str> = all.iter().map(|provider| provider.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "anthropic",
            "openai",
            "openrouter",
            "gemini",
            "xai",
            "mistral",
            "deepseek",
            "groq",
            "ollama",
            "llamacpp",
            "lmstudio",
            "vllm"
        ]
    );
    assert!(all.iter().all(|provider| !provider.configured));
    assert_eq!(named(&all, "openai").kind, ProviderKind::OpenAiResponses);
    assert_eq!(named(&all, "gemini").readiness.missing(), None);
    assert!(matches!(named(&all, "gemini").api_key, ProviderKey::Fixed(_)));
    assert!(matches!(named(&all, "ollama").api_key, ProviderKey::None));
    let missing = named(&all, "anthropic").readiness.missing().unwrap();
    assert!(missing.contains("set ANTHROPIC_API_KEY"), "{missing}");
}

#[test]
fn a_section_overrides_only_what_it_gives() {
    let text = "[providers.openai]\nmodels = [\"gpt-5.5\"]\n\
                [providers.laptop]\npreset = \"ollama\"\nbase_url = \"http://10.0.0.7:11434/v1\"\n\
                [providers.anthropic]\nbase_url = \"https://proxy.example.org\"\n\
                [providers.own]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    let all = providers_of(text, &[("OPENAI_API_KEY", CANARY)]);
    let first: Vec<&str> = all.iter().take(4).map(|provider| provider.name.as_str()).collect();
    assert_eq!(first, ["anthropic", "openai", "laptop", "own"], "what is written down comes first");
    let openai = named(&all, "openai");
    assert_eq!(
        (openai.kind, openai.base_url.as_str()),
        (ProviderKind::OpenAiResponses, "https://api.openai.com/v1")
    );
    assert_eq!((openai.models.as_slice(), openai.configured), (["gpt-5.5".to_owned()].as_slice(), true));
    let laptop = named(&all, "laptop");
    assert_eq!((laptop.kind, laptop.preset), (ProviderKind::OpenAiChat, Some("ollama")));
    assert_eq!(laptop.base_url, "http://10.0.0.7:11434/v1");
    let moved = named(&all, "anthropic");
    assert_eq!(moved.readiness.missing(), None, "elsewhere a key may not be wanted");
}

#[test]
fn customary_variables_move_their_preset_only() {
    let variables =
        [("OPENAI_BASE_URL", "http://127.0.0.1:4000/v1"), ("ANTHROPIC_BASE_URL", "http://me:hunter2@host/")];
    let all = providers_of("[providers.chat]\nkind = \"openai-chat\"\n", &variables);
    assert_eq!(named(&all, "openai").base_url, "http://127.0.0.1:4000/v1");
    assert_eq!(named(&all, "chat").base_url, "https://api.openai.com/v1");
    let bad = named(&all, "anthropic");
    let why = bad.readiness.missing().unwrap();
    assert!(why.contains("ANTHROPIC_BASE_URL") && !why.contains("hunter2"), "{why}");
    assert!(!format!("{bad:?}").contains("hunter2"));
    let written =
        providers_of("[providers.openai]\nbase_url = \"https://here.example.org/v1\"\n", &variables);
    assert_eq!(named(&written, "openai").base_url, "https://here.example.org/v1");
}

#[tokio::test]
async fn a_missing_variable_is_named_before_anything_is_sent() {
    let all = providers_of("[providers.x]\nkind = \"openai-chat\"\napi_key_env = \"MY_KEY\"\n", &[]);
    let error = key(&named(&all, "x"), KeyFreshness::Any).await.unwrap_err();
    assert_eq!(error.code, "unauthorized");
    assert!(error.message.contains("MY_KEY is not set"), "{error}");
    assert!(error.hint.unwrap().contains("set MY_KEY"));
}

#[test]
fn it_is_known_where_a_key_comes_from() {
    let text = "[providers.a]\nkind = \"openai-chat\"\napi_key_env = \"A_KEY\"\n\
                [providers.b]\nkind = \"openai-chat\"\napi_key_file = \"~/b\"\n\
                [providers.c]\nkind = \"openai-chat\"\napi_key_command = [\"pass\", \"sk-canary-0815\"]\n\
                [providers.d]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    let all = providers_of(text, &[("HOME", "/home/me"), ("GOOGLE_API_KEY", CANARY)]);
    for (name, from) in [
        ("a", Some("the variable A_KEY in the environment of the daemon")),
        ("b", Some("the file /home/me/b")),
        ("c", Some("the command `pass`")),
        ("d", None),
        ("gemini", Some("the variable GOOGLE_API_KEY in the environment of the daemon")),
        ("openai", Some("the variable OPENAI_API_KEY in the environment of the daemon")),
    ] {
        assert_eq!(named(&all, name).key_from.as_deref(), from, "{name}");
    }
}

#[tokio::test]
async fn a_key_file_must_be_private() {
    let dir = tempfile::tempdir().unwrap();
    let good = file(dir.path(), "good", &format!("{CANARY}\n"), 0o600);
    let strict = file(dir.path(), "strict", CANARY, 0o400);
    let open = file(dir.path(), "open", CANARY, 0o644);
    let group = file(dir.path(), "group", CANARY, 0o620);
    let empty = file(dir.path(), "empty", " \n", 0o600);
    let absent = dir.path().join("absent").to_str().unwrap().to_owned();
    let folder = dir.path().to_str().unwrap().to_owned();
    for (path, problem, advice) in [
        (&good, None, ""),
        (&strict, None, ""),
        (&open, Some("mode is 644"), "chmod 600 "),
        (&group, Some("mode is 620"), "chmod 600 "),
        (&empty, Some("is empty"), "write the key to "),
        (&absent, Some("cannot be read"), "chmod 600 "),
        (&folder, Some("is not a regular file"), "write the key to "),
    ] {
        let text = format!("[providers.x]\nkind = \"openai-chat\"\napi_key_file = \"{path}\"\n");
        let provider = named(&providers_of(&text, &[]), "x");
        let (found, missing) = (key(&provider, KeyFreshness::Any).await, provider.readiness.missing());
        match problem {
            None => assert_eq!((found.as_deref(), missing), (Ok(CANARY), None)),
            Some(problem) => {
                let error = found.unwrap_err();
                let hint = error.hint.clone().unwrap();
                assert_eq!(error.code, "unauthorized");
                assert!(error.message.contains(problem) && error.message.contains(path.as_str()), "{error}");
                assert!(hint.contains(advice) && missing.unwrap().contains(problem), "{hint}");
                assert!(!format!("{error:?} {provider:?}").contains(CANARY));
            }
        }
    }
}

#[tokio::test]
async fn a_key_file_in_the_home_directory_that_comes_later_is_found() {
    let home = tempfile::tempdir().unwrap();
    let text = "[providers.x]\nkind = \"openai-chat\"\napi_key_file = \"~/key\"\n";
    let provider = named(&providers_of(text, &[("HOME", home.path().to_str().unwrap())]), "x");
    assert!(provider.readiness.missing().is_some());
    file(home.path(), "key", CANARY, 0o600);
    assert_eq!(provider.readiness.missing(), None);
    assert_eq!(key(&provider, KeyFreshness::Any).await.as_deref(), Ok(CANARY));
}

#[tokio::test]
async fn a_command_runs_once_and_again_after_its_key_was_refused() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "#!/bin/sh\necho more >> {0}/runs\necho \"  key-$(wc -l < {0}/runs | tr -d ' ')\"\necho noise >&2\n",
        dir.path().display()
    );
    let program = file(dir.path(), "print-key", &script, 0o700);
    let text = format!("[providers.x]\nkind = \"openai-chat\"\napi_key_command = [\"{program}\", \"a b\"]\n");
    let provider = named(&providers_of(&text, &[]), "x");
    let both = tokio::join!(key(&provider, KeyFreshness::Any), key(&provider, KeyFreshness::Any));
    assert_eq!((both.0.as_deref(), both.1.as_deref()), (Ok("key-1"), Ok("key-1")));
    let refused = || KeyFreshness::Replacing(Secret::new("key-1"));
    let again = tokio::join!(key(&provider, refused()), key(&provider, refused()));
    assert_eq!((again.0.as_deref(), again.1.as_deref()), (Ok("key-2"), Ok("key-2")));
    assert_eq!(key(&provider, KeyFreshness::Any).await.as_deref(), Ok("key-2"));
}

#[tokio::test]
async fn a_command_that_fails_says_so_and_nothing_of_what_it_printed() {
    for (command, problem) in [
        ("[\"/bin/sh\", \"-c\", \"echo sk-canary-0815; echo sk-canary-0815 >&2; exit 3\"]", "failed"),
        ("[\"/bin/sh\", \"-c\", \"true\"]", "printed no key"),
        ("[\"/nonexistent/print-key\", \"sk-canary-0815\"]", "is not run"),
    ] {
        let text = format!("[providers.x]\nkind = \"openai-chat\"\napi_key_command = {command}\n");
        let error = key(&named(&providers_of(&text, &[]), "x"), KeyFreshness::Any).await.unwrap_err();
        assert_eq!(error.code, "unauthorized");
        assert!(error.message.contains(problem), "{error}");
        assert!(!format!("{error:?}").contains(CANARY), "{error:?}");
    }
}

#[test]
fn no_key_is_shown_by_the_configuration() {
    let text = "[providers.a]\nkind = \"openai-chat\"\napi_key_env = \"A_KEY\"\n\
                [providers.b]\nkind = \"openai-chat\"\napi_key_command = [\"echo\", \"sk-canary-0815\"]\n";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, text).unwrap();
    let environment = Environment::from_pairs(&[("A_KEY", CANARY), ("OPENAI_API_KEY", CANARY)]);
    let file = ConfigFile { path, named: true };
    let loaded = load(Some(&file), &environment, &[]).unwrap();
    let shown = format!(
        "{}{}{:?}",
        loaded.table(&environment),
        serde_json::to_string(&loaded.entries(&environment)).unwrap(),
        models(
            &loaded.config,
            &environment,
            &ProgramFinder::new(None, Vec::new),
            &ostler_types::Secrets::default()
        )
    );
    assert!(!shown.contains(CANARY), "{shown}");
    assert!(shown.contains("[\"echo\", \"…\"]"), "{shown}");
}

#[test]
fn a_recording_is_a_provider() {
    let all = providers_of("[providers.replay]\nkind = \"replay\"\nfile = \"/tmp/raw.jsonl\"\n", &[]);
    let replay = named(&all, "replay");
    assert_eq!(replay.kind, ProviderKind::Replay);
    assert_eq!(replay.recording.as_deref(), Some(Path::new("/tmp/raw.jsonl")));
}

/// Runs `ostler models` on a data directory of its own, and gives what it printed.
fn listed(config: &str, variables: &[(&str, &str)], arguments: &[&str]) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    std::fs::write(&file, config).unwrap();
    let mut command = process::binary();
    command.arg("models").args(arguments).arg("--config").arg(&file);
    command.arg("--data-dir").arg(dir.path().join("data")).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{err}");
    (out, err)
}

#[test]
fn the_command_lists_models_and_says_which_is_the_default() {
    let config = "[providers.mine]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
                  api_key_env = \"MINE\"\nmodels = [\"large\"]\n[models.info.\"mine:large\"]\ncontext_window = 64000\n";
    let (table, _) = listed(config, &[], &[]);
    let row = table.lines().find(|line| line.starts_with("mine:large")).unwrap();
    assert!(row.contains("64k") && row.contains("set MINE"), "{table}");
    assert!(table.contains("\ndefault: demo:demo (nothing else can be used (mine: it has no key"), "{table}");
    let (table, log) = listed(config, &[("MINE", CANARY)], &["-vv"]);
    assert!(table.contains("\ndefault: mine:large (provider `mine` has a key"), "{table}");
    assert!(!table.contains(CANARY) && !log.contains(CANARY), "{log}");
    let (json, _) = listed(config, &[("MINE", CANARY)], &["--json", "LARGE"]);
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(list["default"]["reason"], "key_found");
    assert_eq!(list["models"].as_array().unwrap().len(), 1);
    assert_eq!(list["models"][0]["context_window"], 64_000);
}
