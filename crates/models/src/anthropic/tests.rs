//! What a response means, whatever pieces it arrives in: every case at every chunk size, without a
//! network.

use super::decode::AnthropicDecoder;
use crate::exchange::replay;
use crate::{ProviderConfig, ProviderKind};

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":300,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;
const TEXT: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const USAGE: &str = "usage 425 15 300 0";

/// What [`START`] has cost, which is told before anything else.
const BEGUN: &str = "usage 425 1 300 0";

/// Asserts what a body means, after its start has told what it cost.
fn check(case: &str, body: &str, expected: &[&str], code: Option<&str>) {
    let begun: &[&str] = if body.contains(START) { &[BEGUN] } else { &[] };
    let expected = [begun, expected].concat();
    replay::check::<AnthropicDecoder>(ProviderKind::Anthropic, case, body, &expected, code);
}

/// A stream of these events, each under the name that its data gives it.
fn stream(events: &[&str]) -> String {
    let name = |data: &str| data.split('"').nth(3).unwrap_or_default().to_owned();
    events.iter().map(|data| format!("event: {}\ndata: {data}\n\n", name(data))).collect()
}

/// A whole answer: these events between the start and the end.
fn answer(events: &[&str], reason: &str) -> String {
    let delta = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":15}}}}"#
    );
    let around = [&[START][..], events, &[delta.as_str(), STOP]].concat();
    stream(&around)
}

fn delta(index: u32, kind: &str, field: &str, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":{text}}}}}"#
    )
}

fn text(more: &str) -> String {
    delta(0, "text_delta", "text", more)
}

fn input(index: u32, more: &str) -> String {
    delta(index, "input_json_delta", "partial_json", more)
}

fn call(index: u32, id: &str, name: &str) -> String {
    format!(
        r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}}}"#
    )
}

fn close(index: u32) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

#[test]
fn text_among_pings_and_things_unknown() {
    let ping = r#"{"type": "ping"}"#;
    let unknown = r#"{"type":"tomorrow","index":"odd"}"#;
    let unknown_delta = delta(0, "tomorrow_delta", "text", "not said");
    let unknown_block =
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tomorrow","text":"x"}}"#;
    let body = answer(
        &[
            TEXT,
            ping,
            &text("Hel"),
            unknown,
            &text(""),
            &unknown_delta,
            &text("lo \"ä\"\n"),
            &close(0),
            unknown_block,
            &delta(1, "text_delta", "text", "x"),
            &close(1),
        ],
        "end_turn",
    );
    let expected = ["text Hel", "text lo \"ä\"\n", USAGE, "stop end_turn"];
    check("text", &body, &expected, None);
    let unnamed: String =
        body.lines().filter(|line| !line.starts_with("event:")).map(|line| format!("{line}\n")).collect();
    let unnamed = unnamed.replace(&format!("data: {unknown}\n\n"), "");
    check("without names", &unnamed, &expected, None);
}

#[test]
fn reasoning_is_given_back_with_its_signature() {
    let thinking = r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#;
    let redacted = r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwK+/="}}"#;
    let answer_text =
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"So"}}"#;
    let events = [
        thinking,
        &delta(0, "thinking_delta", "thinking", "Let me "),
        &delta(0, "thinking_delta", "thinking", "see"),
        &delta(0, "signature_delta", "signature", "EqQB"),
        &delta(0, "signature_delta", "signature", "Cg=="),
        &close(0),
        redacted,
        &close(1),
        answer_text,
        &close(2),
    ];
    let opaque = r#"opaque {"provider":"anthropic","block":{"type":"thinking","thinking":"Let me see","signature":"EqQBCg=="}}"#;
    let hidden = r#"opaque {"provider":"anthropic","block":{"type":"redacted_thinking","data":"EmwK+/="}}"#;
    let expected = ["reasoning Let me ", "reasoning see", opaque, hidden, "text So", USAGE, "stop end_turn"];
    check("thinking", &answer(&events, "end_turn"), &expected, None);

    let omitted = answer(&[thinking, events[3], events[4], &close(0)], "max_tokens");
    let opaque =
        r#"opaque {"provider":"anthropic","block":{"type":"thinking","thinking":"","signature":"EqQBCg=="}}"#;
    check("only a signature", &omitted, &[opaque, USAGE, "stop max_tokens"], None);
    let thought = answer(&[thinking, events[3], &close(0)], "end_turn");
    let opaque =
        r#"opaque {"provider":"anthropic","block":{"type":"thinking","thinking":"","signature":"EqQB"}}"#;
    check("a thought and no word", &thought, &[opaque, USAGE], Some("empty_answer"));
    let unsigned = answer(&[thinking, events[1], &close(0)], "max_tokens");
    check("cut before the signature", &unsigned, &["reasoning Let me ", USAGE, "stop max_tokens"], None);
}

