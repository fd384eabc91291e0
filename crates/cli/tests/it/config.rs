//! The layers of the configuration, its errors, and how it is shown.

use std::path::Path;

use ostler_cli::config::load;
use ostler_cli::paths::ConfigFile;
use ostler_config::{
    AgentConfinement, Auth, CONFIG_KEYS, Config, ConfigFlag, ConfigSource, Environment, LoadedConfig,
    ProviderProtocol, SandboxMode,
};
use ostler_types::{Ability, PatchReviewMode, Policy, ToolKind};

/// Loads from a file with this text, these variables and these flags. A file called `config.toml`
/// stands for its directory in errors.
fn load_all(
    text: Option<&str>,
    variables: &[(&str, &str)],
    flags: &[ConfigFlag],
) -> Result<LoadedConfig, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    if let Some(text) = text {
        std::fs::write(&path, text).unwrap();
    }
    let file = ConfigFile { path, named: false };
    let environment = Environment::from_pairs(variables);
    let loaded = load(Some(&file), &environment, flags);
    loaded.map_err(|error| error.to_string().replace(&format!("{}/", dir.path().display()), ""))
}

fn from_file(text: &str) -> Result<LoadedConfig, String> {
    load_all(Some(text), &[], &[])
}

fn listen_flag(value: &str) -> ConfigFlag {
    ConfigFlag { name: "--listen", key: "server.listen", value: value.to_owned() }
}

#[test]
fn without_any_layer_the_defaults_hold() {
    let loaded = load_all(None, &[], &[]).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.config.policy(), Policy::default());
    assert_eq!(loaded.config.server.listen.to_string(), "127.0.0.1:8787");
    assert_eq!((loaded.config.turn_loop.max_steps, loaded.config.models.named_default()), (10, None));
    assert_eq!((loaded.file, loaded.warnings), (None, vec![]));
}

#[test]
fn a_stronger_layer_wins_and_each_value_knows_its_source() {
    let text = "[server]\nlisten = \"127.0.0.1:1\"\n\n[loop]\nmax_steps = 5\n[models]\ndefault = \"a:b\"\n";
    let variables = [("OSTLER_SERVER_LISTEN", "127.0.0.1:2"), ("OSTLER_LOOP_MAX_STEPS", "6")];
    let loaded = load_all(Some(text), &variables, &[listen_flag("127.0.0.1:3")]).unwrap();
    assert_eq!(loaded.config.server.listen.port(), 3);
    assert_eq!(*loaded.source("server.listen"), ConfigSource::Flag("--listen"));
    assert_eq!(loaded.config.turn_loop.max_steps, 6);
    assert_eq!(*loaded.source("loop.max_steps"), ConfigSource::Variable("OSTLER_LOOP_MAX_STEPS".to_owned()));
    assert_eq!(loaded.config.models.named_default(), Some("a:b"));
    assert!(
        matches!(loaded.source("models.default"), ConfigSource::File { line: 7, .. }),
        "{:?}",
        loaded.sources
    );
    assert_eq!(*loaded.source("server.auth"), ConfigSource::Default);
}

#[test]
fn every_section_can_be_written() {
    let loaded = from_file(EXAMPLE).unwrap();
    let config = &loaded.config;
    assert_eq!(config.providers["ollama"].kind("ollama"), Some(ProviderProtocol::OpenAiChat));
    assert_eq!(config.providers["claude"].base_url("claude"), "https://api.anthropic.com/v1");
    let policy = config.models.policy();
    assert_eq!(
        (policy.prefer.as_slice(), policy.max_input_price),
        (["a:b".to_owned()].as_slice(), Some(3.0))
    );
    assert_eq!((policy.require.as_slice(), config.models.discover), ([Ability::Tools].as_slice(), false));
    let facts = &config.models.info["ollama:qwen3:8b"];
    assert_eq!((facts.context_window, facts.prices.unwrap().output), (Some(32_768), 0.5));
    assert_eq!(config.agents["gemini"].env["MODE"], "fast");
    assert_eq!(config.approval.require_for_kinds, [ToolKind::Exec, ToolKind::Network]);
    assert_eq!(config.approval.rules[0].subject, "cargo test");
    assert_eq!(config.verify.commands, ["cargo test"]);
    assert_eq!(config.patch_review.mode, PatchReviewMode::Request);
    assert_eq!((config.sandbox.mode, config.sandbox.network), (SandboxMode::Off, true));
    assert_eq!(config.gateway.workspace.as_deref(), Some("/w"));
}

