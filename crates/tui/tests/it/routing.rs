//! Many sessions, one screen: what happens in one never touches another.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_tui::input::{Effect, Input};
use ostler_tui::model::Area;
use serde_json::json;

use crate::world::{World, answer, approval, delta, said, session_id, started, user};

#[test]
fn an_event_of_a_background_session_never_touches_the_focused_one() {
    let mut world = World::new();
    world.happens(1, 1, "message_added", user("mine", None));
    world.write("half a thought");
    let before = world.screen(100, 24);
    world.happens(2, 1, "message_added", user("theirs", None));
    world.happens(2, 2, "turn_started", started("demo:demo"));
    world.stream(2, vec![delta(2, "model_output_delta", said(0, "over there"))]);
    world.happens(2, 3, "model_output_completed", answer("over there, whole"));
    assert_eq!(world.texts(1), ["mine"]);
    assert_eq!(world.texts(2), ["theirs", "over there, whole"]);
    assert_eq!(world.model.focus, Some(session_id(1)));
    assert_eq!(world.model.composer().raw(), "half a thought");
    let after = world.screen(100, 24);
    let below_header = |screen: &str| screen.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(below_header(&before), below_header(&after), "only the line above may say that others work");
}

#[test]
fn a_line_of_another_session_on_a_stream_is_not_taken_in() {
    let mut world = World::new();
    world.stream(1, vec![crate::world::record(2, 1, "message_added", user("strayed", None))]);
    world.stream(1, vec![delta(2, "model_output_delta", said(0, "strayed too"))]);
    assert!(world.texts(1).is_empty());
    assert!(world.texts(2).is_empty());
}

#[test]
fn a_background_approval_badges_and_does_not_steal_focus() {
    let mut world = World::new();
    world.happens(2, 1, "turn_started", started("demo:demo"));
    world.happens(2, 2, "approval_requested", approval("c1", "rm -r build"));
    assert_eq!(world.model.focus, Some(session_id(1)));
    assert_eq!(world.model.area, Area::Composer);
    assert!(world.model.overlay.is_none());
    assert!(world.effects().contains(&Effect::Bell));
    let row = world.model.list.iter().find(|row| row.session.id == session_id(2)).unwrap();
    assert_eq!((row.waiting, row.unread, row.running), (1, true, true));
    assert!(world.screen(100, 24).lines().next().unwrap().contains("? 1 ask elsewhere"));
    // What is typed goes where it always went.
    world.write("y");
    assert_eq!(world.model.composer().raw(), "y");
    assert!(!world.effects().iter().any(|effect| matches!(effect, Effect::Answer { .. })));
}

#[test]
fn the_next_session_that_wants_something_is_one_key_away() {
    let mut world = World::new();
    world.happens(2, 1, "turn_started", started("demo:demo"));
    world.happens(2, 2, "approval_requested", approval("c1", "ls"));
    world.input(Input::Key(KeyEvent::new(KeyCode::Char('n'), KeyModifiers::ALT)));
    assert_eq!(world.model.focus, Some(session_id(2)));
    assert_eq!(world.model.area, Area::Dock);
    let row = world.model.list.iter().find(|row| row.session.id == session_id(2)).unwrap();
    assert!(!row.unread);
}

#[test]
fn drafts_are_parked_and_restored() {
    let mut world = World::new();
    world.write("for the first");
    world.control('n');
    assert!(world.model.composer().is_empty());
    world.write("for a new one");
    world.input(Input::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::ALT)));
    assert_eq!(world.model.focus, Some(session_id(1)));
    assert_eq!(world.model.composer().raw(), "for the first");
    world.input(Input::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::ALT)));
    assert_eq!(world.model.focus, Some(session_id(2)));
    assert!(world.model.composer().is_empty());
    world.control('n');
    assert_eq!(world.model.composer().raw(), "for a new one");
}

#[test]
fn a_turn_that_ends_elsewhere_is_new_until_it_is_looked_at() {
    let mut world = World::new();
    world.happens(2, 1, "turn_started", started("demo:demo"));
    world.happens(2, 2, "turn_completed", json!({"stop_reason": "stop", "usage": {}, "verified": null}));
    let unread = |world: &World| world.model.list.iter().filter(|row| row.unread).count();
    assert_eq!(unread(&world), 1);
    world.control('o');
    world.press(KeyCode::Down);
    world.press(KeyCode::Enter);
    assert_eq!(world.model.focus, Some(session_id(2)));
    assert_eq!(unread(&world), 0);
}
