//! `ostler run` on a terminal: what a call would do is shown before it is asked about, and only a named key answers.

use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};

use crate::cli_fixture::{CliFixture, sees, terminal};

const KEYS: &str = "[y]es [s]ession [a]lways [n]o [w]hy [?] ";

/// `ostler run` with a terminal for everything.
fn run(desk: &CliFixture, prompt: &str) -> (File, Child) {
    let (screen, program) = terminal(200, 50);
    let mut command = desk.command(&["run", prompt]);
    command.stdin(program.try_clone().unwrap()).stdout(program.try_clone().unwrap()).stderr(program);
    let child = command.spawn().unwrap();
    (screen, child)
}

#[test]
fn the_change_is_shown_and_other_keys_ask_again() {
    let desk = CliFixture::new("");
    let (mut screen, mut child) = run(&desk, "write hello.txt with good morning");
    let asked = sees(&mut screen, KEYS);
    assert!(asked.contains("hello.txt (new)") && asked.contains("+good morning"), "{asked}");
    for (typed, answer) in [("?\n", "deny it and tell the model why"), ("maybe\n", KEYS), ("\n", KEYS)] {
        screen.write_all(typed.as_bytes()).unwrap();
        let said = sees(&mut screen, answer);
        let said = if said.contains(KEYS) { said } else { said + &sees(&mut screen, KEYS) };
        assert!(!said.contains("denied"), "{typed:?} is no answer: {said}");
        assert!(!desk.work.join("hello.txt").exists());
    }
    screen.write_all(b"y\n").unwrap();
    sees(&mut screen, "session sess_");
    assert!(child.wait().unwrap().success());
    assert!(desk.work.join("hello.txt").exists());
}

#[test]
fn a_command_is_shown_whole_and_a_reason_reaches_the_model() {
    let desk = CliFixture::new("");
    let (mut screen, mut child) = run(&desk, "run `touch made.txt && echo done`");
    let asked = sees(&mut screen, KEYS);
    assert!(asked.contains("$ touch made.txt && echo done"), "{asked}");
    screen.write_all(b"w\n").unwrap();
    sees(&mut screen, "reason (");
    screen.write_all(b"use the other directory\n").unwrap();
    let ended = sees(&mut screen, "session sess_");
    assert!(ended.contains("denied by you: use the other directory"), "{ended}");
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert!(!desk.work.join("made.txt").exists());
}

#[test]
fn an_answer_can_last_for_the_session() {
    let desk = CliFixture::new("");
    let (mut screen, mut child) = run(&desk, "run `touch made.txt`");
    sees(&mut screen, KEYS);
    screen.write_all(b"s\n").unwrap();
    sees(&mut screen, "session sess_");
    assert!(child.wait().unwrap().success());
    let log = desk.run(&["logs", "last", "--json"]).out;
    let granted = log.lines().find(|line| line.contains("\"approval_granted\"")).unwrap();
    assert!(granted.contains("\"scope\":\"session\""), "{granted}");
}

#[test]
fn the_end_of_the_input_denies_and_says_so() {
    let desk = CliFixture::new("");
    let mut command = desk.command(&["run", "--approve", "ask", "write hello.txt"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("input closed: denied"), "{said}");
    assert!(!desk.work.join("hello.txt").exists());
}
