//! The hard ends: a cancel at one door, and a daemon that is killed while all doors look on.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::CONFIG;
use super::doors::{self, ALL, DoorClients, DoorKind, log};
use super::facts::only;
use crate::raw_server::RawServerReply;
use crate::scripted::{ScriptedDaemon, shell, write};

#[tokio::test]
async fn a_cancel_at_one_door_ends_the_turn_at_all_of_them_once() {
    let stage = ScriptedDaemon::new(&format!("[approval]\nrequire_for_kinds = []\n{CONFIG}")).await;
    let mut doors = DoorClients::open(&stage).await;
    for door in ALL {
        doors.prompt(&stage, DoorKind::Pool, &[shell("echo up; sleep 600")]).await;
        doors.until("started shell").await;
        doors.cancel(&stage, door).await;
        doors.until_end("canceled").await;
        let pool = doors.pool.as_mut().unwrap();
        while pool.step().await {}
        let cancelled = json!({"cancelled": true, "request_id": doors.request_id()});
        assert_eq!(doors.pool.take().unwrap().result.unwrap()["result"], cancelled, "canceled at {door:?}");
        // What comes next is the next turn, and no second end.
        doors.prompt(&stage, DoorKind::Http, &[json!("go on")]).await;
        doors.until_end("completed").await;
    }
    doors.compare(&stage).await;
    let ends = only(&log(&stage, doors.session).await, &["end"]);
    assert_eq!(ends, ["end canceled", "end completed"].repeat(4));
}

#[tokio::test]
async fn a_cancel_means_the_turn_that_it_names() {
    let stage = ScriptedDaemon::new(&format!("[approval]\nrequire_for_kinds = []\n{CONFIG}")).await;
    let mut doors = DoorClients::open(&stage).await;
    doors.prompt(&stage, DoorKind::Gateway, &[json!("over")]).await;
    doors.until_end("completed").await;
    let over = doors.run.clone();
    doors.prompt(&stage, DoorKind::Gateway, &[shell("echo up; sleep 600")]).await;
    doors.until("started shell").await;
    let turn = |run: &Value| format!("turn_{}", run.as_str().unwrap().replace('-', ""));
    let path = format!("/v1/sessions/{}/cancel", doors.session);
    let late = stage.request("POST", &path, &json!({"turn_id": turn(&over)})).await;
    assert_eq!(late, (200, json!({"canceled": false})));
    let late = doors.gateway.client.call("chat.abort", json!({"runId": over})).await;
    assert!(
        late["error"]["message"].as_str().unwrap().starts_with("Run not found or already completed"),
        "{late}"
    );
    let meant = stage.request("POST", &path, &json!({"turn_id": turn(&doors.run)})).await;
    assert_eq!(meant, (200, json!({"canceled": true})));
    doors.until_end("canceled").await;
    doors.compare(&stage).await;
}

#[tokio::test]
async fn a_question_and_what_waits_behind_it_outlive_a_daemon_that_is_killed_for_everybody() {
    let mut stage = ScriptedDaemon::new(CONFIG).await;
    let mut doors = DoorClients::open(&stage).await;
    doors.prompt(&stage, DoorKind::Pool, &[json!("before")]).await;
    doors.until_end("completed").await;
    doors.pool = None;
    doors.prompt(&stage, DoorKind::Pool, &[write("a.txt", "a"), json!("after")]).await;
    doors.until_asked().await;
    doors.prompt(&stage, DoorKind::Gateway, &[json!("behind it")]).await;
    stage.kill();
    // Everybody sees that the connection is lost, and nothing that was not recorded.
    while doors.http.step().await {}
    let mut lost = Value::Null;
    while lost["type"] != "error" {
        lost = doors.lines.child.next().await;
    }
    assert_eq!(lost["message"], "the daemon ended");
    stage.restart().await;
    let asked = doors.gateway.asked.clone();
    let before = reconnect(&stage, &mut doors).await;
    assert_eq!(before["lastRun"]["status"], "running");
    doors.gateway.until("asked").await;
    assert_eq!(doors.gateway.asked, asked, "the question has the name that it had");
    doors.lines.until("asked").await;
    doors.pool.as_mut().unwrap().until("asked").await;
    doors.answer(&stage, DoorKind::Gateway, true).await;
    doors.until_end("completed").await;
    doors.pool = None;
    doors.until_end("completed").await;
    let facts = log(&stage, doors.session).await;
    assert_eq!(only(&facts, &["end"]), ["end completed"; 3]);
    assert_eq!(only(&facts, &["text"]), ["text before", "text after", "text behind it"]);
    assert_eq!(doors.http.facts.only(&["text", "end"]), only(&facts, &["text", "end"])[2..]);
    assert_eq!(doors.gateway.facts.only(&["text"]), ["text after", "text behind it"]);
    assert_eq!(doors.lines.facts.only(&["text"]), ["text after", "text behind it"]);
}

#[tokio::test]
async fn text_that_streams_when_the_daemon_is_killed_is_told_alike_at_every_door_afterwards() {
    let gate = Arc::new(Barrier::new(2));
    let held = Arc::clone(&gate);
    let mut stage = ScriptedDaemon::directed(CONFIG, &[], move |asked| {
        let words: Vec<String> = (1..=40).map(|number| format!("word {number} ")).collect();
        let reply = RawServerReply { together: Some(Arc::clone(&held)), ..RawServerReply::chat(&words) };
        asked.prompt().contains("long story").then_some(reply)
    })
    .await;
    let mut doors = DoorClients::open(&stage).await;
    doors.prompt(&stage, DoorKind::Pool, &[json!("long story")]).await;
    for _ in 0..20 {
        gate.wait().await;
        doors.until("delta").await;
    }
    stage.kill();
    while doors.http.step().await {}
    let seen = doors.gateway.unfinished().to_owned();
    assert!(seen.starts_with("word 1 "), "{seen}");
    stage.restart().await;
    let shown = reconnect(&stage, &mut doors).await;
    // The turn is over, for it was cut in the middle; everybody is told so, by what was said of it so far.
    let facts = log(&stage, doors.session).await;
    assert_eq!(only(&facts, &["end"]), ["end failed"]);
    doors.http.until("end failed").await;
    assert_eq!(shown["lastRun"]["status"], "failed", "{shown}");
    let pool = doors.pool.as_mut().unwrap();
    pool.until("end failed").await;
    while pool.step().await {}
    let data = pool.result.as_ref().unwrap()["error"]["data"].clone();
    assert_eq!((&data["code"], &data["request_id"]), (&json!("interrupted"), &json!("request-1")));
    let kept: String = only(&facts, &["text"]).iter().map(|fact| fact[5..].to_owned()).collect();
    assert!(seen.starts_with(&kept), "{kept:?} was kept of {seen:?}");
    assert_eq!(data["content"], json!(kept));
    let said = shown["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant");
    assert_eq!(said.map(|message| message["content"].as_str().unwrap()).collect::<String>(), kept);
}

/// Goes in at every door again, as each wire wants it done. Gives what the gateway says of the session.
async fn reconnect(stage: &ScriptedDaemon, doors: &mut DoorClients) -> Value {
    let session = doors.session;
    doors.http = doors::http(stage, session, doors.http.last).await;
    let (gateway, shown) = doors::gateway(stage, session).await;
    doors.gateway = gateway;
    doors.lines = doors::lines(stage, session).await;
    // The same request again is answered by the same turn.
    doors.pool = Some(doors::pool_send(stage, "whatever", &doors.request_id()).await);
    shown
}