#[test]
fn tool_calls() {
    let said = [TEXT, &text("I look."), &close(0)];
    let split = [
        &call(1, "toolu_1", "shell"),
        &input(1, ""),
        &input(1, "{\"comm"),
        &input(1, "and\": \"ls \\\""),
        &input(1, "\"}"),
        &close(1),
    ];
    let expected = [
        "text I look.",
        "call 0 toolu_1 shell",
        "input 0 {\"comm",
        "input 0 and\": \"ls \\\"",
        "input 0 \"}",
        USAGE,
        "stop tool_calls",
    ];
    let split: Vec<&str> = said.into_iter().chain(split.map(String::as_str)).collect();
    check("input in pieces", &answer(&split, "tool_use"), &expected, None);
    check("and another reason", &answer(&split, "end_turn"), &expected, None);

    let (first, second) = (call(0, "toolu_1", "a"), call(1, "toolu_2", "b"));
    let parallel = answer(&[&first, &close(0), &second, &input(1, "{\"x\":1}"), &close(1)], "tool_use");
    let two =
        ["call 0 toolu_1 a", "input 0 {}", "call 1 toolu_2 b", "input 1 {\"x\":1}", USAGE, "stop tool_calls"];
    check("parallel, one without input", &parallel, &two, None);
    let mixed = answer(&[&first, &second, &input(1, "[1]"), &input(0, "[0]"), &close(1)], "tool_use");
    let expected =
        ["call 0 toolu_1 a", "call 1 toolu_2 b", "input 1 [1]", "input 0 [0]", USAGE, "stop tool_calls"];
    check("interleaved and left open", &mixed, &expected, None);
    let at_once = first.replace("{}", r#"{"x":1}"#);
    let expected = ["call 0 toolu_1 a", "input 0 {\"x\":1}", USAGE, "stop tool_calls"];
    check("input at once", &answer(&[&at_once, &close(0)], "tool_use"), &expected, None);
    check("no name", &answer(&[&call(0, "toolu_1", "")], "tool_use"), &[], Some("bad_response"));
}

#[test]
fn thoughts_between_calls_keep_their_place() {
    let thinking = |index: u32, signature: &str| {
        let start = format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"thinking","thinking":"","signature":""}}}}"#
        );
        [start, delta(index, "signature_delta", "signature", signature), close(index)]
    };
    let whole_call = |index: u32, id: &str| [call(index, id, "a"), input(index, "{}"), close(index)];
    let events = [thinking(0, "s1"), whole_call(1, "t1"), thinking(2, "s2"), whole_call(3, "t2")].concat();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let opaque = |signature: &str| {
        format!(
            r#"opaque {{"provider":"anthropic","block":{{"type":"thinking","thinking":"","signature":"{signature}"}}}}"#
        )
    };
    let (first, second) = (opaque("s1"), opaque("s2"));
    let expected =
        [&first, "call 0 t1 a", "input 0 {}", &second, "call 1 t2 a", "input 1 {}", USAGE, "stop tool_calls"];
    check("interleaved", &answer(&events, "tool_use"), &expected, None);
}

