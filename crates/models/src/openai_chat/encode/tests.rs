//! What is said to each host, and how a conversation that others made is put.

use std::sync::Arc;

use ostler_types::{Effort, Message, Part, Role};
use serde_json::{Value, json};

use super::body;
use crate::ModelRequest;
use crate::profile::ThinkingControl;
use crate::request_encoding::fixture::{
    assistant, call, field, file, image, json_of, message, model, reasoning, request, result, user,
};
use crate::request_encoding::quirks::{
    GOOGLE, HostQuirks, MISTRAL, OPENAI, OPENROUTER, ReturnedReasoning, UNKNOWN_HOST,
};

fn messages(quirks: HostQuirks, messages: Vec<Arc<Message>>) -> String {
    field(&body("home", &model("m", ThinkingControl::Unknown), quirks, &request(messages)), "messages")
}

#[test]
fn each_host_gets_the_fields_that_it_knows() {
    let wished = ModelRequest {
        effort: Some(Effort::Max),
        max_output_tokens: Some(5000),
        cache_key: Some("ses_1".to_owned()),
        ..request(vec![user("hi")])
    };
    let plain = request(vec![user("hi")]);
    let cases = [
        (UNKNOWN_HOST, "m", ThinkingControl::Unknown, r#""max_tokens":4096,"reasoning_effort":"high","#),
        (UNKNOWN_HOST, "m", ThinkingControl::Never, r#""max_tokens":4096,"#),
        (OPENROUTER, "m", ThinkingControl::Effort, r#""max_tokens":4096,"reasoning":{"effort":"xhigh"},"#),
        (
            OPENAI,
            "gpt-5.2",
            ThinkingControl::Effort,
            r#""max_completion_tokens":4096,"reasoning_effort":"xhigh","prompt_cache_key":"ses_1","#,
        ),
    ];
    for (quirks, id, thinking, fields) in cases {
        let mut profile = model(id, thinking);
        profile.info.max_output_tokens = Some(4096);
        let around = |fields: &str| {
            let start = format!(r#"{{"model":"{id}","messages":[{{"role":"user","content":"hi"}}],"#);
            format!(r#"{start}{fields}"stream":true,"stream_options":{{"include_usage":true}}}}"#)
        };
        let sent = |request| String::from_utf8(body("home", &profile, quirks, request).unwrap()).unwrap();
        assert_eq!(sent(&wished), around(fields));
        assert_eq!(sent(&plain), around(""));
    }
}

#[test]
fn no_effort_is_said_only_where_there_is_a_word_for_it() {
    let request = ModelRequest { effort: Some(Effort::None), ..request(vec![user("hi")]) };
    for (quirks, id, effort, nested) in [
        (UNKNOWN_HOST, "m", "null", "null"),
        (GOOGLE, "gemini-3.5-flash", "null", "null"),
        (MISTRAL, "m", r#""none""#, "null"),
        (OPENAI, "gpt-5.5", r#""none""#, "null"),
        (OPENAI, "gpt-5", r#""minimal""#, "null"),
        (OPENROUTER, "m", "null", r#"{"effort":"none"}"#),
    ] {
        let body = body("home", &model(id, ThinkingControl::Effort), quirks, &request);
        let said = (field(&body, "reasoning_effort"), field(&body, "reasoning"));
        assert_eq!(said, (effort.to_owned(), nested.to_owned()), "{quirks:?} {id}");
    }
}

#[test]
fn a_word_stands_between_a_result_and_the_user_where_a_host_wants_it() {
    let conversation = || {
        vec![
            user("go"),
            assistant(vec![call("c1", "shell", json!({})), call("c2", "shell", json!({}))]),
            result("c1", "shell", true, "1", &[]),
            result("c2", "shell", true, "2", &[]),
            user("stop"),
        ]
    };
    let roles = |quirks: HostQuirks| {
        let body = body("home", &model("m", ThinkingControl::Unknown), quirks, &request(conversation()));
        let messages = json_of(&body)["messages"].as_array().unwrap().clone();
        messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(roles(UNKNOWN_HOST), ["user", "assistant", "tool", "tool", "user"]);
    assert_eq!(roles(MISTRAL), ["user", "assistant", "tool", "tool", "assistant", "user"]);
    let word =
        json_of(&body("home", &model("m", ThinkingControl::Unknown), MISTRAL, &request(conversation())));
    assert_eq!(word["messages"][4]["content"], "I have seen the results.");
}

#[test]
fn calls_that_google_did_not_make_are_marked() {
    let signed = json!({"google": {"thought_signature": "x"}});
    let own = json!({"provider": "openai-chat", "name": "home", "model": "gemini-3.5-flash", "extra_content": signed});
    let conversation = || {
        let two = |opaque: Option<Value>, first: &str, second: &str| {
            let calls = vec![call(first, "shell", json!({})), call(second, "shell", json!({}))];
            assistant(opaque.map(|opaque| reasoning("", Some(opaque))).into_iter().chain(calls).collect())
        };
        let results = |first: &str, second: &str| {
            [result(first, "shell", true, "1", &[]), result(second, "shell", true, "2", &[])]
        };
        let mut messages = vec![user("go"), two(Some(own.clone()), "c1", "c2")];
        messages.extend(results("c1", "c2"));
        messages.push(two(None, "c3", "c4"));
        messages.extend(results("c3", "c4"));
        messages
    };
    let extras = |quirks: HostQuirks, id: &str| {
        let body =
            json_of(&body("home", &model(id, ThinkingControl::Unknown), quirks, &request(conversation())));
        let calls = [1, 4].map(|place| body["messages"][place]["tool_calls"].as_array().unwrap().clone());
        calls.concat().iter().map(|call| call["extra_content"].clone()).collect::<Vec<_>>()
    };
    let dummy = json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    assert_eq!(extras(GOOGLE, "gemini-3.5-flash"), [signed, Value::Null, dummy.clone(), Value::Null]);
    let other = [dummy.clone(), Value::Null, dummy, Value::Null];
    assert_eq!(extras(GOOGLE, "models/gemini-3-pro"), other, "another model's signature is no good");
    assert_eq!(extras(GOOGLE, "gemini-2.5-pro"), [const { Value::Null }; 4]);
    assert_eq!(extras(UNKNOWN_HOST, "gemini-3-pro"), [const { Value::Null }; 4]);
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
        assistant(vec![call("c1", "shot", json!({})), call("c2", "shot", json!({}))]),
        result("c1", "shot", true, "shown", &["attachments/a.png"]),
        result("c2", "shot", true, "", &["attachments/gone.png"]),
        user("Well?"),
    ];
    let expected = r#"[{"role":"user","content":[{"type":"text","text":"Look."},
{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5HPw=="}},
{"type":"file","file":{"filename":"b.pdf","file_data":"data:application/pdf;base64,UERG"}}]},
{"role":"assistant","content":null,"tool_calls":[
{"id":"c1","type":"function","function":{"name":"shot","arguments":"{}"}},
{"id":"c2","type":"function","function":{"name":"shot","arguments":"{}"}}]},
{"role":"tool","content":"shown","tool_call_id":"c1"},
{"role":"tool","content":"","tool_call_id":"c2"},
{"role":"user","content":[{"type":"text","text":"What `shot` shows:"},
{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5HPw=="}},
{"type":"text","text":"What `shot` shows:"},
{"type":"text","text":"[image attachments/gone.png: its content is not there any more]"},
{"type":"text","text":"Well?"}]}]"#;
    assert_eq!(messages(UNKNOWN_HOST, conversation), expected.replace('\n', ""));
}

#[test]
fn a_conversation_that_others_made_keeps_the_rules() {
    let long = "x".repeat(41);
    let conversation = vec![
        user("one"),
        message(Role::User, vec![Part::text(" "), Part::text("two")]),
        assistant(vec![reasoning("hm", Some(json!({"provider": "anthropic", "block": {}})))]),
        assistant(vec![
            Part::text("I look."),
            call("functions.shell:0", "functions.shell", json!("{\"com")),
            call(&long, "shell", Value::Null),
        ]),
        user("wait"),
        result("functions.shell:0", "functions.shell", false, "no", &[]),
        result(&long, "shell", true, "yes", &[]),
        message(Role::System, vec![Part::text("be brief")]),
        assistant(vec![Part::text("cut")]),
    ];
    let expected = r#"[{"role":"user","content":"one\ntwo"},
{"role":"assistant","content":"I look.","tool_calls":[
{"id":"functions.shell:0","type":"function","function":{"name":"functions_shell","arguments":"{\"_raw\":\"{\\\"com\"}"}},
{"id":"LONG","type":"function","function":{"name":"shell","arguments":"{}"}}]},
{"role":"tool","content":"no","tool_call_id":"functions.shell:0"},
{"role":"tool","content":"yes","tool_call_id":"LONG"},
{"role":"user","content":"wait\nSystem: be brief"},
{"role":"assistant","content":"cut"},
{"role":"user","content":"Continue."}]"#;
    let mapped = UNKNOWN_HOST.ids.apply(&long);
    let expected = expected.replace('\n', "").replace("LONG", &mapped);
    assert_eq!(messages(UNKNOWN_HOST, conversation.clone()), expected);
    let late = r#"{"role":"user","content":"wait"},{"role":"system","content":"be brief"},"#;
    assert!(messages(OPENAI, conversation).contains(late));
}

#[test]
fn what_the_provider_wants_back_goes_back_to_it() {
    let mark = |name: &str| json!({"provider": "openai-chat", "name": name, "model": "m"});
    let details = |name: &str| {
        let mut opaque = mark(name);
        opaque["reasoning_details"] = json!([{"type": "reasoning.text", "text": "hm", "signature": "s"}]);
        opaque
    };
    let conversation = |name: &str| {
        let mut extra = mark(name);
        extra["extra_content"] = json!({"google": {"thought_signature": "x"}});
        vec![
            user("go"),
            assistant(vec![
                reasoning("hm", Some(details(name))),
                reasoning("", Some(extra)),
                call("c1", "shell", json!({})),
                call("c2", "shell", json!({})),
            ]),
            result("c1", "shell", true, "1", &[]),
            result("c2", "shell", true, "2", &[]),
        ]
    };
    let asked = |quirks: HostQuirks, name: &str| {
        let body = body("home", &model("m", ThinkingControl::Unknown), quirks, &request(conversation(name)));
        json_of(&body)["messages"][1].clone()
    };
    let own = asked(OPENROUTER, "home");
    assert_eq!(own["reasoning_details"], details("home")["reasoning_details"]);
    assert_eq!(own["tool_calls"][0]["extra_content"]["google"]["thought_signature"], "x");
    assert_eq!(own["tool_calls"][1].get("extra_content"), None);
    let foreign = asked(OPENROUTER, "work");
    assert_eq!(
        (foreign.get("reasoning_details"), foreign["tool_calls"][0].get("extra_content")),
        (None, None)
    );
    assert_eq!(asked(UNKNOWN_HOST, "home").get("reasoning_details"), None);
    assert_eq!(asked(UNKNOWN_HOST, "home").get("reasoning_content"), None);
    let content = HostQuirks { reasoning: ReturnedReasoning::Content, ..UNKNOWN_HOST };
    assert_eq!(asked(content, "work")["reasoning_content"], "hm");
}
