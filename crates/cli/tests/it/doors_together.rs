//! One session through every door at once, with the real binary: http with SSE, the gateway's WebSocket, `ostler rpc`
//! in front of the daemon, and a `send` of the pool that streams. Each is told everything in its own words, in order,
//! once, whoever began it and whoever ends it.

mod children;
mod doors;
mod ends;
mod facts;
mod observers;
#[path = "../../../doors/tests/it/gateway/schema.rs"]
mod schema;
#[expect(dead_code, reason = "the tests of the door itself need more of it")]
#[path = "../../../doors/tests/it/gateway/client.rs"]
mod socket;
mod sse;

use serde_json::{Value, json};

use crate::scripted::{ScriptedDaemon, write};
use doors::{ALL, ANSWERING, DoorClients, DoorKind};

/// The gateway has no fixed port, so that tests run in parallel.
const CONFIG: &str = "[gateway]\nlisten = \"127.0.0.1:0\"\n";

#[tokio::test]
async fn what_is_said_at_any_door_is_seen_at_all_of_them() {
    let stage = ScriptedDaemon::new(CONFIG).await;
    let mut doors = DoorClients::open(&stage).await;
    // The first turn waits for an answer; the others wait for it, each begun at another door. The pool's comes last,
    // so that its request looks on at those of all others.
    doors.prompt(&stage, DoorKind::Http, &[write("a.txt", "a"), json!("first\u{2028}said")]).await;
    doors.until_asked().await;
    doors.prompt(&stage, DoorKind::Gateway, &[write("b.txt", "b"), json!("second \"said\"")]).await;
    doors.prompt(&stage, DoorKind::Lines, &[write("c.txt", "c"), json!("third é\nsaid")]).await;
    while stage.client.session(doors.session).await.unwrap().queue.len() < 2 {
        tokio::task::yield_now().await;
    }
    doors.prompt(&stage, DoorKind::Pool, &[write("d.txt", "d"), json!("fourth said")]).await;
    let answers = [
        (DoorKind::Gateway, true),
        (DoorKind::Lines, true),
        (DoorKind::Http, false),
        (DoorKind::Gateway, true),
    ];
    for (index, (door, approve)) in answers.into_iter().enumerate() {
        if index > 0 {
            doors.until_asked().await;
        }
        doors.answer(&stage, door, approve).await;
        doors.until_end("completed").await;
    }
    let pool = doors.pool.as_mut().unwrap();
    while pool.step().await {}
    let result = pool.result.as_ref().unwrap();
    assert_eq!(result["result"], json!({"content": "fourth said", "request_id": "request-1"}));
    doors.compare(&stage).await;
    for (file, there) in [("a.txt", true), ("b.txt", true), ("c.txt", false), ("d.txt", true)] {
        assert_eq!(stage.work.join(file).exists(), there, "{file}");
    }
    // Whoever comes later finds the same conversation.
    let (_, shown) = doors::gateway(&stage, doors.session).await;
    let said: Vec<&Value> =
        shown["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(said.len(), 12, "a question, a result and an answer in each turn: {said:?}");
}

#[tokio::test]
async fn a_question_that_comes_up_at_one_door_is_answered_at_another() {
    let stage = ScriptedDaemon::new(CONFIG).await;
    let mut doors = DoorClients::open(&stage).await;
    let mut number = 0;
    for asking in ALL {
        for answering in ANSWERING {
            number += 1;
            let (file, approve) = (format!("{number}.txt"), number % 3 > 0);
            doors.prompt(&stage, asking, &[write(&file, "x")]).await;
            doors.until_asked().await;
            let late = doors.http.asked.clone();
            doors.answer(&stage, answering, approve).await;
            doors.until_end("completed").await;
            assert_eq!(
                stage.work.join(&file).exists(),
                approve,
                "asked at {asking:?}, answered at {answering:?}"
            );
            too_late(&stage, &mut doors, &late).await;
            doors.pool = None;
        }
    }
    doors.compare(&stage).await;
}

/// The first answer counts; the others are told so, and change nothing.
async fn too_late(stage: &ScriptedDaemon, doors: &mut DoorClients, asked: &Value) {
    let (status, body) = stage.answer(asked, json!({"action": "approve"})).await;
    assert_eq!(status, 409, "{body}");
    let answer = doors.gateway.client.call("exec.approve", json!({"approvalId": doors.gateway.asked})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let again = json!({"type": "ui_response", "id": doors.lines.asked, "result": "once", "error": null});
    doors.lines.child.send(&again).await;
    // Nothing comes of it but what comes next.
    doors.lines.child.send(&json!({"type": "ping"})).await;
    doors.lines.until("pong").await;
}
