//! A server that does what none should.

use std::time::Duration;

use ostler_mcp::{McpLimits, ServerState};
use ostler_types::ToolKind;
use serde_json::{Value, json};

use crate::fixture::{McpFixture, is_alive, misbehaving, names, test_limits, until, within};

#[tokio::test]
async fn a_slow_server_holds_nobody_up() {
    let limits = McpLimits { tools_wait: Duration::from_millis(1), ..test_limits() };
    let fixture = McpFixture::misbehaving_within(&["wait=go-on"], limits);
    assert!(fixture.tools().await.is_empty());
    assert_eq!(fixture.status().state, ServerState::Starting);
    fixture.note("go-on");
    fixture.wait_for_state(ServerState::Ready).await;
    assert!(!fixture.tools().await.is_empty());
    assert_eq!(fixture.starts(), 1);
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let limits = McpLimits { start: Duration::from_millis(300), ..test_limits() };
    let fixture = McpFixture::misbehaving_within(&["mute"], limits);
    assert!(fixture.tools().await.is_empty());
    let status = fixture.wait_for_state(ServerState::Unavailable).await;
    assert!(status.error.expect("it says why").contains("not ready within 0.3 s"));
    assert!(fixture.tools().await.is_empty());
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let fixture = McpFixture::misbehaving(&["exits"]);
    assert!(fixture.tools().await.is_empty());
    let status = fixture.wait_for_state(ServerState::Unavailable).await;
    let error = status.error.expect("it says why");
    assert!(error.contains("exit code 7") && error.contains("cannot go on like this"), "{error}");
    // Six tries, of which those that begin with the newest version are made again with the handshake.
    assert_eq!(fixture.starts(), 9);
    assert!(fixture.tools().await.is_empty());
    assert_eq!(fixture.starts(), 9);
}

#[tokio::test]
async fn a_program_that_is_missing_is_told_of() {
    let fixture = McpFixture::of_command(&["/no/such/program"]);
    assert!(fixture.tools().await.is_empty());
    let status = fixture.wait_for_state(ServerState::Unavailable).await;
    assert!(status.error.expect("it says why").contains("`/no/such/program` could not be started"));
}

#[tokio::test]
async fn a_server_that_dies_of_the_newest_version_is_spoken_to_in_an_older_one() {
    let fixture = McpFixture::misbehaving(&["dies-on-discover"]);
    let first = fixture.call("pid", json!({})).await;
    assert!(first.ok, "{first:?}");
    assert_eq!((fixture.starts(), fixture.status().protocol.as_deref()), (2, Some("2025-06-18")));
    // It is remembered: another start does without the detour.
    let crashed = fixture.call("crash", json!({})).await;
    assert!(!crashed.ok);
    let second = fixture.call("pid", json!({})).await;
    assert!(second.ok && second.text != first.text, "{second:?}");
    assert_eq!(fixture.starts(), 3);
}

#[tokio::test]
async fn a_crash_fails_the_call_and_the_server_comes_back() {
    let fixture = McpFixture::misbehaving(&[]);
    let crash = fixture.tool("crash").await;
    let (outcome, _) = fixture.run(&crash, json!({})).await;
    assert!(!outcome.ok && outcome.text.contains("ended before it answered"), "{outcome:?}");
    assert!(fixture.call("pid", json!({})).await.ok);
    assert_eq!(fixture.starts(), 2);
    for _ in 0..5 {
        fixture.run(&crash, json!({})).await;
    }
    let status = fixture.wait_for_state(ServerState::Unavailable).await;
    let error = status.error.expect("it says why");
    assert!(error.contains("exit code 3") && error.contains("about to crash"), "{error}");
    assert_eq!(fixture.starts(), 6);
    let (outcome, _) = fixture.run(&crash, json!({})).await;
    assert!(!outcome.ok && outcome.text.contains("exit code 3"), "{outcome:?}");
}

#[tokio::test]
async fn a_crash_is_noticed_though_a_child_holds_the_output_open() {
    let fixture = McpFixture::misbehaving(&[]);
    let outcome = fixture.call("orphan", json!({})).await;
    assert!(!outcome.ok && outcome.text.contains("ended before it answered"), "{outcome:?}");
    assert!(fixture.call("pid", json!({})).await.ok);
}

#[tokio::test]
async fn long_answers_are_cut_and_endless_ones_refused() {
    let fixture = McpFixture::misbehaving(&[]);
    let giant = fixture.call("giant", json!({})).await;
    assert!(giant.ok && giant.text.len() < 40_000);
    assert!(giant.text.starts_with("firstg") && giant.text.ends_with("glast"));
    assert_eq!(giant.whole.expect("the rest is kept").len(), 8 * 1024 * 1024);
    let oversized = fixture.call("oversized", json!({})).await;
    assert!(!oversized.ok && oversized.text.contains("ended before it answered"), "{oversized:?}");
    assert!(fixture.call("pid", json!({})).await.ok);
    assert_eq!(fixture.starts(), 2);
}

#[tokio::test]
async fn garbage_is_passed_over() {
    let fixture = McpFixture::misbehaving(&[]);
    let outcome = fixture.call("garbage", json!({})).await;
    assert!(outcome.ok && outcome.text == "after the garbage", "{outcome:?}");
    assert_eq!(fixture.starts(), 1);
}