#[test]
fn a_call_that_the_limit_cut_is_no_whole_call() {
    let started = call(0, "toolu_1", "shell");
    let cut = answer(&[&started, &input(0, "{\"command\": \"rm -r")], "max_tokens");
    let expected = ["call 0 toolu_1 shell", "input 0 {\"command\": \"rm -r", USAGE, "stop max_tokens"];
    check("in its input", &cut, &expected, None);
    // An empty input would be a call that could run.
    let expected = ["call 0 toolu_1 shell", USAGE, "input 0 {", "stop max_tokens"];
    check("before its input", &answer(&[&started], "max_tokens"), &expected, None);
    let closed = answer(&[&started, &close(0)], "max_tokens");
    check("before its input, and closed", &closed, &expected, None);
    let whole = r#"{"content":[{"type":"tool_use","id":"toolu_1","name":"shell","input":{ }}],"stop_reason":"max_tokens"}"#;
    check("in one piece", whole, &["call 0 toolu_1 shell", "input 0 {", "stop max_tokens"], None);
    let (other, end) = (call(1, "toolu_2", "ls"), close(1));
    let before = answer(&[&started, &close(0), &other, &end], "max_tokens");
    let expected =
        ["call 0 toolu_1 shell", "input 0 {}", "call 1 toolu_2 ls", USAGE, "input 1 {", "stop max_tokens"];
    check("after one that has none", &before, &expected, None);
}

