//! What an agent tells in a turn, and how it stands in the log.

use ostler_types::{BatchEvent, CallEvent, Delivery, DeltaKind, Event, Part, ToolKind};

use crate::fixture::{check, test_session, test_session_with_policy, within};

#[tokio::test]
async fn text_and_thinking_are_shown_as_they_come_and_recorded_once() {
    let world = test_session(&[]);
    let ended = world.ask("think:hm think:m say:Hello_ say:world").await.unwrap();
    assert_eq!(ended.stop_reason, "end_turn");
    let messages: Vec<_> = world.host.conversation();
    let answer = &messages.last().unwrap().parts;
    let expected = [Part::Reasoning { text: "hmm".to_owned(), opaque: None }, Part::text("Hello world")];
    assert_eq!(answer[..], expected);
    let shown: Vec<(u64, String)> = world
        .host
        .deltas()
        .into_iter()
        .filter(|delta| matches!(delta.kind, DeltaKind::Text { part: 1, .. }))
        .map(|delta| (delta.offset, delta.text))
        .collect();
    assert_eq!(shown, [(0, "Hello ".to_owned()), (6, "world".to_owned())]);
}

#[tokio::test]
async fn a_call_ends_the_message_and_text_after_it_begins_the_next() {
    let world = test_session(&[]);
    world.ask("say:Let_me_see. call:one say:Done.").await.unwrap();
    assert_eq!(world.answers(), ["Let me see.", "Done."]);
    let names = world.host.names();
    let from = names.iter().position(|name| *name == "model_output_completed").unwrap();
    let expected = [
        "model_output_completed",
        "tool_batch_started",
        "tool_call_started",
        "tool_call_completed",
        "tool_batch_completed",
        "model_output_completed",
    ];
    let told: Vec<&str> = names[from..].iter().copied().filter(|name| expected.contains(name)).collect();
    assert_eq!(told, expected);
    let result = world.result("one");
    assert!(result.ok && result.text() == "one is completed", "{result:?}");
    assert_eq!(result.details.unwrap()["exit_code"], 0);
}

#[tokio::test]
async fn calls_that_come_while_another_is_open_are_one_batch() {
    let world = test_session(&[]);
    world.ask("pend:a pend:b pend:c done:b fail:c done:a say:ok").await.unwrap();
    let batches: Vec<Vec<String>> = world
        .host
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Batch(BatchEvent::Started { tool_calls, .. }) => {
                Some(tool_calls.into_iter().map(|id| id.0).collect())
            }
            _ => None,
        })
        .collect();
    assert_eq!(batches, [vec!["a"], vec!["b", "c"]], "the first is recorded before the others are known");
    assert!(world.result("a").ok && world.result("b").ok && !world.result("c").ok);
}

#[tokio::test]
async fn a_call_that_comes_while_another_is_open_waits_for_it() {
    let world = test_session(&[]);
    world.ask("open:a open:b say:meanwhile done:b done:a say:end").await.unwrap();
    assert!(world.result("a").ok && world.result("b").ok);
    let said = world.answers().concat();
    assert!(said.contains("meanwhile") && said.ends_with("end"), "{said}");
}

#[tokio::test]
async fn a_change_is_shown_as_a_diff() {
    let world = test_session(&[]);
    world.ask("edit:e").await.unwrap();
    let details = world.result("e").details.unwrap();
    assert_eq!(details["files"][0]["path"], "file.txt");
    assert_eq!((&details["files"][0]["added"], &details["files"][0]["removed"]), (&1.into(), &0.into()));
    assert!(details["files"][0]["diff"].as_str().unwrap().contains("+two"));
}

#[tokio::test]
async fn calls_without_an_end_get_one() {
    let world = test_session(&[]);
    world.ask("open:a pend:b say:bye").await.unwrap();
    let result = world.result("a");
    assert!(!result.ok && result.text().contains("without saying"), "{result:?}");
    assert!(!world.result("b").ok);
}

