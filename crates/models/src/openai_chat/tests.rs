//! What a response means, whatever pieces it arrives in: every case at every chunk size, without a
//! network.

use super::decode::ChatDecoder;
use crate::ProviderKind;
use crate::exchange::replay;

/// A stream of these chunks, each the inside of a choice, and `[DONE]`.
fn choices(choices: &[&str]) -> String {
    let chunks = choices.iter().map(|choice| {
        format!(r#"data: {{"id":"x","object":"chat.completion.chunk","model":"m","choices":[{{"index":0,{choice}}}]}}"#)
    });
    chunks.chain(["data: [DONE]".to_owned()]).map(|line| line + "\n\n").collect()
}

fn deltas(deltas: &[&str], reason: &str) -> String {
    let mut all: Vec<String> =
        deltas.iter().map(|delta| format!(r#""delta":{{{delta}}},"finish_reason":null"#)).collect();
    all.push(format!(r#""delta":{{}},"finish_reason":"{reason}""#));
    choices(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn check(case: &str, body: &str, expected: &[&str], code: Option<&str>) {
    replay::check::<ChatDecoder>(ProviderKind::OpenAiChat, case, body, expected, code);
}

#[test]
fn text_and_reasoning() {
    let first = r#""role":"assistant","content":null"#;
    let hello =
        deltas(&[first, r#""content":"Hel""#, r#""content":"""#, r#""content":"lo \"ä\"\n""#], "stop");
    check("text", &hello, &["text Hel", "text lo \"ä\"\n", "stop end_turn"], None);
    let thought = deltas(&[r#""reasoning_content":"hm","content":null"#, r#""content":"yes""#], "stop");
    check("reasoning_content", &thought, &["reasoning hm", "text yes", "stop end_turn"], None);
    let thought = deltas(&[r#""reasoning":"hm","content":"""#, r#""content":"yes""#], "stop");
    check("reasoning", &thought, &["reasoning hm", "text yes", "stop end_turn"], None);
    let both = deltas(&[r#""reasoning":"hm","reasoning_content":"hm""#], "length");
    check("the same reasoning by both names", &both, &["reasoning hm", "stop max_tokens"], None);
    let silent = deltas(&[r#""reasoning":"hm""#], "stop");
    check("a thought and no word", &silent, &["reasoning hm"], Some("empty_answer"));
    let refusal = deltas(&[r#""refusal":"no""#], "stop");
    check("refusal", &refusal, &["text no", "stop refusal"], None);
    let pieces = r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]"#;
    check("in pieces", &deltas(&[pieces], "stop"), &["reasoning hm", "text yes", "stop end_turn"], None);
    let first = deltas(&[r#""content":"one""#, r#""content":" two""#], "stop");
    let chunk = first.split("\n\n").next().unwrap_or_default();
    let choice = &chunk[chunk.find('[').unwrap() + 1..chunk.rfind(']').unwrap()];
    let several = first.replacen(choice, &format!("{choice},{choice}"), 1);
    let expected = ["text one", "text one", "text  two", "stop end_turn"];
    check("several deltas in one chunk", &several, &expected, None);
}

#[test]
fn reasons_to_stop() {
    let reasons = [
        ("stop", "stop end_turn"),
        ("length", "stop max_tokens"),
        ("content_filter", "stop refusal"),
        ("tool_calls", "stop end_turn"),
        ("odd_reason", "stop odd_reason"),
    ];
    for (reason, stop) in reasons {
        check(reason, &deltas(&[r#""content":"a""#], reason), &["text a", stop], None);
    }
    check(
        "no reason but an end",
        &choices(&[r#""delta":{"content":"a"}"#]),
        &["text a", "stop end_turn"],
        None,
    );
    check("an empty answer", &deltas(&[r#""content":"""#], "stop"), &[], Some("empty_answer"));
    check("an empty refusal", &deltas(&[], "content_filter"), &["stop refusal"], None);
    check(
        "nothing after the end",
        &(deltas(&[], "length") + "data: {\"error\":1}\n\n"),
        &["stop max_tokens"],
        None,
    );
}

#[test]
fn tool_calls_in_every_shape() {
    let in_pieces = deltas(
        &[
            r#""tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"shell","arguments":""}}]"#,
            r#""tool_calls":[{"index":0,"function":{"arguments":"{\"comm"}}]"#,
            r#""tool_calls":[{"index":0,"function":{"arguments":"and\":1}"}}]"#,
            r#""tool_calls":[{"index":1,"id":"c2","function":{"name":"read_file","arguments":"{}"}}]"#,
        ],
        "tool_calls",
    );
    let expected = [
        "call 0 c1 shell",
        "input 0 {\"comm",
        "input 0 and\":1}",
        "call 1 c2 read_file",
        "input 1 {}",
        "stop tool_calls",
    ];
    check("in pieces", &in_pieces, &expected, None);

    let two = ["call 0 c1 a", "input 0 {}", "call 1 c2 b", "input 1 {}", "stop tool_calls"];
    let at_once = r#""tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"}},{"index":1,"id":"c2","function":{"name":"b","arguments":"{}"}}]"#;
    check("at once", &deltas(&[at_once], "tool_calls"), &two, None);
    check("at once, and `stop`", &deltas(&[at_once], "stop"), &two, None);
    let unnumbered = at_once.replace(r#""index":0,"#, "").replace(r#""index":1,"#, "");
    check("without numbers", &deltas(&[&unnumbered], "tool_calls"), &two, None);
    let same_number = at_once.replace(r#""index":1,"#, r#""index":0,"#);
    check("all with the same number", &deltas(&[&same_number], "tool_calls"), &two, None);
    let from_one = at_once.replace(r#""index":1,"#, r#""index":7,"#);
    check("with holes in the numbers", &deltas(&[&from_one], "tool_calls"), &two, None);

    let nameless = unnumbered.replace(r#""id":"c1","#, "").replace(r#""id":"c2","#, r#""id":"","#);
    let two_without_ids = ["call 0 - a", "input 0 {}", "call 1 - b", "input 1 {}", "stop tool_calls"];
    check("without ids or numbers", &deltas(&[&nameless], "tool_calls"), &two_without_ids, None);

    let object = at_once.replace(r#""arguments":"{}""#, r#""arguments":{}"#);
    check("arguments as an object", &deltas(&[&object], "tool_calls"), &two, None);
}

#[test]
fn what_the_provider_wants_back_is_kept() {
    let details = deltas(
        &[
            r#""reasoning":"Let","reasoning_details":[{"type":"reasoning.text","text":"Let","format":"f","index":0}]"#,
            r#""reasoning":" me","reasoning_details":[{"type":"reasoning.text","text":" me","index":0,"signature":null}]"#,
            r#""content":"","reasoning_details":[{"type":"reasoning.text","signature":"s==","index":0}]"#,
            r#""reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]"#,
            r#""content":"yes","reasoning_details":[]"#,
        ],
        "stop",
    );
    let opaque = r#"opaque {"provider":"openai-chat","reasoning_details":[{"type":"reasoning.text","text":"Let me","format":"f","index":0,"signature":"s=="},{"type":"reasoning.encrypted","data":"x","index":1}]}"#;
    let expected = ["reasoning Let", "reasoning  me", "text yes", opaque, "stop end_turn"];
    check("details", &details, &expected, None);
    let extra = deltas(
        &[
            r#""tool_calls":[{"index":0,"id":"c1","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"a","arguments":"{}"}}]"#,
        ],
        "tool_calls",
    );
    let opaque = r#"opaque {"provider":"openai-chat","extra_content":{"google":{"thought_signature":"s"}}}"#;
    check("a call's extra", &extra, &[opaque, "call 0 c1 a", "input 0 {}", "stop tool_calls"], None);
}

#[test]
fn tool_calls_that_repeat_or_come_late() {
    let repeats = deltas(
        &[
            r#""tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{"}}]"#,
            r#""tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"}"}}]"#,
            r#""tool_calls":[{"index":0,"id":null,"function":{"name":"a","arguments":null}}]"#,
        ],
        "tool_calls",
    );
    check("name repeated", &repeats, &["call 0 c1 a", "input 0 {", "input 0 }", "stop tool_calls"], None);
    let late = deltas(
        &[
            r#""tool_calls":[{"index":0,"id":"c1","function":{"arguments":"{"}}]"#,
            r#""tool_calls":[{"index":0,"function":{"name":"a"}}]"#,
            r#""tool_calls":[{"index":0,"function":{"arguments":"}"}}]"#,
        ],
        "tool_calls",
    );
    check("name late", &late, &["call 0 c1 a", "input 0 {", "input 0 }", "stop tool_calls"], None);
    let interleaved = deltas(
        &[
            r#""content":"ok","tool_calls":[{"index":0,"id":"c1","function":{"name":"a"}},{"index":1,"id":"c2","function":{"name":"b"}}]"#,
            r#""tool_calls":[{"index":1,"function":{"arguments":"[1]"}},{"index":0,"function":{"arguments":"[0]"}}]"#,
        ],
        "tool_calls",
    );
    let expected = ["text ok", "call 0 c1 a", "call 1 c2 b", "input 1 [1]", "input 0 [0]", "stop tool_calls"];
    check("interleaved", &interleaved, &expected, None);
    let never =
        deltas(&[r#""tool_calls":[{"index":0,"id":"c1","function":{"arguments":"{}"}}]"#], "tool_calls");
    check("never a name", &never, &[], Some("bad_response"));
}

#[test]
fn a_call_that_the_limit_cut_is_no_whole_call() {
    let begun = r#""tool_calls":[{"index":0,"id":"c1","function":{"name":"shell","arguments":""}}]"#;
    // An empty input would be a call that could run.
    let expected = ["call 0 c1 shell", "input 0 {", "stop max_tokens"];
    check("before its input", &deltas(&[begun], "length"), &expected, None);
    let refused = ["call 0 c1 shell", "input 0 {", "stop refusal"];
    check("by a filter", &deltas(&[begun], "content_filter"), &refused, None);
    let piece = r#""tool_calls":[{"index":0,"function":{"arguments":"{\"comm"}}]"#;
    let cut = ["call 0 c1 shell", "input 0 {\"comm", "stop max_tokens"];
    check("in its input", &deltas(&[begun, piece], "length"), &cut, None);
    check("whole", &deltas(&[begun], "tool_calls"), &["call 0 c1 shell", "stop tool_calls"], None);
    let nameless = r#""content":"a","tool_calls":[{"index":0,"id":"c1"}]"#;
    check("before its name", &deltas(&[nameless], "length"), &["text a", "stop max_tokens"], None);
}

#[test]
fn usage_is_told_when_it_comes() {
    let text = |usage: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}],\"usage\":{usage}}}\n\n")
    };
    let (one, two) =
        (r#"{"prompt_tokens":9,"completion_tokens":1}"#, r#"{"prompt_tokens":9,"completion_tokens":2}"#);
    let body = [text(one), text(one), text(two)].concat();
    let expected = ["text a", "usage 9 1 0 0", "text a", "text a", "usage 9 2 0 0"];
    check("with every chunk, then cut", &body, &expected, Some("cut_stream"));
    let apart = r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":114,"completion_tokens_details":{"reasoning_tokens":100}}"#;
    let expected = ["text a", "usage 9 105 0 100"];
    check("reasoning outside the completion", &text(apart), &expected, Some("cut_stream"));
    let plain = r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}"#;
    check("a total that says no more", &text(plain), &["text a", "usage 9 5 0 0"], Some("cut_stream"));
    let odd = r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":0}"#;
    check("a total of nothing", &text(odd), &["text a", "usage 9 5 0 0"], Some("cut_stream"));
}

#[test]
fn usage_comes_before_the_stop() {
    let usage = r#""usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}"#;
    let text = r#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":null}"#;
    let expected = ["text a", "usage 9 5 4 3", "stop end_turn"];
    let after = format!("{text}\n\ndata: {{\"choices\":[],{usage}}}\n\ndata: [DONE]\n\n");
    check("in a chunk of its own", &after, &expected, None);
    let no_done = format!("{text}\n\ndata: {{\"choices\":null,{usage}}}\n");
    check("and no [DONE]", &no_done, &expected, None);
    let with = text.replace(r#""usage":null"#, usage);
    check("in the last chunk", &format!("{with}\n\ndata:[DONE]\n\n"), &expected, None);
    let nulls = r#""usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":null,"completion_tokens_details":{}}"#;
    check("without details", &text.replace(r#""usage":null"#, nulls), &[], Some("cut_stream"));
    let with_nulls = format!("{}\n\n", text.replace(r#""usage":null"#, nulls));
    check("without details", &with_nulls, &["text a", "usage 9 5 0 0", "stop end_turn"], None);
    let odd = text.replace(r#""usage":null"#, r#""usage":{"prompt_tokens":-1.5}"#) + "\n\n";
    check("that is nonsense", &odd, &["text a", "stop end_turn"], None);
}

#[test]
fn what_is_not_whole_or_not_an_answer() {
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let cases: &[(&str, String, &[&str], &str)] = &[
        ("cut after some text", text.to_owned(), &["text a"], "cut_stream"),
        ("cut within a line", text.to_owned() + "data: {\"choi", &["text a"], "cut_stream"),
        ("nothing at all", String::new(), &[], "cut_stream"),
        ("only white space", " \r\n\r\n".to_owned(), &[], "cut_stream"),
        ("only comments", ": wait\n\n: wait\n\n".to_owned(), &[], "cut_stream"),
        ("an end without an answer", "data: [DONE]\n\n".to_owned(), &[], "bad_response"),
        ("no JSON", text.to_owned() + "data: oops\n\n", &["text a"], "bad_response"),
        (
            "an error",
            text.to_owned() + "data: {\"error\":{\"message\":\"x\",\"type\":\"server_error\"}}\n\n",
            &["text a"],
            "server_error",
        ),
        ("an error as text", "data: {\"error\":\"out of memory\"}\n\n".to_owned(), &[], "provider_error"),
        (
            "an error with a status",
            "data: {\"error\":{\"message\":\"x\",\"code\":429}}\n\n".to_owned(),
            &[],
            "rate_limited",
        ),
        (
            "an error by word",
            "data: {\"error\":{\"message\":\"x\",\"type\":\"overloaded_error\"}}\n\n".to_owned(),
            &[],
            "overloaded",
        ),
        (
            "an error by name",
            "event: error\ndata: {\"message\":\"x\",\"code\":401}\n\n".to_owned(),
            &[],
            "unauthorized",
        ),
        (
            "an error unwrapped",
            "data: {\"object\":\"error\",\"message\":\"x\",\"code\":400}\n\n".to_owned(),
            &[],
            "bad_request",
        ),
        ("other text", "the model is loading\n".to_owned(), &[], "cut_stream"),
    ];
    for (case, body, expected, code) in cases {
        check(case, body, expected, Some(code));
    }
}

#[test]
fn a_whole_completion_from_a_server_that_does_not_stream() {
    let whole = r#" {"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"hm","content":"a","tool_calls":[{"id":"c1","type":"function","function":{"name":"shell","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":2,"completion_tokens":1}}"#;
    let expected =
        ["reasoning hm", "text a", "call 0 c1 shell", "input 0 {}", "usage 2 1 0 0", "stop tool_calls"];
    check("whole", whole, &expected, None);
    check("half", &whole[..whole.len() / 2], &[], Some("bad_response"));
    check("an error", r#"{"error":{"message":"no such model","code":404}}"#, &[], Some("not_found"));
    check("something else", r#"{"hello":"world"}"#, &[], Some("bad_response"));
}

#[test]
fn errors_name_the_provider_and_hide_the_key() {
    let body = "data: {\"error\":{\"message\":\"bad key sk-hidden\",\"code\":\"invalid_api_key\"}}\n\n";
    let error = replay::receive::<ChatDecoder>(ProviderKind::OpenAiChat, body, body.len()).1.unwrap();
    assert_eq!(error.message, "provider `local`: the server reported an error: bad key [secret]");
    assert!(error.hint.unwrap().contains("[providers.local]"));
}
