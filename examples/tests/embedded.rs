//! Runs the embedded daemon as its readers would.

use std::process::Command;

#[test]
fn the_embedded_daemon_answers_by_its_own_agent() {
    let run = Command::new(env!("CARGO_BIN_EXE_embedded_daemon")).arg("good morning").output().unwrap();
    let (said, complaints) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert_eq!((said.as_ref(), run.status.code()), ("GOOD MORNING\n", Some(0)), "{complaints}");
}
