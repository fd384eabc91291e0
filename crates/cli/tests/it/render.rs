//! Golden tests of the renderer: event lines in, terminal text out.

use ostler_cli::render::{RenderOptions, Renderer, wants_color};
use ostler_config::Environment;

const SESSION: &str = "sess_0190f3c4a5b67c8d9e0f112233445566";
const TURN: &str = "turn_0190f3c4a5b67c8d9e0f112233445577";
const MESSAGE: &str = "msg_0190f3c4a5b67c8d9e0f112233445588";
const USAGE: &str = r#"{"input_tokens":1200,"output_tokens":34,"cached_tokens":0,"reasoning_tokens":0}"#;

fn renderer(color: bool) -> Renderer {
    Renderer::new(RenderOptions { color, prompts: true, approval_hints: true })
}

fn record(seq: u64, name: &str, data: &str) -> String {
    format!(
        r#"{{"seq":{seq},"ts":"2026-01-01T00:00:00Z","session_id":"{SESSION}","turn_id":"{TURN}","type":"{name}","data":{data},"chain":"ab"}}"#
    )
}

fn delta(name: &str, part: u32, offset: usize, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"ts":"2026-01-01T00:00:00Z","session_id":"{SESSION}","turn_id":"{TURN}","type":"{name}","data":{{"message_id":"{MESSAGE}","part":{part},"offset":{offset},"text":{text}}}}}"#
    )
}

fn text_delta(offset: usize, text: &str) -> String {
    delta("model_output_delta", 0, offset, text)
}

