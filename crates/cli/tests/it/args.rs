//! What can be typed, and what the help promises.

use clap::{CommandFactory, Parser};
use ostler_cli::args::{self, ApproveWhen, Cli, CliCommand, SessionStatusFilter, SessionsCommand};
use ostler_cli::exit::CliExit;
use ostler_config::ConfigFlag;
use ostler_types::{Scope, SessionStatus};

const ID: &str = "sess_0190f3c4a5b67c8d9e0f112233445566";

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split(' ').map(|word| word.replace("ID", ID)))
}

fn command(line: &str) -> CliCommand {
    parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).command.unwrap()
}

#[test]
fn the_description_of_the_arguments_holds_together() {
    Cli::command().debug_assert();
}

/// Lines that the documents and the help show.
const DOCUMENTED: &[&str] = &[
    "ostler tui /w --continue --theme day --mouse",
    "ostler tui --session ID",
    "ostler serve",
    "ostler serve --listen 127.0.0.1:1 --auth off",
    "ostler run - --json --model a:b --workspace /w --approve never --system-prompt s",
    "ostler run hi --session ID",
    "ostler rpc --cwd /w --model a:b --system-prompt s --session-file f --debug --no-ui --linger 5 --max-line-bytes 4096",
    "ostler run hi --attach a.png --attach b.txt",
    "ostler run",
    "ostler run hi --file a.txt -f b.txt --image c.png -i d.jpg",
    "ostler run hi --output-schema s.json --max-cost $0.50 --timeout 10m",
    "ostler run hi --session ID --fork",
    "ostler run hi --continue --fork --workspace /w --timeout 90",
    "ostler run hi -q --plain",
    "ostler logs ID --follow --since 7 --tail 3 --json",
    "ostler logs ID -f -n 3",
    "ostler watch --json",
    "ostler mcp add time --kind read --env KEY --timeout 9 --force -- uvx mcp-server-time --utc",
    "ostler mcp add docs --url https://h/mcp --bearer-env KEY",
    "ostler mcp list --check --json",
    "ostler mcp rm time",
    "ostler service install --print",
    "ostler service status",
    "ostler service uninstall",
    "ostler self-check --scratch /s --keep",
    "ostler man --out /m",
    "ostler sessions list --status active --workspace /w --archived --limit 5 --json",
    "ostler sessions show ID --json",
    "ostler sessions search words",
    "ostler sessions archive ID --undo",
    "ostler sessions rm ID --purge",
    "ostler sessions export ID -o file",
    "ostler projects list --json",
    "ostler projects add /w",
    "ostler projects rm /w",
    "ostler attach ID --json --after 7",
    "ostler approve",
    "ostler approve ID call_1 --deny --scope session --reason no",
    "ostler cancel ID",
    "ostler fork ID",
    "ostler fork ID --turn turn_0190f3c4a5b67c8d9e0f112233445566",
    "ostler compact ID",
    "ostler context ID --json",
    "ostler note ID mind-the-gap",
    "ostler export ID",
    "ostler export ID --format html -o page.html",
    "ostler import session.zip --format zip --workspace /w",
    "ostler run --plan plan.toml --approve always --verbose --log-dir /l",
    "ostler run hi --verbose-log --raw-log",
    "ostler models --json --refresh qwen",
    "ostler usage",
    "ostler usage --by model --since 30d --json",
    "ostler usage --by workspace --since 2026-01-31",
    "ostler stop --timeout 5 --force",
    "ostler restart",
    "ostler status --json",
    "ostler cancel",
    "ostler cancel last",
    "ostler cancel 01a1e4",
    "ostler note mind-the-gap",
    "ostler undo last 2 --preview",
    "ostler fork --turn last",
    "ostler approve --yes",
    "ostler approve ID",
    "ostler sessions close 3",
    "ostler sessions rm last --purge --yes",
    "ostler sessions list --status running",
    "ostler run hi --session last",
    "ostler doctor --rebuild --salvage ID --json",
    "ostler config show --json",
    "ostler config get models.default",
    "ostler config set loop.max_steps 40",
    "ostler config set loop.max_steps -1",
    "ostler config unset loop.max_steps",
    "ostler config edit",
    "ostler completions bash",
    "ostler openapi",
    "ostler schema gateway",
    "ostler schema jsonl",
    "ostler config show --data-dir /d --config /c -vv",
];

#[test]
fn every_documented_line_is_understood() {
    for line in DOCUMENTED {
        command(line);
    }
}

