//! What can be typed, and what the help promises.

use clap::{CommandFactory, Parser};
use ostler_cli::args::{ApproveWhen, Cli, Command, Sessions};
use ostler_cli::config::Flag;
use ostler_types::{Scope, SessionStatus};

const ID: &str = "sess_0190f3c4a5b67c8d9e0f112233445566";

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split(' ').map(|word| word.replace("ID", ID)))
}

fn command(line: &str) -> Command {
    parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).command.unwrap()
}

#[test]
fn the_description_of_the_arguments_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn every_documented_line_is_understood() {
    for line in [
        "ostler tui /w --continue --theme day --mouse",
        "ostler tui --session ID",
        "ostler serve",
        "ostler serve --listen 127.0.0.1:1 --auth off",
        "ostler run - --json --model a:b --workspace /w --approve never --system-prompt s",
        "ostler run hi --session ID",
        "ostler rpc --cwd /w --model a:b --system-prompt s --session-file f --debug --no-ui --linger 5 --max-line-bytes 4096",
        "ostler run hi --attach a.png --attach b.txt",
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
        "ostler doctor --rebuild --salvage ID --json",
        "ostler config show --json",
        "ostler completions bash",
        "ostler openapi",
        "ostler schema gateway",
        "ostler schema jsonl",
        "ostler config show --data-dir /d --config /c -vv",
    ] {
        command(line);
    }
}

#[test]
fn mistakes_are_usage_errors_with_exit_code_2() {
    for line in [
        "ostler run",
        "ostler cancel 0190f3c4a5b67c8d9e0f112233445566",
        "ostler approve ID",
        "ostler approve --deny",
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
fn values_arrive_as_what_they_mean() {
    let Command::Serve(serve) = command("ostler serve --listen [::1]:9 --auth off") else {
        panic!("not serve")
    };
    assert_eq!(
        serve.flags(),
        [
            Flag { name: "--listen", key: "server.listen", value: "[::1]:9".to_owned() },
            Flag { name: "--auth", key: "server.auth", value: "off".to_owned() },
        ]
    );
    let Command::Run(run) = command("ostler run hi --approve ask") else { panic!("not run") };
    assert_eq!(run.approve, Some(ApproveWhen::Ask));
    let Command::Approve(approve) = command("ostler approve ID call_1 --scope always") else {
        panic!("not approve")
    };
    assert_eq!((approve.scope, approve.deny), (Scope::Always, false));
    let Command::Sessions { command: Sessions::List(list) } =
        command("ostler sessions list --status waiting_approval")
    else {
        panic!("not list")
    };
    assert_eq!((list.status, list.limit), (Some(SessionStatus::WaitingApproval), 50));
}

#[test]
fn the_help_has_examples_exit_codes_and_no_hidden_command() {
    let mut top = Cli::command();
    let help = top.render_help().to_string();
    assert!(help.contains("Examples:") && help.contains("ostler serve"), "{help}");
    assert!(!help.contains("openapi"), "{help}");
    let run = top.find_subcommand_mut("run").unwrap().render_help().to_string();
    for code in
        ["0  the turn was completed", "3  the turn was canceled", "5  the daemon could not be reached"]
    {
        assert!(run.contains(code), "{run}");
    }
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
    assert_eq!(seen.len(), 42, "{seen:?}");
}
