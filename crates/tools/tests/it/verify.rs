//! The tool that checks the work.

use serde_json::json;

use crate::fixture::ToolFixture;
use crate::sandboxed::Sandboxed;

#[tokio::test]
async fn each_command_is_reported() {
    let world = Sandboxed::new().await;
    let commands = json!(["echo one", "echo two >&2; exit 4", "touch /etc/x", "echo four"]);
    let outcome = world.call("verify", json!({"commands": commands})).await;
    assert!(
        !outcome.ok && outcome.text.starts_with("Verification failed: 2 of 4 commands.\n"),
        "{}",
        outcome.text
    );
    for expected in
        ["$ echo one  (", "one\nexit code 0\n", "two\nexit code 4\n", "[sandbox] denied", "four\nexit code 0"]
    {
        assert!(outcome.text.contains(expected), "{expected}: {}", outcome.text);
    }
    let details = outcome.details.unwrap();
    let codes: Vec<_> =
        details["results"].as_array().unwrap().iter().map(|result| &result["exit_code"]).collect();
    assert_eq!(codes, [&json!(0), &json!(4), &json!(1), &json!(0)]);
    assert!(details["results"][0]["duration_ms"].is_u64());
    assert!(world.shown().contains("$ echo one\none\n"));
}

#[tokio::test]
async fn the_sessions_commands_are_the_default() {
    let fixture = ToolFixture::with(&[("file", "x")]);
    let text = fixture.refusal("verify", json!({})).await;
    assert!(text.contains("has no verification commands"), "{text}");
    let mut context = fixture.context();
    context.verify_commands = vec!["test -f file".to_owned()];
    let tools = ostler_tools::Tools::builtin();
    let outcome = tools.get("verify").unwrap().run(json!({}), context).await;
    assert!(outcome.ok && outcome.text.starts_with("Verification succeeded.\n"), "{}", outcome.text);
    let many: Vec<&str> = std::iter::repeat_n("true", 17).collect();
    assert!(fixture.refusal("verify", json!({"commands": many})).await.contains("more than 16"));
}

#[tokio::test]
async fn long_outputs_are_cut_each_and_kept_together() {
    let fixture = ToolFixture::new();
    let commands = ["seq 1 20000; false", "seq 1 20000", "echo end; false"];
    let outcome = fixture.call("verify", json!({"commands": commands})).await;
    assert!(outcome.text.len() < 50 * 1024, "{}", outcome.text.len());
    assert!(outcome.text.ends_with("end\nexit code 1\n"), "{}", outcome.text);
    assert_eq!(outcome.text.matches("… truncated …").count(), 2);
    let whole = String::from_utf8(outcome.whole.unwrap()).unwrap();
    assert_eq!(whole.matches("\n10000\n").count(), 2);
}
