//! What a response means, whatever pieces it arrives in: every case at every chunk size, without a
//! network.

use super::decode::ResponsesDecoder;
use crate::ProviderKind;
use crate::exchange::replay;

const USAGE: &str = r#""usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":14}"#;

/// A stream of these events, each a type and the inside of its data.
fn stream(events: &[(&str, &str)]) -> String {
    let event = |(number, (kind, rest)): (usize, &(&str, &str))| {
        format!(
            "event: {kind}\ndata: {{\"type\":\"{kind}\",\"sequence_number\":{number}{}{rest}}}\n\n",
            if rest.is_empty() { "" } else { "," }
        )
    };
    events.iter().enumerate().map(event).collect()
}

/// A stream that begins and completes as all do.
fn completed(events: &[(&str, &str)]) -> String {
    let response = r#""response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"output":[],"usage":null}"#;
    let done = format!(
        r#""response":{{"id":"resp_1","status":"completed","error":null,"incomplete_details":null,"output":[{{"type":"message","content":[]}}],{USAGE}}}"#
    );
    let mut all = vec![("response.created", response), ("response.in_progress", response)];
    all.extend(events);
    all.push(("response.completed", &done));
    stream(&all)
}

fn check(case: &str, body: &str, expected: &[&str], code: Option<&str>) {
    replay::check::<ResponsesDecoder>(ProviderKind::OpenAiResponses, case, body, expected, code);
}

const MESSAGE: (&str, &str) = (
    "response.output_item.added",
    r#""output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}"#,
);
const TEXT: (&str, &str) = (
    "response.output_text.delta",
    r#""item_id":"msg_1","output_index":0,"content_index":0,"delta":"a","logprobs":[],"obfuscation":"x9""#,
);

