//! Many sessions, one screen: what happens in one never touches another.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_tui::input::{TuiEffect, TuiInput};
use ostler_tui::model::FocusArea;
use serde_json::json;

use crate::fixture::{TuiFixture, answer, approval, delta, said, session_id, started, user};

#[test]
fn an_event_of_a_background_session_never_touches_the_focused_one() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "message_added", user("mine", None));
    world.write("half a thought");
    let before = world.screen(100, 24);
    world.record_happens(2, 1, "message_added", user("theirs", None));
    world.record_happens(2, 2, "turn_started", started("demo:demo"));
    world.stream(2, vec![delta(2, "model_output_delta", said(0, "over there"))]);
    world.record_happens(2, 3, "model_output_completed", answer("over there, whole"));
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
    let mut world = TuiFixture::new();
    world.stream(1, vec![crate::fixture::record(2, 1, "message_added", user("strayed", None))]);
    world.stream(1, vec![delta(2, "model_output_delta", said(0, "strayed too"))]);
    assert!(world.texts(1).is_empty());
    assert!(world.texts(2).is_empty());
}

#[test]
fn a_background_approval_badges_and_does_not_steal_focus() {
    let mut world = TuiFixture::new();
    world.record_happens(2, 1, "turn_started", started("demo:demo"));
    world.record_happens(2, 2, "approval_requested", approval("c1", "rm -r build"));
    assert_eq!(world.model.focus, Some(session_id(1)));
    assert_eq!(world.model.area, FocusArea::Composer);
    assert!(world.model.overlay.is_none());
    assert!(world.effects().contains(&TuiEffect::Bell));
    let row = world.model.list.iter().find(|row| row.session().id == session_id(2)).unwrap();
    assert_eq!((row.waiting(), row.unread, row.is_running()), (1, true, true));
    assert!(world.screen(100, 24).lines().next().unwrap().contains("? 1 needs approval"));
    // What is typed goes where it always went.
    world.write("y");
    assert_eq!(world.model.composer().raw(), "y");
    assert!(!world.effects().iter().any(|effect| matches!(effect, TuiEffect::Answer { .. })));
}

#[test]
fn the_next_session_that_wants_something_is_one_key_away() {
    let mut world = TuiFixture::new();
    world.record_happens(2, 1, "turn_started", started("demo:demo"));
    world.record_happens(2, 2, "approval_requested", approval("c1", "ls"));
    world.input(TuiInput::Key(KeyEvent::new(KeyCode::Char('n'), KeyModifiers::ALT)));
    assert_eq!(world.model.focus, Some(session_id(2)));
    assert_eq!(world.model.area, FocusArea::Approval);
    let row = world.model.list.iter().find(|row| row.session().id == session_id(2)).unwrap();
    assert!(!row.unread);
}

#[test]
fn drafts_are_parked_and_restored() {
    let mut world = TuiFixture::new();
    world.write("for the first");
    world.control('n');
    assert!(world.model.composer().is_empty());
    world.write("for a new one");
    world.input(TuiInput::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::ALT)));
    assert_eq!(world.model.focus, Some(session_id(1)));
    assert_eq!(world.model.composer().raw(), "for the first");
    world.input(TuiInput::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::ALT)));
    assert_eq!(world.model.focus, Some(session_id(2)));
    assert!(world.model.composer().is_empty());
    world.control('n');
    assert_eq!(world.model.composer().raw(), "for a new one");
}

#[test]
fn a_turn_that_ends_elsewhere_is_new_until_it_is_looked_at() {
    let mut world = TuiFixture::new();
    world.record_happens(2, 1, "turn_started", started("demo:demo"));
    world.record_happens(
        2,
        2,
        "turn_completed",
        json!({"stop_reason": "stop", "usage": {}, "verified": null}),
    );
    let unread = |world: &TuiFixture| world.model.list.iter().filter(|row| row.unread).count();
    assert_eq!(unread(&world), 1);
    world.control('o');
    world.press(KeyCode::Down);
    world.press(KeyCode::Enter);
    assert_eq!(world.model.focus, Some(session_id(2)));
    assert_eq!(unread(&world), 0);
}