const EXAMPLE: &str = r#"
[server]
listen = "127.0.0.1:8787"
auth = "on"
[models]
default = "ollama:qwen3"
fallback = ["demo:demo"]
prefer = ["a:b"]
require = ["tools"]
max_input_price = 3
discover = false
[models.info."ollama:qwen3:8b"]
context_window = 32768
prices = { input = 0, output = 0.5 }
[providers.ollama]
kind = "openai-chat"
base_url = "http://127.0.0.1:11434/v1"
models = ["qwen3"]
[providers.claude]
kind = "anthropic"
api_key_env = "ANTHROPIC_API_KEY"
[agents.gemini]
kind = "acp"
command = ["gemini", "--acp"]
env = { MODE = "fast", SECRET_TOKEN = "hunter2" }
[approval]
require_for_kinds = ["exec", "network"]
require_for_tools = ["write_file"]
rules = [{ tool = "shell", subject = "cargo test" }]
[verify]
auto = true
commands = ["cargo test"]
require_clean = false
max_rounds = 2
[patch_review]
mode = "request"
[logging]
streams = ["context", "raw"]
[loop]
max_steps = 20
[sandbox]
mode = "off"
network = true
writable = ["/tmp/cache"]
[gateway]
listen = "127.0.0.1:18789"
workspace = "/w"
"#;

#[test]
fn an_error_in_the_file_names_line_key_and_what_was_expected() {
    for (text, expected) in [
        (
            "\n[server]\nlisen = \"x\"\n",
            "config.toml:3: `server.lisen`: there is no such key as `lisen`, expected one of `listen`, `auth`; did you mean `listen`?",
        ),
        (
            "[server]\nlisten = 5\n",
            "config.toml:2: `server.listen`: this is the number `5`, expected a text in quotes",
        ),
        (
            "[server]\nlisten = \"here\"\n",
            "config.toml:2: `server.listen`: `here` is not an address, expected an address and a port, such as 127.0.0.1:8787",
        ),
        (
            "[verify]\nauto = true\ncommands = \"make\"\n",
            "config.toml:3: `verify.commands`: this is the text \"make\", expected a list in brackets",
        ),
        (
            "[loop]\nmax_steps = -1\n",
            "config.toml:2: `loop.max_steps`: this is the number `-1`, expected a whole number that is not negative",
        ),
        (
            "[providers.x]\nkind = \"openai_chat\"\n",
            "config.toml:2: `providers.x.kind`: there is no such value as `openai_chat`, expected one of `openai-chat`, `openai-responses`, `anthropic`, `replay`; did you mean `openai-chat`?",
        ),
        (
            "[providers.x]\nbase_url = \"http://a\"\n",
            "config.toml:1: `providers.x`: this section needs the key `kind`, or `preset` with one of `anthropic`, `openai`, `openrouter`, `gemini`, `xai`, `mistral`, `deepseek`, `groq`, `ollama`, `llamacpp`, `lmstudio`, `vllm`",
        ),
        (
            "[approval]\nrequire_for_kinds = [\n  \"exec\",\n  \"wirte\",\n]\n",
            "config.toml:4: `approval.require_for_kinds`: there is no such value as `wirte`, expected one of `read`, `write`, `exec`, `network`; did you mean `write`?",
        ),
    ] {
        assert_eq!(from_file(text).unwrap_err(), expected);
    }
    let section = from_file("[servers]\n").unwrap_err();
    assert!(section.starts_with("config.toml:1: `servers`: there is no such key as `servers`"), "{section}");
    assert!(section.ends_with("did you mean `server`?"), "{section}");
    let syntax = from_file("[server]\nlisten = \n").unwrap_err();
    assert!(syntax.starts_with("config.toml:2: "), "{syntax}");
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    let key = from_file("[providers.x]\nkind = \"openai-chat\"\napi_key = \"sk-hunter2\"\n").unwrap_err();
    assert!(key.contains("did you mean `api_key_env`?") && !key.contains("hunter2"), "{key}");
    let name =
        from_file("[providers.x]\nkind = \"openai-chat\"\napi_key_env = \"sk-hunter2\"\n").unwrap_err();
    assert!(
        name.starts_with("config.toml:3: `providers.x.api_key_env`:") && !name.contains("hunter2"),
        "{name}"
    );
    let url = from_file("[providers.x]\nkind = \"openai-chat\"\nbase_url = \"http://me:hunter2@host/\"\n")
        .unwrap_err();
    assert!(url.contains("must not hold a user or password") && !url.contains("hunter2"), "{url}");
}

