//! The tool loop from outside: what a client sees of a batch, and what the model is shown of it afterwards.
//!
//! | what | proven by |
//! | --- | --- |
//! | one after the other, one end per call | `a_batch_runs_in_order_and_every_step_of_it_is_an_event` |
//! | halting, failed and unknown tools | `the_first_failure_halts_the_rest_and_the_model_is_told` |
//! | in parallel | `calls_side_by_side_run_at_the_same_time` |
//! | arguments for the loop | `arguments_for_the_loop_reach_no_tool` |
//! | the limit of steps | `after_ten_steps_a_notice_ends_the_turn` |
//! | canceled calls | `canceled_calls_have_their_results_before_the_next_request`; while one waits: `approvals_answers::a_turn_that_waits_can_be_canceled` |
//! | thinking | `thinking_is_told_apart_from_what_is_said` |
//! | a tool that breaks down | in the crate `agent-native`: `calls::a_tool_that_panics_has_failed` |
//! | a call that a killed daemon had started | `canceled_calls_…`, its second half |

use futures_util::StreamExt;
use ostler_api_types::SendMessage;
use ostler_types::results;
use serde_json::{Value, json};

use crate::context_checks::{assert_paired, text_of};
use crate::raw_server::RawServerReply;
use crate::scripted::{ScriptedDaemon, ScriptedTurn, policy_without_approvals};

/// A step with these calls.
fn batch(calls: &[(&str, Value)]) -> Value {
    calls.iter().map(|(name, input)| json!({"name": name, "input": input})).collect()
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({"path": path}))
}

/// The names of a turn's records, those aside that say what it cost and how the workspace stood.
fn names(turn: &ScriptedTurn) -> Vec<&str> {
    let besides = ["usage_recorded", "checkpoint_created", "message_added", "turn_started"];
    let names = turn.records.iter().map(|record| record["type"].as_str().unwrap());
    names.filter(|name| !besides.contains(name)).collect()
}

/// The results in a request, in order.
fn results_in(body: &Value) -> Vec<(String, String)> {
    let results = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    results.map(|result| (result["tool_call_id"].as_str().unwrap().to_owned(), text_of(result))).collect()
}

#[tokio::test]
async fn a_batch_runs_in_order_and_every_step_of_it_is_an_event() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "one\n");
    stage.write("b.txt", "two\n");
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage.play(id, &[batch(&[read("a.txt"), read("b.txt")])]).await;
    let call = ["tool_call_started", "tool_call_completed"];
    let expected = [
        &["model_output_completed", "tool_batch_started"][..],
        &call,
        &call,
        &["tool_batch_completed", "model_output_completed", "turn_completed"],
    ];
    assert_eq!(names(&turn), expected.concat());
    let begun = &turn.all("tool_batch_started")[0];
    assert_eq!(begun, &json!({"tool_calls": ["call-0-0", "call-0-1"], "parallel": false}));
    let of = |name: &str| -> Vec<Value> {
        turn.all(name).iter().map(|data| data["tool_call"]["id"].clone()).collect()
    };
    assert_eq!(of("tool_call_started"), of("tool_call_completed"));
    let [first, second] = turn.results().try_into().unwrap();
    assert!(first.text.contains("one") && second.text.contains("two"), "{first:?} {second:?}");
    assert_eq!(stage.asked().len(), 2);
    assert_eq!(results_in(&stage.asked()[1]).len(), 2);
}

