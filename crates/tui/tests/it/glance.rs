//! What can be read at a glance: how many sessions wait, since when, whether there is a daemon, and where a match is.

use crossterm::event::KeyCode;
use ostler_tui::TuiEffect;
use ostler_tui::input::{DaemonNews, TuiInput};
use serde_json::json;

use crate::fixture::{TuiFixture, answer, approval, started, user};

/// The time of the fixture's clock.
const UNIX: i64 = 1_772_442_910;

fn asking(number: u32) -> TuiFixture {
    let mut world = TuiFixture::new();
    world.record_happens(number, 1, "turn_started", started("demo:demo"));
    world.record_happens(number, 2, "approval_requested", approval("c1", "make install"));
    world
}

#[test]
fn a_session_that_waits_is_not_counted_as_running() {
    let mut world = asking(2);
    let screen = world.screen(100, 24);
    let head = screen.lines().next().unwrap();
    assert!(head.contains("? 1 needs approval") && !head.contains("running"), "{head}");
}

#[test]
fn a_question_that_was_there_before_has_its_own_age() {
    let mut world = asking(1);
    world.input(TuiInput::Tick { now: 20_000, unix: UNIX + 12 * 60 });
    let screen = world.screen(100, 24);
    assert!(screen.contains("needs your approval (tab) · 12 min"), "{screen}");
}

#[test]
fn nothing_spins_while_the_daemon_is_gone() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    assert!(world.screen(100, 24).contains("esc esc: stop"));
    world.news(DaemonNews::Disconnected { why: "closed".to_owned(), starting: false });
    let screen = world.screen(100, 24);
    assert!(screen.contains("disconnected; the turn may still be running"), "{screen}");
    assert!(!screen.contains("esc esc: stop") && !screen.contains('⠙') && !screen.contains('⠇'), "{screen}");
}

#[test]
fn find_says_which_of_how_many_it_shows() {
    let mut world = TuiFixture::new();
    for (seq, text) in [(1, "one plum"), (3, "two plums"), (5, "no fruit")] {
        world.record_happens(1, seq, "message_added", user(text, None));
        world.record_happens(1, seq + 1, "model_output_completed", answer("yes"));
    }
    world.control('f');
    world.write("plum");
    assert!(world.screen(100, 24).contains("find: plum   2 · "));
    world.press(KeyCode::Enter);
    assert!(world.screen(100, 24).contains("find: plum   2 of 2 · "));
    world.press(KeyCode::Enter);
    assert!(world.screen(100, 24).contains("find: plum   1 of 2 · "));
    world.write("x");
    assert!(world.screen(100, 24).contains("no matches"));
}

#[test]
fn a_notice_that_was_seen_goes_with_the_next_key() {
    let mut world = TuiFixture::new();
    world.news(DaemonNews::Notice("something happened".to_owned()));
    world.write("a");
    assert!(world.model.notice.is_some(), "nobody can have read it yet");
    world.wait(2000);
    world.write("b");
    assert!(world.model.notice.is_none());
}

#[test]
fn undo_says_at_once_that_it_is_looking() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    let checkpoint =
        json!({"checkpoint_id": "c0ffee", "moment": "before", "files": 1, "bytes": 1, "left_out": 0});
    world.record_happens(1, 2, "checkpoint_created", checkpoint);
    world.write("/undo");
    world.press(KeyCode::Enter);
    assert!(world.effects().iter().any(|effect| matches!(effect, TuiEffect::Undo { .. })));
    assert!(world.screen(100, 24).contains("checking what would change…"));
}

#[test]
fn r_denies_with_a_reason_as_on_the_page() {
    let mut world = asking(1);
    world.wait(5000);
    world.press(KeyCode::Char('r'));
    assert!(world.screen(100, 24).contains("reason:"));
}
