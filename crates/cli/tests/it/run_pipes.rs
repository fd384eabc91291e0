//! `ostler run` in pipes and scripts: what goes where, what is read, and how it ends.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::cli_fixture::{CliFixture, sees, terminal};
use crate::process::DaemonProcess;
use crate::provider::{AnswerPiece, GatedProvider};

fn events(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// What was said to the model first.
fn parts(desk: &CliFixture, input: &str, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = [&["run", "--json"], arguments].concat();
    let said = desk.run_with_input(input, &arguments);
    assert_eq!(said.code, Some(0), "{said:?}");
    let events = events(&said.out);
    let added = events.iter().find(|event| event["type"] == "message_added").unwrap();
    added["data"]["message"]["parts"].clone()
}

#[test]
fn stdin_is_the_prompt_or_goes_along_with_it() {
    let desk = CliFixture::new("");
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(parts(&desk, "say hello\n", &[]), json!([text("say hello\n")]));
    assert_eq!(parts(&desk, "say hello\n", &["-"]), json!([text("say hello\n")]));
    assert_eq!(
        parts(&desk, "a diff\n", &["say hello"]),
        json!([text("say hello"), text("<stdin>\na diff\n</stdin>")])
    );
    assert_eq!(parts(&desk, " \n", &["say hello"]), json!([text("say hello")]), "nothing was piped in");
    assert_eq!(
        parts(&desk, "n\n", &["say hello", "--approve", "ask"]),
        json!([text("say hello")]),
        "answers"
    );
}

#[test]
fn what_cannot_be_asked_is_told_before_a_session_is_made() {
    let desk = CliFixture::new("");
    std::fs::write(desk.work.join("fake.png"), "<html>").unwrap();
    std::fs::write(desk.work.join("bad.json"), "{\"type\": \"txt\"}").unwrap();
    for (input, arguments, code, why) in [
        ("", &["run"][..], 2, "no prompt"),
        ("  \n", &["run", "-"], 2, "no prompt"),
        ("", &["run", "--image", "fake.png", "look"], 1, "is no PNG, JPEG, GIF or WebP"),
        ("", &["run", "--image", "missing.png", "look"], 1, "missing.png cannot be read"),
        ("", &["run", "--output-schema", "missing.json", "x"], 2, "missing.json cannot be read"),
        ("", &["run", "--output-schema", "bad.json", "x"], 2, "is no JSON Schema"),
        ("", &["run", "--max-cost", "free", "x"], 2, "such as 0.50"),
        ("", &["run", "--timeout", "soon", "x"], 2, "such as 90s"),
        ("", &["run", "--fork", "x"], 2, "--session"),
        (
            "",
            &["run", "--continue", "--session", "sess_0190f3c4a5b67c8d9e0f112233445566", "x"],
            2,
            "cannot be used",
        ),
    ] {
        let said = desk.run_with_input(input, arguments);
        assert_eq!(said.code, Some(code), "{arguments:?}: {said:?}");
        assert!(said.err.contains(why) && said.out.is_empty(), "{arguments:?}: {said:?}");
    }
    assert!(!desk.data.join("sessions").exists(), "nothing was begun");
    let nothing = desk.run(&["run", "--continue", "x"]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert!(nothing.err.contains("omit --continue"), "{nothing:?}");
}

#[test]
fn in_a_pipe_the_answer_is_alone() {
    let desk = CliFixture::new("");
    let said = desk.run(&["run", "read README.md and then say all done"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("all done") && said.out.ends_with('\n'), "{said:?}");
    assert!(!said.out.contains('●') && !said.out.contains("completed"), "{said:?}");
    assert!(said.err.lines().all(|line| line.starts_with("session sess_")), "{said:?}");
    let quiet = desk.run(&["-q", "run", "say hello"]);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("hello\n", ""));
    let refused = desk.run(&["run", "--quiet", "write x.txt"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.err.starts_with("error: `") && refused.err.contains("--approve always"), "{refused:?}");
    let failed = desk.run(&["run", "--model", "nobody:knows", "hi"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.err.starts_with("error: "), "{failed:?}");
}

#[test]
fn progress_is_shown_where_somebody_looks() {
    let desk = CliFixture::new("");
    let (mut screen, program) = terminal(120, 30);
    let mut command = desk.command(&["run", "read README.md"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(program).spawn().unwrap();
    drop(command);
    let shown = sees(&mut screen, "session sess_");
    assert!(shown.contains('●') && shown.contains("\u{1b}["), "in colours: {shown:?}");
    let output = child.wait_with_output().unwrap();
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains("a file to read") && !answer.contains('●'), "{answer}");

    for (name, value, argument) in
        [("NO_COLOR", "1", "run"), ("TERM", "dumb", "run"), ("LANG", "C", "--plain")]
    {
        let (mut screen, program) = terminal(120, 30);
        let arguments: &[&str] = if argument == "run" {
            &["run", "read README.md"]
        } else {
            &["--plain", "run", "read README.md"]
        };
        let mut command = desk.command(arguments);
        command.env(name, value).stdout(Stdio::null()).stderr(program);
        let mut child = command.spawn().unwrap();
        drop(command);
        let shown = sees(&mut screen, "session sess_");
        assert!(shown.contains('●') && !shown.contains('\u{1b}'), "{name}: {shown:?}");
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn sessions_are_continued_and_forked() {
    let desk = CliFixture::new("");
    let id =
        |said: &crate::cli_fixture::CliOutput| said.err.trim().strip_prefix("session ").unwrap().to_owned();
    let first = id(&desk.run(&["run", "say one"]));
    let again = id(&desk.run(&["run", "--continue", "say two"]));
    assert_eq!(first, again);
    let fork = id(&desk.run(&["run", "-c", "--fork", "say three"]));
    assert_ne!(fork, first);
    let named = id(&desk.run(&["run", "--session", &first, "--fork", "say four"]));
    assert!(named != first && named != fork);
    let turns = |id: &str| {
        let log = desk.run(&["logs", id, "--json"]).out;
        names(&events(&log)).iter().filter(|name| **name == "turn_completed").count()
    };
    assert_eq!([&first, &fork, &named].map(|id| turns(id)), [2, 3, 3]);
}

/// A turn whose model has said half of what it wants to say, and says no more.
async fn halfway(desk: &CliFixture) -> (GatedProvider, crate::cli_fixture::StartedCli) {
    let provider = GatedProvider::start().await;
    provider.answer(vec![AnswerPiece::Text("half of it".to_owned()), AnswerPiece::Gate]);
    std::fs::write(desk.path("config.toml"), provider.config()).unwrap();
    let mut run = desk.start(&["run", "--json", "go"]);
    run.until("model_output_delta");
    (provider, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_cancels_and_keeps_what_was_written() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let desk = CliFixture::new("");
        let (_provider, run) = halfway(&desk).await;
        run.signal(signal);
        let said = run.wait();
        assert_eq!(said.code, Some(code), "{said:?}");
        let events = events(&said.out);
        let partial = events.iter().find(|event| event["type"] == "model_output_completed").unwrap();
        assert_eq!(partial["data"]["message"]["parts"][0]["text"], "half of it");
        assert!(names(&events).contains(&"turn_canceled"), "{:?}", names(&events));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_twice_leaves_whatever_the_daemon_does() {
    let desk = CliFixture::new("");
    let provider = GatedProvider::start().await;
    provider.answer(vec![AnswerPiece::Text("half of it".to_owned()), AnswerPiece::Gate]);
    let daemon = DaemonProcess::serve(&desk.data, &provider.config());
    let mut run = desk.start(&["run", "--json", "go"]);
    run.until("model_output_delta");
    daemon.signal(Signal::STOP);
    run.signal(Signal::INT);
    // It cannot be told from outside that the first one has arrived, so the second comes until it is heeded.
    let ended = std::thread::spawn(move || {
        let pid = run.pid();
        let waiting = std::thread::spawn(move || run.wait());
        while !waiting.is_finished() {
            _ = rustix::process::kill_process(pid, Signal::INT);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        waiting.join().unwrap()
    });
    assert_eq!(ended.join().unwrap().code, Some(130));
    daemon.signal(Signal::CONT);
    let client = daemon.tcp_client().await;
    assert!(client.health().await.is_ok(), "the daemon goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_away_ends_the_turn() {
    let desk = CliFixture::new("");
    let provider = GatedProvider::start().await;
    provider.answer(vec![
        AnswerPiece::Text("one".to_owned()),
        AnswerPiece::Gate,
        AnswerPiece::Text("two".to_owned()),
        AnswerPiece::Gate,
    ]);
    let daemon = DaemonProcess::serve(&desk.data, &provider.config());
    let mut run = desk.start(&["run", "--json", "go"]);
    let first: Value = serde_json::from_str(&run.line().unwrap()).unwrap();
    run.until("model_output_delta");
    run.stops_reading();
    provider.gate.add_permits(1);
    let said = run.wait();
    assert_eq!((said.code, said.err.as_str()), (Some(141), ""));
    let client = daemon.tcp_client().await;
    let id = first["session_id"].as_str().unwrap().parse().unwrap();
    while client.session(id).await.unwrap().running_turn_id.is_some() {}
    let log = desk.run(&["logs", &id.to_string(), "--json"]).out;
    assert!(names(&events(&log)).contains(&"turn_canceled"), "{log}");
}

#[test]
fn a_list_ends_quietly_when_nobody_reads_it() {
    let desk = CliFixture::new("");
    let id = desk.run(&["run", "list the files, then read README.md"]).err;
    let id = id.trim().strip_prefix("session ").unwrap();
    let program = env!("CARGO_BIN_EXE_ostler");
    for arguments in
        [format!("logs {id}"), "man".to_owned(), "openapi".to_owned(), "completions bash".to_owned()]
    {
        let line = format!(
            "set -o pipefail; {program} --data-dir {} {arguments} | true; echo \"${{PIPESTATUS[0]}}\"",
            desk.data.display()
        );
        let mut shell = std::process::Command::new("bash");
        let output = shell.env("HOME", "/nonexistent").args(["-c", &line]).output().unwrap();
        let (code, said) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(["0\n", "141\n"].contains(&code.as_str()) && said.is_empty(), "{arguments}: {code}{said}");
    }
}