#[test]
fn mistakes_are_usage_errors_with_exit_code_2() {
    for line in [
        "ostler run hi --fork",
        "ostler run hi --session ID --continue",
        "ostler run hi --timeout 0s",
        "ostler run hi --timeout 9d",
        "ostler run hi --max-cost free",
        "ostler run hi -q -v",
        "ostler mcp add x",
        "ostler mcp add x --url u -- y",
        "ostler cancel newest",
        "ostler cancel sess_",
        "ostler approve --yes --deny",
        "ostler run hi --max-cost -1",
        "ostler tui --theme nonsense",
        "ostler stop --timeout 0",
        "ostler approve ID call_1 --scope forever",
        "ostler serve --auth maybe",
        "ostler sessions list --limit 0",
        "ostler sessions list --limit 201",
        "ostler sessions list --status asleep",
        "ostler run hi --session ID --workspace /w",
        "ostler rpc --max-line-bytes 7",
        "ostler usage --by hour",
        "ostler usage --since 0d",
        "ostler usage --since -1d",
        "ostler usage --since 2026-02-30",
        "ostler usage --since 2026-01-31T00:00",
        "ostler config",
        "ostler nonsense",
    ] {
        let error = parse(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn what_can_be_listed_is_listed_by_its_name_alone() {
    for line in ["ostler sessions", "ostler agents", "ostler projects", "ostler mcp"] {
        parse(line).expect(line);
    }
}

#[test]
fn values_arrive_as_what_they_mean() {
    let CliCommand::Serve(serve) = command("ostler serve --listen [::1]:9 --auth off") else {
        panic!("not serve")
    };
    assert_eq!(
        serve.flags(),
        [
            ConfigFlag { name: "--listen", key: "server.listen", value: "[::1]:9".to_owned() },
            ConfigFlag { name: "--auth", key: "server.auth", value: "off".to_owned() },
        ]
    );
    let CliCommand::Run(run) = command("ostler run hi --approve ask") else { panic!("not run") };
    assert_eq!(run.approve, Some(ApproveWhen::Ask));
    let CliCommand::Approve(approve) = command("ostler approve ID call_1 --scope always") else {
        panic!("not approve")
    };
    assert_eq!((approve.scope, approve.deny), (Scope::Always, false));
    let CliCommand::Sessions { command: Some(SessionsCommand::List(list)) } =
        command("ostler sessions list --status waiting_approval")
    else {
        panic!("not list")
    };
    assert_eq!(
        (list.status, list.limit),
        (Some(SessionStatusFilter::Stored(SessionStatus::WaitingApproval)), 50)
    );
}

#[test]
fn the_help_has_examples_exit_codes_and_no_hidden_command() {
    let mut top = Cli::command();
    let help = top.render_help().to_string();
    assert!(help.contains("Examples:") && help.contains("ostler serve"), "{help}");
    assert!(!help.contains("openapi"), "{help}");
    let run = top.find_subcommand_mut("run").unwrap().render_help().to_string();
    for exit in EXITS {
        let code = format!("\n  {:>3}  ", exit.code());
        assert!(run.contains(&code), "{code}: {run}");
    }
}

const EXITS: [CliExit; 12] = [
    CliExit::Success,
    CliExit::Failure,
    CliExit::Usage,
    CliExit::Canceled,
    CliExit::NotApproved,
    CliExit::Unreachable,
    CliExit::SchemaMismatch,
    CliExit::OverBudget,
    CliExit::TimedOut,
    CliExit::Interrupted,
    CliExit::BrokenPipe,
    CliExit::Terminated,
];

#[test]
fn the_document_has_every_command_and_every_exit_code() {
    fn walk(command: &clap::Command, above: &str, seen: &mut Vec<String>) {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            let path = format!("{above} {}", inner.get_name());
            if inner.has_subcommands() { walk(inner, &path, seen) } else { seen.push(path) }
        }
    }
    let document = include_str!("../../../../docs/command-line.md");
    let mut seen = Vec::new();
    walk(&args::command(), "ostler", &mut seen);
    for path in seen {
        assert!(document.contains(&format!("| `{path}")), "docs/command-line.md has no row for `{path}`");
    }
    for exit in EXITS {
        let row = format!("| {} |", exit.code());
        assert!(document.contains(&row), "docs/command-line.md has no row for exit code {}", exit.code());
    }
}

#[test]
fn every_command_has_examples_in_its_help() {
    fn walk(command: &clap::Command, above: &str) {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            let path = format!("{above} {}", inner.get_name());
            let help = inner.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{path}: {help}");
            let line = help
                .lines()
                .find(|line| line.contains(path.as_str()) || line.contains("\"command\": \"ostler\""));
            let line = line.or_else(|| help.lines().find(|line| line.trim() == "ostler"));
            assert!(line.is_some(), "{path}: {help}");
            walk(inner, &path);
        }
    }
    walk(&args::command(), "ostler");
}

#[test]
fn each_command_says_in_a_sentence_what_it_does() {
    fn walk(command: &clap::Command, seen: &mut Vec<String>) {
        for inner in command.get_subcommands() {
            let about = inner.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(
                about.starts_with(char::is_uppercase) && about.contains(' '),
                "{}: {about}",
                inner.get_name()
            );
            seen.push(inner.get_name().to_owned());
            walk(inner, seen);
        }
    }
    let mut seen = Vec::new();
    walk(&Cli::command(), &mut seen);
    assert_eq!(seen.len(), 63, "{seen:?}");
}
