//! What is said to each kind of model, and how a conversation that others made is put.

use std::sync::Arc;

use ostler_types::{Effort, Message, Part, Role};
use serde_json::{Value, json};

use super::{body, max_tokens};
use crate::ModelRequest;
use crate::profile::{ModelProfile, ThinkingControl};
use crate::request_encoding::fixture::{
    assistant, call, field, file, image, json_of, message, model, model_with_abilities, reasoning, request,
    result, tools, user,
};

fn messages(profile: &ModelProfile, messages: Vec<Arc<Message>>) -> String {
    field(&body("home", profile, &request(messages)), "messages").replace(MARK, "")
}

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

fn thought(text: &str, model: &str) -> Part {
    let block = json!({"type": "thinking", "thinking": text, "signature": "s=="});
    let opaque = json!({"provider": "anthropic", "block": block, "name": "home", "model": model});
    reasoning(text, Some(opaque))
}

#[test]
fn effort_is_put_as_the_model_takes_it() {
    let adaptive = r#"{"type":"adaptive","display":"summarized"}"#;
    let budget = |tokens: u64| format!(r#"{{"type":"enabled","budget_tokens":{tokens}}}"#);
    let cases = [
        ("claude-x", ThinkingControl::Adaptive, None, adaptive.to_owned(), "null"),
        ("claude-x", ThinkingControl::Adaptive, Some(Effort::None), "null".to_owned(), "low"),
        ("claude-x", ThinkingControl::Adaptive, Some(Effort::Medium), adaptive.to_owned(), "medium"),
        ("claude-x", ThinkingControl::Adaptive, Some(Effort::Max), adaptive.to_owned(), "max"),
        ("claude-x", ThinkingControl::Budget, None, "null".to_owned(), "null"),
        ("claude-x", ThinkingControl::Budget, Some(Effort::None), "null".to_owned(), "null"),
        ("claude-x", ThinkingControl::Budget, Some(Effort::Low), budget(4096), "null"),
        ("claude-x", ThinkingControl::Budget, Some(Effort::Max), budget(24_000), "null"),
        ("claude-x", ThinkingControl::Never, Some(Effort::High), "null".to_owned(), "null"),
        ("claude-x", ThinkingControl::Unknown, None, "null".to_owned(), "null"),
        ("claude-x", ThinkingControl::Unknown, Some(Effort::High), adaptive.to_owned(), "high"),
        ("other", ThinkingControl::Unknown, Some(Effort::High), budget(6144), "null"),
    ];
    for (id, thinking, effort, expected, word) in cases {
        let request = ModelRequest { effort, ..request(vec![user("hi")]) };
        let body = body("home", &model(id, thinking), &request);
        assert_eq!(field(&body, "thinking"), expected, "{thinking:?} {effort:?}");
        let config = if word == "null" { word.to_owned() } else { format!(r#"{{"effort":"{word}"}}"#) };
        assert_eq!(field(&body, "output_config"), config, "{thinking:?} {effort:?}");
    }
}

#[test]
fn an_answer_is_as_long_as_is_wished_and_possible() {
    let known = |most, window| {
        let mut profile = model("m", ThinkingControl::Unknown);
        (profile.info.max_output_tokens, profile.info.context_window) = (most, window);
        profile
    };
    let cases = [
        (known(None, None), None, 8192),
        (model("claude-next", ThinkingControl::Unknown), None, 32_000),
        (known(Some(4096), Some(200_000)), None, 4096),
        (known(Some(64_000), Some(200_000)), None, 50_000),
        (known(Some(64_000), Some(200_000)), Some(60_000), 60_000),
        (known(Some(64_000), None), Some(100_000), 64_000),
        (known(None, None), Some(100_000), 100_000),
        (known(None, None), Some(0), 1),
    ];
    for (profile, wished, expected) in cases {
        assert_eq!(max_tokens(&profile, wished), expected, "{profile:?} {wished:?}");
    }
}

#[test]
fn pictures_and_files_travel_in_the_request() {
    let parts = vec![
        Part::text("Look."),
        image("attachments/a.png", "image/png"),
        file("attachments/b.pdf", "application/pdf"),
        file("attachments/c.txt", "text/plain"),
    ];
    let conversation = vec![
        message(Role::User, parts),
        assistant(vec![call("c1", "shot", json!({})), call("c2", "shot", json!({}))]),
        result("c1", "shot", true, "shown", &["attachments/a.png"]),
        result("c2", "shot", false, "broken", &["attachments/a.png", "attachments/gone.png"]),
    ];
    let expected = r#"[{"role":"user","content":[
{"type":"text","text":"Look."},
{"type":"image","source":{"type":"base64","media_type":"image/png","data":"UE5HPw=="}},
{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"UERG"},"title":"b.pdf"},
{"type":"text","text":"<file name=\"c.txt\">\ngrün \"x\"\n</file>"}]},
{"role":"assistant","content":[
{"type":"tool_use","id":"c1","name":"shot","input":{}},
{"type":"tool_use","id":"c2","name":"shot","input":{}}]},
{"role":"user","content":[
{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"shown"},
{"type":"image","source":{"type":"base64","media_type":"image/png","data":"UE5HPw=="}}]},
{"type":"tool_result","tool_use_id":"c2","content":"broken","is_error":true},
{"type":"image","source":{"type":"base64","media_type":"image/png","data":"UE5HPw=="}},
{"type":"text","text":"[image attachments/gone.png: its content is not there any more]"}]}]"#;
    assert_eq!(messages(&model("m", ThinkingControl::Unknown), conversation), expected.replace('\n', ""));
}

