//! `ostler stop`, `restart` and `status`: a daemon is found, stopped and started again by name of its data directory.

use crate::cli_fixture::CliFixture;
use crate::process::DaemonProcess;

/// A configuration whose daemon takes any free port.
const ANY_PORT: &str = "[server]\nlisten = \"127.0.0.1:0\"\n[gateway]\nenabled = false\n";

#[test]
fn a_daemon_is_stopped_and_stopping_none_is_no_error() {
    let desk = CliFixture::new("");
    let daemon = DaemonProcess::serve(&desk.data, ANY_PORT);
    let pid = daemon.pid().to_string();
    let shown = desk.run(&["status"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown.out.contains(&format!("pid {pid}")) && shown.out.contains("0 sessions running"),
        "{shown:?}"
    );
    let json: serde_json::Value = serde_json::from_str(&desk.run(&["status", "--json"]).out).unwrap();
    assert_eq!((&json["running"], json["pid"].to_string()), (&true.into(), pid.clone()));

    let second = desk.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(second.err.contains("stop it with `ostler stop`"), "the message names the command: {second:?}");
    let stopped = desk.run(&["stop"]);
    assert_eq!((stopped.code, stopped.out), (Some(0), format!("stopped the daemon (pid {pid})\n")));
    assert!(daemon.wait().success());
    let none = desk.run(&["stop"]);
    assert!(none.code == Some(0) && none.out.starts_with("no daemon is running"), "{none:?}");
    assert_eq!(desk.run(&["status"]).code, Some(5));
    assert!(desk.run(&["doctor"]).out.contains("all records intact"), "the data directory is free");
}

#[test]
fn a_restarted_daemon_is_another_process_on_the_same_port() {
    let desk = CliFixture::new(ANY_PORT);
    let daemon = DaemonProcess::serve(&desk.data, ANY_PORT);
    let before = daemon.pid().to_string();
    let restarted = desk.run(&["restart"]);
    assert_eq!(restarted.code, Some(0), "{restarted:?}");
    assert!(restarted.out.contains("started a daemon in the background"), "{restarted:?}");
    assert!(daemon.wait().success());
    let shown: serde_json::Value = serde_json::from_str(&desk.run(&["status", "--json"]).out).unwrap();
    assert_eq!(shown["running"], true);
    assert_ne!(shown["pid"].to_string(), before);
    let again = desk.run(&["restart"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(desk.run(&["stop"]).code, Some(0));
    let fresh = desk.run(&["restart"]);
    assert_eq!(fresh.code, Some(0), "restart also starts a daemon where none is running: {fresh:?}");
    assert_eq!(desk.run(&["stop"]).code, Some(0));
}

#[test]
fn a_process_that_only_claims_to_be_the_daemon_is_not_signalled() {
    let desk = CliFixture::new("");
    let daemon = DaemonProcess::serve(&desk.data, ANY_PORT);
    let mut other = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    std::fs::write(desk.data.join("lock"), format!("{}\n", other.id())).unwrap();
    let refused = desk.run(&["stop"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("nothing was signalled"), "{refused:?}");
    assert!(other.try_wait().unwrap().is_none(), "the other process is still running");
    other.kill().unwrap();
    other.wait().unwrap();
    drop(daemon);
}

#[test]
fn a_misspelt_data_directory_is_not_made() {
    let desk = CliFixture::new("");
    for arguments in [&["sessions"][..], &["approve"], &["attach", "last"]] {
        let said = desk.run(arguments);
        assert_eq!(said.code, Some(2), "{arguments:?}: {said:?}");
        assert!(said.err.contains("there is no data directory"), "{said:?}");
        assert!(!desk.data.exists(), "{arguments:?}");
    }
}

#[test]
fn the_hint_of_serve_works_where_it_is_typed() {
    let desk = CliFixture::new(ANY_PORT);
    let mut daemon = desk.start(&["serve"]);
    let hint = daemon.until("try, in another terminal: ");
    let program = hint.split_once("terminal: ").unwrap().1.split(" run ").next().unwrap().to_owned();
    let there = std::path::Path::new(&program);
    assert!(there.is_file() || program == "ostler", "{hint}");
}
