//! Programs at a terminal.

use ostler_sandbox::BackendChoice;
use serde_json::json;

use crate::fixture::ToolFixture;
use crate::sandboxed::{Sandboxed, as_nobody};

const LOOK: &str = "test -t 0 && test -t 1 && test -t 2 && echo seated; stty size; echo $TERM; \
                    test -c /dev/tty && : < /dev/tty && echo controlled";

#[tokio::test]
async fn a_program_sees_a_terminal_of_its_own() {
    let world = Sandboxed::new().await;
    let outcome = world.call("shell", json!({"command": LOOK, "pty": true})).await;
    assert_eq!(outcome.text, "seated\n24 80\nxterm-256color\ncontrolled\nexit code 0");
    let outcome = world.call("shell", json!({"command": "test -t 1 || : < /dev/tty"})).await;
    assert!(!outcome.ok, "{}", outcome.text);
}

#[tokio::test]
async fn a_terminal_can_be_had_under_landlock() {
    let world = Sandboxed::with(BackendChoice::Landlock, |_| {}).await;
    let outcome = world.call("shell", json!({"command": LOOK, "pty": true})).await;
    assert_eq!(outcome.text, "seated\n24 80\nxterm-256color\ncontrolled\nexit code 0");
}

#[tokio::test]
async fn a_terminal_can_be_had_in_the_open() {
    let fixture = ToolFixture::new();
    let command = "test -t 0 && test -t 1 && printf '\\033[1mbold\\033[0m'; stty size";
    let outcome = fixture.ok("shell", json!({"command": command, "pty": true})).await;
    assert_eq!(outcome.text, "bold24 80\nexit code 0");
}

#[tokio::test]
async fn what_is_typed_arrives_and_interrupts() {
    let world = Sandboxed::new().await;
    let command = "stty -echo; trap 'echo interrupted; exit 7' INT; read -r line; echo \"got $line\"; sleep 1000 & wait";
    let input = json!({"command": command, "background": true, "pty": true});
    let outcome = world.call("shell", input).await;
    assert!(outcome.ok, "{}", outcome.text);
    let write =
        |input: &str| json!({"process_id": "p1", "action": "write", "input": input, "wait_seconds": 30});
    let mut text = world.call("shell_process", write("hello\n")).await.text;
    for expected in ["got hello\n", "has ended"] {
        while !text.contains(expected) {
            let poll = json!({"process_id": "p1", "action": "poll", "wait_seconds": 30});
            let polled = world.call("shell_process", poll).await.text;
            assert!(!polled.starts_with("[process p1 is running"), "nothing came: {text}");
            text += &polled;
        }
        if expected == "got hello\n" {
            text += &world.call("shell_process", write("\u{3}")).await.text;
        }
    }
    assert!(text.contains("interrupted\n") && text.contains("exit code 7"), "{text}");
}

/// Tries to put words into the mouth of whoever sits at the terminal.
const INJECT: &str = "import fcntl, termios, sys\n\
                      try:\n    fcntl.ioctl(0, termios.TIOCSTI, b'x')\n    print('typed')\n\
                      except OSError as error:\n    print('denied', error.errno)\n";

#[tokio::test]
async fn a_program_cannot_type_into_its_terminal() {
    let world = Sandboxed::new().await;
    let input = json!({"command": format!("python3 -c \"{INJECT}\""), "pty": true});
    let outcome = world.call("shell", input).await;
    assert!(outcome.text.contains("denied 1") && !outcome.text.contains("typed"), "{}", outcome.text);
}

#[test]
fn a_program_of_nobody_cannot_type_into_its_terminal() {
    as_nobody("process_terminal::a_program_cannot_type_into_its_terminal");
}