#[tokio::test]
async fn a_call_that_nobody_was_asked_about_is_recorded_under_a_strict_policy_too() {
    let world = test_session_with_policy(Default::default(), &[]);
    world.ask("call:one say:ok").await.unwrap();
    assert!(world.result("one").ok);
    let calls: Vec<String> = world
        .host
        .conversation()
        .iter()
        .flat_map(|message| message.tool_calls().map(|call| call.name.clone()).collect::<Vec<_>>())
        .collect();
    assert_eq!(calls, ["acp__fault__execute"], "its name cannot be taken for one of our tools");
    let started = |event: &Event| matches!(event, Event::Call(CallEvent::Started { kind, .. }) if *kind != ToolKind::Exec);
    assert!(!world.host.events().iter().any(started));
}

#[tokio::test]
async fn what_an_agent_says_of_itself_is_kept() {
    let world = test_session(&["modes"]);
    world.ask("plan commands usage mode:code say:x").await.unwrap();
    let state = world.host.state().agent.unwrap();
    assert_eq!(state.plan[0].content, "First");
    assert_eq!(state.commands[0].name, "init");
    assert_eq!((state.context_tokens, state.context_window), (Some(1234), Some(200_000)));
    assert_eq!(state.settings[0].current.as_deref(), Some("code"));
    assert_eq!(world.host.state().session.agent_session_id, state.agent_session_id);
    assert_eq!(world.host.state().session.usage.output_tokens, 5);
}

#[tokio::test]
async fn what_is_not_known_is_ignored_and_notices_are_told() {
    let world = test_session(&[]);
    world.ask("unknown say:fine notice:Slow_today").await.unwrap();
    assert_eq!(world.answers(), ["fine"]);
    let told = world.host.conversation().last().unwrap().text();
    assert_eq!(told, "The agent says: Slow today");
}

#[tokio::test]
async fn a_message_that_steers_is_another_prompt_of_the_same_turn() {
    let world = test_session(&[]);
    let running = world.begin("say:first ask:q");
    within(world.host.recorded("approval_requested", 1)).await;
    world.host.submit("say:second", Delivery::Steer);
    world.host.answer("q", ostler_types::Verdict::Approve, None).unwrap();
    running.await.unwrap().unwrap();
    check(&world.host);
    assert_eq!(world.answers(), ["first", "second"]);
    assert_eq!(world.host.names().iter().filter(|name| **name == "turn_completed").count(), 1);
}

#[tokio::test]
async fn files_and_pictures_go_with_the_prompt() {
    let world = test_session(&[]);
    world.host.put_file("attachments/a.txt", b"the text");
    world.host.put_file("attachments/p.png", b"\x89PNG");
    let file = |reference: &str, mime_type: &str| (reference.to_owned(), mime_type.to_owned());
    let (reference, mime_type) = file("attachments/a.txt", "text/plain");
    let text = Part::File { reference, mime_type };
    let (reference, mime_type) = file("attachments/p.png", "image/png");
    let image = Part::Image { reference, mime_type };
    world.host.submit_parts(vec![text, image, Part::text("say:ok")]);
    within(world.host.run(&*world.agent)).await.unwrap();
    let prompt = world.notes("prompt");
    assert!(prompt[0].contains("the text") && prompt[0].contains("attachment:///a.txt"), "{prompt:?}");
    assert!(prompt[1].contains("iVBORw==") || prompt[1].contains("\"image\""), "{prompt:?}");
}

#[tokio::test]
async fn ways_to_end() {
    let world = test_session(&[]);
    assert_eq!(world.ask("refusal").await.unwrap().stop_reason, "refusal");
    let failed = world.ask("say:half error").await.unwrap_err();
    assert_eq!(failed.reason, "agent_error");
    assert!(failed.error.message.contains("no luck"), "{failed:?}");
    assert_eq!(world.ask("cancelled").await.unwrap_err().reason, "agent_stopped");
    assert_eq!(world.ask("auth").await.unwrap_err().reason, "agent_login_required");
    assert_eq!(world.ask("say:still_there").await.unwrap().stop_reason, "end_turn");
    assert_eq!(world.notes("start").len(), 1, "one process serves them all");
}

#[tokio::test]
async fn other_turns_are_refused_with_a_reason() {
    let world = test_session(&[]);
    world.ask("say:x").await.unwrap();
    world.host.compact();
    let failed = within(world.host.run(&*world.agent)).await.unwrap_err();
    assert_eq!(failed.reason, "not_supported");
}