#[test]
fn reasons_to_stop() {
    let reasons = [
        ("end_turn", "stop end_turn"),
        ("stop_sequence", "stop end_turn"),
        ("max_tokens", "stop max_tokens"),
        ("refusal", "stop refusal"),
        ("pause_turn", "stop pause_turn"),
        ("odd_reason", "stop odd_reason"),
    ];
    for (reason, stop) in reasons {
        check(reason, &answer(&[TEXT, &text("a"), &close(0)], reason), &["text a", USAGE, stop], None);
    }
    check("an empty answer", &answer(&[], "end_turn"), &[USAGE], Some("empty_answer"));
    let blank = answer(&[TEXT, &text(""), &close(0)], "end_turn");
    check("an answer without a word", &blank, &[USAGE], Some("empty_answer"));
    check("an empty refusal", &answer(&[], "refusal"), &[USAGE, "stop refusal"], None);
    check("an empty answer at the limit", &answer(&[], "max_tokens"), &[USAGE, "stop max_tokens"], None);
    let full = answer(&[TEXT, &text("a"), &close(0)], "model_context_window_exceeded");
    check("a full window", &full, &["text a", USAGE], Some("context_overflow"));
    let unsaid = stream(&[TEXT, &text("a"), STOP]);
    check("no reason but an end", &unsaid, &["text a", "stop end_turn"], None);
    let no_end = answer(&[TEXT, &text("a")], "end_turn").replace(&stream(&[STOP]), "");
    check("a reason but no end", &no_end, &["text a", USAGE, "stop end_turn"], None);
    let more = answer(&[], "refusal") + &stream(&[r#"{"type":"error","error":{}}"#]);
    check("nothing after the end", &more, &[USAGE, "stop refusal"], None);
}

#[test]
fn usage_is_the_last_word_on_each_count() {
    let last = |usage: &str| {
        let delta =
            format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"max_tokens"}},"usage":{usage}}}"#);
        stream(&[START, &delta, STOP])
    };
    let all = r#"{"input_tokens":30,"cache_creation_input_tokens":100,"cache_read_input_tokens":300,"output_tokens":9}"#;
    check("all counts again", &last(all), &["usage 430 9 300 0", "stop max_tokens"], None);
    let nulls = r#"{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":9}"#;
    check("nulls", &last(nulls), &["usage 425 9 300 0", "stop max_tokens"], None);
    check("nonsense", &last(r#"{"output_tokens":"many"}"#), &["stop max_tokens"], None);
    check("none", &last("null"), &["stop max_tokens"], None);
}

#[test]
fn errors_within_the_stream() {
    let kinds = [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate_limited"),
        ("authentication_error", "unauthorized"),
        ("permission_error", "unauthorized"),
        ("not_found_error", "not_found"),
        ("request_too_large", "bad_request"),
        ("invalid_request_error", "bad_request"),
        ("api_error", "server_error"),
        ("tomorrow_error", "provider_error"),
    ];
    for (kind, code) in kinds {
        let error = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"Sorry"}}}}"#);
        let body = stream(&[START, TEXT, &text("a"), &error]);
        check(kind, &body, &["text a"], Some(code));
        check(kind, &body.replace("event: error\n", ""), &["text a"], Some(code));
    }
    let body = stream(&[r#"{"type":"error","error":{"type":"overloaded_error","message":"no sk-hidden"}}"#]);
    let error = replay::receive::<AnthropicDecoder>(ProviderKind::Anthropic, &body, body.len()).1.unwrap();
    assert_eq!(error.message, "provider `local`: the server reported an error: no [secret]");
    assert!(error.hint.unwrap().contains("retry"));
}

#[test]
fn what_is_not_whole_or_not_an_answer() {
    let begun = stream(&[START, TEXT, &text("a")]);
    let many: Vec<String> =
        (0..257).map(|index| call(index, "t", "a") + "\n\ndata: " + &close(index)).collect();
    let cases: &[(&str, String, &[&str], &str)] = &[
        ("cut after some text", begun.clone(), &["text a"], "cut_stream"),
        (
            "cut within a line",
            begun.clone() + "event: content_block_delta\ndata: {\"ty",
            &["text a"],
            "cut_stream",
        ),
        ("cut after a block", begun.clone() + &stream(&[&close(0)]), &["text a"], "cut_stream"),
        (
            "cut within a call",
            stream(&[&call(0, "t", "a"), &input(0, "{}")]),
            &["call 0 t a", "input 0 {}"],
            "cut_stream",
        ),
        ("nothing at all", String::new(), &[], "cut_stream"),
        ("an end without an answer", stream(&[START, STOP]), &[], "bad_response"),
        ("no JSON", begun + "event: message_delta\ndata: oops\n\n", &["text a"], "bad_response"),
    ];
    for (case, body, expected, code) in cases {
        check(case, body, expected, Some(code));
    }
    let many: String = many.iter().map(|events| format!("data: {events}\n\n")).collect();
    let (events, error) = replay::receive::<AnthropicDecoder>(ProviderKind::Anthropic, &many, 4096);
    assert_eq!((events.len(), error.unwrap().code), (512, "bad_response"), "calls without end");
}

#[test]
fn a_whole_message_from_a_server_that_does_not_stream() {
    let whole = r#"{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"shell","input":{"x":1}},{"type":"tool_use","id":"u","name":"shell","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":2,"output_tokens":1}}"#;
    let expected = [
        "reasoning hm",
        r#"opaque {"provider":"anthropic","block":{"type":"thinking","thinking":"hm","signature":"s"}}"#,
        "text a",
        "call 0 t shell",
        "input 0 {\"x\":1}",
        "call 1 u shell",
        "usage 2 1 0 0",
        "input 1 {}",
        "stop tool_calls",
    ];
    check("whole", whole, &expected, None);
    check("half", &whole[..whole.len() / 2], &[], Some("bad_response"));
    let error = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}"#;
    check("an error", error, &[], Some("context_overflow"));
    check("something else", r#"{"hello":"world"}"#, &[], Some("bad_response"));
}

#[test]
fn the_address_is_the_makers_unless_another_is_given() {
    for (base_url, expected) in [
        ("", Some("https://api.anthropic.com/v1/messages")),
        ("https://api.anthropic.com/v1/", Some("https://api.anthropic.com/v1/messages")),
        ("https://example.org/api/v1beta", Some("https://example.org/api/v1beta/v1/messages")),
        ("localhost:8080", None),
    ] {
        let provider = ProviderConfig::new("local", ProviderKind::Anthropic, base_url);
        let url = <super::Anthropic as crate::wire_client::WireProtocol>::endpoint(&provider);
        assert_eq!(url.as_ref().map(|url| url.as_str()).ok(), expected, "{base_url}");
        if let Err(error) = url {
            assert_eq!(error.code, "bad_base_url");
            assert!(error.hint.unwrap().contains("https://api.anthropic.com"));
        }
    }
}