fn message(role: &str, parts: &str) -> String {
    format!(r#"{{"id":"{MESSAGE}","role":"{role}","parts":[{parts}],"created_at":"2026-01-01T00:00:00Z"}}"#)
}

fn completed(seq: u64, parts: &str) -> String {
    let message = message("assistant", parts);
    record(
        seq,
        "model_output_completed",
        &format!(r#"{{"message":{message},"stop_reason":"stop","usage":{USAGE}}}"#),
    )
}

fn text_part(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, serde_json::to_string(text).unwrap())
}

fn started(seq: u64, id: &str, command: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    record(
        seq,
        "tool_call_started",
        &format!(
            r#"{{"tool_call":{{"id":"{id}","name":"shell","input":{{"command":{command}}}}},"kind":"exec"}}"#
        ),
    )
}

fn result(seq: u64, id: &str, ok: bool, code: i32, text: &str) -> String {
    let text = text_part(text);
    record(
        seq,
        "tool_call_completed",
        &format!(
            r#"{{"tool_call":{{"id":"{id}","name":"shell"}},"tool_result":{{"id":"{id}","ok":{ok},"parts":[{text}],"details":{{"exit_code":{code}}}}},"duration_ms":12,"message_id":"{MESSAGE}"}}"#
        ),
    )
}

fn turn_completed(seq: u64) -> String {
    record(seq, "turn_completed", &format!(r#"{{"stop_reason":"stop","usage":{USAGE},"verified":null}}"#))
}

fn draw(renderer: &mut Renderer, lines: &[String]) -> String {
    lines.iter().map(|line| renderer.event(line)).collect()
}

#[test]
fn a_turn_with_a_tool_call_reads_like_this() {
    let prompt = message("user", &text_part("what is\nhere?"));
    let lines = [
        record(1, "message_added", &format!(r#"{{"message":{prompt}}}"#)),
        record(2, "turn_started", r#"{"message_ids":[],"model":"demo:demo"}"#),
        delta("reasoning_delta", 0, 0, "Let me look."),
        delta("model_output_delta", 1, 0, "I will "),
        delta("model_output_delta", 1, 7, "list."),
        completed(
            3,
            r#"{"type":"reasoning","text":"Let me look."},{"type":"text","text":"I will list."},{"type":"tool_call","id":"c1","name":"shell","input":{"command":"ls -la"}}"#,
        ),
        started(4, "c1", "ls -la"),
        result(5, "c1", true, 0, "a\nb\n"),
        turn_completed(6),
    ];
    let expected = "\
> what is
  here?
(thinking) Let me look.
I will list.
● shell  ls -la
  ↳ exit code 0 (12 ms)
    a
    b
✓ completed (1200 tokens in, 34 out)
";
    assert_eq!(draw(&mut renderer(false), &lines), expected);
}

#[test]
fn streamed_text_is_drawn_once_however_often_it_comes() {
    let whole = "Grüße, 世界!";
    let (first, second) = ("Grüße", ", 世界!");
    let orders: [Vec<String>; 5] = [
        vec![text_delta(0, first), text_delta(first.len(), second)],
        vec![text_delta(0, first), text_delta(0, first), text_delta(0, whole)],
        // A piece that overlaps, and one that comes too early and is brought by the message.
        vec![text_delta(0, first), text_delta(4, &whole[4..]), text_delta(first.len(), second)],
        vec![text_delta(first.len(), second)],
        vec![],
    ];
    for deltas in orders {
        let mut renderer = renderer(false);
        let mut drawn = draw(&mut renderer, &deltas);
        drawn += &renderer.event(&completed(7, &text_part(whole)));
        assert_eq!(drawn, format!("{whole}\n"), "{deltas:?}");
        // After a reconnect, everything may come again.
        let again = [text_delta(0, first), completed(7, &text_part(whole)), text_delta(first.len(), second)];
        assert_eq!(draw(&mut renderer, &again), "", "{deltas:?}");
    }
}

#[test]
fn long_output_is_cut_and_results_of_other_calls_are_named() {
    let long: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    let lines = [
        started(1, "c1", "make\ntest"),
        started(2, "c2", "true"),
        result(3, "c1", false, 2, &long),
        result(4, "c2", true, 0, ""),
    ];
    let expected = "\
● shell  make ⏎ test
● shell  true
  ↳ shell: exit code 2 (12 ms)
    line 1
    line 2
    … 16 more lines
    line 19
    line 20
  ↳ exit code 0 (12 ms)
";
    assert_eq!(draw(&mut renderer(false), &lines), expected);
}

fn approval(seq: u64, id: &str, summary: &str) -> String {
    let (id, summary) = (serde_json::to_string(id).unwrap(), serde_json::to_string(summary).unwrap());
    record(
        seq,
        "approval_requested",
        &format!(
            r#"{{"tool_call":{{"id":{id},"name":"shell","input":{{}}}},"kind":"exec","summary":{summary},"rule":{{"tool":"shell","subject":"rm x"}}}}"#
        ),
    )
}

#[test]
fn an_approval_is_a_question_that_shows_everything() {
    let long = format!("rm x\n{}", "y".repeat(500));
    let denied = r#"{"tool_call_id":"c1","tool":"shell","by":"web","scope":"once","reason":"too risky"}"#;
    let lines =
        [text_delta(0, "Then"), approval(1, "c1; reboot", &long), record(2, "approval_denied", denied)];
    let expected = format!(
        "Then\n? shell wants to run a program: rm x\n  {}\n  ostler approve {SESSION} 'c1; reboot'   (or with --deny)\n  \
         --scope session or always allows: shell rm x\n  shell denied by web: too risky\n",
        "y".repeat(500)
    );
    assert_eq!(draw(&mut renderer(false), &lines), expected);
}

#[test]
fn nothing_that_a_model_or_a_tool_says_reaches_the_terminal_as_a_command() {
    let evil = "\u{1b}[2J\u{1b}]52;c;eA==\u{7}\u{9b}1A\r\u{8}\u{202e}ok";
    let prompt = message("user", &text_part(evil));
    let failure = serde_json::to_string(evil).unwrap();
    let lines = [
        record(1, "message_added", &format!(r#"{{"message":{prompt}}}"#)),
        text_delta(0, evil),
        completed(2, &text_part(&evil.repeat(2))),
        started(3, "c1", evil),
        result(4, "c2", true, 0, evil),
        approval(5, evil, evil),
        record(
            6,
            "approval_granted",
            &format!(
                r#"{{"tool_call_id":"c","tool":{failure},"by":{failure},"scope":"once","reason":{failure}}}"#
            ),
        ),
        record(7, "verification_started", &format!(r#"{{"round":1,"commands":[{failure}]}}"#)),
        record(
            8,
            "verification_completed",
            &format!(
                r#"{{"round":1,"ok":false,"results":[{{"command":{failure},"exit_code":1,"duration_ms":1,"output":{failure}}}]}}"#
            ),
        ),
        record(
            9,
            "turn_failed",
            &format!(r#"{{"error":{{"code":"x","message":{failure},"hint":{failure}}},"reason":"x"}}"#),
        ),
        record(10, "turn_canceled", &format!(r#"{{"by":{failure},"reason":{failure}}}"#)),
        record(11, "session_completed", &format!(r#"{{"by":{failure}}}"#)),
    ];
    let mut renderer = renderer(false);
    for line in &lines {
        let drawn = renderer.event(line);
        assert!(drawn.contains("ok") || drawn.contains("shell"), "{line} was not drawn: {drawn:?}");
        let bad = drawn.chars().find(|c| (c.is_control() && *c != '\n' && *c != '\t') || *c == '\u{202e}');
        assert_eq!(bad, None, "{line} drew {drawn:?}");
    }
}

#[test]
fn turns_end_with_their_outcome() {
    let verified = format!(r#"{{"stop_reason":"stop","usage":{USAGE},"verified":true}}"#);
    let lines = [
        record(1, "turn_completed", &verified),
        record(
            2,
            "turn_failed",
            r#"{"error":{"code":"x","message":"no key","hint":"set OPENAI_API_KEY"},"reason":"x"}"#,
        ),
        record(3, "turn_canceled", r#"{"by":"cli","reason":null}"#),
        record(4, "session_canceled", r#"{"by":"cli","reason":null}"#),
    ];
    let expected = "\
✓ completed, verified (1200 tokens in, 34 out)
✗ failed: no key
  set OPENAI_API_KEY
■ canceled by cli
";
    assert_eq!(draw(&mut renderer(false), &lines), expected);
}

#[test]
fn colours_end_where_they_begin_and_only_when_wanted() {
    let lines = [
        delta("reasoning_delta", 0, 0, "hm"),
        delta("model_output_delta", 1, 0, "yes"),
        started(1, "c", "ls"),
    ];
    assert_eq!(
        draw(&mut renderer(true), &lines),
        "\u{1b}[2mhm\u{1b}[0m\nyes\n\u{1b}[36m● shell  ls\u{1b}[0m\n"
    );
    assert!(wants_color(true, &Environment::from_pairs(&[("NO_COLOR", ""), ("TERM", "xterm")])));
    assert!(!wants_color(true, &Environment::from_pairs(&[("NO_COLOR", "1")])));
    assert!(!wants_color(true, &Environment::from_pairs(&[("TERM", "dumb")])));
    assert!(!wants_color(false, &Environment::default()));
}

#[test]
fn prompts_and_hints_can_be_left_out_and_unknown_lines_draw_nothing() {
    let mut renderer = Renderer::new(RenderOptions { color: false, prompts: false, approval_hints: false });
    let prompt = message("user", &text_part("hi"));
    let lines = [
        record(1, "message_added", &format!(r#"{{"message":{prompt}}}"#)),
        record(2, "something_new", "{}"),
        r#"{"type":"heartbeat"}"#.to_owned(),
        "not json".to_owned(),
        approval(3, "c1", "ls"),
    ];
    assert_eq!(draw(&mut renderer, &lines), "? shell wants to run a program: ls\n");
    assert_eq!(renderer.finish(), "");
    renderer.event(&text_delta(0, "half"));
    assert_eq!(renderer.finish(), "\n");
}

#[test]
fn a_turn_says_what_it_cost_and_what_it_waited_for() {
    let error = r#"{"code":"overloaded","message":"it is overloaded","hint":null}"#;
    let waiting = format!(r#"{{"model":"a:b","attempt":1,"attempts":5,"wait_ms":1500,"error":{error}}}"#);
    let resolved = format!(
        r#"{{"model":"c:d","reason":"failover","detail":"it failed","instead_of":"a:b","error":{error}}}"#
    );
    let usage = r#"{"input_tokens":10,"output_tokens":5,"cost_usd":0.25}"#;
    let completed = format!(r#"{{"stop_reason":"stop","usage":{usage},"verified":null}}"#);
    let lines = [
        record(1, "model_resolved", r#"{"model":"a:b","reason":"configured","detail":"it is configured"}"#),
        record(2, "model_waiting", &waiting),
        record(3, "model_resolved", &resolved),
        record(4, "usage_recorded", &format!(r#"{{"model":"c:d","message_id":null,"usage":{usage}}}"#)),
        record(5, "turn_completed", &completed),
    ];
    let expected = "\
↻ retrying a:b in 1.5 s (attempt 1 of 5): it is overloaded
↻ fallback: c:d instead of a:b: it is overloaded
✓ completed (10 tokens in, 5 out, $0.25)
";
    assert_eq!(draw(&mut renderer(false), &lines), expected);
}

#[test]
fn children_and_compactions_are_a_line_each() {
    const CHILD: &str = "sess_0190f3c4a5b67c8d9e0f1122334455aa";
    let lines = [
        record(
            1,
            "subagent_started",
            &format!(
                r#"{{"session_id":"{CHILD}","tool_call_id":"call_1","description":"review\u001b[2J it","background":true}}"#
            ),
        ),
        record(
            2,
            "approval_requested",
            &format!(
                r#"{{"tool_call":{{"id":"call_2","name":"shell","input":{{"command":"make"}}}},"kind":"exec","summary":"run `make`","rule":{{"tool":"shell","subject":"make"}},"child":{{"session_id":"{CHILD}","turn_id":"{TURN}","via":"{CHILD}"}}}}"#
            ),
        ),
        record(
            3,
            "subagent_completed",
            &format!(
                r#"{{"session_id":"{CHILD}","status":"failed","text":"","error":"it ran out of steps","usage":{USAGE}}}"#
            ),
        ),
        record(
            4,
            "context_compacted",
            &format!(
                r#"{{"from_message_id":"{MESSAGE}","to_message_id":"{MESSAGE}","summary_message_id":null,"tokens_before":900,"tokens_after":100,"trigger":"asked"}}"#
            ),
        ),
    ];
    let mut renderer = renderer(false);
    let drawn: String = lines.iter().map(|line| renderer.event(line)).collect();
    let expected = format!(
        "⑂ review it in the background  {CHILD}\n\
         ? asked by {CHILD}, a subagent of this session\n\
         ? shell wants to run a program: run `make`\n  \
           ostler approve {CHILD} call_2   (or with --deny)\n  \
           --scope session or always allows: shell make\n  \
           ⑂ review it failed (1234 tokens): it ran out of steps\n\
         ≡ conversation compacted from about 900 to 100 tokens, on request\n"
    );
    assert_eq!(drawn, expected);
}
