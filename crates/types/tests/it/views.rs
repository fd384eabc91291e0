//! What clients see of kept logs, after each record: the page folds the same records, and must come to the same views.
//!
//! Each line of a file in `testdata/views` has a record, and the members of the view that it has changed. With
//! `OSTLER_WRITE_GOLDEN` set they are written: one from the kept logs, one from the examples in the documentation, and
//! one from a long random history.

use std::fs;
use std::path::{Path, PathBuf};

use ostler_types::{Record, State};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Map, Value, json};

use crate::moves::histories;
use crate::play::Play;

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
        let mut play = Play::new();
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
