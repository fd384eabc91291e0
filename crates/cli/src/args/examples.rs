//! Examples for the help of each command that has none of its own, and the whole command line with them.

use clap::{CommandFactory, FromArgMatches};

use super::Cli;
use crate::output::{OutputStream, styled};

/// The command line, with examples for each command.
pub fn command() -> clap::Command {
    with_examples(Cli::command(), "")
}

/// What was typed. Ends the program when that makes no sense, or asks for help.
pub fn parse() -> Cli {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.unwrap_or_else(|error| end(&error.format(&mut command)))
}

/// Prints help, or what makes no sense. That repeats what was typed, which a script may have from elsewhere.
fn end(error: &clap::Error) -> ! {
    let place = if error.use_stderr() { OutputStream::Stderr } else { OutputStream::Stdout };
    let text = error.render();
    let text = if place.is_terminal() { text.ansi().to_string() } else { text.to_string() };
    // Nobody may be reading.
    _ = styled(place, &text);
    std::process::exit(error.exit_code())
}

fn with_examples(command: clap::Command, above: &str) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let path = format!("{above} {name}").trim_start().to_owned();
        command.mut_subcommand(name, |inner| {
            let known = EXAMPLES.iter().find(|(wanted, _)| *wanted == path);
            let inner = match known {
                Some((_, lines)) => inner.after_help(text(lines)),
                None => inner,
            };
            with_examples(inner, &path)
        })
    })
}

fn text(lines: &[&str]) -> String {
    let title = if lines.len() == 1 { "Example:" } else { "Examples:" };
    lines.iter().fold(title.to_owned(), |text, line| text + "\n  " + line)
}

/// Lines that can be typed, by the command that they are of.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("tui", &["ostler", "ostler tui ~/shop --continue", "ostler tui --session sess_… --theme day"]),
    (
        "serve",
        &[
            "ostler serve",
            "ostler serve --open",
            "ostler serve --listen 127.0.0.1:9000 --data-dir ~/elsewhere",
        ],
    ),
    ("stop", &["ostler stop", "ostler stop --timeout 5 --force"]),
    ("restart", &["ostler restart"]),
    ("status", &["ostler status", "ostler status --json | jq .pid"]),
    ("sessions", &["ostler sessions list", "ostler sessions search \"race condition\""]),
    (
        "sessions list",
        &[
            "ostler sessions list",
            "ostler sessions list --status needs-approval",
            "ostler sessions list --workspace . --json | jq -r '.[].id'",
        ],
    ),
    ("sessions show", &["ostler sessions show sess_…", "ostler sessions show sess_… --json | jq .queue"]),
    ("sessions search", &["ostler sessions search \"race condition\""]),
    ("sessions archive", &["ostler sessions archive sess_…", "ostler sessions archive sess_… --undo"]),
    ("sessions close", &["ostler sessions close last"]),
    ("sessions rm", &["ostler sessions rm sess_…", "ostler sessions rm sess_… --purge"]),
    ("sessions export", &["ostler sessions export sess_… -o session.ndjson"]),
    ("agents", &["ostler agents list", "ostler agents doctor"]),
    ("agents list", &["ostler agents list", "ostler agents list --json"]),
    ("agents sessions", &["ostler agents sessions claude --workspace ~/shop"]),
    ("agents adopt", &["ostler agents adopt claude 3f2a… --workspace ~/shop"]),
    ("agents login", &["ostler agents login gemini oauth-personal"]),
    ("agents doctor", &["ostler agents doctor", "ostler agents doctor claude codex"]),
    ("projects", &["ostler projects list", "ostler projects add ~/shop"]),
    ("projects list", &["ostler projects list", "ostler projects list --json"]),
    ("projects add", &["ostler projects add", "ostler projects add ~/shop"]),
    ("projects rm", &["ostler projects rm ~/shop"]),
    ("open", &["ostler open", "ostler open --print"]),
    ("attach", &["ostler attach last", "ostler attach sess_… --json --after 120"]),
    (
        "logs",
        &[
            "ostler logs sess_… --tail 20",
            "ostler logs sess_… --follow",
            "ostler logs sess_… --json --since 120 | jq -r .type",
        ],
    ),
    (
        "watch",
        &[
            "ostler watch                                     a line for each session, while it works",
            "ostler watch | grep approval_requested           a line for each event, in a pipe",
            "ostler watch --json | jq -r 'select(.type == \"turn_failed\") | .session_id'",
        ],
    ),
    (
        "approve",
        &[
            "ostler approve",
            "ostler approve sess_… call_1",
            "ostler approve sess_… call_1 --scope session",
            "ostler approve sess_… call_1 --deny --reason \"use the test database\"",
        ],
    ),
    ("cancel", &["ostler cancel sess_…"]),
    ("undo", &["ostler undo --preview", "ostler undo 01a1e4", "ostler undo sess_… turn_… --force"]),
    ("compact", &["ostler compact sess_…"]),
    ("context", &["ostler context sess_…", "ostler context sess_… --json | jq .tokens"]),
    ("note", &["ostler note sess_… \"the tests need docker\"", "date | ostler note sess_… -"]),
    ("trust", &["ostler trust --show", "ostler trust", "ostler trust ~/shop --revoke"]),
    (
        "models",
        &["ostler models", "ostler models qwen --refresh", "ostler models --json | jq -r .default.model"],
    ),
    ("usage", &["ostler usage", "ostler usage --by model --since 30d", "ostler usage --json | jq .total"]),
    ("mcp", &["ostler mcp list", "ostler mcp add time -- uvx mcp-server-time"]),
    (
        "mcp add",
        &[
            "ostler mcp add time --kind read -- uvx mcp-server-time",
            "ostler mcp add github --env GITHUB_TOKEN -- github-mcp-server stdio",
            "ostler mcp add docs --url https://docs.example/mcp --bearer-env DOCS_TOKEN",
        ],
    ),
    ("mcp list", &["ostler mcp list", "ostler mcp list --check", "ostler mcp list --json"]),
    ("mcp rm", &["ostler mcp rm time"]),
    ("doctor", &["ostler doctor", "ostler doctor --rebuild", "ostler doctor --salvage sess_…"]),
    ("upgrade", &["ostler upgrade --check", "ostler upgrade"]),
    ("self-check", &["ostler self-check", "ostler self-check --scratch ~/scratch --keep"]),
    ("service", &["ostler service install", "ostler service status"]),
    ("service install", &["ostler service install", "ostler service install --print"]),
    ("service status", &["ostler service status"]),
    ("service uninstall", &["ostler service uninstall"]),
    ("config", &["ostler config show", "ostler config set models.default anthropic:claude-sonnet-5"]),
    ("config get", &["ostler config get models.default"]),
    (
        "config set",
        &[
            "ostler config set loop.max_steps 40",
            "ostler config set models.fallback openai:gpt-5.5,demo:demo",
        ],
    ),
    ("config unset", &["ostler config unset models.fallback"]),
    ("config edit", &["ostler config edit", "EDITOR=nano ostler config edit"]),
    ("config show", &["ostler config show", "ostler config show --json"]),
    (
        "completions",
        &[
            "ostler completions bash > ~/.local/share/bash-completion/completions/ostler",
            "ostler completions zsh > ~/.zfunc/_ostler",
            "ostler completions fish > ~/.config/fish/completions/ostler.fish",
        ],
    ),
    ("man", &["ostler man --out ~/.local/share/man/man1", "ostler man | man -l -"]),
];
