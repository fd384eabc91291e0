//! What a client sees of a turn, and that sessions do not mix.

use serde_json::{Value, json};

use super::client::{JsonlClient, text};
use crate::daemon::DoorTestDaemon;

#[tokio::test]
async fn ready_names_the_primary_session() {
    let daemon = DoorTestDaemon::start().await;
    let rpc = JsonlClient::start(&daemon).await;
    let ready = &rpc.seen[0];
    let workspace = std::fs::canonicalize(daemon.workspace()).unwrap();
    assert_eq!(ready["cwd"], workspace.to_str().unwrap());
    assert_eq!(ready["model"], json!({"provider": "test", "id": "one"}));
    assert_eq!((&ready["debug"], &ready["ui"]), (&json!(false), &json!(true)));
    assert_eq!(ready["active_session_id"], ready["primary_session_id"]);
    // The session is one like any other, and every other door has it.
    assert_eq!(daemon.get(&format!("/v1/sessions/{}", rpc.primary)).await.status(), 200);
}

#[tokio::test]
async fn a_turn_is_told_in_order_and_counted() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    let end = rpc.ask("hello").await;
    let names = [
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
    ];
    assert_eq!(rpc.names(&primary), names);
    let events = rpc.events(&primary);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["event_seq"], number, "{event}");
    }
    let messages = end["data"][0].as_array().unwrap();
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant"]);
    assert_eq!(text(&messages[1]), "You said: hello");
    assert_eq!(messages[1]["stop_reason"], "stop");
    assert_eq!(messages[1]["usage"]["total_tokens"], 8);
    assert!(events[0]["event"].get("data").is_none(), "nothing to say is not said");
    // The updates replace each other, and the last is the message.
    let updates = events.iter().filter(|event| event["event"]["type"] == "message_update");
    let last = updates.map(|event| event["event"]["data"].clone()).next_back().unwrap();
    assert_eq!(text(&last[0]), "You said: hello");
    assert_eq!(last[1]["type"], "text_delta");
}

#[tokio::test]
async fn calls_are_shown_with_their_results() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "prompt", "text": "ask"})).await;
    let asked = rpc.until("ui_request").await;
    rpc.send(json!({"type": "ui_response", "id": asked["id"], "result": "once", "error": null})).await;
    rpc.event(&primary, "agent_end").await;
    let names = [
        "agent_start",
        "turn_start",
        "message_start",
        "message_end", // the prompt
        "message_start",
        "message_end", // the call
        "tool_execution_start",
        "tool_execution_end",
        "message_start",
        "message_end",
        "turn_end",
        "turn_start",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
    ];
    assert_eq!(rpc.names(&primary), names);
    let find =
        |name: &str| rpc.events(&primary).into_iter().find(|event| event["event"]["type"] == name).unwrap();
    assert_eq!(
        find("tool_execution_start")["event"]["data"],
        json!(["call_1", "shell", {"command": "make test"}])
    );
    let end = find("tool_execution_end")["event"]["data"].clone();
    assert_eq!(
        end,
        json!(["call_1", "shell", {"content": [{"type": "text", "text": "ok"}], "details": null}, false])
    );
    let turn_end = find("turn_end")["event"]["data"].clone();
    assert_eq!(turn_end[0]["stop_reason"], "tool_use");
    assert_eq!(
        turn_end[0]["content"][0],
        json!({"type": "tool_call", "id": "call_1", "name": "shell", "arguments": {"command": "make test"}})
    );
    assert_eq!(
        (&turn_end[1][0]["role"], &turn_end[1][0]["is_error"]),
        (&json!("tool_result"), &json!(false))
    );
}

#[tokio::test]
async fn a_failed_turn_says_why_and_ends_once() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.ask("fail").await;
    let names = rpc.names(&primary);
    assert_eq!(&names[names.len() - 2..], ["error", "agent_end"]);
    assert_eq!(names.iter().filter(|name| *name == "agent_end").count(), 1);
    let events = rpc.events(&primary);
    assert_eq!(events[events.len() - 2]["event"]["data"], json!(["it was asked to fail", null]));
    rpc.ask("again").await;
}

#[tokio::test]
async fn an_abort_keeps_the_partial_text_and_the_next_message_runs() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "prompt", "text": "wait"})).await;
    rpc.event(&primary, "message_update").await;
    // A message while a turn runs waits for its own.
    rpc.send(json!({"type": "prompt", "text": "next"})).await;
    rpc.send(json!({"type": "abort"})).await;
    let end = rpc.event(&primary, "agent_end").await;
    let last = end["data"][0].as_array().unwrap().last().unwrap().clone();
    assert_eq!((text(&last).as_str(), &last["stop_reason"]), ("half of an änswer", &json!("aborted")));
    let end = rpc.event(&primary, "agent_end").await;
    assert_eq!(text(&end["data"][0][1]), "You said: next");
    // An abort of an idle session is nothing.
    rpc.send(json!({"type": "abort"})).await;
    rpc.send(json!({"type": "ping"})).await;
    assert_eq!(rpc.next().await["type"], "pong");
}