#[test]
fn a_model_that_cannot_see_goes_on_with_what_another_saw() {
    let picture = || message(Role::User, vec![image("attachments/a.png", "image/png")]);
    let blind = model_with_abilities(&[]);
    let error = body("home", &blind, &request(vec![picture()])).unwrap_err();
    assert_eq!(error.code, "unsupported_part");
    let conversation = vec![picture(), assistant(vec![Part::text("A cat.")]), user("Sure?")];
    let note = "[image attachments/a.png: this model cannot see images]";
    assert!(messages(&blind, conversation).contains(note));
}

/// Where the marks for the cache stand, by the text that they end.
fn marked(conversation: Vec<Arc<Message>>) -> Vec<String> {
    let request =
        ModelRequest { system: Some("You help.".to_owned()), tools: tools(), ..request(conversation) };
    let text =
        String::from_utf8(body("home", &model("m", ThinkingControl::Unknown), &request).unwrap()).unwrap();
    let pieces: Vec<&str> = text.split(MARK).collect();
    let last = |piece: &&str| piece.rsplit('"').find(|word| word.len() > 1).unwrap_or_default().to_owned();
    pieces[..pieces.len() - 1].iter().map(last).collect()
}

#[test]
fn the_cache_follows_the_conversation() {
    let first = vec![user("one")];
    assert_eq!(marked(first.clone()), ["You help.", "object", "one"]);
    let mut second = first;
    second.extend([assistant(vec![call("c1", "shell", json!({}))]), result("c1", "shell", true, "two", &[])]);
    assert_eq!(marked(second.clone()), ["You help.", "object", "one", "two"]);
    second.extend([assistant(vec![Part::text("so")]), user("three")]);
    assert_eq!(marked(second), ["You help.", "object", "two", "three"]);
}

#[test]
fn what_was_written_stays_as_a_conversation_grows() {
    let conversation = [
        user("one"),
        assistant(vec![thought("hm", "m"), Part::text("I look."), call("c.1", "shell", json!("{"))]),
        result("c.1", "shell", false, "", &["attachments/a.png"]),
        assistant(vec![Part::text("so")]),
        user("two"),
        message(Role::System, vec![Part::text("be brief")]),
        assistant(vec![thought("ah", "m"), call("c2", "shell", json!({}))]),
        result("c2", "shell", true, "done", &[]),
    ];
    let profile = model("m", ThinkingControl::Unknown);
    let mut before = String::new();
    for end in [1, 3, 6, 8] {
        let now = messages(&profile, conversation[..end].to_vec());
        assert!(now.starts_with(before.trim_end_matches("]")), "{before}\n{now}");
        before = now;
    }
}

