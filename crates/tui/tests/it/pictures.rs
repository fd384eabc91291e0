//! Pictures: asked for once when they are seen, drawn by the terminal's protocol, and a link elsewhere.

use ostler_tui::PictureProtocol;
use ostler_tui::input::{DaemonNews, TuiEffect, TuiInput};
use ostler_tui::model::PictureRegistry;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use crate::fixture::{TuiFixture, session_id, shown, started};

/// The head of a PNG of 80 by 48 pixels, which is all that its size is read from.
fn png() -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend([0, 0, 0, 80, 0, 0, 0, 48, 8, 6, 0, 0, 0]);
    png.extend([0; 32]);
    png
}

fn with_picture(protocol: PictureProtocol) -> TuiFixture {
    let mut world = TuiFixture::new();
    world.model.pictures = PictureRegistry::new(protocol, (8, 16), 7);
    world.news(DaemonNews::Loaded(Box::new(shown(1, 0, json!({"log_dir": "/data/sess"})))));
    let parts: Value = json!([{"type": "text", "text": "what is this?"}, {"type": "image", "ref": "attachments/a.png", "mime_type": "image/png"}]);
    let message = json!({"id": crate::fixture::MESSAGE, "role": "user", "parts": parts, "created_at": "2026-03-02T09:15:06Z"});
    world.record_happens(1, 1, "message_added", json!({"message": message}));
    world.record_happens(1, 2, "turn_started", started("demo:demo"));
    world.effects();
    world
}

fn asked(world: &mut TuiFixture) -> Vec<(String, u32)> {
    let effects = world.effects().into_iter();
    let of = |effect| match effect {
        TuiEffect::Picture { id, reference, number } if id == session_id(1) => Some((reference, number)),
        _ => None,
    };
    effects.filter_map(of).collect()
}

#[test]
fn without_a_protocol_a_picture_is_a_link_and_nothing_is_fetched() {
    let mut world = with_picture(PictureProtocol::None);
    assert!(world.screen(80, 24).contains("[image: /data/sess/attachments/a.png]"));
    assert_eq!(asked(&mut world), []);
}

#[test]
fn kitty_is_given_a_picture_once_and_draws_it_among_the_text() {
    let mut world = with_picture(PictureProtocol::Kitty);
    assert!(world.screen(80, 24).contains("[image: "), "a link until it is here");
    let (reference, number) = asked(&mut world).remove(0);
    assert_eq!(reference, "attachments/a.png");
    world.screen(80, 24);
    assert_eq!(asked(&mut world), [], "it is asked for once");
    world.news(DaemonNews::Picture { number, bytes: png() });
    let given = world.effects().into_iter().find_map(|effect| match effect {
        TuiEffect::Show { shown, .. } => Some(shown),
        _ => None,
    });
    assert_eq!(given.map(|shown| (shown.number, shown.columns, shown.rows)), Some((number, 10, 3)));
    let screen = world.screen(80, 24);
    assert_eq!(screen.matches('\u{10eeee}').count(), 30, "{screen}");
    assert!(!screen.contains("[image: "));
    // On a screen that is too narrow it is a link again.
    assert!(world.screen(12, 24).contains("[image"));
}

#[test]
fn what_is_not_to_be_had_stays_a_link() {
    let mut world = with_picture(PictureProtocol::Kitty);
    world.screen(80, 24);
    let (_, number) = asked(&mut world).remove(0);
    world.news(DaemonNews::Picture { number, bytes: Vec::new() });
    assert!(world.screen(80, 24).contains("[image: "));
    assert_eq!(asked(&mut world), [], "and is not asked for again and again");
    world.news(DaemonNews::Picture { number, bytes: b"\xff\xd8 no png".to_vec() });
    assert!(world.screen(80, 24).contains("[image: "));
}

#[test]
fn the_others_are_told_where_it_stands_when_all_of_it_is_seen() {
    let mut world = with_picture(PictureProtocol::Iterm);
    world.screen(80, 24);
    let (_, number) = asked(&mut world).remove(0);
    world.news(DaemonNews::Picture { number, bytes: png() });
    let screen = world.screen(80, 24);
    assert!(!screen.contains('\u{10eeee}'), "{screen}");
    let [placed] = world.model.pictures.placed[..] else { panic!("{:?}", world.model.pictures.placed) };
    assert_eq!((placed.number, placed.area.width, placed.area.height), (number, 10, 3));
    // What lies over everything lies over pictures too.
    world.input(TuiInput::Key(crossterm::event::KeyCode::F(1).into()));
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| ostler_tui::view(&mut world.model, frame)).unwrap();
    assert!(world.model.pictures.placed.is_empty());
}
