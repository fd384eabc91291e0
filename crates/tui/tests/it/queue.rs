//! What waits can be changed where it stands, moved, and taken back; the daemon's queue is the true one.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_api_types::{InputPart, Waits};
use ostler_tui::input::{DaemonNews, TuiEffect, TuiInput};
use ostler_types::MessageId;
use serde_json::{Value, json};

use crate::fixture::{TuiFixture, session_id, started};

fn message_id(number: usize) -> MessageId {
    format!("msg_{:032x}", 500 + number).parse().unwrap()
}

fn queued(number: usize, text: &str, before: Option<usize>) -> Value {
    let mut data = json!({"queued": {"message": {"id": message_id(number), "role": "user", "parts": [{"type": "text", "text": text}], "created_at": "2026-03-02T09:15:06Z"}, "turn_id": format!("turn_{:032x}", 900 + number), "delivery": "queue"}});
    if let Some(before) = before {
        data["before"] = json!(message_id(before));
    }
    data
}

/// A session at work, with messages that wait.
pub(crate) fn waiting(texts: &[&str]) -> TuiFixture {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    for (number, text) in texts.iter().enumerate() {
        world.record_happens(1, 2 + number as u64, "message_queued", queued(number, text, None));
    }
    world.wait(7000);
    world.effects();
    world
}

fn open(world: &mut TuiFixture) {
    world.write("/queue");
    world.press(KeyCode::Esc);
    world.press(KeyCode::Enter);
    world.effects();
}

fn texts(world: &TuiFixture) -> Vec<String> {
    world.model.focused().unwrap().view.queue().iter().map(|queued| queued.message.text()).collect()
}

fn changed(world: &mut TuiFixture) -> Option<(MessageId, ostler_api_types::ChangeQueued)> {
    world.effects().into_iter().find_map(|effect| match effect {
        TuiEffect::Requeue { message, change, .. } => Some((message, *change)),
        _ => None,
    })
}

#[test]
fn a_message_that_waits_is_edited_where_it_stands_and_the_draft_comes_back() {
    let mut world = waiting(&["one", "two"]);
    world.write("a draft");
    world.press(KeyCode::Esc);
    open_over_draft(&mut world);
    world.press(KeyCode::Down);
    world.press(KeyCode::Char('e'));
    assert_eq!(world.model.composer().raw(), "two");
    world.write(" and three");
    world.press(KeyCode::Enter);
    let (message, change) = changed(&mut world).unwrap();
    assert_eq!(
        (message, change.parts),
        (message_id(1), Some(vec![InputPart::Text { text: "two and three".to_owned() }]))
    );
    assert_eq!((change.before, change.delivery), (None, None), "it stays where it is");
    assert_eq!(world.model.composer().raw(), "a draft");
    // The daemon says so, and it stands where it stood.
    world.record_happens(1, 4, "message_queued", queued(0, "one", Some(1)));
    assert_eq!(texts(&world), ["one", "two"]);
}

/// The list can be opened without touching what is written, by the list of commands.
fn open_over_draft(world: &mut TuiFixture) {
    world.control('p');
    world.write("queue");
    world.press(KeyCode::Enter);
    world.effects();
}

#[test]
fn who_leaves_changes_nothing() {
    let mut world = waiting(&["one"]);
    open(&mut world);
    world.press(KeyCode::Char('e'));
    world.write(" more");
    world.press(KeyCode::Esc);
    assert!(world.model.composer().is_empty());
    assert_eq!(changed(&mut world), None);
    world.write("/help");
    world.press(KeyCode::Enter);
    assert!(world.model.overlay.is_some(), "commands are commands again");
}

#[test]
fn messages_are_moved_up_and_down_and_the_daemon_decides() {
    let mut world = waiting(&["one", "two", "three"]);
    open(&mut world);
    let moved = |world: &mut TuiFixture, code: KeyCode, modifiers: KeyModifiers| {
        world.input(TuiInput::Key(KeyEvent::new(code, modifiers)));
        changed(world).map(|(message, change)| (message, change.before))
    };
    assert_eq!(moved(&mut world, KeyCode::Char('K'), KeyModifiers::SHIFT), None, "it is the first already");
    let down = moved(&mut world, KeyCode::Down, KeyModifiers::ALT);
    assert_eq!(down, Some((message_id(0), Some(Some(message_id(2))))));
    assert_eq!(texts(&world), ["one", "two", "three"], "nothing is moved before the daemon says so");
    world.record_happens(1, 5, "message_queued", queued(0, "one", Some(2)));
    assert_eq!(texts(&world), ["two", "one", "three"]);
    let last = moved(&mut world, KeyCode::Char('J'), KeyModifiers::SHIFT);
    assert_eq!(last, Some((message_id(0), Some(None))));
    world.record_happens(1, 6, "message_queued", queued(0, "one", None));
    assert_eq!(texts(&world), ["two", "three", "one"]);
    let up = moved(&mut world, KeyCode::Up, KeyModifiers::SHIFT);
    assert_eq!(up, Some((message_id(0), Some(Some(message_id(2))))));
}

#[test]
fn a_message_that_waits_can_steer_or_be_taken_back() {
    let mut world = waiting(&["one", "two"]);
    open(&mut world);
    world.press(KeyCode::Char('s'));
    assert_eq!(changed(&mut world).unwrap().1.delivery, Some(Waits::Steer));
    world.press(KeyCode::Char('d'));
    assert!(world.effects().contains(&TuiEffect::Withdraw(session_id(1), message_id(0))));
    world.record_happens(1, 4, "message_withdrawn", json!({"message_id": message_id(0), "by": "http tui"}));
    assert_eq!(texts(&world), ["two"]);
    world.press(KeyCode::Esc);
    world.press(KeyCode::Up);
    assert_eq!(world.model.composer().raw(), "one", "what was taken back can be called up");
}

#[test]
fn a_message_that_is_delivered_while_it_is_edited_leaves_the_text_as_a_draft() {
    let mut world = waiting(&["one"]);
    open(&mut world);
    world.press(KeyCode::Char('e'));
    world.write(" more");
    let message = json!({"id": message_id(0), "role": "user", "parts": [{"type": "text", "text": "one"}], "created_at": "2026-03-02T09:15:06Z"});
    world.record_happens(1, 3, "message_added", json!({"message": message}));
    assert_eq!(world.model.composer().raw(), "one more");
    world.press(KeyCode::Enter);
    let sent = world.effects().into_iter().any(|effect| matches!(effect, TuiEffect::Send { .. }));
    assert!(sent, "it is a message of its own now");
}

#[test]
fn a_change_that_is_refused_gives_the_text_back() {
    let mut world = waiting(&["one"]);
    open(&mut world);
    world.press(KeyCode::Char('e'));
    world.write(" more");
    world.press(KeyCode::Enter);
    let text = Some("one more".to_owned());
    world.news(DaemonNews::NotRequeued { id: session_id(1), text, why: "it was delivered".to_owned() });
    assert_eq!(world.model.composer().raw(), "one more");
    assert!(world.screen(80, 24).contains("it was delivered"));
}
