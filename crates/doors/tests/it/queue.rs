//! The queue as people see it: rows that are edited, moved, turned into a steer.

use serde_json::{Value, json};

use crate::daemon::DoorTestDaemon;

/// A session whose turn waits, with three messages behind it.
async fn three_wait(daemon: &DoorTestDaemon) -> (String, [String; 3]) {
    let session = daemon.session().await;
    daemon.say(&session, "ask").await;
    daemon.until(&session, "approval_requested").await;
    let mut ids = [const { String::new() }; 3];
    for (id, text) in ids.iter_mut().zip(["a", "b", "c"]) {
        *id = daemon.say(&session, text).await.0;
    }
    (session, ids)
}

/// What each that waits says, and how it is delivered.
fn rows(answer: &Value) -> Vec<(String, String)> {
    let row = |queued: &Value| {
        let text = queued["message"]["parts"][0]["text"].as_str().unwrap();
        (text.to_owned(), queued["delivery"].as_str().unwrap().to_owned())
    };
    answer["queue"].as_array().unwrap().iter().map(row).collect()
}

#[tokio::test]
async fn what_waits_can_be_edited_moved_and_made_to_steer() {
    let daemon = DoorTestDaemon::start().await;
    let (session, [a, b, c]) = three_wait(&daemon).await;
    let change = async |id: &str, body: Value| {
        let request = daemon.request("PATCH", &format!("/v1/sessions/{session}/queue/{id}"));
        daemon.send(&request.json(&body)).await
    };
    let texts = |answer: &Value| rows(answer).into_iter().map(|(text, _)| text).collect::<Vec<_>>();
    assert_eq!(texts(&change(&c, json!({"before": a})).await.json()), ["c", "a", "b"]);
    let edited = json!({"parts": [{"type": "text", "text": "A"}]});
    assert_eq!(texts(&change(&a, edited).await.json()), ["c", "A", "b"]);
    assert_eq!(texts(&change(&c, json!({"before": null})).await.json()), ["A", "b", "c"]);
    let before = daemon.recorded();
    assert_eq!(texts(&change(&c, json!({})).await.json()), ["A", "b", "c"]);
    assert_eq!(daemon.recorded(), before);
    let steered = change(&b, json!({"delivery": "steer"})).await.json();
    let expected = [("A", "queue"), ("b", "steer"), ("c", "queue")];
    assert_eq!(rows(&steered), expected.map(|(text, how)| (text.to_owned(), how.to_owned())));
    assert_eq!(daemon.get(&format!("/v1/sessions/{session}/queue")).await.json(), steered);
    for (id, body, status, code) in [
        (&b, json!({"before": "msg_0190f3c4a5b67c8d9e0f112233445566"}), 409, "before_not_queued"),
        (&b, json!({"delivery": "interrupt"}), 422, "invalid_body"),
        (&b, json!({"parts": []}), 422, "empty_message"),
        (&b, json!({"parts": [{"type": "file", "ref": "attachments/none"}]}), 422, "unknown_attachment"),
        (
            &"msg_0190f3c4a5b67c8d9e0f112233445566".to_owned(),
            json!({"before": null}),
            404,
            "message_not_queued",
        ),
    ] {
        let answer = change(id, body.clone()).await;
        assert_eq!((answer.status(), answer.code().as_str()), (status, code), "{body}");
        let points_to_the_queue = answer.json()["error"]["hint"]
            .as_str()
            .is_some_and(|hint| hint.ends_with("GET the session to see its queue"));
        assert_eq!(points_to_the_queue, code.ends_with("_not_queued"), "{code}");
    }
}

#[tokio::test]
async fn a_changed_queue_is_the_same_after_a_restart() {
    let daemon = DoorTestDaemon::start().await;
    let (session, [a, _, c]) = three_wait(&daemon).await;
    let path = format!("/v1/sessions/{session}/queue");
    let request = daemon.request("PATCH", &format!("{path}/{c}"));
    let body = json!({"before": a, "parts": [{"type": "text", "text": "C"}]});
    assert_eq!(daemon.send(&request.json(&body)).await.status(), 200);
    let queue = daemon.get(&path).await.json();
    let dir = daemon.stop().await;
    let daemon =
        DoorTestDaemon::start_as(crate::daemon::DoorTestOptions { dir: Some(dir), ..Default::default() })
            .await;
    assert_eq!(daemon.get(&path).await.json(), queue);
}
