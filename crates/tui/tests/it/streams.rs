//! Text that streams: spliced by offset, replaced when it is whole, never brought back.

use ostler_tui::transcript::{EntryKind, TranscriptCallStatus};
use serde_json::json;

use crate::fixture::{TuiFixture, answer, call, called, delta, said, started, user};

#[test]
fn deltas_are_spliced_and_replayed_ones_change_nothing() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    let pieces =
        [said(0, "Grüße "), said(8, "aus "), said(0, "Grüße "), said(0, "Grüße aus "), said(12, "Wien")];
    for piece in pieces {
        world.stream(1, vec![delta(1, "model_output_delta", piece)]);
    }
    assert_eq!(
        world.texts(1),
        ["Grüße aus Wien"],
        "a piece that repeats the beginning cuts nothing it does not replace"
    );
}

#[test]
fn late_deltas_of_a_finished_message_are_dropped() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    world.stream(1, vec![delta(1, "model_output_delta", said(0, "Hel"))]);
    world.record_happens(1, 2, "model_output_completed", answer("Hello"));
    world.stream(
        1,
        vec![
            delta(1, "model_output_delta", said(3, "lo, again")),
            delta(1, "model_output_delta", said(0, "x")),
        ],
    );
    assert_eq!(world.texts(1), ["Hello"]);
}

#[test]
fn a_message_completed_before_anything_was_seen_of_it_keeps_its_text() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "model_output_completed", answer("whole"));
    world.record_happens(1, 2, "turn_started", started("demo:demo"));
    world.stream(1, vec![delta(1, "model_output_delta", said(0, "who"))]);
    assert_eq!(world.texts(1), ["whole"]);
}

#[test]
fn a_call_completed_before_it_started_stays_completed() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "tool_call_completed", called("c1", true, "all well"));
    world.record_happens(1, 2, "tool_call_started", call("c1", "make"));
    world.stream(
        1,
        vec![delta(
            1,
            "tool_output_delta",
            json!({"tool_call_id": "c1", "stream": "stdout", "offset": 0, "text": "late"}),
        )],
    );
    world.record_happens(1, 3, "tool_call_completed", called("c1", false, "no"));
    let kinds = world.kinds(1);
    let EntryKind::ToolCall(call) = &kinds[0] else { panic!("{kinds:?}") };
    assert_eq!(
        (call.status, call.result.as_deref(), call.output.as_str()),
        (TranscriptCallStatus::Done, Some("all well"), "")
    );
    assert_eq!(call.subject(), "make", "what it was to do is still learned");
    assert_eq!(kinds.len(), 1);
}

#[test]
fn a_record_that_comes_twice_counts_once() {
    let mut world = TuiFixture::new();
    for _ in 0..2 {
        world.record_happens(1, 1, "message_added", user("once", None));
        world.record_happens(1, 2, "tool_call_started", call("c1", "make"));
        world.record_happens(
            1,
            3,
            "turn_completed",
            json!({"stop_reason": "stop", "usage": {}, "verified": true}),
        );
    }
    assert_eq!(world.kinds(1).len(), 3);
}

#[test]
fn a_turn_that_ends_leaves_nothing_open() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "turn_started", started("demo:demo"));
    world.record_happens(1, 2, "tool_call_started", call("c1", "sleep 9"));
    world.stream(1, vec![delta(1, "model_output_delta", said(0, "half"))]);
    world.record_happens(1, 3, "turn_failed", json!({"error": {"code": "x", "message": "the daemon stopped", "hint": null}, "reason": "interrupted"}));
    for kind in world.kinds(1) {
        match kind {
            EntryKind::ToolCall(call) => assert!(call.status.is_over()),
            EntryKind::Answer(spoken) => assert!(spoken.done),
            _ => {}
        }
    }
    assert!(world.model.focused().unwrap().running.is_none());
}

#[test]
fn what_a_tool_prints_is_seen_once_and_only_its_end_is_held() {
    let mut world = TuiFixture::new();
    world.record_happens(1, 1, "tool_call_started", call("c1", "yes"));
    let line = "y\n".repeat(512);
    let mut offset = 0u64;
    for _ in 0..200 {
        let piece = json!({"tool_call_id": "c1", "stream": "stdout", "offset": offset, "text": line});
        let twice = vec![delta(1, "tool_output_delta", piece.clone()), delta(1, "tool_output_delta", piece)];
        world.stream(1, twice);
        offset += line.len() as u64;
    }
    let kinds = world.kinds(1);
    let EntryKind::ToolCall(call) = &kinds[0] else { panic!() };
    assert!(call.output.len() <= 66 << 10, "{}", call.output.len());
    assert!(call.output.len().is_multiple_of(2), "nothing is doubled or torn");
}
