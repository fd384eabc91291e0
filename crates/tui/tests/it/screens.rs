//! Each screen as text, compared with what is kept in `screens/`. `OSTLER_WRITE_SCREENS=1` writes them anew; look at
//! them before they are committed.

use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_tui::input::{DaemonNews, TuiInput};
use serde_json::json;

use crate::fixture::{TuiFixture, answer, approval, call, called, delta, said, shown, started, user};

/// Sizes in which every screen is looked at.
const SIZES: [(u16, u16); 4] = [(40, 12), (80, 24), (120, 30), (200, 60)];

#[track_caller]
fn compare(name: &str, world: &mut TuiFixture, sizes: &[(u16, u16)]) {
    for (columns, rows) in sizes {
        let drawn = world.screen(*columns, *rows);
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/it/screens/{name}-{columns}x{rows}.txt"));
        if std::env::var_os("OSTLER_WRITE_SCREENS").is_some() {
            std::fs::write(&path, &drawn).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            drawn == kept,
            "{name} at {columns}x{rows} is not as kept; now it is:\n{drawn}\nand was:\n{kept}"
        );
    }
}

const ANSWER: &str = "# What I found\n\nThe *discount* is rounded in `src/discount.rs`:\n\n```rust\nfn rounded(price: u64) -> u64 {\n    price * 90 / 100 // whole cents\n}\n```\n\n- it never checks for **overflow**\n- 日本語 and emoji 👩\u{200d}💻 stay in their cells\n\n| file | lines |\n|---|---|\n| src/discount.rs | 120 |\n";

fn conversation() -> TuiFixture {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "message_added", user("Round discounts to whole cents, with a test.", None));
    world.record_happens(1, 2, "turn_started", started("demo:demo"));
    let thought = json!({"message": {"id": "msg_00000000000000000000000000000002", "role": "assistant", "created_at": "2026-03-02T09:15:09Z", "parts": [
        {"type": "reasoning", "text": "The rounding is in discount.rs.\nI look there first."},
        {"type": "text", "text": "I look at the code first."},
        {"type": "tool_call", "id": "c1", "name": "shell", "input": {"command": "cargo test --all"}},
        {"type": "tool_call", "id": "c2", "name": "write_file", "input": {"path": "src/discount.rs", "content": "x"}},
    ]}, "stop_reason": "tool_use", "usage": {}});
    world.record_happens(1, 3, "model_output_completed", thought);
    world.record_happens(1, 4, "tool_call_started", call("c1", "cargo test --all"));
    world.record_happens(
        1,
        5,
        "tool_call_completed",
        called("c1", false, "running 14 tests\n\u{1b}[31mFAILED\u{1b}[0m: 1 of 14"),
    );
    let diff = "--- a/src/discount.rs\n+++ b/src/discount.rs\n@@ -3,2 +3,2 @@\n fn rounded(price: u64) -> u64 {\n-    price * 9 / 10\n+    price * 90 / 100\n";
    let written = json!({"tool_call": {"id": "c2", "name": "write_file"}, "tool_result": {"id": "c2", "ok": true, "parts": [{"type": "text", "text": "Replaced."}],
        "details": {"files": [{"path": "src/discount.rs", "action": "update", "diff": diff}]}}, "duration_ms": 3, "message_id": "msg_00000000000000000000000000000003"});
    world.record_happens(1, 6, "tool_call_completed", written);
    world.record_happens(1, 7, "model_output_completed", answer(ANSWER));
    world.record_happens(1, 8, "verification_completed", json!({"round": 1, "ok": true, "results": [{"command": "cargo test", "exit_code": 0, "duration_ms": 3312, "output": "ok"}]}));
    world.record_happens(1, 9, "turn_completed", json!({"stop_reason": "stop", "usage": {"input_tokens": 6940, "output_tokens": 248}, "verified": true}));
    world.wait(10_000);
    world
}

#[test]
fn a_new_session() {
    let mut world = TuiFixture::new();
    world.control('n');
    compare("new-session", &mut world, &SIZES);
}

#[test]
fn a_conversation() {
    compare("conversation", &mut conversation(), &SIZES);
}

#[test]
fn a_turn_at_work() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "message_added", user("go", None));
    world.record_happens(1, 2, "turn_started", started("demo:demo"));
    world.record_happens(1, 3, "tool_call_started", call("c1", "make all"));
    world.stream(1, vec![delta(1, "tool_output_delta", json!({"tool_call_id": "c1", "stream": "stdout", "offset": 0, "text": "compiling a\ncompiling b\n"}))]);
    world.stream(
        1,
        vec![delta(1, "model_output_delta", said(0, "While that runs, a **plan**:\n\n1. one\n2. two"))],
    );
    let queued = json!({"queued": {"message": {"id": "msg_00000000000000000000000000000009", "role": "user", "parts": [{"type": "text", "text": "then update the changelog"}], "created_at": "2026-03-02T09:15:06Z"}, "turn_id": "turn_00000000000000000000000000000002", "delivery": "queue"}});
    world.record_happens(1, 4, "message_queued", queued);
    world.wait(7000);
    compare("at-work", &mut world, &[(40, 12), (80, 24)]);
}

#[test]
fn a_question() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "message_added", user("install it", None));
    world.record_happens(1, 2, "turn_started", started("demo:demo"));
    world.record_happens(1, 3, "approval_requested", approval("c1", "make install PREFIX=/usr/local"));
    world.wait(7000);
    compare("question", &mut world, &SIZES);
}

