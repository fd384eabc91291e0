//! Whatever happens in a session, and however its records are handed over, the views are the same, and say what
//! the model is shown.

use ostler_recorder::{SessionViews, rebuild};
use ostler_types::{Conversation, MessageId, Role, ToolCallId};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;

use crate::session_builder::{SessionBuilder, session_id, view_contents};

/// Something that happens in a session.
#[derive(Debug, Clone)]
enum RandomHappening {
    User(String),
    Answer {
        thought: String,
        text: String,
        calls: usize,
        ok: bool,
    },
    EndTurn,
    FailTurn,
    Verbose(bool),
    /// Which message everything is summarised up to.
    Summarise(prop::sample::Index),
    /// Which call loses its output.
    Prune(prop::sample::Index),
    /// Both at once.
    SummariseAndPrune(prop::sample::Index, prop::sample::Index),
}

fn happening() -> impl Strategy<Value = RandomHappening> {
    let text = "[a-z`#\n ü🐎\"]{0,20}";
    prop_oneof![
        3 => text.prop_map(RandomHappening::User),
        4 => (text, text, 0..3_usize, any::<bool>())
            .prop_map(|(thought, text, calls, ok)| RandomHappening::Answer { thought, text, calls, ok }),
        2 => Just(RandomHappening::EndTurn),
        1 => Just(RandomHappening::FailTurn),
        1 => any::<bool>().prop_map(RandomHappening::Verbose),
        1 => any::<prop::sample::Index>().prop_map(RandomHappening::Summarise),
        1 => any::<prop::sample::Index>().prop_map(RandomHappening::Prune),
        1 => any::<(prop::sample::Index, prop::sample::Index)>()
            .prop_map(|(to, call)| RandomHappening::SummariseAndPrune(to, call)),
    ]
}

fn tell(happenings: &[RandomHappening]) -> SessionBuilder {
    let mut story = SessionBuilder::new();
    for happening in happenings {
        match happening {
            RandomHappening::User(text) => {
                story.user(text);
            }
            RandomHappening::Answer { thought, text, calls, ok } => {
                let asked = vec![("shell", json!({"command": "x"})); *calls];
                let calls = story.answer(thought, text, &asked);
                calls.iter().for_each(|call| {
                    story.result(call, *ok, "output");
                });
            }
            RandomHappening::EndTurn => {
                story.end_turn();
            }
            RandomHappening::FailTurn => {
                story.fail_turn("no");
            }
            RandomHappening::Verbose(on) => {
                story.set_verbose(*on);
            }
            RandomHappening::Summarise(to) => compact(&mut story, Some(to), None),
            RandomHappening::Prune(call) => compact(&mut story, None, Some(call)),
            RandomHappening::SummariseAndPrune(to, call) => compact(&mut story, Some(to), Some(call)),
        }
    }
    story
}

fn compact(story: &mut SessionBuilder, to: Option<&prop::sample::Index>, call: Option<&prop::sample::Index>) {
    if story.messages.is_empty() || call.is_some() && story.calls.is_empty() {
        return;
    }
    let to: Option<MessageId> = to.map(|to| story.messages[to.index(story.messages.len())]);
    let pruned: Vec<ToolCallId> =
        call.map(|call| story.calls[call.index(story.calls.len())].clone()).into_iter().collect();
    story.compact(to, &format!("summary {}", story.records.len()), pruned);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn views_are_a_function_of_the_records(
        happenings in prop::collection::vec(happening(), 0..30),
        batches in prop::collection::vec((1..12_usize, any::<bool>()), 1..20),
    ) {
        let story = tell(&happenings);
        let dir = tempfile::tempdir().unwrap();
        let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
        let mut rest = &story.records[..];
        for (length, reopen) in batches.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (some, others) = rest.split_at((*length).min(rest.len()));
            views.apply(some).unwrap();
            rest = others;
            if *reopen {
                drop(views);
                views = SessionViews::open(dir.path(), session_id()).unwrap();
                prop_assert_eq!(views.position(), some.last().unwrap().seq);
            }
        }
        drop(views);
        let anew = tempfile::tempdir().unwrap();
        rebuild(anew.path(), session_id(), story.records.iter().cloned().map(Ok)).unwrap();
        prop_assert_eq!(view_contents(dir.path()), view_contents(anew.path()));
    }

    #[test]
    fn the_rows_in_context_are_what_the_model_is_shown(happenings in prop::collection::vec(happening(), 0..40)) {
        let story = tell(&happenings);
        let dir = tempfile::tempdir().unwrap();
        let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
        views.apply(&story.records).unwrap();
        drop(views);
        let mut conversation = Conversation::default();
        story.records.iter().for_each(|record| conversation.apply(record));
        let shown: Vec<(Role, String)> =
            conversation.messages().iter().map(|message| (message.role, message.text())).collect();
        let shown: Vec<(String, String)> =
            shown.into_iter().map(|(role, text)| (role.as_str().to_owned(), text)).collect();
        prop_assert_eq!(in_context(dir.path()), shown);
    }
}

/// The conversation as `docs/session-files.md` says that it is read back.
fn in_context(dir: &std::path::Path) -> Vec<(String, String)> {
    let connection = Connection::open(dir.join("session.db")).unwrap();
    let sql = "SELECT role, content FROM messages WHERE in_context = 1 AND role <> 'system' \
               ORDER BY CASE WHEN summary_of IS NULL THEN id \
                             WHEN role = 'tool' THEN CAST(summary_of AS INTEGER) ELSE -id END";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
}