fn text(delta: &str) -> String {
    TEXT.1.replace(r#""delta":"a""#, &format!(r#""delta":{delta}"#))
}

#[test]
fn text_arrives_once() {
    let (first, empty, second) = (text(r#""Hel""#), text(r#""""#), text(r#""lo \"ä\"\n""#));
    let whole = r#""output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Hello \"ä\"\n"}]}"#;
    let delta = "response.output_text.delta";
    let done = ("response.output_item.done", whole);
    let streamed = completed(&[
        MESSAGE,
        (
            "response.content_part.added",
            r#""output_index":0,"part":{"type":"output_text","annotations":[],"text":""}"#,
        ),
        (delta, &first),
        (delta, &empty),
        (delta, &second),
        ("response.output_text.done", r#""output_index":0,"text":"Hello \"ä\"\n""#),
        ("response.content_part.done", r#""output_index":0,"part":{"type":"output_text","text":"Hello"}"#),
        done,
    ]);
    let expected = ["text Hel", "text lo \"ä\"\n", "usage 9 5 4 3", "stop end_turn"];
    check("in deltas", &streamed, &expected, None);
    let expected = ["text Hello \"ä\"\n", "usage 9 5 4 3", "stop end_turn"];
    check("whole only", &completed(&[MESSAGE, done]), &expected, None);
    check("whole and not begun", &completed(&[done]), &expected, None);
    check("nothing", &completed(&[]), &["usage 9 5 4 3"], Some("empty_answer"));
}

#[test]
fn unknown_events_are_ignored() {
    let odd = completed(&[
        ("response.rate_limits.updated", r#""output_index":"none","delta":{"a":1},"item":7"#),
        (
            "response.output_item.added",
            r#""output_index":0,"item":{"type":"web_search_call","name":7,"content":"x"}"#,
        ),
        (
            "response.output_item.done",
            r#""output_index":0,"item":{"type":"web_search_call","name":7,"content":"x"}"#,
        ),
    ]);
    let noise = format!(": wait\n\ndata: {{\"hello\":1}}\n\ndata:\n\n{odd}data: [DONE]\n\ndata: oops\n\n");
    check("noise", &noise, &["usage 9 5 4 3"], Some("empty_answer"));
    let unnamed: String = completed(&[TEXT])
        .lines()
        .filter(|line| !line.starts_with("event:"))
        .fold(String::new(), |body, line| body + line + "\n");
    check("events without names", &unnamed, &["text a", "usage 9 5 4 3", "stop end_turn"], None);
}

const SUMMARY: &str = "response.reasoning_summary_text.delta";

#[test]
fn reasoning_goes_back_sealed() {
    let begun = r#""output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"early"}"#;
    let whole = r#""output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"One more."},{"type":"summary_text","text":"Two."}],"encrypted_content":"gAAA"}"#;
    let answer = r#""output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}"#;
    let deltas = [
        (ADDED, begun),
        ("response.reasoning_summary_part.added", r#""output_index":0,"summary_index":0,"part":{}"#),
        (SUMMARY, r#""item_id":"rs_1","output_index":0,"summary_index":0,"delta":"One""#),
        (SUMMARY, r#""item_id":"rs_1","output_index":0,"summary_index":0,"delta":" more.""#),
        ("response.reasoning_summary_text.done", r#""output_index":0,"summary_index":0,"text":"One more.""#),
        (SUMMARY, r#""item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Two.""#),
        ("response.output_item.done", whole),
        ("response.output_item.done", answer),
    ];
    let opaque = r#"opaque {"provider":"openai-responses","item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"One more."},{"type":"summary_text","text":"Two."}],"encrypted_content":"gAAA"}}"#;
    let end = [opaque, "text yes", "usage 9 5 4 3", "stop end_turn"];
    let expected = [&["reasoning One", "reasoning  more.", "reasoning \n\nTwo."][..], &end].concat();
    check("a summary in deltas", &completed(&deltas), &expected, None);
    let expected = [&["reasoning One more.", "reasoning \n\nTwo."][..], &end].concat();
    check("a summary at once", &completed(&deltas[6..]), &expected, None);
    check(
        "and nothing after it",
        &completed(&deltas[6..7]),
        &["reasoning One more.", "reasoning \n\nTwo.", opaque, "usage 9 5 4 3"],
        Some("empty_answer"),
    );
}

#[test]
fn reasoning_without_a_seal_or_without_a_summary() {
    let raw = [
        (
            "response.reasoning_text.delta",
            r#""item_id":"rs_1","output_index":0,"content_index":0,"delta":"hm""#,
        ),
        (
            "response.reasoning_text.delta",
            r#""item_id":"rs_1","output_index":0,"content_index":0,"delta":"m""#,
        ),
        (
            "response.output_item.done",
            r#""output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"content":null,"encrypted_content":null}"#,
        ),
        (
            "response.reasoning_text.delta",
            r#""item_id":"rs_2","output_index":1,"content_index":0,"delta":"ok""#,
        ),
    ];
    let expected = ["reasoning hm", "reasoning m", "reasoning \n\nok", "usage 9 5 4 3"];
    check("two without a seal", &completed(&raw), &expected, Some("empty_answer"));
    let sealed = |id: &str| {
        format!(
            r#""item":{{"id":"{id}","type":"reasoning","summary":[],"encrypted_content":"{id}"}},"output_index":0"#
        )
    };
    let call = r#""output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"a","arguments":"{}"}"#;
    let (first, second) = (sealed("rs_1"), sealed("rs_2"));
    let done = "response.output_item.done";
    let body = completed(&[(done, &first), (done, &second), (done, call)]);
    let expected = [
        r#"opaque {"provider":"openai-responses","item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"rs_1"}}"#,
        r#"opaque {"provider":"openai-responses","item":{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"rs_2"},"before":"c1"}"#,
        "call 0 c1 a",
        "input 0 {}",
        "usage 9 5 4 3",
        "stop tool_calls",
    ];
    check("two that are only sealed", &body, &expected, None);
}

/// An event about the call `cN` to `NAME` at `output_index` N.
fn call(index: usize, name: &str, arguments: &str) -> String {
    format!(
        r#""output_index":{index},"item":{{"id":"fc_{index}","type":"function_call","status":"x","call_id":"c{index}","name":"{name}","arguments":{arguments}}}"#
    )
}

fn fragment(index: usize, delta: &str) -> String {
    format!(r#""item_id":"fc_{index}","output_index":{index},"delta":"{delta}""#)
}

const ADDED: &str = "response.output_item.added";
const DONE: &str = "response.output_item.done";
const INPUT: &str = "response.function_call_arguments.delta";
const INPUT_DONE: &str = "response.function_call_arguments.done";

#[test]
fn tool_calls_in_fragments_and_in_parallel() {
    let (one, two) = (call(1, "shell", r#""""#), call(3, "read_file", r#""""#));
    let (one_whole, two_whole) =
        (call(1, "shell", r#""{\"command\":1}""#), call(3, "read_file", r#""{\"path\":2}""#));
    let (a, b, c, d) = (
        fragment(1, r#"{\"comm"#),
        fragment(1, r#"and\":1}"#),
        fragment(3, r#"{\"path"#),
        fragment(3, r#"\":2}"#),
    );
    let body = completed(&[
        (ADDED, &one),
        (INPUT, &a),
        (ADDED, &two),
        (INPUT, &c),
        (INPUT, &b),
        (INPUT_DONE, r#""output_index":1,"arguments":"{\"command\":1}""#),
        (DONE, &one_whole),
        (INPUT, &d),
        (INPUT_DONE, r#""output_index":3,"arguments":"{\"path\":2}""#),
        (DONE, &two_whole),
    ]);
    let expected = [
        "call 0 c1 shell",
        "input 0 {\"comm",
        "call 1 c3 read_file",
        "input 1 {\"path",
        "input 0 and\":1}",
        "input 1 \":2}",
        "usage 9 5 4 3",
        "stop tool_calls",
    ];
    check("interleaved", &body, &expected, None);
}

#[test]
fn tool_calls_that_come_without_deltas() {
    let (begun, whole) = (call(0, "a", r#""""#), call(0, "a", r#""{}""#));
    let (nameless, object) = (call(0, "", r#""""#), call(0, "a", "{}"));
    let input = r#""output_index":0,"arguments":"{}""#;
    let piece = fragment(0, "{}");
    let expected = ["call 0 c0 a", "input 0 {}", "usage 9 5 4 3", "stop tool_calls"];
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("the input at once", &[(ADDED, &begun), (INPUT_DONE, input), (DONE, &whole)]),
        ("only the item", &[(DONE, &whole)]),
        ("the name late", &[(ADDED, &nameless), (INPUT, &piece), (INPUT_DONE, input), (DONE, &whole)]),
        ("the beginning lost", &[(INPUT, &piece), (INPUT_DONE, input), (DONE, &whole)]),
        ("the input as an object", &[(DONE, &object)]),
        ("no numbers", &[(ADDED, &begun[17..]), (INPUT, &piece), (DONE, &whole[17..])]),
    ];
    for (case, events) in cases {
        check(case, &completed(events), &expected, None);
    }
    let never = completed(&[(DONE, &nameless)]);
    check("never a name", &never, &[], Some("bad_response"));
    let two_the_same = completed(&[(ADDED, &begun), (INPUT, &piece), (ADDED, &begun), (INPUT, &piece)]);
    let expected =
        ["call 0 c0 a", "input 0 {}", "call 1 c0 a", "input 1 {}", "usage 9 5 4 3", "stop tool_calls"];
    check("all with the same number", &two_the_same, &expected, None);
}

#[test]
fn refusals_and_answers_that_are_not_complete() {
    let refused = completed(&[MESSAGE, ("response.refusal.delta", r#""output_index":0,"delta":"no""#)]);
    check("a refusal", &refused, &["text no", "usage 9 5 4 3", "stop refusal"], None);
    let whole = r#""output_index":0,"item":{"type":"message","content":[{"type":"refusal","refusal":"no"}]}"#;
    let refused = completed(&[(DONE, whole)]);
    check("a refusal at once", &refused, &["text no", "usage 9 5 4 3", "stop refusal"], None);

    let (begun, piece) = (call(0, "a", r#""""#), fragment(0, "{"));
    for (reason, stop) in [
        (r#"{"reason":"max_output_tokens"}"#, "stop max_tokens"),
        (r#"{"reason":"content_filter"}"#, "stop refusal"),
        (r#"{"reason":"odd"}"#, "stop odd"),
        ("null", "stop incomplete"),
    ] {
        let end =
            format!(r#""response":{{"status":"incomplete","incomplete_details":{reason},"usage":null}}"#);
        let body = stream(&[(ADDED, &begun), (INPUT, &piece), ("response.incomplete", &end)]);
        check(reason, &body, &["call 0 c0 a", "input 0 {", stop], None);
        // An empty input would be a call that could run.
        let (early, late) =
            (format!("{reason} before the input"), format!("{reason} and an end of the item"));
        let expected = ["call 0 c0 a", "input 0 {", stop];
        check(&early, &stream(&[(ADDED, &begun), ("response.incomplete", &end)]), &expected, None);
        let ended = [(ADDED, begun.as_str()), (DONE, &begun), ("response.incomplete", &end)];
        check(&late, &stream(&ended), &expected, None);
    }
    let spent = format!(
        r#""response":{{"status":"failed","error":{{"code":"server_error","message":"x"}},{USAGE}}}"#
    );
    check(
        "a failure that cost",
        &stream(&[("response.failed", &spent)]),
        &["usage 9 5 4 3"],
        Some("server_error"),
    );
}

#[test]
fn errors_within_the_stream() {
    let delta = text(r#""a""#);
    let failed = |error: &str| {
        let response = format!(r#""response":{{"id":"r","status":"failed","error":{error},"usage":null}}"#);
        stream(&[MESSAGE, (TEXT.0, &delta), ("response.failed", &response)])
    };
    for (error, code) in [
        (
            r#"{"code":"context_length_exceeded","message":"Your input exceeds the context window."}"#,
            "context_overflow",
        ),
        (r#"{"code":"rate_limit_exceeded","message":"Slow down."}"#, "rate_limited"),
        (r#"{"code":"insufficient_quota","message":"Pay."}"#, "quota_exhausted"),
        (r#"{"code":"server_is_overloaded","message":"Later."}"#, "overloaded"),
        (r#"{"code":"server_error","message":"Oops."}"#, "server_error"),
        ("null", "provider_error"),
    ] {
        check(error, &failed(error), &["text a"], Some(code));
    }
    for (inside, code) in [
        (r#""code":"rate_limit_exceeded","message":"Slow down.","param":null"#, "rate_limited"),
        (r#""code":"server_error","message":"Oops.","param":null"#, "server_error"),
        (
            r#""error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"x"}"#,
            "context_overflow",
        ),
        (r#""code":null,"message":"","param":null"#, "provider_error"),
    ] {
        check(inside, &stream(&[(TEXT.0, &delta), ("error", inside)]), &["text a"], Some(code));
    }
    let untyped = "data: {\"error\":{\"message\":\"x\",\"code\":429}}\n\n";
    check("an error without a type", untyped, &[], Some("rate_limited"));
}

#[test]
fn what_breaks_off_is_no_answer() {
    let delta = text(r#""a""#);
    let begun = stream(&[MESSAGE, (TEXT.0, &delta)]);
    let sealed =
        (DONE, r#""output_index":0,"item":{"type":"reasoning","summary":[],"encrypted_content":"x"}"#);
    let cases: &[(&str, String, &[&str], &str)] = &[
        ("cut after some text", begun.clone(), &["text a"], "cut_stream"),
        ("cut within a line", begun.clone() + "data: {\"ty", &["text a"], "cut_stream"),
        ("only the end of another protocol", begun.clone() + "data: [DONE]\n\n", &["text a"], "cut_stream"),
        ("cut after sealed reasoning", stream(&[sealed]), &[], "cut_stream"),
        ("nothing", String::new(), &[], "cut_stream"),
        ("no JSON", begun + "data: oops\n\n", &["text a"], "bad_response"),
        ("no delta", stream(&[(TEXT.0, "\"output_index\":0")]), &[], "bad_response"),
        ("no item", stream(&[(ADDED, "\"output_index\":0")]), &[], "bad_response"),
    ];
    for (case, body, expected, code) in cases {
        check(case, body, expected, Some(code));
    }
    let many: Vec<(&str, &str)> = std::iter::repeat_n(MESSAGE, 1025).collect();
    let body = stream(&many);
    let (_, error) = replay::receive::<ResponsesDecoder>(ProviderKind::OpenAiResponses, &body, body.len());
    let error = error.unwrap();
    assert_eq!(error.message, "provider `local`: the response cannot be read: it holds too many items");
    assert!(error.hint.unwrap().contains("OpenAI Responses"));
}

#[test]
fn a_whole_response_from_a_server_that_does_not_stream() {
    let whole = format!(
        r#" {{"id":"resp_1","object":"response","status":"completed","error":null,"output":[
        {{"type":"reasoning","summary":[{{"text":"hm"}}],"encrypted_content":"x"}},
        {{"type":"function_call","call_id":"c1","name":"shell","arguments":"{{}}"}},
        {{"type":"message","content":[{{"type":"output_text","text":"a"}}]}}],{USAGE}}}"#
    );
    let opaque = r#"opaque {"provider":"openai-responses","item":{"type":"reasoning","summary":[{"text":"hm"}],"encrypted_content":"x"},"before":"c1"}"#;
    let expected = [
        "reasoning hm",
        opaque,
        "call 0 c1 shell",
        "input 0 {}",
        "text a",
        "usage 9 5 4 3",
        "stop tool_calls",
    ];
    check("whole", &whole, &expected, None);
    check("half", &whole[..whole.len() / 2], &[], Some("bad_response"));
    let cut = r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}"#;
    check("incomplete", cut, &["stop max_tokens"], None);
    let failed = r#"{"status":"failed","error":{"code":"server_error","message":"x"},"output":[]}"#;
    check("failed", failed, &[], Some("server_error"));
    check("queued", r#"{"status":"queued","output":[]}"#, &[], Some("bad_response"));
    check("an error", r#"{"error":{"message":"no such model","code":404}}"#, &[], Some("not_found"));
    check("something else", r#"{"hello":"world"}"#, &[], Some("bad_response"));
}
