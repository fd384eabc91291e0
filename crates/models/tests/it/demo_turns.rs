//! The embedded model over whole turns: several steps, results, denials, steering, verification.

use std::sync::Arc;

use ostler_models::{Demo, Model};
use ostler_types::{Message, Part, Role, results};
use serde_json::json;

use crate::conversation::{CollectedAnswer, assistant, call, message, read, request, result, user};

const TOOLS: [&str; 5] = ["repo_tree", "read_file", "search", "shell", "write_file"];

async fn next(conversation: &[Arc<Message>]) -> CollectedAnswer {
    read(Demo.stream(request(conversation.to_vec(), &TOOLS))).await
}

/// Adds an answer to the conversation, as the caller would.
fn keep(conversation: &mut Vec<Arc<Message>>, answer: &CollectedAnswer) {
    let calls = answer
        .calls
        .iter()
        .map(|(id, name, input)| call(id.as_deref().unwrap(), name, serde_json::from_str(input).unwrap()));
    let parts = std::iter::once(Part::text(&*answer.text)).chain(calls).collect();
    conversation.push(message(Role::Assistant, parts));
}

/// Plays a prompt to its end, with the same word as every tool's answer; gives the calls of each step.
async fn play(prompt: &str, ok: bool, text: &str) -> (Vec<Vec<String>>, CollectedAnswer) {
    let (mut conversation, mut steps) = (vec![user(prompt)], Vec::new());
    loop {
        let answer = next(&conversation).await;
        keep(&mut conversation, &answer);
        if answer.calls.is_empty() {
            return (steps, answer);
        }
        let calls = answer.calls.iter();
        conversation
            .extend(calls.clone().map(|(id, name, _)| result(id.as_deref().unwrap(), name, ok, text)));
        steps.push(calls.map(|(_, name, input)| format!("{name} {input}")).collect());
        assert!(steps.len() < 10, "{prompt} does not end: {steps:?}");
    }
}

