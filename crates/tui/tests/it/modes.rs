//! How a session is let work, chosen at the terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_tui::input::{TuiEffect, TuiInput};
use ostler_types::{PatchReviewMode, ToolKind};
use serde_json::json;

use crate::fixture::{TuiFixture, session};

/// The policy that the session is asked to have.
fn asked(world: &mut TuiFixture) -> ostler_types::Policy {
    let effects = world.effects();
    let policy = effects.into_iter().find_map(|effect| match effect {
        TuiEffect::Update(_, change) => change.policy,
        _ => None,
    });
    let policy = serde_json::to_value(policy.expect("the session is to be changed")).unwrap();
    serde_json::from_value(policy).expect("the whole policy is sent")
}

#[test]
fn what_waits_is_picked_from_a_list_that_says_what_it_means() {
    let mut world = TuiFixture::new();
    world.effects();
    world.input(TuiInput::Key(KeyEvent::new(KeyCode::Char('m'), KeyModifiers::ALT)));
    let screen = world.screen(100, 24);
    for shown in ["approval mode", "Ask first (now)", "Review edits", "Accept edits", "Never ask"] {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    world.press(KeyCode::Down);
    world.press(KeyCode::Enter);
    let policy = asked(&mut world);
    assert_eq!(policy.approval.require_for_kinds, [ToolKind::Exec, ToolKind::Network]);
    assert_eq!(policy.patch_review.mode, PatchReviewMode::Request);
}

#[test]
fn a_mode_is_set_by_name_and_shown_where_it_is_not_the_usual_one() {
    let mut world = TuiFixture::new();
    assert!(!world.screen(100, 24).contains("ask first"));
    world.effects();
    world.write("/mode free");
    world.press(KeyCode::Enter);
    assert!(asked(&mut world).approval.require_for_kinds.is_empty());
    let mut changed = session(1);
    changed["policy"] = json!({"approval": {"require_for_kinds": []}});
    world.record_happens(1, 40, "session_updated", json!({"session": changed}));
    world.wait(60_000);
    let screen = world.screen(100, 24);
    assert!(screen.contains("never ask"), "{screen}");
    world.write("/mode wild");
    world.press(KeyCode::Enter);
    assert!(world.screen(100, 24).contains("no such mode; choose one of ask, review, edits, free"));
}
