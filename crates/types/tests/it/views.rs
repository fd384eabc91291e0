//! What clients see of kept logs, after each record: the page folds the same records, and must come to the same views.
//!
//! Each line of a file in `testdata/views` has a record, and the members of the view that it has changed. With
//! `OSTLER_WRITE_GOLDEN` set they are written: one from the kept logs, one from the examples in the documentation, and
//! one from a long random history.

use std::fs;
use std::path::{Path, PathBuf};

use ostler_types::{ApprovalEvent, Event, Record, SessionView, State, Usage, View};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Map, Value, json};

use crate::history_moves::histories;
use crate::history_player::HistoryPlayer;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

#[test]
fn the_kept_views_are_what_clients_see() {
    if std::env::var_os("OSTLER_WRITE_GOLDEN").is_some() {
        write();
    }
    let mut files = 0;
    for entry in fs::read_dir(testdata().join("views")).unwrap() {
        let path = entry.unwrap().path();
        let kept = fs::read_to_string(&path).unwrap();
        let records: Vec<Record> = kept.lines().map(record_of).collect();
        for (kept, now) in kept.lines().zip(views(&records).lines()) {
            let (kept, now): (Value, Value) =
                (serde_json::from_str(kept).unwrap(), serde_json::from_str(now).unwrap());
            assert_eq!(
                kept["changed"],
                now["changed"],
                "{} after {}\nhint: run this test with OSTLER_WRITE_GOLDEN=1, and see that the page still agrees",
                path.display(),
                kept["record"]["type"]
            );
        }
        files += 1;
    }
    assert!(files >= 3, "{files} files");
}

/// The page and the terminal client fold the same records; a client that comes later begins with the view of then.
#[test]
fn a_client_comes_to_the_same_views_wherever_it_begins() {
    for entry in fs::read_dir(testdata().join("views")).unwrap() {
        let path = entry.unwrap().path();
        let kept = fs::read_to_string(&path).unwrap();
        let steps: Vec<(Record, SessionView)> = kept_views(&kept);
        let (first, rest) = steps.split_first().unwrap();
        let mut from_the_log = View::begin(&first.0).expect("it begins with session_created");
        assert_eq!(from_the_log.session_view(), first.1);
        let mut later: Vec<View> = Vec::new();
        for (record, expected) in rest {
            let place = || format!("{} at {}", path.display(), record.seq);
            assert!(from_the_log.apply(record), "{}", place());
            assert_eq!(from_the_log.session_view(), *expected, "{}", place());
            assert!(!from_the_log.apply(record), "it counts once, {}", place());
            for view in &mut later {
                view.apply(record);
                assert_eq!(
                    without_usage(view.session_view()),
                    without_usage(expected.clone()),
                    "from the middle, {}",
                    place()
                );
            }
            later.push(View::from(expected.clone()));
        }
    }
}

/// A list says of a session neither its children nor its proposed calls; their questions are still heard.
#[test]
fn a_client_that_began_with_a_list_hears_every_question() {
    let mut heard = 0;
    for entry in fs::read_dir(testdata().join("views")).unwrap() {
        let kept = fs::read_to_string(entry.unwrap().path()).unwrap();
        for step in kept_views(&kept).windows(2) {
            let [(_, before), (record, after)] = step else { unreachable!() };
            let running_turn_id = before.running_turn_id;
            let listed = SessionView::new(before.session.clone(), before.last_seq);
            let mut view = View::from(SessionView { running_turn_id, ..listed });
            view.apply(record);
            if let Event::Approval(ApprovalEvent::Requested { tool_call, .. }) = &record.event {
                let asked =
                    after.pending_approvals.iter().find(|approval| approval.tool_call_id == tool_call.id);
                assert!(asked.is_some() && view.pending_approvals().next() == asked, "{record:?}");
                heard += 1;
            }
        }
    }
    assert!(heard >= 3, "{heard} questions");
}

