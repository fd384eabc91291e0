//! Connections come and go: nothing is lost, nothing is doubled, and writing goes on.

use crossterm::event::KeyCode;
use ostler_tui::input::{DaemonNews, TuiEffect};
use serde_json::json;

use crate::fixture::{TuiFixture, answer, session_id, shown, started, user};

fn lose(world: &mut TuiFixture) {
    world.news(DaemonNews::Disconnected { why: "the connection was closed".to_owned(), starting: false });
}

#[test]
fn a_message_written_without_a_connection_is_sent_once_there_is_one() {
    let mut world = TuiFixture::new();
    lose(&mut world);
    world.write("do it");
    world.press(KeyCode::Enter);
    assert!(!world.effects().iter().any(|effect| matches!(effect, TuiEffect::Send { .. })));
    assert!(world.screen(80, 24).contains("↑ waiting for the connection: do it"));
    world.news(DaemonNews::Connected { note: None });
    let sent: Vec<String> = world
        .effects()
        .into_iter()
        .filter_map(|effect| if let TuiEffect::Send { key, .. } = effect { Some(key) } else { None })
        .collect();
    assert_eq!(sent.len(), 1);
    // It is in: the record has the key, and nothing waits any more.
    world.record_happens(1, 1, "message_added", user("do it", Some(&sent[0])));
    assert!(world.model.focused().unwrap().outbox.is_empty());
    assert_eq!(world.texts(1), ["do it"]);
}

#[test]
fn a_message_whose_answer_was_lost_is_sent_again_under_the_same_key() {
    let mut world = TuiFixture::new();
    world.write("do it");
    world.press(KeyCode::Enter);
    let keys = |world: &mut TuiFixture| -> Vec<String> {
        let effects = world.effects().into_iter();
        effects
            .filter_map(|effect| if let TuiEffect::Send { key, .. } = effect { Some(key) } else { None })
            .collect()
    };
    let first = keys(&mut world);
    lose(&mut world);
    let (id, key) = (Some(session_id(1)), first[0].clone());
    world.news(DaemonNews::NotSent { id, key, why: "closed".to_owned(), later: true });
    world.news(DaemonNews::Connected { note: None });
    assert_eq!(keys(&mut world), first);
}

#[test]
fn a_refused_message_is_given_back() {
    let mut world = TuiFixture::new();
    world.write("do it");
    world.press(KeyCode::Enter);
    let key = world
        .effects()
        .into_iter()
        .find_map(|effect| if let TuiEffect::Send { key, .. } = effect { Some(key) } else { None });
    let why = "the session is closed".to_owned();
    world.news(DaemonNews::NotSent { id: Some(session_id(1)), key: key.unwrap(), why, later: false });
    assert_eq!(world.model.composer().raw(), "do it");
}

#[test]
fn a_session_is_followed_from_its_cursor_and_nothing_is_doubled() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "message_added", user("hello", None));
    world.record_happens(1, 2, "turn_started", started("demo:demo"));
    lose(&mut world);
    assert!(world.screen(80, 24).contains("Daemon disconnected"));
    world.effects();
    world.news(DaemonNews::Connected { note: None });
    assert!(world.effects().contains(&TuiEffect::Load(session_id(1))));
    world.news(DaemonNews::Loaded(Box::new(shown(1, 3, json!({})))));
    assert!(world.effects().contains(&TuiEffect::Follow { id: session_id(1), after: 2 }));
    // The daemon repeats what was seen, and goes on.
    world.record_happens(1, 2, "turn_started", started("demo:demo"));
    world.record_happens(1, 3, "model_output_completed", answer("there"));
    assert_eq!(world.texts(1), ["hello", "there"]);
}

#[test]
fn a_file_can_go_with_the_first_message() {
    let mut world = TuiFixture::empty();
    world.news(DaemonNews::Connected { note: None });
    world.write("/attach photo.png");
    world.press(KeyCode::Enter);
    world.write("what is");
    let key = world.effects().into_iter().find_map(|effect| match effect {
        TuiEffect::Create { key, .. } => Some(key),
        _ => None,
    });
    world.news(DaemonNews::Created { key: key.expect("a session is created"), id: session_id(1) });
    world.news(DaemonNews::Loaded(Box::new(shown(1, 1, json!({})))));
    let attached = |effect: &TuiEffect| matches!(effect, TuiEffect::Attach { id, path } if *id == session_id(1) && path == "photo.png");
    assert!(world.effects().iter().any(attached), "the file is given to it");
    assert_eq!(world.model.composer().raw(), "what is", "and what was written meanwhile is still there");
}

#[test]
fn a_first_message_makes_one_session_however_often_it_is_asked_for() {
    let mut world = TuiFixture::empty();
    world.write("begin");
    world.press(KeyCode::Enter);
    assert!(!world.effects().iter().any(|effect| matches!(effect, TuiEffect::Create { .. })));
    world.news(DaemonNews::Connected { note: None });
    let created = |world: &mut TuiFixture| {
        world.effects().into_iter().find_map(|effect| match effect {
            TuiEffect::Create { session, key } => Some((session.idempotency_key.clone().unwrap(), key)),
            _ => None,
        })
    };
    let first = created(&mut world).unwrap();
    world.news(DaemonNews::NotSent { id: None, key: first.1.clone(), why: "closed".to_owned(), later: true });
    world.news(DaemonNews::Connected { note: None });
    assert_eq!(created(&mut world), Some(first.clone()));
    world.news(DaemonNews::Created { key: first.1.clone(), id: session_id(9) });
    assert_eq!(world.model.focus, Some(session_id(9)));
    world.news(DaemonNews::Loaded(Box::new(shown(9, 1, json!({})))));
    let sends = world
        .effects()
        .into_iter()
        .filter(|effect| matches!(effect, TuiEffect::Send { key, .. } if *key == first.1));
    assert_eq!(sends.count(), 1);
}

#[test]
fn a_stream_that_breaks_off_is_opened_again_after_a_while() {
    let mut world = TuiFixture::new();
    world.news(DaemonNews::Ended { id: session_id(1), refused: None });
    world.effects();
    world.wait(100);
    assert!(world.effects().is_empty());
    world.wait(1000);
    assert_eq!(world.effects(), [TuiEffect::Follow { id: session_id(1), after: 0 }]);
}
