//! What the recorder leaves in a session's folder.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod crash;
mod exports;
mod folder_files;
mod imports;
mod properties;
mod raw;
mod recorder;
mod schema;
mod session;
mod session_builder;
mod snapshot;
mod views;

use jiff::Timestamp;
use ostler_types::{
    Accepted, Command, DecisionFacts, Delivery, Event, EventFor, Message, MessageId, NewSession, Part,
    Record, Role, SessionId, State, SubmitMessage, TurnId, create, decide,
};
use uuid::Uuid;

/// A session with an open turn, a message that waits and a remembered key, so that a view of it
/// has something in most of its members.
fn busy_state() -> State {
    let at: Timestamp = "2026-03-04T05:06:07.089Z".parse().unwrap();
    let session_id = SessionId::new(Uuid::from_u128(1));
    let created = create(NewSession {
        system_prompt: Some("Be brief.\n".into()),
        parent_session_id: Some(SessionId::new(Uuid::from_u128(2))),
        mode: "repl".into(),
        idempotency_key: Some("key".into()),
        ..NewSession::new(session_id, at, "/home/me/wörk \"space\"", "test:model")
    })
    .unwrap()
    .remove(0);
    let mut state = State::begin(&record(1, at, None, created)).unwrap();
    for n in [10, 20] {
        let command = Command::Submit(SubmitMessage {
            message: Message {
                id: MessageId::new(Uuid::from_u128(n)),
                role: Role::User,
                parts: vec![Part::text("fix the 🐎 please")],
                created_at: at,
            },
            turn_id: TurnId::new(Uuid::from_u128(n + 1)),
            delivery: Delivery::Queue,
            idempotency_key: Some(format!("key {n}")),
            auto_run: None,
            by: "me".into(),
        });
        let decision = decide(&state, command, &DecisionFacts::default()).unwrap();
        assert!(!matches!(decision.accepted, Accepted::Unchanged));
        for EventFor { turn_id, event } in decision.events {
            state.apply(&record(state.last_seq + 1, at, turn_id, event));
        }
    }
    assert!(state.turn.is_some() && !state.queue.is_empty() && !state.keys.is_empty());
    state
}

fn record(seq: u64, ts: Timestamp, turn_id: Option<TurnId>, event: Event) -> Record {
    Record { seq, ts, session_id: SessionId::new(Uuid::from_u128(1)), turn_id, event }
}

fn names(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &std::path::Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
