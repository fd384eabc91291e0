//! A session that has started another one: what the other asks is asked at every door of the first.

use serde_json::{Value, json};

use super::CONFIG;
use super::doors::{ALL, ANSWERING, DoorClients, DoorKind};
use crate::scripted::{ScriptedDaemon, call, prompt, write};

fn task(file: &str, background: bool) -> Value {
    let work = prompt(&[write(file, "x"), json!("written")]);
    call("task", json!({"description": "write", "prompt": work, "background": background}))
}

#[tokio::test]
async fn what_another_session_asks_is_answered_at_any_door() {
    let stage = ScriptedDaemon::new(CONFIG).await;
    let mut doors = DoorClients::open(&stage).await;
    for (index, (asking, answering)) in ALL.into_iter().zip(ANSWERING.into_iter().cycle()).enumerate() {
        let file = format!("{index}.txt");
        doors.prompt(&stage, asking, &[task(&file, false), json!("all done")]).await;
        doors.until_asked().await;
        assert!(doors.http.asked["data"]["child"].is_object(), "{}", doors.http.asked);
        doors.answer(&stage, answering, true).await;
        doors.until_end("completed").await;
        assert!(stage.work.join(&file).exists(), "asked at {asking:?}, answered at {answering:?}");
        doors.pool = None;
    }
    doors.compare(&stage).await;
}

#[tokio::test]
async fn what_a_session_in_the_background_asks_outlives_the_turn_that_started_it() {
    let stage = ScriptedDaemon::new(CONFIG).await;
    let mut doors = DoorClients::open(&stage).await;
    for (index, answering) in ANSWERING.into_iter().enumerate() {
        let file = format!("{index}.txt");
        doors.prompt(&stage, DoorKind::Http, &[task(&file, true), json!("it works on")]).await;
        // In whichever order the question and the end of the turn come.
        doors.http.until_both("asked", "end completed").await;
        doors.gateway.until_both("asked", "end completed").await;
        doors.lines.until_both("asked", "end").await;
        doors.lines.child.send(&json!({"type": "ping"})).await;
        doors.lines.until("pong").await;
        let taken_back = doors.lines.facts.only(&["withdrawn"]);
        assert!(taken_back.is_empty(), "the question still waits: {taken_back:?}");
        doors.answer(&stage, answering, true).await;
        while !stage.work.join(&file).exists() {
            tokio::task::yield_now().await;
        }
        while !stage.client.session(doors.session).await.unwrap().pending_approvals.is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn what_another_session_asks_ends_with_the_turn_that_waits_for_it() {
    let stage = ScriptedDaemon::new(CONFIG).await;
    let mut doors = DoorClients::open(&stage).await;
    for door in ALL {
        doors.prompt(&stage, DoorKind::Pool, &[task("a.txt", false)]).await;
        doors.until_asked().await;
        doors.cancel(&stage, door).await;
        doors.http.until_both("denied by canceled", "end canceled").await;
        doors.gateway.until_both("denied by canceled", "end canceled").await;
        doors.lines.until_both("denied by canceled", "end").await;
        doors.pool.take().unwrap().until("end canceled").await;
    }
    assert!(stage.client.approvals().await.unwrap().is_empty());
    assert!(!stage.work.join("a.txt").exists());
    doors.compare(&stage).await;
}