#[test]
fn a_review() {
    let mut world = crate::answers::reviewing();
    world.press(KeyCode::Char('j'));
    compare("review", &mut world, &SIZES);
}

#[test]
fn what_waits() {
    let mut world = crate::queue::waiting(&["then update the changelog", "and the notes"]);
    world.write("/queue");
    world.press(KeyCode::Esc);
    world.press(KeyCode::Enter);
    compare("queue", &mut world, &[(40, 12), (80, 24)]);
    world.press(KeyCode::Char('e'));
    compare("queue-edit", &mut world, &[(40, 12), (80, 24)]);
}

#[test]
fn what_an_undo_would_do() {
    let mut world = conversation();
    let undone = serde_json::from_value(json!({
        "preview": true, "restored": ["src/discount.rs"], "recreated": ["notes.md"], "deleted": ["src/new.rs"],
        "conflicts": [{"path": "Cargo.toml", "why": "it was changed since"}], "left_out": [], "note": "",
    }));
    let turn = crate::fixture::TURN.parse().unwrap();
    world.news(DaemonNews::Undone {
        id: crate::fixture::session_id(1),
        turn,
        preview: true,
        undone: undone.unwrap(),
    });
    compare("undo", &mut world, &[(40, 12), (80, 24)]);
}

#[test]
fn the_list_of_sessions() {
    let mut world = conversation();
    world.record_happens(2, 1, "turn_started", started("demo:demo"));
    world.record_happens(2, 2, "approval_requested", approval("c9", "ls"));
    world.wait(7000);
    world.control('o');
    compare("sessions", &mut world, &[(40, 12), (80, 24)]);
    world.press(KeyCode::Esc);
    world.control('b');
    compare("sidebar", &mut world, &[(80, 24)]);
}

#[test]
fn commands_and_files_complete() {
    let mut world = conversation();
    world.write("/co");
    compare("commands", &mut world, &[(80, 24)]);
    world.control('u');
    world.write("see @disc");
    world.news(DaemonNews::Files {
        query: "disc".to_owned(),
        paths: vec!["src/discount.rs".to_owned(), "docs/discounts.md".to_owned()],
    });
    compare("files", &mut world, &[(80, 24)]);
    world.press(KeyCode::Tab);
    assert_eq!(world.model.composer().raw(), "see @src/discount.rs ");
}

#[test]
fn a_long_paste_is_a_chip() {
    let mut world = conversation();
    world.input(TuiInput::Paste("a line of a log\n".repeat(5000)));
    compare("paste", &mut world, &[(80, 24)]);
    world.input(TuiInput::Key(KeyEvent::new(KeyCode::Char('e'), KeyModifiers::ALT)));
    assert_eq!(world.model.composer().raw().lines().count(), 5000);
}

#[test]
fn help_and_a_lost_connection() {
    let mut world = conversation();
    world.press(KeyCode::F(1));
    compare("help", &mut world, &[(40, 12), (80, 24)]);
    world.press(KeyCode::Esc);
    world.news(DaemonNews::Disconnected { why: "the connection was closed".to_owned(), starting: false });
    compare("lost", &mut world, &[(80, 24)]);
}

#[test]
fn what_is_searched_for_is_found() {
    let mut world = conversation();
    world.control('f');
    world.write("overflow");
    world.press(KeyCode::Enter);
    compare("find", &mut world, &[(80, 24)]);
}

#[test]
fn nothing_that_drives_a_terminal_is_drawn() {
    let mut world = TuiFixture::new();
    let evil = "a\u{1b}]0;owned\u{7}b\u{1b}[2Jc\u{202e}d\u{9b}31me";
    world.news(DaemonNews::Loaded(Box::new(shown(1, 0, json!({"title": evil})))));
    world.record_happens(1, 1, "message_added", user(evil, None));
    world.record_happens(1, 2, "turn_started", started("demo:demo"));
    world.stream(1, vec![delta(1, "model_output_delta", said(0, &format!("{evil}\n\n```\n{evil}\n```")))]);
    world.record_happens(1, 3, "tool_call_started", call("c1", evil));
    world.stream(
        1,
        vec![delta(
            1,
            "tool_output_delta",
            json!({"tool_call_id": "c1", "stream": "stdout", "offset": 0, "text": evil}),
        )],
    );
    world.record_happens(1, 4, "approval_requested", approval("c2", evil));
    world.record_happens(
        1,
        5,
        "turn_failed",
        json!({"error": {"code": "x", "message": evil, "hint": evil}, "reason": evil}),
    );
    for (columns, rows) in SIZES {
        let screen = world.screen(columns, rows);
        let bad = screen.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(bad, None, "{screen:?}");
        assert!(!screen.contains("owned"));
    }
}

#[test]
fn any_size_can_be_drawn() {
    let mut world = conversation();
    world.record_happens(1, 10, "turn_started", started("demo:demo"));
    world.record_happens(1, 11, "approval_requested", approval("c5", "ls"));
    for overlay in [None, Some('o'), Some('p'), Some('f')] {
        world.press(KeyCode::Esc);
        if let Some(letter) = overlay {
            world.control(letter);
        }
        for columns in [1, 9, 10, 20, 71] {
            for rows in [1, 3, 4, 5, 8] {
                world.screen(columns, rows);
            }
        }
    }
}
