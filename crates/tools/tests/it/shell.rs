//! Commands: their output, how they end, and what they are given.

use std::time::Duration;

use ostler_runner::CommandEnding;
use ostler_tools::Tools;
use serde_json::{Value, json};

use crate::fixture::{ToolFixture, soon};

#[tokio::test]
async fn a_command_ends_with_its_code_or_signal() {
    let fixture = ToolFixture::with(&[("sub/file", "x")]);
    let cwd = fixture.workspace().join("sub").to_string_lossy().into_owned();
    let table: [(Value, bool, &str, Value, Value); 9] = [
        (json!({"command": "echo hello"}), true, "hello\nexit code 0", json!(0), json!(null)),
        (json!({"command": "printf hello >&2; exit 3"}), false, "hello\nexit code 3", json!(3), json!(null)),
        (json!({"command": "true"}), true, "exit code 0", json!(0), json!(null)),
        (json!({"command": "kill -TERM $$"}), false, "killed by signal 15", json!(null), json!(15)),
        (json!({"command": "no_such_command 2>/dev/null"}), false, "exit code 127", json!(127), json!(null)),
        (json!({"command": "cat; echo $?"}), true, "0\nexit code 0", json!(0), json!(null)),
        (json!({"command": "ls", "cwd": "sub"}), true, "file\nexit code 0", json!(0), json!(null)),
        (json!({"command": "pwd", "cwd": cwd}), true, &format!("{cwd}\nexit code 0"), json!(0), json!(null)),
        (
            json!({"command": "printf 'a\\xffb\\xc3'"}),
            true,
            "a\u{fffd}b\u{fffd}\nexit code 0",
            json!(0),
            json!(null),
        ),
    ];
    for (input, ok, text, exit_code, signal) in table {
        let outcome = fixture.call("shell", input.clone()).await;
        assert_eq!((outcome.ok, outcome.text.as_str()), (ok, text), "{input}");
        let details = outcome.details.unwrap();
        assert_eq!((&details["exit_code"], &details["signal"]), (&exit_code, &signal), "{input}");
        assert_eq!((&details["timed_out"], &details["truncated"]), (&json!(false), &json!(false)));
        assert!(details["duration_ms"].is_u64());
        assert_eq!(outcome.whole, None);
    }
}

#[tokio::test]
async fn a_command_that_cannot_start_says_why() {
    let fixture = ToolFixture::new();
    for (input, expected) in [
        (json!({"command": "a\0b"}), "was not started"),
        (json!({"command": "x".repeat(200_000)}), "was not started"),
        (json!({"command": "true", "cwd": "none"}), "`none` does not exist"),
    ] {
        let text = fixture.refusal("shell", input).await;
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn output_is_streamed_in_whole_characters() {
    let fixture = ToolFixture::new();
    let command = "for i in 1 2 3; do printf '\\xe6'; printf '\\xbc'; printf '\\xa2'; done; echo done >&2";
    let outcome = fixture.ok("shell", json!({"command": command})).await;
    // Which of two pipes is read first is nobody's promise.
    for text in [outcome.text, fixture.shown()] {
        assert!(text.contains("done\n"), "{text}");
        let text = text.replacen("done\n", "", 1);
        assert!(text.contains("漢漢漢") && !text.contains('\u{fffd}'), "{text}");
    }
}

#[tokio::test]
async fn fifty_megabytes_are_drained_and_bounded() {
    let fixture = ToolFixture::new();
    let command = "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last";
    let outcome = fixture.ok("shell", json!({"command": command})).await;
    assert!(outcome.text.len() < 33 * 1024, "{}", outcome.text.len());
    assert!(outcome.text.starts_with("first\nxxx") && outcome.text.ends_with("xxx\nlast\nexit code 0"));
    assert!(outcome.text.contains("bytes truncated; only the first 8388608 of 50000012 bytes were kept"));
    assert_eq!(outcome.whole.unwrap().len(), 8 * 1024 * 1024);
    assert_eq!(outcome.details.unwrap()["truncated"], true);
    assert!(fixture.shown().len() < 8 * 1024 * 1024 + 200);
}

#[tokio::test]
async fn output_that_is_cut_is_kept_whole_beside() {
    let fixture = ToolFixture::new();
    let outcome = fixture.ok("shell", json!({"command": "seq 1 20000"})).await;
    let expected: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    assert!(outcome.whole.unwrap() == expected.as_bytes(), "the whole output");
    assert!(outcome.text.len() < 33 * 1024 && outcome.text.contains("bytes truncated …]"));
    assert!(outcome.text.ends_with("19999\n20000\nexit code 0"));
}

#[tokio::test]
async fn verification_commands_run_the_same_way() {
    let fixture = ToolFixture::with(&[("file", "x")]);
    let run = |command: &'static str, timeout| {
        let context = fixture.context();
        async move { soon(Tools::builtin().run_command(&context, command, timeout)).await }
    };
    let minute = Duration::from_secs(60);
    let outcome = run("cat file; exit 1", minute).await;
    assert_eq!((outcome.ok(), outcome.exit_code(), outcome.output.as_str()), (false, Some(1), "x"));
    assert!(run("test -f file", minute).await.ok());
    let short = Duration::from_millis(50);
    let outcome = run("echo started; sleep 1000", short).await;
    assert_eq!(outcome.ending, CommandEnding::TimedOut(short));
    assert!(outcome.text().ends_with("timed out after 0.05 s; the command and its children were killed"));
    let mut context = fixture.context();
    context.workspace = fixture.path("none");
    let outcome = soon(Tools::builtin().run_command(&context, "true", minute)).await;
    assert!(matches!(outcome.ending, CommandEnding::NotStarted(_)), "{outcome:?}");
}

/// Runs itself in a second process, because only there can the environment be set.
#[tokio::test]
async fn secrets_of_the_daemon_do_not_reach_commands() {
    if std::env::var_os("OSTLER_TOKEN").is_some_and(|value| value == "canary") {
        let fixture = ToolFixture::new();
        println!("{}", fixture.ok("shell", json!({"command": "env; echo end of environment"})).await.text);
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "shell::secrets_of_the_daemon_do_not_reach_commands", "--nocapture"])
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin"), ("LC_ALL", "C.UTF-8"), ("TERM", "xterm")])
        .envs(["OSTLER_TOKEN", "OPENAI_API_KEY", "LC_MY_SECRET", "DATABASE_URL"].map(|name| (name, "canary")))
        .envs(["BASH_ENV", "LD_AUDIT", "PROMPT_COMMAND", "SSH_AUTH_SOCK"].map(|name| (name, "canary")))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("end of environment"), "{text}");
    assert!(!text.contains("canary"), "{text}");
    for expected in ["\nPATH=/usr/bin:/bin\n", "\nLC_ALL=C.UTF-8\n", "\nTERM=dumb\n"] {
        assert!(text.contains(expected), "{expected:?} in {text}");
    }
}