#[tokio::test]
async fn the_first_failure_halts_the_rest_and_the_model_is_told() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "one\n");
    let id = stage.session(policy_without_approvals()).await;
    for (broken, why) in [
        (("read_file", json!({"path": "missing.txt"})), "missing.txt"),
        (("fly", json!({"to": "the moon"})), "Unknown skill: fly"),
        (("shell", json!({"command": "exit 3"})), "3"),
        (("read_file", json!("no object")), "nothing was run"),
    ] {
        stage.forget_asked();
        let turn = stage.play(id, &[batch(&[read("a.txt"), broken, read("a.txt"), read("a.txt")])]).await;
        let results = turn.results();
        assert_eq!(results.iter().map(|result| result.ok).collect::<Vec<_>>(), [true, false, false, false]);
        assert!(results[1].text.contains(why), "{why}: {}", results[1].text);
        assert!(results[2..].iter().all(|result| result.text == results::HALTED), "{results:?}");
        let names = names(&turn);
        let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
        assert_eq!(
            &names[at("tool_batch_halted") - 1..][..5],
            [
                "tool_call_completed",
                "tool_batch_halted",
                "tool_call_completed",
                "tool_call_completed",
                "tool_batch_completed",
            ]
        );
        let started = turn.all("tool_call_started").len();
        assert!(started <= 2, "what was halted has not started");
        let [_, told] = stage.asked().try_into().unwrap();
        let told = results_in(&told);
        let told: Vec<&str> = told[told.len() - 4..].iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(told[2..], [results::HALTED; 2]);
        assert!(told[1].contains(why), "{told:?}");
        assert_eq!(turn.records.last().unwrap()["type"], "turn_completed", "the turn goes on");
    }
    stage.asked().iter().for_each(assert_paired);
}

#[tokio::test]
async fn calls_side_by_side_run_at_the_same_time() {
    let stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    // None of them ends before all have begun.
    let meet = |own: usize| {
        let wait = "for n in 0 1 2; do until [ -e met-$n ]; do sleep 0.02; done; done";
        (
            "shell",
            json!({"command": format!("touch met-{own}; {wait}; echo number {own}"), "_parallel": own == 1}),
        )
    };
    let turn = stage.play(id, &[batch(&[meet(0), meet(1), meet(2)])]).await;
    assert_eq!(turn.all("tool_batch_started")[0]["parallel"], true);
    let names = names(&turn);
    assert_eq!(
        names[1..5],
        ["tool_batch_started", "tool_call_started", "tool_call_started", "tool_call_started"]
    );
    assert_eq!(
        names[5..9],
        ["tool_call_completed", "tool_call_completed", "tool_call_completed", "tool_batch_completed"]
    );
    for completed in turn.all("tool_call_completed") {
        let number =
            completed["tool_call"]["id"].as_str().unwrap().strip_prefix("call-0-").unwrap().to_owned();
        let text = completed["tool_result"]["parts"][0]["text"].as_str().unwrap();
        assert!(text.contains(&format!("number {number}")), "{completed}");
    }
    // A failure stops nobody who works beside it.
    let fails = ("shell", json!({"command": "exit 1", "_parallel": true}));
    let turn = stage.play(id, &[batch(&[fails, ("shell", json!({"command": "echo on"}))])]).await;
    assert!(turn.all("tool_batch_halted").is_empty());
    let mut ok: Vec<bool> = turn.results().iter().map(|result| result.ok).collect();
    ok.sort_unstable();
    assert_eq!(ok, [false, true]);
    stage.asked().iter().for_each(assert_paired);
}

#[tokio::test]
async fn arguments_for_the_loop_reach_no_tool() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "one\n");
    let id = stage.session(policy_without_approvals()).await;
    let input = json!({"path": "a.txt", "_parallel": false, "_why": "because", "_": 1});
    let turn = stage.play(id, &[batch(&[("read_file", input)])]).await;
    assert!(turn.result().ok, "{}", turn.result().text);
    assert_eq!(turn.all("tool_call_started")[0]["tool_call"]["input"], json!({"path": "a.txt"}));
    // Without the underscore it is an argument like any other, which the tool does not know.
    let turn = stage.play(id, &[batch(&[("read_file", json!({"path": "a.txt", "why": "because"}))])]).await;
    assert!(!turn.result().ok, "{}", turn.result().text);
}

