//! Messages: what can be said, how it is delivered, what was said, and the queue.

use std::fs;

use serde_json::{Value, json};

use crate::daemon::{DoorTestDaemon, message_body};

fn messages(session: &str) -> String {
    format!("/v1/sessions/{session}/messages")
}

fn with(mut message: Value, name: &str, value: Value) -> Value {
    message[name] = value;
    message
}

fn ids(page: &Value) -> Vec<String> {
    page["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_message_starts_a_turn_and_both_are_on_disk_when_it_is_answered() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let answer = daemon.post(&messages(&session), &message_body("wait")).await;
    assert_eq!(answer.status(), 202);
    let (answer, log) = (answer.json(), daemon.log(&session));
    assert_eq!(answer.as_object().unwrap().len(), 2);
    let added: Value = serde_json::from_str(&log[1]).unwrap();
    assert_eq!(
        (&added["type"], &added["data"]["message"]["id"]),
        (&json!("message_added"), &answer["message_id"])
    );
    let started: Value = serde_json::from_str(&log[2]).unwrap();
    assert_eq!((&started["type"], &started["turn_id"]), (&json!("turn_started"), &answer["turn_id"]));
    assert_eq!(started["data"]["message_ids"], json!([answer["message_id"]]));
}

#[tokio::test]
async fn only_users_and_systems_speak_and_only_in_known_parts() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let text = json!({"type": "text", "text": "x"});
    for (body, status, code) in [
        (json!({"role": "assistant", "parts": [text]}), 422, "invalid_body"),
        (json!({"role": "tool", "parts": [text]}), 422, "invalid_body"),
        (json!({"role": "User", "parts": [text]}), 422, "invalid_body"),
        (json!({"parts": [text]}), 422, "invalid_body"),
        (json!({"role": "user"}), 422, "invalid_body"),
        (json!({"role": "user", "parts": []}), 422, "empty_message"),
        (json!({"role": "user", "parts": text}), 422, "invalid_body"),
        (json!({"role": "user", "parts": [null]}), 422, "invalid_body"),
        (json!({"role": "user", "parts": [{"type": "text"}]}), 422, "invalid_body"),
        (json!({"role": "user", "parts": [{"type": "text", "text": 1}]}), 422, "invalid_body"),
        (json!({"role": "user", "parts": [{"type": "text", "text": "x", "more": 1}]}), 422, "invalid_body"),
        (json!({"role": "user", "parts": [{"type": "reasoning", "text": "x"}]}), 422, "invalid_body"),
        (
            json!({"role": "user", "parts": [{"type": "tool_call", "id": "c", "name": "n", "input": {}}]}),
            422,
            "invalid_body",
        ),
        (json!({"role": "user", "parts": [{"text": "x"}]}), 422, "invalid_body"),
        (json!({"role": "user", "parts": [text], "delivery": "now"}), 422, "invalid_body"),
        (json!({"role": "user", "parts": [text], "auto_run": "yes"}), 422, "invalid_body"),
        (json!({"role": "user", "parts": [text], "id": "msg_1"}), 422, "invalid_body"),
        (json!({"role": "user", "parts": [text], "idempotency_key": "k".repeat(1001)}), 413, "too_large"),
    ] {
        let answer = daemon.post(&messages(&session), &body).await;
        assert_eq!((answer.status(), answer.code().as_str()), (status, code), "{body}: {}", answer.text());
    }
    assert_eq!(daemon.log(&session).len(), 1);
    let body = json!({"role": "system", "parts": [text], "auto_run": false});
    assert_eq!(daemon.post(&messages(&session), &body).await.status(), 202);
}

#[tokio::test]
async fn attachments_must_be_there_and_nowhere_else() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let dir = daemon.data().join("sessions").join(&session);
    fs::create_dir(dir.join("attachments")).unwrap();
    fs::write(dir.join("attachments/img_01.png"), "png").unwrap();
    let before = daemon.recorded();
    let message = |kind: &str, reference: &str| {
        let part = json!({"type": kind, "ref": reference, "mime_type": "image/png"});
        json!({"role": "user", "parts": [part], "auto_run": false})
    };
    for reference in [
        "attachments/missing.png",
        "attachments/",
        "attachments",
        "img_01.png",
        "events.ndjson",
        "../../token",
        "attachments/../events.ndjson",
        "attachments/../attachments/img_01.png",
        "attachments//img_01.png",
        "attachments/./img_01.png",
        "attachments/..",
        "/etc/passwd",
        "attachments//etc/passwd",
        "attachments\\img_01.png",
        "attachments/img_01.png\0",
        "attachments/img_01.png/",
        "ATTACHMENTS/img_01.png",
        "",
    ] {
        let answer = daemon.post(&messages(&session), &message("image", reference)).await;
        assert_eq!((answer.status(), answer.code().as_str()), (422, "unknown_attachment"), "{reference:?}");
    }
    let link = dir.join("attachments/link.txt");
    std::os::unix::fs::symlink(daemon.data().join("token"), link).unwrap();
    let answer = daemon.post(&messages(&session), &message("file", "attachments/link.txt")).await;
    assert_eq!(answer.code(), "unknown_attachment", "links lead out of the folder");
    assert_eq!(daemon.recorded(), before);
    // What one session has, another has not.
    let other = daemon.session().await;
    assert_eq!(
        daemon.post(&messages(&other), &message("file", "attachments/img_01.png")).await.status(),
        422
    );
}