#[test]
fn variables_are_read_by_the_type_of_their_key() {
    let variables = [
        ("OSTLER_VERIFY_AUTO", "false"),
        ("OSTLER_VERIFY_COMMANDS", "make test , make lint"),
        ("OSTLER_APPROVAL_REQUIRE_FOR_KINDS", "exec"),
        ("OSTLER_SERVER_AUTH", "off"),
        ("OSTLER_GATEWAY_WORKSPACE", "/w"),
        ("OSTLER_MODELS_MAX_OUTPUT_PRICE", "2.5"),
        ("OSTLER_MODELS_REQUIRE", "tools, vision"),
    ];
    let config = load_all(None, &variables, &[]).unwrap().config;
    assert_eq!(config.models.max_output_price, Some(2.5));
    assert_eq!(config.models.require, [Ability::Tools, Ability::Vision]);
    assert!(!config.verify.auto);
    assert_eq!(config.verify.commands, ["make test", "make lint"]);
    assert_eq!(config.approval.require_for_kinds, [ToolKind::Exec]);
    assert_eq!((config.server.auth, config.gateway.workspace.as_deref()), (Auth::Off, Some("/w")));
}

#[test]
fn a_bad_variable_or_flag_is_named() {
    let error = |name, value| load_all(None, &[(name, value)], &[]).unwrap_err();
    assert_eq!(
        error("OSTLER_LOOP_MAX_STEPS", "ten"),
        "OSTLER_LOOP_MAX_STEPS: `loop.max_steps`: `ten` is not a whole number"
    );
    assert_eq!(
        error("OSTLER_VERIFY_AUTO", "1"),
        "OSTLER_VERIFY_AUTO: `verify.auto`: `1` is neither `true` nor `false`"
    );
    assert_eq!(
        error("OSTLER_SERVER_AUTH", "of"),
        "OSTLER_SERVER_AUTH: `server.auth`: there is no such value as `of`, expected one of `on`, `off`; did you mean `off`?"
    );
    assert_eq!(
        load_all(None, &[], &[listen_flag("x")]).unwrap_err(),
        "--listen: `server.listen`: `x` is not an address, expected an address and a port, such as 127.0.0.1:8787"
    );
    assert_eq!(
        error("OSTLER_LOOP_MAX_STEPS", "0"),
        "$OSTLER_LOOP_MAX_STEPS: `loop.max_steps`: this is 0, expected a number from 1 to 1000"
    );
}

#[test]
fn an_empty_variable_does_not_switch_approvals_off() {
    let loaded = load_all(None, &[("OSTLER_APPROVAL_REQUIRE_FOR_KINDS", "")], &[]).unwrap();
    assert_eq!(loaded.config.approval, Policy::default().approval);
}

#[test]
fn an_unknown_variable_is_a_warning() {
    let variables = [
        ("OSTLER_LOOP_MAXSTEPS", "5"),
        ("OSTLER_DATA_DIR", "/d"),
        ("OSTLER_LOG", "debug"),
        ("OSTLER_CONFIG", "/c"),
    ];
    let loaded = load_all(None, &variables, &[]).unwrap();
    let far = load_all(None, &[("OSTLER_COLOURS", "1")], &[]).unwrap();
    assert_eq!(far.warnings, ["the environment variable OSTLER_COLOURS means nothing to ostler"]);
    assert_eq!(
        loaded.warnings,
        [
            "the environment variable OSTLER_LOOP_MAXSTEPS means nothing to ostler; did you mean OSTLER_LOOP_MAX_STEPS?"
        ]
    );
}

#[test]
fn auth_can_be_off_on_loopback_only_whatever_the_layers() {
    for (listen, possible) in [
        ("127.0.0.1:1", true),
        ("[::1]:1", true),
        ("127.9.9.9:1", true),
        ("0.0.0.0:1", false),
        ("[::]:1", false),
        ("192.168.0.1:1", false),
    ] {
        let loaded = load_all(Some("[server]\nauth = \"off\"\n"), &[], &[listen_flag(listen)]);
        assert_eq!(loaded.is_ok(), possible, "{listen}");
    }
    let error = load_all(Some("[server]\nauth = \"off\"\n"), &[], &[listen_flag("0.0.0.0:1")]).unwrap_err();
    assert!(
        error.starts_with("config.toml:2: `server.auth`:") && error.contains("0.0.0.0:1 (--listen)"),
        "{error}"
    );
    let open = load_all(None, &[], &[listen_flag("0.0.0.0:1")]).unwrap();
    assert_eq!(open.warnings.len(), 1, "{:?}", open.warnings);
}