/// What is kept, put together: each record with the view after it.
fn kept_views(kept: &str) -> Vec<(Record, SessionView)> {
    let mut known = Map::new();
    let step = |line: &str| {
        let mut line: Value = serde_json::from_str(line).expect("a line is JSON");
        let Value::Object(changed) = line["changed"].take() else { panic!("a line says what has changed") };
        known.extend(changed);
        let there = known.iter().filter(|(_, value)| !value.is_null()).map(owned).collect();
        let view = serde_json::from_value(Value::Object(there)).expect("a view can be read");
        (serde_json::from_value(line["record"].take()).expect("it has a record"), view)
    };
    kept.lines().map(step).collect()
}

/// A view does not show what its running turn has used, so who begins with it does not know.
fn without_usage(mut view: SessionView) -> SessionView {
    view.turns.iter_mut().for_each(|turn| turn.usage = Usage::default());
    view
}

fn record_of(line: &str) -> Record {
    let mut line: Value = serde_json::from_str(line).expect("a line is JSON");
    serde_json::from_value(line["record"].take()).expect("it has a record")
}

/// A line for each record, with what it changes of the view.
fn views(records: &[Record]) -> String {
    let mut state = State::begin(&records[0]).expect("it begins with session_created");
    let mut known = Map::new();
    let mut lines = String::new();
    for (index, record) in records.iter().enumerate() {
        if index > 0 {
            state.apply(record);
        }
        let Value::Object(view) = serde_json::to_value(state.view()).expect("a view can be written") else {
            unreachable!()
        };
        let mut changed: Map<String, Value> =
            view.iter().filter(|(name, value)| known.get(*name) != Some(*value)).map(owned).collect();
        // What is no longer there stands as null.
        changed.extend(
            known.keys().filter(|name| !view.contains_key(*name)).map(|it| (it.clone(), Value::Null)),
        );
        lines += &json!({ "record": record, "changed": changed }).to_string();
        lines.push('\n');
        known = view;
    }
    lines
}

fn parsed(line: &str) -> Record {
    serde_json::from_str(line).expect("a line is a record")
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

fn write() {
    let folder = testdata().join("views");
    fs::create_dir_all(&folder).expect("testdata can be written");
    for entry in fs::read_dir(testdata().join("logs")).expect("there are kept logs") {
        let kept = entry.expect("a log has a name").path();
        let text = fs::read_to_string(kept.join("events.ndjson")).expect("a kept log can be read");
        let records: Vec<Record> = text.lines().map(parsed).collect();
        let name = format!("{}.ndjson", kept.file_name().expect("a log has a name").display());
        fs::write(folder.join(name), views(&records)).expect("testdata can be written");
    }
    fs::write(folder.join("examples.ndjson"), views(&examples())).expect("testdata can be written");
    fs::write(folder.join("history.ndjson"), views(&longest_history())).expect("testdata can be written");
}

/// The examples in the documentation, in their order; where two have the same `seq`, the first of them.
fn examples() -> Vec<Record> {
    let text =
        fs::read_to_string(testdata().join("../docs/events.md")).expect("the documentation can be read");
    let lines = text.lines().filter(|line| line.starts_with("{\"seq\":"));
    let mut records: Vec<Record> = lines.map(parsed).collect();
    records.sort_by_key(|record| record.seq);
    records.dedup_by_key(|record| record.seq);
    // The examples leave out the message whose calls these are about.
    records.retain(|record| !record.event.name().as_str().starts_with("approval_"));
    records
}

/// The log that has the most kinds of events among some random ones.
fn longest_history() -> Vec<Record> {
    let config = Config { rng_seed: RngSeed::Fixed(8), ..Config::default() };
    let mut runner = TestRunner::new(config);
    let played = (0..200).map(|_| {
        let mut play = HistoryPlayer::new();
        let history = histories().new_tree(&mut runner).expect("a history can be made").current();
        history.into_iter().for_each(|step| play.make(step));
        play.world.log
    });
    played.max_by_key(|log| (kinds(log), log.len())).expect("there are some")
}

fn kinds(log: &[Record]) -> usize {
    let mut names: Vec<&str> = log.iter().map(|record| record.event.name().as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}
