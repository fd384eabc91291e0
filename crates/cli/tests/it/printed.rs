//! Text of models and strangers on its way to a terminal, a pipe or a file: nothing in it drives a terminal, turns a line
//! around or hides.

use crate::cli_fixture::CliFixture;
use crate::provider::{AnswerPiece, GatedProvider};

const EVIL: &str = "a\u{1b}[31mred\u{1b}[8m\u{1b}]0;title\u{7}b\u{9b}2Jc\u{202e}d\u{2066}e\u{61c}f\u{200b}g\u{e0041}h\u{7f}i\u{8}\tj";

fn assert_harmless(text: &str, from: &str) {
    let bad = text.chars().find(|c| !matches!(c, '\n' | '\t') && !ostler_types::is_printable(*c));
    assert_eq!(bad, None, "{from}: {text:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_prints_what_drives_a_terminal() {
    let provider = GatedProvider::start().await;
    let desk = CliFixture::new(&provider.config());
    provider.answer(vec![AnswerPiece::Text(EVIL.to_owned())]);
    let said = desk.run(&["run", EVIL]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.out, "aredbcdefghi\tj\n", "an answer in a pipe is plain text");
    assert_harmless(&said.err, "run, stderr");
    let listed = desk.run(&["sessions", "list", "--json"]);
    let sessions: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    assert_harmless(&listed.out, "sessions --json");
    let id = sessions[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(sessions[0]["title"], EVIL, "the value is what it was");
    for arguments in [
        &["sessions"][..],
        &["sessions", "show", &id],
        &["sessions", "show", &id, "--json"],
        &["sessions", "search", "red"],
        &["logs", &id],
        &["export", &id, "--format", "md"],
        &["export", &id, "--format", "html"],
        &["context", &id],
        &["usage", "--by", "session"],
        &["sessions", "show", "sess_\u{202e}\u{1b}[2J"],
        &["run", "--model", "no\u{202e}\u{1b}[2Jne:x", "hello"],
    ] {
        let said = desk.run(arguments);
        assert_harmless(&said.out, &format!("{arguments:?}"));
        assert_harmless(&said.err, &format!("{arguments:?}, stderr"));
    }
    let kept = std::fs::read_to_string(desk.data.join("sessions").join(&id).join("context.md")).unwrap();
    assert_harmless(&kept, "context.md");
    assert!(kept.contains("aredbcdefghi"), "{kept}");
}