#[test]
fn only_a_named_file_has_to_exist() {
    let environment = Environment::default();
    let absent = |named| ConfigFile { path: "/nonexistent/ostler.toml".into(), named };
    let load_file = |file: ConfigFile| load(Some(&file), &environment, &[]);
    assert_eq!(load_file(absent(false)).unwrap().config, Config::default());
    let error = load_file(absent(true)).unwrap_err().to_string();
    assert!(error.starts_with("/nonexistent/ostler.toml: the configuration file cannot be read"), "{error}");
}

#[test]
fn names_of_providers_are_plain_and_not_taken() {
    for name in ["demo", "replay", "\"a:b\"", "\"a.b\"", "\"\""] {
        assert!(from_file(&format!("[providers.{name}]\nkind = \"openai-chat\"\n")).is_err(), "{name}");
    }
}

#[test]
fn agents_have_a_command_or_a_preset_and_a_name_of_their_own() {
    let config =
        from_file("[agents.work]\npreset = \"claude\"\nsettings = { mode = \"plan\" }\n").unwrap().config;
    assert_eq!(config.agents["work"].preset().unwrap().name, "claude");
    assert_eq!(config.agents["work"].sandbox, AgentConfinement::On, "unless its owner says otherwise");
    let own = "[agents.x]\npreset = \"codex\"\nwritable = [\"~/a\", \"/b\"]\nreadable = [\"~/c\"]\nnetwork = false\n";
    assert_eq!(from_file(own).unwrap().config.agents["x"].writable, ["~/a", "/b"]);
    for (text, why) in [
        ("[agents.x]\nkind = \"acp\"\ncommand = []", "needs the key `command`"),
        ("[agents.x]", "needs the key `command`"),
        ("[agents.x]\npreset = \"cloud\"", "there is no such preset"),
        ("[agents.x]\ncommand = [\"./agent\"]", "its full path"),
        ("[agents.native]\ncommand = [\"x\"]", "another name"),
        ("[agents.ostler]\npreset = \"codex\"", "another name"),
        ("[agents.\"a:b\"]\npreset = \"codex\"", "letters, digits"),
        ("[agents.x]\npreset = \"codex\"\nwritable = [\"cache\"]", "absolute"),
        ("[agents.x]\npreset = \"codex\"\nreadable = [\"~other/x\"]", "absolute"),
        ("[agents.x]\npreset = \"codex\"\nsandbox = \"off\"\nnetwork = false", "kept from the network"),
        ("[agents.x]\npreset = \"codex\"\nmcp_servers = [\"time\"]", "no section `mcp.time`"),
    ] {
        let error = from_file(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn the_table_shows_sources_marks_what_has_no_effect_and_hides_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, EXAMPLE).unwrap();
    let environment =
        Environment::from_pairs(&[("ANTHROPIC_API_KEY", "sk-hunter2"), ("OSTLER_LOOP_MAX_STEPS", "7")]);
    let file = ConfigFile { path, named: true };
    let loaded = load(Some(&file), &environment, &[]).unwrap();
    let table = loaded.table(&environment).replace(dir.path().to_str().unwrap(), "");
    let row = |key: &str| {
        let row = table
            .lines()
            .find(|line| line.starts_with(&format!("{key} ")))
            .unwrap_or_else(|| panic!("{key}: {table}"));
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("loop.max_steps"), "loop.max_steps 7 $OSTLER_LOOP_MAX_STEPS");
    assert_eq!(row("server.listen"), "server.listen \"127.0.0.1:8787\" /config.toml:3");
    assert_eq!(row("sandbox.mode"), "sandbox.mode \"off\" /config.toml:42");
    assert_eq!(row("providers.ollama.kind"), "providers.ollama.kind \"openai-chat\" /config.toml:16");
    assert_eq!(
        row("providers.claude.api_key_env"),
        "providers.claude.api_key_env \"ANTHROPIC_API_KEY\" /config.toml:21 (set in this shell)"
    );
    let elsewhere = loaded.table(&Environment::default());
    let claude = elsewhere.lines().find(|line| line.starts_with("providers.claude.api_key_env "));
    assert!(claude.is_some_and(|row| row.ends_with(" (not set in this shell)")), "{elsewhere}");
    assert_eq!(row("agents.gemini.env"), "agents.gemini.env [\"MODE\", \"SECRET_TOKEN\"] /config.toml:25");
    let json = serde_json::to_string(&loaded.entries(&environment)).unwrap();
    assert!(!table.contains("hunter2") && !json.contains("hunter2"), "{table}");
}

#[test]
fn every_key_with_its_variable_and_default_is_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let Ok(page) = std::fs::read_to_string(&path) else { panic!("{} is missing", path.display()) };
    let loaded = load_all(None, &[], &[]).unwrap();
    for (key, entry) in CONFIG_KEYS.iter().zip(loaded.entries(&Environment::default())) {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", key.path)));
        let row = row.unwrap_or_else(|| panic!("{} has no row", key.path));
        let variable = key.variable().map_or("–".to_owned(), |name| format!("`{name}`"));
        let default = entry.value.map_or("–".to_owned(), |value| format!("`{value}`"));
        assert!(
            row.contains(&format!("| {default} | {variable} |")),
            "{row}\nshould have {default} and {variable}"
        );
        assert_eq!(row.contains("no effect yet"), !key.is_supported, "{row}");
    }
    let examples: Vec<&str> =
        page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        from_file(example).unwrap();
    }
}