#[test]
fn thinking_goes_back_to_the_model_that_thought_it() {
    let conversation = |by: &str| {
        vec![
            user("go"),
            assistant(vec![
                thought("one", by),
                call("c1", "shell", json!({})),
                thought("two", by),
                call("c2", "shell", json!({})),
            ]),
            result("c1", "shell", true, "1", &[]),
            result("c2", "shell", true, "2", &[]),
        ]
    };
    let kinds = |thinking: ThinkingControl, effort: Option<Effort>, by: &str| {
        let request = ModelRequest { effort, ..request(conversation(by)) };
        let body = json_of(&body("home", &model("m", thinking), &request));
        let kinds = body["messages"][1]["content"].as_array().unwrap().iter();
        let kinds: Vec<String> = kinds.map(|block| block["type"].as_str().unwrap().to_owned()).collect();
        (kinds.join(" "), body["thinking"]["type"].as_str().map(str::to_owned))
    };
    let whole = "thinking tool_use thinking tool_use".to_owned();
    let none = "tool_use tool_use".to_owned();
    let on = |kind: &str| Some(kind.to_owned());
    assert_eq!(kinds(ThinkingControl::Adaptive, None, "m"), (whole.clone(), on("adaptive")));
    assert_eq!(kinds(ThinkingControl::Adaptive, None, "other"), (none.clone(), on("adaptive")));
    assert_eq!(kinds(ThinkingControl::Budget, Some(Effort::High), "m"), (whole, on("enabled")));
    assert_eq!(kinds(ThinkingControl::Budget, None, "m"), (none.clone(), None));
    // By a budget it could not begin in the middle.
    assert_eq!(kinds(ThinkingControl::Budget, Some(Effort::High), "other"), (none.clone(), None));
    assert_eq!(kinds(ThinkingControl::Never, Some(Effort::High), "m"), (none, None));
}

#[test]
fn a_conversation_that_others_made_keeps_the_rules() {
    let long = "x".repeat(70);
    let conversation = vec![
        assistant(vec![
            reasoning("hm", Some(json!({"provider": "openai-responses", "item": {"type": "reasoning"}}))),
            Part::text(" \n"),
            call("functions.shell:0", "functions.shell", json!([1])),
            call(&long, "", Value::Null),
        ]),
        user("wait"),
        result(&long, "", true, "late", &[]),
        result("functions.shell:0", "functions.shell", true, "first", &[]),
        message(Role::System, vec![Part::text("be brief")]),
        assistant(vec![Part::text("Well ")]),
    ];
    let expected = r#"[{"role":"user","content":[{"type":"text","text":"(What came before is not shown.)"}]},
{"role":"assistant","content":[
{"type":"tool_use","id":"call_94905e79dfdfefb8","name":"functions_shell","input":{"_raw":[1]}},
{"type":"tool_use","id":"LONG","name":"unknown","input":{}}]},
{"role":"user","content":[
{"type":"tool_result","tool_use_id":"LONG","content":"late"},
{"type":"tool_result","tool_use_id":"call_94905e79dfdfefb8","content":"first"},
{"type":"text","text":"wait"},
{"type":"text","text":"System: be brief"}]},
{"role":"assistant","content":[{"type":"text","text":"Well "}]},
{"role":"user","content":[{"type":"text","text":"Continue."}]}]"#;
    let mapped = crate::request_encoding::call_ids::IdRule::WordCharacters.apply(&long);
    let expected = expected.replace('\n', "").replace("LONG", &mapped);
    assert_eq!(messages(&model("m", ThinkingControl::Unknown), conversation), expected);
}