#[test]
fn a_session_begun_elsewhere_joins_the_list_and_nobody_is_moved() {
    let mut world = TuiFixture::new();
    world.write("half a thought");
    let created = json!({"session": crate::fixture::session(9)});
    world.record_happens(9, 1, "session_created", created.clone());
    world.record_happens(9, 1, "session_created", created);
    let ids: Vec<_> = world.model.list.iter().map(|row| row.session().id).collect();
    assert_eq!(ids, [session_id(9), session_id(1), session_id(2)], "once, and first");
    assert_eq!(world.model.focus, Some(session_id(1)));
    assert_eq!(world.model.composer().raw(), "half a thought");
}

#[test]
fn a_session_closed_elsewhere_is_marked_and_can_still_be_read() {
    let mut world = TuiFixture::new();
    world.record_happens(2, 1, "message_added", user("theirs", None));
    world.record_happens(2, 2, "session_completed", json!({"by": "page"}));
    let row = world.model.list.iter().find(|row| row.session().id == session_id(2)).unwrap();
    assert_eq!(row.session().status, ostler_types::SessionStatus::Completed);
    assert_eq!(world.model.focus, Some(session_id(1)));
    world.input(TuiInput::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::ALT)));
    let screen = world.screen(80, 24);
    assert!(screen.contains("theirs") && screen.contains("session closed by you (page)"), "{screen}");
}

#[test]
fn what_is_asked_for_names_the_session_that_is_looked_at() {
    let mut world = TuiFixture::new();
    for number in [1, 2] {
        world.record_happens(number, 1, "turn_started", started("demo:demo"));
    }
    world.input(TuiInput::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::ALT)));
    world.effects();
    world.press(KeyCode::Esc);
    world.press(KeyCode::Esc);
    assert_eq!(world.effects(), [TuiEffect::Cancel(session_id(2))]);
    world.write("and now");
    world.press(KeyCode::Enter);
    let sent = world.effects().into_iter().find_map(|effect| match effect {
        TuiEffect::Send { id, .. } => Some(id),
        _ => None,
    });
    assert_eq!(sent, Some(session_id(2)));
}

#[test]
fn a_turn_that_is_over_does_not_run_again_because_its_beginning_is_told_late() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    world.record_happens(
        1,
        2,
        "turn_completed",
        json!({"stop_reason": "stop", "usage": {}, "verified": null}),
    );
    world.stream(1, vec![crate::fixture::record(1, 1, "turn_started", started("demo:demo"))]);
    world.stream(1, vec![delta(1, "model_output_delta", said(0, "late"))]);
    assert!(world.model.focused().unwrap().running.is_none());
    // How it stood before comes late, too.
    let before = crate::fixture::shown(1, 1, json!({"running_turn_id": crate::fixture::TURN}));
    world.news(ostler_tui::input::DaemonNews::Loaded(Box::new(before)));
    assert!(world.model.focused().unwrap().running.is_none());
}

#[test]
fn a_session_that_was_found_shows_where_the_word_stands() {
    let mut world = TuiFixture::new();
    world.record_happens(2, 1, "message_added", user("the ledger is off by one", None));
    world.write("/search ledger off");
    world.press(KeyCode::Enter);
    let asked = world.effects();
    assert!(asked.contains(&TuiEffect::Search("ledger off".to_owned())), "{asked:?}");
    let mut found = crate::fixture::session(2);
    found["snippet"] = json!("the ledger is off");
    found["last_seq"] = json!(2);
    let sessions = vec![serde_json::from_value(found).unwrap()];
    world.news(ostler_tui::input::DaemonNews::Found { query: "ledger off".to_owned(), sessions });
    assert!(world.screen(80, 24).contains("the ledger is off"));
    world.press(KeyCode::Enter);
    assert_eq!((world.model.focus, world.model.find.as_str()), (Some(session_id(2)), "ledger"));
}

#[test]
fn a_session_without_a_title_is_called_by_what_was_said_first() {
    let mut world = TuiFixture::new();
    world.news(ostler_tui::input::DaemonNews::Loaded(Box::new(crate::fixture::shown(
        3,
        0,
        json!({"title": null}),
    ))));
    world.model.focus = Some(session_id(3));
    assert!(world.screen(80, 24).starts_with(" untitled"));
    world.record_happens(3, 1, "message_added", user("\nround the discounts\nand test it", None));
    assert!(world.screen(80, 24).starts_with(" round the discounts\n"));
}