#[tokio::test]
async fn a_part_is_recorded_as_what_its_bytes_are() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let dir = daemon.data().join("sessions").join(&session).join("attachments");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("real.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    fs::write(dir.join("sound"), b"RIFF\x24\0\0\0WAVEfmt ").unwrap();
    fs::write(dir.join("fake.png"), "<html><script>alert(1)</script>").unwrap();
    let (text, png, wav) = ("text/plain", "image/png", "audio/wav");
    for (kind, name, claimed, kept, mime_type) in [
        ("image", "real.png", Some("image/jpeg"), "image", png),
        ("image", "real.png", None, "image", png),
        ("file", "real.png", Some("text/html"), "file", png),
        ("audio", "sound", None, "audio", wav),
        ("image", "sound", Some("image/png"), "file", wav),
        ("image", "fake.png", Some("image/png"), "file", text),
        ("audio", "fake.png", Some("audio/wav"), "file", text),
    ] {
        let mut part = json!({"type": kind, "ref": format!("attachments/{name}")});
        if let Some(claimed) = claimed {
            part["mime_type"] = json!(claimed);
        }
        let body = json!({"role": "user", "parts": [part], "auto_run": false});
        assert_eq!(daemon.post(&messages(&session), &body).await.status(), 202, "{kind} {name}");
        let page = daemon.get(&format!("{}?limit=1", messages(&session))).await.json();
        let expected = json!([{"type": kept, "ref": format!("attachments/{name}"), "mime_type": mime_type}]);
        assert_eq!(page["messages"][0]["parts"], expected, "{kind} {name}");
    }
}

#[tokio::test]
async fn a_message_without_a_turn_waits_for_run() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let run = daemon.request("POST", &format!("/v1/sessions/{session}/run"));
    let answer = daemon.send(&run).await;
    assert_eq!((answer.status(), answer.code().as_str()), (409, "nothing_to_run"));
    let quiet = |text: &str| with(message_body(text), "auto_run", json!(false));
    let first = daemon.post(&messages(&session), &quiet("one")).await.json();
    let second = daemon.post(&messages(&session), &quiet("two")).await.json();
    assert_eq!((&first["turn_id"], &second["turn_id"]), (&Value::Null, &Value::Null));
    assert_eq!(daemon.log(&session).len(), 3, "no turn was made");
    let answer = daemon.send(&run).await;
    assert_eq!(answer.status(), 202);
    let started = daemon.until(&session, "turn_started").await;
    assert_eq!(started["turn_id"], answer.json()["turn_id"]);
    assert_eq!(started["data"]["message_ids"], json!([first["message_id"], second["message_id"]]));
    daemon.until(&session, "turn_completed").await;
    assert_eq!(daemon.send(&run).await.code(), "nothing_to_run");
}

#[tokio::test]
async fn a_session_can_be_quiet_by_default() {
    let daemon = DoorTestDaemon::start().await;
    let body = json!({"workspace_path": daemon.workspace(), "auto_run": false, "model": "test:one"});
    let session = daemon.post("/v1/sessions", &body).await.json()["session_id"].as_str().unwrap().to_owned();
    assert_eq!(daemon.post(&messages(&session), &message_body("x")).await.json()["turn_id"], Value::Null);
    let loud = with(message_body("y"), "auto_run", json!(true));
    assert!(daemon.post(&messages(&session), &loud).await.json()["turn_id"].is_string());
}

#[tokio::test]
async fn one_key_adds_one_message() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let body = with(message_body("wait"), "idempotency_key", json!("k"));
    let first = daemon.post(&messages(&session), &body).await;
    let again = daemon.post(&messages(&session), &body).await;
    assert_eq!((again.status(), again.json()), (202, first.json()));
    assert_eq!(daemon.log(&session).len(), 3);
}