#[tokio::test]
async fn a_call_without_answer_is_called_off() {
    let fixture = McpFixture::new(
        |notes| {
            let mut config = misbehaving(notes, &[]);
            config.timeout = Duration::from_millis(200);
            config
        },
        test_limits(),
    );
    let outcome = fixture.call("never", json!({})).await;
    assert!(!outcome.ok && outcome.text.contains("did not answer within 0.2 s"), "{outcome:?}");
    fixture.wait_for_note("called-off").await;
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_called_off() {
    let fixture = McpFixture::misbehaving(&[]);
    let never = fixture.tool("never").await;
    tokio::select! {
        _ = fixture.run(&never, json!({})) => panic!("it never answers"),
        () = fixture.wait_for_note("called") => {}
    }
    fixture.wait_for_note("called-off").await;
    assert!(fixture.call("pid", json!({})).await.ok);
    assert_eq!(fixture.starts(), 1);
}

#[tokio::test]
async fn progress_keeps_a_call_alive() {
    let fixture = McpFixture::new(
        |notes| {
            let mut config = misbehaving(notes, &[]);
            config.timeout = Duration::from_secs(4);
            config
        },
        test_limits(),
    );
    let tool = fixture.tool("progress").await;
    let (outcome, shown) = fixture.run(&tool, json!({})).await;
    assert!(outcome.ok && outcome.text == "arrived", "{outcome:?}");
    assert!(shown.starts_with("1 of 6: step 1\n2 of 6"), "{shown}");
}

#[tokio::test]
async fn errors_are_no_success() {
    let fixture = McpFixture::misbehaving(&[]);
    let error = fixture.call("error", json!({})).await;
    assert!(!error.ok && error.text == "it is broken", "{error:?}");
    let refused = fixture.call("refused", json!({})).await;
    assert!(
        !refused.ok && refused.text.contains("it refused the call: no such thing (-32602)"),
        "{refused:?}"
    );
    let no_object = fixture.call("pid", json!([1])).await;
    assert!(!no_object.ok && no_object.text.contains("nothing was sent"), "{no_object:?}");
}

#[tokio::test]
async fn too_many_tools_are_counted() {
    let fixture = McpFixture::misbehaving(&["many=1000"]);
    assert_eq!(fixture.tools().await.len(), 128);
    let status = fixture.status();
    assert_eq!((status.tools.len(), status.left_out), (128, 872));
}

#[tokio::test]
async fn hostile_names_and_descriptions_are_made_harmless() {
    let fixture = McpFixture::misbehaving(&["hostile"]);
    let tools = fixture.tools().await;
    let names = names(&tools);
    assert_eq!(&names[..2], ["mcp__server__same_name", "mcp__server__same_name_2"]);
    for tool in &tools {
        let spec = tool.spec();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(spec.name.len() <= 64 && spec.name.chars().all(fits), "{}", spec.name);
        assert!(spec.description.len() <= 4096);
        assert!(spec.input_schema.to_string().len() <= 64 * 1024);
        let all = format!("{}{}{}", spec.description, spec.input_schema, tool.summary(&json!({})));
        assert!(!all.contains(['\u{1b}', '\u{202e}', '\u{e0041}', '\0']), "{all}");
        assert_eq!(tool.kind(), ToolKind::Exec);
    }
}

#[tokio::test]
async fn a_server_may_know_the_workspace_and_ask_for_nothing_else() {
    let fixture = McpFixture::misbehaving(&[]);
    let roots = fixture.call("roots", json!({})).await.text;
    let roots: Value = serde_json::from_str(&roots).expect("it is JSON");
    assert_eq!(roots["roots"][0]["uri"], json!(format!("file://{}", fixture.workspace().display())));
    let sampling = fixture.call("sampling", json!({})).await.text;
    assert!(sampling.contains("-32601") && sampling.contains("Sampling is not offered"), "{sampling}");
    let elicitation = fixture.call("elicitation", json!({})).await.text;
    assert!(elicitation.contains("decline"), "{elicitation}");
}

#[tokio::test]
async fn new_tools_are_found_when_the_server_tells_of_them() {
    let fixture = McpFixture::misbehaving(&[]);
    assert!(fixture.call("more_tools", json!({})).await.ok);
    until(|| fixture.status().tools.iter().any(|name| name == "mcp__server__grown")).await;
    assert_eq!(fixture.call("grown", json!({})).await.text, "as grown");
}

#[tokio::test]
async fn the_environment_is_the_given_one_and_secrets_stay_secret() {
    let fixture = McpFixture::misbehaving(&[]);
    let environment = fixture.call("environment", json!({})).await.text;
    assert!(
        environment.contains("t-123456789") && !environment.contains("CARGO_MANIFEST_DIR"),
        "{environment}"
    );
    let status = fixture.status();
    assert!(status.stderr_tail.len() <= 64 * 1024 && status.stderr_tail.ends_with("noise [31m\n"));
    let short = McpFixture::misbehaving(&["exits"]);
    short.tools().await;
    let status = short.wait_for_state(ServerState::Unavailable).await;
    assert!(!format!("{status:?}").contains("t-123456789"));
}

#[tokio::test]
async fn nothing_is_left_when_all_is_shut_down() {
    let fixture = McpFixture::misbehaving(&["ignores-end"]);
    let server = fixture.call("pid", json!({})).await.text;
    let offspring = fixture.call("offspring", json!({})).await.text;
    assert!(is_alive(&server) && is_alive(&offspring));
    let wait = fixture.tool("wait").await;
    let call = fixture.run(&wait, json!({}));
    let ((outcome, _), ()) = within(async {
        tokio::join!(call, async {
            fixture.wait_for_note("called").await;
            fixture.servers.shut_down().await;
        })
    })
    .await;
    assert!(!outcome.ok && outcome.text.contains("ended before it answered"), "{outcome:?}");
    until(|| !is_alive(&server) && !is_alive(&offspring)).await;
    assert_eq!(fixture.status().state, ServerState::Stopped);
    assert!(fixture.tools().await.is_empty());
    assert_eq!(fixture.starts(), 1);
}
