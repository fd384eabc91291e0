//! The window on a long session: paged backwards, bounded, and never torn.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_tui::input::{DaemonNews, TuiEffect, TuiInput};
use ostler_tui::model::ScrollPosition;
use ostler_tui::transcript::{EntryKind, Transcript, TranscriptCallStatus};
use serde_json::json;

use crate::fixture::{TuiFixture, call, called, plain_record, record, session_id, shown};

fn note(seq: u64) -> serde_json::Value {
    json!({"message": {"id": format!("msg_{seq:032x}"), "role": "user", "parts": [{"type": "text", "text": format!("message {seq}")}], "created_at": "2026-03-02T09:15:06Z"}})
}

#[test]
fn a_long_session_is_opened_at_its_end_and_paged_backwards() {
    let mut world = TuiFixture::new();
    world.news(DaemonNews::Loaded(Box::new(shown(3, 100_000, json!({})))));
    assert!(world.effects().contains(&TuiEffect::Follow { id: session_id(3), after: 99_800 }));
    world.model.focus = Some(session_id(3));
    world.stream(3, (99_801..=100_000).map(|seq| record(3, seq, "message_added", note(seq))).collect());
    assert!(world.screen(80, 24).contains("message 100000"));
    world.input(TuiInput::Key(KeyEvent::new(KeyCode::Home, KeyModifiers::CONTROL)));
    assert!(world.screen(80, 24).contains("message 99801"));
    assert!(world.effects().contains(&TuiEffect::Older { id: session_id(3), first: 99_601, before: 99_801 }));
    let records = (99_601..99_801).map(|seq| plain_record(3, seq, "message_added", note(seq))).collect();
    world.news(DaemonNews::Older { id: session_id(3), first: 99_601, records });
    assert!(world.screen(80, 24).contains("message 99801"), "what is looked at stays where it is");
    world.input(TuiInput::Wheel { up: true });
    assert!(world.screen(80, 24).contains("message 99799"));
}

#[test]
fn a_hundred_thousand_records_are_never_held_whole() {
    let mut transcript = Transcript::after(0);
    for seq in 1..=100_000 {
        transcript.apply(&plain_record(1, seq, "message_added", note(seq)));
    }
    assert!(transcript.entries().len() <= 1500, "{}", transcript.entries().len());
    assert_eq!(transcript.cursor(), 100_000);
    assert_eq!(transcript.first(), transcript.entries()[0].seq);
    for page in 0..20 {
        let before = transcript.first();
        let first = before - 200;
        let records: Vec<_> =
            (first..before).map(|seq| plain_record(1, seq, "message_added", note(seq))).collect();
        transcript.prepend(first, &records);
        assert_eq!(transcript.first(), first, "page {page}");
    }
    assert!(transcript.entries().len() <= 1500);
    assert!(transcript.is_detached(), "the newest were let go");
}

#[test]
fn large_texts_count_as_what_they_are() {
    let mut transcript = Transcript::after(0);
    let text = "x".repeat(1 << 20);
    for seq in 1..=50 {
        let data = json!({"message": {"id": format!("msg_{seq:032x}"), "role": "user", "parts": [{"type": "text", "text": text}], "created_at": "2026-03-02T09:15:06Z"}});
        transcript.apply(&plain_record(1, seq, "message_added", data));
    }
    assert!(transcript.entries().len() <= 7, "{}", transcript.entries().len());
}

#[test]
fn a_call_that_a_page_tore_apart_is_one_again() {
    let mut transcript = Transcript::after(10);
    transcript.apply(&plain_record(1, 11, "tool_call_completed", called("c1", true, "done")));
    transcript.prepend(10, &[plain_record(1, 10, "tool_call_started", call("c1", "make"))]);
    let [entry] = transcript.entries().iter().collect::<Vec<_>>()[..] else { panic!("{transcript:?}") };
    let EntryKind::ToolCall(call) = &entry.kind else { panic!() };
    assert_eq!(
        (call.status, call.subject().as_str(), call.result.as_deref()),
        (TranscriptCallStatus::Done, "make", Some("done"))
    );
}

#[test]
fn who_reads_above_is_not_moved_by_what_comes_below() {
    let mut world = TuiFixture::new();
    world.stream(1, (1..=100).map(|seq| record(1, seq, "message_added", note(seq))).collect());
    world.screen(80, 24);
    world.press(KeyCode::PageUp);
    let before = world.screen(80, 24);
    assert!(matches!(world.model.focused().unwrap().scroll_position, ScrollPosition::At { .. }));
    world.stream(1, (101..=120).map(|seq| record(1, seq, "message_added", note(seq))).collect());
    assert_eq!(world.screen(80, 24), before);
    world.press(KeyCode::Esc);
    assert!(world.screen(80, 24).contains("message 120"));
}

#[test]
fn a_window_that_is_begun_anew_shows_nothing_of_the_old_one() {
    let mut world = TuiFixture::new();
    world.stream(1, (1..=5).map(|seq| record(1, seq, "message_added", note(seq))).collect());
    assert!(world.screen(80, 24).contains("message 5"));
    // The daemon has gone on without us for so long that only the end matters.
    world.news(DaemonNews::Disconnected { why: "closed".to_owned(), starting: false });
    world.news(DaemonNews::Connected { note: None });
    world.news(DaemonNews::Loaded(Box::new(shown(1, 90_000, json!({})))));
    assert!(world.effects().contains(&TuiEffect::Follow { id: session_id(1), after: 89_800 }));
    world.stream(1, (89_801..=90_000).map(|seq| record(1, seq, "message_added", note(seq))).collect());
    let screen = world.screen(80, 24);
    assert!(screen.contains("message 90000") && !screen.contains("message 5\n"), "{screen}");
}

#[test]
fn a_record_of_an_unknown_kind_moves_the_cursor() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "something_new", json!({"a": 1}));
    assert_eq!(world.model.focused().unwrap().transcript.cursor(), 1);
}