#[tokio::test]
async fn what_steers_a_turn_is_shown_in_the_step_that_reads_it() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    rpc.send(json!({"type": "prompt", "text": "steered"})).await;
    rpc.event(&primary, "message_update").await;
    rpc.send(json!({"type": "prompt", "text": "to the left", "delivery": "steer"})).await;
    // It is on disk once this is answered.
    rpc.send(json!({"type": "stats"})).await;
    rpc.until("stats").await;
    daemon.gate.add_permits(1);
    let end = rpc.event(&primary, "agent_end").await;
    let said: Vec<String> = end["data"][0].as_array().unwrap().iter().map(text).collect();
    assert_eq!(said, ["steered", "half of an änswer, and the rest", "to the left", "I see"]);
    let names = rpc.names(&primary);
    let second = names.iter().rposition(|name| name == "turn_start").unwrap();
    assert_eq!(names[second - 1], "turn_end");
    assert_eq!(names[second + 1..second + 4], ["message_start", "message_end", "message_start"]);
}

#[tokio::test]
async fn sessions_stream_side_by_side_and_do_not_mix() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let mut sessions = vec![rpc.primary.clone()];
    for _ in 0..7 {
        rpc.send(json!({"type": "start_session"})).await;
        let started = rpc.until("session_started").await;
        assert_eq!(started["model"], json!({"provider": "test", "id": "one"}));
        sessions.push(started["session_id"].as_str().unwrap().to_owned());
    }
    for round in 0..5 {
        for session in &sessions {
            let text = format!("{session} {round}");
            rpc.send(json!({"type": "prompt", "session_id": session, "text": text})).await;
        }
    }
    let mut ended = 0;
    while ended < sessions.len() * 5 {
        let event = rpc.until("event").await;
        ended += usize::from(event["event"]["type"] == "agent_end");
    }
    for session in &sessions {
        let events = rpc.events(session);
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["event_seq"], number);
        }
        let ends: Vec<String> = events
            .iter()
            .filter(|event| event["event"]["type"] == "agent_end")
            .map(|event| text(event["event"]["data"][0].as_array().unwrap().last().unwrap()))
            .collect();
        let expected: Vec<String> = (0..5).map(|round| format!("You said: {session} {round}")).collect();
        assert_eq!(ends, expected);
    }
}

#[tokio::test]
async fn what_happens_at_another_door_shows_here_and_the_other_way_round() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    daemon.say(&primary, "from afar").await;
    let end = rpc.event(&primary, "agent_end").await;
    assert_eq!(text(&end["data"][0][0]), "from afar");
    // A session made elsewhere can be named, and is then followed.
    let other = daemon.session().await;
    rpc.send(json!({"type": "prompt", "session_id": other, "text": "hi"})).await;
    assert_eq!(rpc.until("session_started").await["session_id"], other);
    rpc.event(&other, "agent_end").await;
    daemon.until(&other, "turn_completed").await;
}

#[tokio::test]
async fn a_running_turn_is_joined_where_it_stands() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    daemon.say(&session, "wait").await;
    daemon.until(&session, "model_output_delta").await;
    let mut rpc = JsonlClient::start(&daemon).await;
    rpc.send(json!({"type": "set_active_session", "session_id": session})).await;
    let update = rpc.event(&session, "message_update").await;
    assert_eq!(text(&update["data"][0]), "half of an änswer");
    daemon.gate.add_permits(1);
    let end = rpc.event(&session, "agent_end").await;
    assert_eq!(text(&end["data"][0][0]), "half of an änswer, and the rest");
    let names = ["agent_start", "turn_start", "message_start", "message_end", "turn_end", "agent_end"];
    assert_eq!(rpc.names(&session), names);
}

#[tokio::test]
async fn a_reset_keeps_the_id_and_shows_the_model_nothing_of_before() {
    let daemon = DoorTestDaemon::start().await;
    let mut rpc = JsonlClient::start(&daemon).await;
    let primary = rpc.primary.clone();
    // Nothing has been said: there is nothing to forget.
    rpc.send(json!({"type": "reset"})).await;
    rpc.ask("a secret").await;
    rpc.send(json!({"type": "prompt", "text": "wait"})).await;
    rpc.event(&primary, "message_update").await;
    rpc.send(json!({"type": "prompt", "text": "never"})).await;
    rpc.send(json!({"type": "reset"})).await;
    let end = rpc.event(&primary, "agent_end").await;
    assert_eq!(end["data"][0].as_array().unwrap().last().unwrap()["stop_reason"], "aborted");
    let end = rpc.ask("how many").await;
    // The notice of the reset, and the question.
    assert_eq!(text(end["data"][0].as_array().unwrap().last().unwrap()), "2 messages, none with a secret");
    assert!(rpc.events(&primary).iter().enumerate().all(|(number, event)| event["event_seq"] == number));
    // The log keeps everything, and so does what the model is shown after a restart.
    assert!(daemon.log(&primary).join("\n").contains("a secret"));
    rpc.send(json!({"type": "stats"})).await;
    let stats = rpc.until("stats").await;
    assert_eq!((&stats["session_id"], &stats["stats"]["queued"]), (&json!(primary), &json!(0)));
}
