//! What is said to each host, and how a conversation that others made is put.

use std::sync::Arc;

use ostler_types::{Effort, Message, Part, Role};
use serde_json::{Value, json};

use super::body;
use crate::ModelRequest;
use crate::outgoing::fixture::{
    assistant, call, field, file, image, json_of, message, model, reasoning, request, result, user,
};
use crate::outgoing::quirks::{OPENAI, OPENROUTER, PLAIN, Quirks, ReasoningBack};
use crate::profile::Thinking;

fn messages(quirks: Quirks, messages: Vec<Arc<Message>>) -> String {
    field(&body("home", &model("m", Thinking::Unknown), quirks, &request(messages)), "messages")
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
        (PLAIN, "m", Thinking::Unknown, r#""max_tokens":4096,"reasoning_effort":"high","#),
        (PLAIN, "m", Thinking::Never, r#""max_tokens":4096,"#),
        (OPENROUTER, "m", Thinking::Effort, r#""max_tokens":4096,"reasoning":{"effort":"xhigh"},"#),
        (
            OPENAI,
            "gpt-5.2",
            Thinking::Effort,
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
    assert_eq!(messages(PLAIN, conversation), expected.replace('\n', ""));
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
{"role":"user","content":"Go on."}]"#;
    let mapped = PLAIN.ids.apply(&long);
    let expected = expected.replace('\n', "").replace("LONG", &mapped);
    assert_eq!(messages(PLAIN, conversation.clone()), expected);
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
    let asked = |quirks: Quirks, name: &str| {
        let body = body("home", &model("m", Thinking::Unknown), quirks, &request(conversation(name)));
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
    assert_eq!(asked(PLAIN, "home").get("reasoning_details"), None);
    assert_eq!(asked(PLAIN, "home").get("reasoning_content"), None);
    let content = Quirks { reasoning: ReasoningBack::Content, ..PLAIN };
    assert_eq!(asked(content, "work")["reasoning_content"], "hm");
}
