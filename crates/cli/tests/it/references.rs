//! Sessions and turns by what people type for them: the start of an id, `last`, the number of a list, or nothing.

use std::process::Stdio;

use crate::cli_fixture::{CliFixture, CliOutput, sees, terminal};
use crate::process::DaemonProcess;

fn session(said: &CliOutput) -> String {
    said.err.trim().strip_prefix("session ").unwrap_or_else(|| panic!("{said:?}")).to_owned()
}

#[test]
fn a_session_is_found_by_prefix_last_or_as_the_only_one() {
    let desk = CliFixture::new("");
    let first = session(&desk.run(&["run", "say one"]));
    let only = desk.run(&["context"]);
    assert_eq!(only.code, Some(0), "{only:?}");
    assert!(only.err.contains(&format!("using {first}")), "{only:?}");
    assert_eq!(desk.run(&["-q", "context"]).err, "");

    let second = session(&desk.run(&["run", "say two"]));
    let several = desk.run(&["context"]);
    assert_eq!(several.code, Some(1), "{several:?}");
    assert!(
        several.err.contains(&first) && several.err.contains(&second),
        "candidates are named: {several:?}"
    );
    let title = |said: CliOutput| said.out.lines().next().unwrap_or_default().to_owned();
    assert!(title(desk.run(&["sessions", "show", "last"])).starts_with(&second));
    let shared = first.bytes().zip(second.bytes()).take_while(|(one, other)| one == other).count();
    for prefix in [&first[..=shared], first[..=shared].strip_prefix("sess_").unwrap(), &first] {
        assert!(title(desk.run(&["sessions", "show", prefix])).starts_with(&first), "{prefix}");
    }
    let ambiguous = desk.run(&["export", &first[..shared]]);
    assert_eq!(ambiguous.code, Some(1), "{ambiguous:?}");
    assert!(ambiguous.err.contains("2 sessions match") && ambiguous.err.contains(&second), "{ambiguous:?}");
    let none = desk.run(&["attach", "sess_ffff"]);
    assert!(none.code == Some(1) && none.err.contains("no session matches `sess_ffff`"), "{none:?}");
    assert!(none.err.contains("`ostler sessions`") && !none.err.contains("/v1/"), "{none:?}");
    assert_eq!(desk.run(&["attach", "nonsense"]).code, Some(2));
}

#[test]
fn a_list_on_a_terminal_has_numbers_that_commands_take() {
    let desk = CliFixture::new("");
    let first = session(&desk.run(&["run", "say one"]));
    let second = session(&desk.run(&["run", "say two"]));
    let early = desk.run(&["logs", "2"]);
    assert!(early.code == Some(1) && early.err.contains("no number 2"), "{early:?}");

    let (mut screen, program) = terminal(100, 30);
    let mut command = desk.command(&["--plain", "sessions"]);
    command.stdout(program).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let shown = sees(&mut screen, "say one");
    assert!(child.wait().unwrap().success());
    let lines: Vec<&str> = shown.lines().collect();
    assert!(
        lines[0].starts_with("#  ID") && lines[0].contains("STATE") && lines[0].contains("TITLE"),
        "{shown}"
    );
    assert!(
        lines[1].starts_with("1  ") && lines[1].contains("idle") && lines[1].contains("say two"),
        "{shown}"
    );
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{shown}");

    assert!(desk.run(&["sessions", "show", "1"]).out.starts_with(&second));
    assert!(desk.run(&["sessions", "show", "2"]).out.starts_with(&first));
    let closed = desk.run(&["sessions", "close", "2"]);
    assert_eq!(closed.out, format!("closed; its log is kept: {first}\n"));
    let listed = desk.run(&["sessions", "list", "--status", "closed"]);
    assert!(listed.out.contains(&first) && !listed.out.contains(&second), "{listed:?}");
    assert!(listed.out.contains("  closed  "), "{listed:?}");
    let running = desk.run(&["sessions", "list", "--status", "running"]);
    assert_eq!(running.out, "no sessions\n");
}

#[test]
fn turns_are_counted_from_the_newest() {
    let desk = CliFixture::new("");
    let id = session(&desk.run(&["run", "say one"]));
    desk.run(&["run", "--continue", "say two"]);
    let shown = desk.run(&["sessions", "show", "last"]).out;
    let turn = |number: &str| {
        let line = shown.lines().find(|line| line.trim_start().starts_with(&format!("turn {number} ")));
        line.unwrap().split_whitespace().nth(2).unwrap().to_owned()
    };
    let fork = desk.run(&["fork", &id, "--turn", "2"]);
    assert_eq!(fork.code, Some(0), "{fork:?}");
    let log = desk.run(&["logs", fork.out.trim(), "--json"]).out;
    assert_eq!(log.matches("\"turn_completed\"").count(), 1, "only the first turn is shared");
    let prefix = &turn("1")[..turn("1").len() - 1];
    assert_eq!(desk.run(&["fork", &id, "--turn", prefix]).code, Some(0));
    let missing = desk.run(&["fork", &id, "--turn", "7"]);
    assert!(missing.code == Some(1) && missing.err.contains("there is no turn 7"), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_pending_call_needs_no_name() {
    let desk = CliFixture::new("");
    let daemon = DaemonProcess::serve(&desk.data, "");
    let client = daemon.tcp_client().await;
    assert_eq!(desk.run(&["approve"]).out, "No pending approvals\n");
    let new = ostler_api_types::CreateSession {
        workspace_path: desk.work.to_str().unwrap().to_owned(),
        ..Default::default()
    };
    for (name, flags) in [("denied.txt", &["--deny", "--reason", "not now"][..]), ("made.txt", &["--yes"])] {
        let id = client.create_session(&new).await.unwrap();
        let prompt = ostler_api_types::SendMessage::prompt(format!("write {name}"));
        client.send_message(id, &prompt).await.unwrap();
        while client.approvals().await.unwrap().is_empty() {}
        let listed = desk.run(&["approve"]);
        assert!(listed.out.contains(&id.to_string()), "without a terminal it only lists: {listed:?}");
        let answered = desk.run(&[&["approve"], flags].concat());
        assert_eq!(answered.code, Some(0), "{answered:?}");
        while client.session(id).await.unwrap().running_turn_id.is_some() {}
        assert_eq!(desk.work.join(name).exists(), name == "made.txt");
    }
}