#[tokio::test]
async fn the_conversation_is_paged_from_its_end() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let mut sent = Vec::new();
    for i in 0..7 {
        let body = with(message_body(&format!("message {i}")), "auto_run", json!(false));
        sent.push(
            daemon.post(&messages(&session), &body).await.json()["message_id"].as_str().unwrap().to_owned(),
        );
    }
    let page = daemon.get(&messages(&session)).await.json();
    assert_eq!((ids(&page), &page["before"]), (sent.clone(), &Value::Null));
    let (mut read, mut query) = (Vec::new(), "limit=3".to_owned());
    loop {
        let page = daemon.get(&format!("{}?{query}", messages(&session))).await.json();
        read.splice(0..0, ids(&page));
        match page["before"].as_u64() {
            Some(before) => query = format!("limit=3&before={before}"),
            None => break,
        }
    }
    assert_eq!(read, sent);
    assert_eq!(
        ids(&daemon.get(&format!("{}?before=0", messages(&session))).await.json()),
        Vec::<String>::new()
    );
    assert_eq!(
        ids(&daemon.get(&format!("{}?before=18446744073709551615", messages(&session))).await.json()),
        sent
    );
    for limit in ["0", "201"] {
        assert_eq!(daemon.get(&format!("{}?limit={limit}", messages(&session))).await.status(), 400);
    }
}

#[tokio::test]
async fn a_message_during_a_turn_waits_in_the_queue() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let queue = format!("/v1/sessions/{session}/queue");
    assert_eq!(daemon.get(&queue).await.json(), json!({"queue": []}));
    daemon.say(&session, "wait").await;
    let (first, first_turn) = daemon.say(&session, "first").await;
    let (second, _) = daemon.say(&session, "second").await;
    let listed = daemon.get(&queue).await.json();
    assert_eq!(listed["queue"][0]["message"]["id"], first.as_str());
    assert_eq!(listed["queue"][0]["turn_id"], first_turn.as_str());
    assert_eq!(listed["queue"][0]["delivery"], "queue");
    assert_eq!(listed["queue"][1]["message"]["id"], second.as_str());
    let answer = daemon.delete(&format!("{queue}/{second}")).await;
    assert_eq!((answer.status(), answer.json()), (200, json!({"message_id": second})));
    let answer = daemon.delete(&format!("{queue}/{second}")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (404, "message_not_queued"));
    daemon.gate.add_permits(1);
    let mut stream = daemon.follow(&format!("/v1/sessions/{session}/events?types=turn_completed")).await;
    stream.until("turn_completed").await;
    assert_eq!(stream.until("turn_completed").await["turn_id"], first_turn.as_str());
    assert_eq!(daemon.get(&queue).await.json(), json!({"queue": []}));
    assert_eq!(daemon.delete(&format!("{queue}/{first}")).await.status(), 404, "it has been delivered");
    let view = daemon.get(&format!("/v1/sessions/{session}")).await.json();
    assert_eq!(view["turns"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_message_can_steer_or_interrupt() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    let (_, running) = daemon.say(&session, "wait").await;
    let steer = daemon
        .post(&messages(&session), &with(message_body("left"), "delivery", json!("steer")))
        .await
        .json();
    assert_eq!(steer["turn_id"], running.as_str(), "the running turn answers it");
    let quiet = with(message_body("quiet"), "auto_run", json!(false));
    assert_eq!(daemon.post(&messages(&session), &quiet).await.code(), "turn_running");
    daemon.until(&session, "model_output_delta").await;
    let interrupt = with(message_body("stop that"), "delivery", json!("interrupt"));
    let interrupt = daemon.post(&messages(&session), &interrupt).await.json();
    let log: Vec<Value> =
        daemon.log(&session).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let canceled = log.iter().find(|record| record["type"] == "turn_canceled").unwrap();
    assert_eq!(canceled["turn_id"], running.as_str());
    let partial = log.iter().find(|record| record["type"] == "model_output_completed").unwrap();
    assert_eq!(partial["data"]["message"]["parts"][0]["text"], "half of an änswer");
    let started = log.iter().rfind(|record| record["type"] == "turn_started").unwrap();
    assert_eq!(started["turn_id"], interrupt["turn_id"]);
}

#[tokio::test]
async fn a_full_queue_refuses_more() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    daemon.say(&session, "wait").await;
    for _ in 0..100 {
        daemon.say(&session, "more").await;
    }
    let answer = daemon.post(&messages(&session), &message_body("too much")).await;
    assert_eq!((answer.status(), answer.code().as_str()), (429, "queue_full"));
}