#[tokio::test]
async fn after_ten_steps_a_notice_ends_the_turn() {
    let stage = ScriptedDaemon::with("", &[("OSTLER_LOOP_MAX_STEPS", "10")]).await;
    stage.write("a.txt", "one\n");
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage.play(id, &vec![batch(&[read("a.txt")]); 15]).await;
    assert_eq!(stage.asked().len(), 10, "the model is asked ten times and no more");
    assert_eq!(turn.results().len(), 10);
    let last = turn.all("model_output_completed").pop().unwrap();
    assert_eq!(last["message"]["parts"], json!([{"type": "text", "text": results::MAX_STEPS}]));
    assert_eq!(turn.all("turn_completed")[0]["stop_reason"], "max_steps");
    stage.play(id, &[json!("on we go")]).await;
    assert!(stage.last_asked().contains(results::MAX_STEPS), "the notice is part of the conversation");
    // Ten steps of which the last is the answer need no notice.
    let mut steps = vec![batch(&[read("a.txt")]); 9];
    steps.push(json!("the answer"));
    let turn = stage.play(id, &steps).await;
    assert_eq!(turn.all("turn_completed")[0]["stop_reason"], "end_turn");
}

#[tokio::test]
async fn canceled_calls_have_their_results_before_the_next_request() {
    let mut stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    for (crash, told, rest) in
        [(false, results::CANCELED, results::CANCELED), (true, results::INTERRUPTED, results::NOT_STARTED)]
    {
        let sleep = ("shell", json!({"command": "echo begun; sleep 600"}));
        let mut turn = stage.start(id, &[batch(&[sleep, read("a.txt"), read("b.txt")])]).await;
        turn.until_output().await;
        if crash {
            stage.crash().await;
            turn = stage.follow(id, turn.id).await;
        } else {
            assert!(stage.client.cancel(id).await.unwrap());
        }
        turn.finish().await;
        let recorded: Vec<String> = turn.results().into_iter().map(|result| result.text).collect();
        assert!(recorded[0].contains(told), "{recorded:?}");
        assert_eq!(recorded[1..], [rest, rest]);
        stage.forget_asked();
        for _ in 0..2 {
            stage.play(id, &[json!("I see")]).await;
        }
        // The same twice: what was said of them is recorded, and not made up at each request.
        for asked in stage.asked() {
            assert_paired(&asked);
            let results = results_in(&asked);
            let texts: Vec<&str> =
                results[results.len() - 3..].iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(texts, recorded);
        }
    }
}

#[tokio::test]
async fn thinking_is_told_apart_from_what_is_said() {
    let stage = ScriptedDaemon::directed("", &[], |_| {
        let chunk = |delta: Value, finish: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
            format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": [choice]}))
        };
        let pieces = vec![
            chunk(json!({"reasoning_content": "let me "}), Value::Null),
            chunk(json!({"reasoning_content": "see"}), Value::Null),
            chunk(json!({"content": "I see"}), Value::Null),
            chunk(json!({}), json!("stop")),
            "data: [DONE]\n\n".to_owned(),
        ];
        Some(RawServerReply { status: "200 OK", kind: "text/event-stream", pieces, together: None })
    })
    .await;
    let id = stage.session(policy_without_approvals()).await;
    let mut events = stage.client.events(id, 0, true).await.unwrap();
    stage.client.send_message(id, &SendMessage::prompt("think")).await.unwrap();
    let (mut thought, mut said, mut order) = (String::new(), String::new(), Vec::new());
    loop {
        let line = events.next().await.unwrap().unwrap();
        let event: Value = serde_json::from_str(&line.raw).unwrap();
        let text = event["data"]["text"].as_str().unwrap_or_default();
        match line.name.as_str() {
            "reasoning_delta" => thought.push_str(text),
            "model_output_delta" => said.push_str(text),
            "turn_completed" => break,
            _ => {}
        }
        if order.last() != Some(&line.name) {
            order.push(line.name);
        }
    }
    assert_eq!((thought.as_str(), said.as_str()), ("let me see", "I see"));
    let steps: Vec<&String> =
        order.iter().filter(|name| name.contains("reasoning") || name.contains("model_output")).collect();
    assert_eq!(
        steps,
        ["reasoning_delta", "model_output_delta", "reasoning_completed", "model_output_completed"]
    );
}