/// A command on a configuration with a comment in it.
fn with_comments() -> crate::cli_fixture::CliFixture {
    crate::cli_fixture::CliFixture::new(
        "# Mine.\n[models]\ndefault = \"demo:demo\" # for now\ndiscover = false\n",
    )
}

#[test]
fn settings_are_read_set_and_removed_and_comments_stay() {
    let desk = with_comments();
    let file = || std::fs::read_to_string(desk.path("config.toml")).unwrap();
    assert_eq!(desk.run(&["config", "get", "models.default"]).out, "demo:demo\n");
    let set = desk.run(&["config", "set", "loop.max_steps", "40"]);
    assert_eq!((set.code, set.err.as_str()), (Some(0), ""), "{set:?}");
    assert_eq!(desk.run(&["config", "get", "loop.max_steps"]).out, "40\n");
    assert_eq!(desk.run(&["config", "set", "models.fallback", "demo:demo,a:b"]).code, Some(0));
    assert!(file().starts_with("# Mine.\n[models]\ndefault = \"demo:demo\" # for now\n"), "{}", file());
    assert!(file().contains("fallback = [\"demo:demo\", \"a:b\"]"), "{}", file());

    let before = file();
    let wrong = desk.run(&["config", "set", "loop.max_steps", "many"]);
    assert!(wrong.code == Some(1) && wrong.err.contains("loop.max_steps"), "{wrong:?}");
    let unknown = desk.run(&["config", "set", "models.defualt", "a:b"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("default"), "{unknown:?}");
    assert_eq!(file(), before, "nothing that is not valid is written");

    assert_eq!(desk.run(&["config", "unset", "loop.max_steps"]).code, Some(0));
    assert_eq!(desk.run(&["config", "get", "loop.max_steps"]).out, "10\n", "the default again");
    let nothing = desk.run(&["config", "unset", "loop.max_steps"]);
    assert!(nothing.code == Some(0) && nothing.out.contains("is not set"), "{nothing:?}");
}

#[test]
fn a_running_daemon_needs_a_restart_and_a_broken_file_does_not_lock_anybody_out() {
    let desk = with_comments();
    let daemon = crate::process::DaemonProcess::serve(&desk.data, "");
    let set = desk.run(&["config", "set", "loop.max_steps", "40"]);
    assert!(set.code == Some(0) && set.err.contains("`ostler restart`"), "{set:?}");

    std::fs::write(desk.path("config.toml"), "nonsense = [").unwrap();
    assert_eq!(desk.run(&["sessions"]).code, Some(2));
    let mut command = desk.command(&["config", "edit"]);
    let output = command.env("EDITOR", "sed -i s/.*/[models]/").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_to_string(desk.path("config.toml")).unwrap(), "[models]");
    let mut command = desk.command(&["config", "edit"]);
    let refused = command.env("EDITOR", "sed -i s/.*/[models/").output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(std::fs::read_to_string(desk.path("config.toml")).unwrap(), "[models]", "it stays as it was");

    std::fs::write(desk.path("config.toml"), "nonsense = [").unwrap();
    assert_eq!(desk.run(&["stop"]).code, Some(0), "a daemon can be stopped whatever the file says");
    assert!(daemon.wait().success());
}