#[tokio::test]
async fn steps_follow_one_another() {
    let read_it = r#"read_file {"path":"a.txt"}"#;
    let cases: &[(&str, &[&[&str]])] = &[
        ("list the files and then read a.txt", &[&["repo_tree {}"], &[read_it]]),
        ("First list the files, then read a.txt.", &[&["repo_tree {}"], &[read_it]]),
        ("list the files then read a.txt", &[&["repo_tree {}"], &[read_it]]),
        ("List the files. Then read a.txt, please.", &[&["repo_tree {}"], &[read_it]]),
        ("list the files and read a.txt", &[&["repo_tree {}"], &[read_it]]),
        ("list the files\nread a.txt", &[&["repo_tree {}"], &[read_it]]),
        ("say hi, then read a.txt and then say bye", &[&[read_it]]),
        (
            "read a.txt, b.txt and c.txt",
            &[&[read_it], &[r#"read_file {"path":"b.txt"}"#], &[r#"read_file {"path":"c.txt"}"#]],
        ),
        (
            "write a.txt with x and y, then read a.txt",
            &[&[r#"write_file {"path":"a.txt","content":"x and y"}"#], &[read_it]],
        ),
        (
            "run `echo 1` then run `echo 2`",
            &[&[r#"shell {"command":"echo 1"}"#], &[r#"shell {"command":"echo 2"}"#]],
        ),
    ];
    for (prompt, expected) in cases {
        let (steps, last) = play(prompt, true, "fine").await;
        assert_eq!(&steps, expected, "{prompt}");
        assert_eq!(last.stop(), "end_turn", "{prompt}");
    }
}

#[tokio::test]
async fn what_is_to_be_parallel_is_one_batch() {
    let batch =
        [r#"read_file {"path":"a.txt","_parallel":true}"#, r#"read_file {"path":"b.txt","_parallel":true}"#];
    for prompt in [
        "read a.txt and read b.txt in parallel",
        "in parallel: read a.txt and b.txt",
        "In parallel, read a.txt, then read b.txt",
        "read a.txt and b.txt at the same time",
    ] {
        let (steps, last) = play(prompt, true, "fine").await;
        assert_eq!(steps, [batch], "{prompt}");
        assert!(last.text.contains("`a.txt`") && last.text.contains("`b.txt`"), "{}", last.text);
    }
}

#[tokio::test]
async fn ids_stay_unique_in_a_session() {
    let mut conversation = vec![user("list the files and then list src")];
    let mut ids = Vec::new();
    for _ in 0..2 {
        let answer = next(&conversation).await;
        keep(&mut conversation, &answer);
        let (id, name, _) = answer.calls[0].clone();
        conversation.push(result(id.as_deref().unwrap(), &name, true, "fine"));
        ids.push(id.unwrap());
    }
    assert_eq!(ids, ["demo_call_1", "demo_call_2"]);
}

#[tokio::test]
async fn results_are_told_as_they_are() {
    let many: String = (1..=50).map(|line| format!("line {line}\n")).collect();
    let cases = [
        (
            "read a.txt",
            true,
            "# Title\nSome ```code```\n",
            &["reading `a.txt`", "````\n# Title\nSome ```code```\n````"][..],
        ),
        ("read a.txt", true, many.as_str(), &["line 1\n", "line 30\n```", "and 20 more lines"]),
        ("read a.txt", true, "", &["nothing to show"]),
        ("read a.txt", false, "`a.txt` does not exist.", &["Reading `a.txt` failed", "does not exist"]),
        ("list the files", true, "src/\n  main.rs", &["the list of files gave", "main.rs"]),
        ("search for x y", true, "a.txt:1: x y", &["the search for `x y`", "a.txt:1: x y"]),
        (
            "run ls -la",
            true,
            "total 0\nexit code 0",
            &["The command `ls -la` ended with exit code 0:", "```\ntotal 0\n```"],
        ),
        ("run true", true, "exit code 0", &["ended with exit code 0 and printed nothing"]),
        (
            "run false",
            false,
            "exit code 1 is bad\nexit code 3",
            &["The command `false` failed with exit code 3", "is bad"],
        ),
        ("run x", false, "exit code 0\nkilled by signal 9", &["failed, killed by signal 9"]),
        (
            "run x",
            false,
            "The user denied this call: not now",
            &["You denied the command `x`", "Your reason: `not now`"],
        ),
        ("run x", false, "The user denied this call", &["You denied the command `x`, so nothing was done."]),
        (
            "run x",
            false,
            "sh: permission denied\nexit code 126",
            &["The command `x` failed with exit code 126"],
        ),
        (
            "write a.txt",
            true,
            "Created a.txt: 3 bytes.",
            &["Writing `a.txt` is done: Created a.txt: 3 bytes."],
        ),
        ("read a.txt", false, results::HALTED, &["did not get to reading `a.txt`"]),
        ("read a.txt", false, results::INTERRUPTED, &["do not know what became of reading `a.txt`"]),
    ];
    for (prompt, ok, text, expected) in cases {
        let (steps, last) = play(prompt, ok, text).await;
        assert_eq!(steps.len(), 1, "{prompt}");
        for words in expected {
            assert!(last.text.contains(words), "{words:?} is missing after {text:?}: {}", last.text);
        }
    }
}

#[tokio::test]
async fn a_failure_ends_the_plan() {
    let (steps, last) = play("read a.txt, then run ls -la, then say bye", false, "no such file").await;
    assert_eq!(steps.len(), 1);
    assert!(last.text.contains("did not go on with the rest: `shell`, saying something"), "{}", last.text);
}

#[tokio::test]
async fn the_next_prompt_starts_afresh() {
    let mut conversation = vec![user("list the files")];
    let answer = next(&conversation).await;
    keep(&mut conversation, &answer);
    conversation.push(result("demo_call_1", "repo_tree", true, "old.txt"));
    let answer = next(&conversation).await;
    keep(&mut conversation, &answer);
    conversation.push(user("say hi"));
    assert_eq!(next(&conversation).await.text, "hi");
}

#[tokio::test]
async fn after_a_cancel_the_next_message_is_a_new_prompt() {
    let mut conversation = vec![user("run sleep 9 and then read a.txt")];
    let answer = next(&conversation).await;
    keep(&mut conversation, &answer);
    conversation.push(result("demo_call_1", "shell", false, results::CANCELED));
    conversation.push(user("say hi"));
    assert_eq!(next(&conversation).await.text, "hi");
    let partial = [user("say one two three"), assistant("one t"), user("say hi")];
    assert_eq!(next(&partial).await.text, "hi");
}

#[tokio::test]
async fn a_turn_that_is_tried_again_is_answered_again() {
    assert_eq!(next(&[user("say one two"), assistant("one t")]).await.text, "one two");
    assert_eq!(next(&[user("say one"), user("say two")]).await.text, "one\n\ntwo");
}

#[tokio::test]
async fn steering_is_acknowledged_and_followed() {
    let begin = [
        user("list the files and then read a.txt"),
        message(Role::Assistant, vec![call("c1", "repo_tree", json!({}))]),
        result("c1", "repo_tree", true, "a.txt"),
    ];
    let steered = |text: &str| [begin.as_slice(), &[user(text)]].concat();

    let mut conversation = steered("search for x first");
    let answer = next(&conversation).await;
    assert!(
        answer.text.contains("the list of files") && answer.text.contains("You added `search for x first`")
    );
    assert_eq!(answer.calls[0].1, "search");
    keep(&mut conversation, &answer);
    conversation.push(result(answer.calls[0].0.as_deref().unwrap(), "search", true, "a.txt:1: x"));
    let answer = next(&conversation).await;
    assert_eq!(answer.calls[0].1, "read_file", "the rest of the plan goes on");
    assert!(!answer.text.contains("You added"), "{}", answer.text);

    let stopped = next(&steered("stop!")).await;
    assert!(stopped.calls.is_empty() && stopped.text.contains("You said `stop!`"), "{}", stopped.text);
    let unclear = next(&steered("be careful with it")).await;
    assert!(unclear.text.contains("You added `be careful with it`"), "{}", unclear.text);
    assert_eq!(unclear.calls[0].1, "read_file");
}

#[tokio::test]
async fn a_failed_verification_is_not_fixed() {
    let feedback = "Verification failed (round 1 of 3): cargo test\n\nread README.md and fix it.";
    let after_answer = [user("say hi"), assistant("hi"), user(feedback)];
    let in_turn = [
        user("write a.txt and then list the files"),
        message(Role::Assistant, vec![call("c1", "write_file", json!({"path": "a.txt", "content": ""}))]),
        result("c1", "write_file", true, "Created a.txt."),
        user(feedback),
    ];
    for conversation in [after_answer.as_slice(), &in_turn] {
        let answer = next(conversation).await;
        assert!(answer.calls.is_empty() && answer.stop() == "end_turn");
        assert!(answer.text.contains("cannot fix code"), "{}", answer.text);
    }
}
