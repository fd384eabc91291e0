//! What is said to each kind of model, and how a conversation that others made is put.

use std::sync::Arc;

use ostler_types::{Effort, Message, Part, Role};
use serde_json::json;

use super::{body, may_reason};
use crate::ModelRequest;
use crate::profile::{ModelProfile, ThinkingControl};
use crate::request_encoding::fixture::{
    assistant, call, field, file, image, json_of, message, model, reasoning, request, result, user,
};
use crate::request_encoding::quirks::{HostQuirks, OPENAI, UNKNOWN_HOST};

fn input(quirks: HostQuirks, messages: Vec<Arc<Message>>) -> String {
    field(&body("home", &model("m", ThinkingControl::Unknown), quirks, &request(messages)), "input")
}

#[test]
fn only_older_models_are_not_asked_for_reasoning() {
    for id in ["gpt-5", "gpt-5.1-codex", "o3", "o4-mini", "openai/gpt-5", "gpt-oss:20b", "x"] {
        assert!(may_reason(&model(id, ThinkingControl::Unknown)), "{id}");
    }
    for id in ["gpt-4o", "gpt-4.1-mini", "openai/gpt-4o", "chatgpt-4o-latest", "gpt-5-chat-latest"] {
        assert!(!may_reason(&model(id, ThinkingControl::Unknown)), "{id}");
    }
    assert!(
        may_reason(&model("gpt-4o", ThinkingControl::Effort))
            && !may_reason(&model("gpt-5", ThinkingControl::Never))
    );
}

#[test]
fn effort_limit_and_cache_key_are_put_where_the_provider_looks() {
    let cases = [
        ("gpt-5.6", ThinkingControl::Effort, Some(Effort::Max), r#"{"effort":"max","summary":"auto"}"#),
        ("gpt-5", ThinkingControl::Unknown, Some(Effort::Low), r#"{"effort":"low","summary":"auto"}"#),
        ("gpt-5.1", ThinkingControl::Effort, Some(Effort::None), r#"{"effort":"none"}"#),
        ("gpt-4o", ThinkingControl::Never, Some(Effort::High), "null"),
        ("gpt-5", ThinkingControl::Effort, None, "null"),
    ];
    for (id, thinking, effort, expected) in cases {
        let request = ModelRequest { effort, ..request(vec![user("hi")]) };
        assert_eq!(field(&body("home", &model(id, thinking), OPENAI, &request), "reasoning"), expected);
    }
    let mut profile = model("m", ThinkingControl::Never);
    profile.info.max_output_tokens = Some(4096);
    for (wished, expected) in [(Some(9000), "4096"), (Some(100), "100"), (Some(1), "16"), (None, "null")] {
        let request = ModelRequest {
            max_output_tokens: wished,
            cache_key: wished.map(|_| "ses_1".to_owned()),
            ..request(vec![user("hi")])
        };
        let body = body("home", &profile, OPENAI, &request);
        assert_eq!(field(&body, "max_output_tokens"), expected);
        let key = if wished.is_some() { r#""ses_1""# } else { "null" };
        assert_eq!(field(&body, "prompt_cache_key"), key);
    }
}

#[test]
fn pictures_and_files_travel_in_the_request() {
    let parts = vec![
        Part::text("Look."),
        image("attachments/a.png", "image/png"),
        file("attachments/b.pdf", "application/pdf"),
    ];
    let conversation = vec![
        message(Role::User, parts),
        assistant(vec![call("c1", "shot", json!({}))]),
        result("c1", "shot", true, "shown", &["attachments/a.png"]),
    ];
    let start = r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."},
{"type":"input_image","image_url":"data:image/png;base64,UE5HPw=="},
{"type":"input_file","filename":"b.pdf","file_data":"data:application/pdf;base64,UERG"}]},
{"type":"function_call","call_id":"c1","name":"shot","arguments":"{}"},"#;
    let inside = r#"{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"shown"},
{"type":"input_image","image_url":"data:image/png;base64,UE5HPw=="}]}]"#;
    let after = r#"{"type":"function_call_output","call_id":"c1","output":"shown"},
{"type":"message","role":"user","content":[{"type":"input_text","text":"What `shot` shows:"},
{"type":"input_image","image_url":"data:image/png;base64,UE5HPw=="}]}]"#;
    assert_eq!(input(OPENAI, conversation.clone()), format!("{start}{inside}").replace('\n', ""));
    assert_eq!(input(UNKNOWN_HOST, conversation), format!("{start}{after}").replace('\n', ""));
}

#[test]
fn a_conversation_that_others_made_keeps_the_rules() {
    let conversation = vec![
        message(Role::User, vec![Part::text(" "), Part::text("one")]),
        assistant(vec![
            reasoning("hm", Some(json!({"provider": "anthropic", "block": {"type": "thinking"}}))),
            call("functions.shell:0", "functions.shell", json!("{\"com")),
        ]),
        user("wait"),
        result("functions.shell:0", "functions.shell", false, "no", &[]),
        assistant(vec![Part::text("cut")]),
    ];
    let expected = r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]},
{"type":"function_call","call_id":"call_94905e79dfdfefb8","name":"functions_shell","arguments":"{\"_raw\":\"{\\\"com\"}"},
{"type":"message","role":"user","content":[{"type":"input_text","text":"wait"}]},
{"type":"function_call_output","call_id":"call_94905e79dfdfefb8","output":"no"},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"cut"}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"Continue."}]}]"#;
    assert_eq!(input(UNKNOWN_HOST, conversation), expected.replace('\n', ""));
}

#[test]
fn sealed_reasoning_keeps_its_place_and_goes_back_to_its_provider_only() {
    let sealed = |id: &str, name: Option<&str>| {
        let mut opaque = json!({"provider": "openai-responses", "item": {"type": "reasoning", "id": id}});
        if let Some(name) = name {
            opaque["name"] = name.into();
            opaque["model"] = "m".into();
        }
        reasoning("hm", Some(opaque))
    };
    let order_for = |model: &ModelProfile, name: Option<&str>| {
        let parts = vec![
            sealed("rs_1", name),
            Part::text("text"),
            sealed("rs_2", name),
            call("c1", "shell", json!({})),
            sealed("rs_3", name),
            call("c2", "shell", json!({})),
        ];
        let results =
            [result("c1", "shell", true, "1", &[]), result("c2", "shell", true, "2", &[])].into_iter();
        let conversation = [user("go"), assistant(parts)].into_iter().chain(results).collect();
        let body = json_of(&body("home", model, OPENAI, &request(conversation)));
        let kinds = body["input"].as_array().unwrap().iter();
        kinds
            .map(|item| item["id"].as_str().or(item["type"].as_str()).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let order = |name: Option<&str>| order_for(&model("m", ThinkingControl::Effort), name);
    let whole = [
        "message",
        "rs_1",
        "message",
        "rs_2",
        "function_call",
        "rs_3",
        "function_call",
        "function_call_output",
        "function_call_output",
    ];
    assert_eq!(order(None), whole);
    assert_eq!(order(Some("home")), whole);
    let bare: Vec<&str> = whole.iter().copied().filter(|item| !item.starts_with("rs_")).collect();
    assert_eq!(order(Some("work")), bare);
    assert_eq!(order_for(&model("n", ThinkingControl::Effort), Some("home")), bare, "another model made it");
    assert_eq!(order_for(&model("m", ThinkingControl::Never), Some("home")), bare, "it would be refused");
    assert_eq!(order_for(&model("gpt-4o", ThinkingControl::Unknown), None), bare, "it would be refused");
}
