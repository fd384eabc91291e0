//! Logs that were written once open for ever: each kept one is proved record by record, and folds to
//! the view that clients saw then. The examples in the documentation are records like any other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_eventlog::{FileLog, RealDisk};
use ostler_types::{Record, State};
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[tokio::test]
async fn every_kept_log_opens_and_folds_as_it_did() {
    let mut logs = 0;
    for entry in std::fs::read_dir(repository().join("testdata/logs")).unwrap() {
        let kept = entry.unwrap().path();
        let text = std::fs::read_to_string(kept.join("events.ndjson")).unwrap();
        let records: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let view: Value = serde_json::from_slice(&std::fs::read(kept.join("view.json")).unwrap()).unwrap();
        let fold = State::fold(&records).unwrap().view();
        assert_covers(&serde_json::to_value(fold).unwrap(), &view, &kept.display().to_string());

        let data = tempfile::tempdir().unwrap();
        let id = records[0].session_id;
        let dir = data.path().join("sessions").join(id.to_string());
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("events.ndjson"), &text).unwrap();
        let log = FileLog::open(data.path(), Arc::new(RealDisk)).unwrap();
        let report = log.check(id).await.unwrap();
        assert_eq!((report.records, report.torn_bytes, report.damage), (records.len() as u64, 0, None));
        logs += 1;
    }
    assert!(logs > 0);
}

/// What was seen then is seen now; members may have been added since.
fn assert_covers(now: &Value, then: &Value, at: &str) {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            for (name, then) in then {
                let now = now.get(name).unwrap_or_else(|| panic!("{at}.{name} is gone"));
                assert_covers(now, then, &format!("{at}.{name}"));
            }
        }
        (Value::Array(now), Value::Array(then)) if now.len() == then.len() => {
            for (index, (now, then)) in now.iter().zip(then).enumerate() {
                assert_covers(now, then, &format!("{at}[{index}]"));
            }
        }
        _ => assert_eq!(now, then, "{at}"),
    }
}

#[test]
fn the_examples_in_the_documentation_are_records() {
    let events = std::fs::read_to_string(repository().join("docs/events.md")).unwrap();
    let examples: Vec<&str> = events.lines().filter(|line| line.starts_with("{\"seq\":")).collect();
    assert!(examples.len() >= 25, "{} examples", examples.len());
    for example in examples {
        let record: Record =
            serde_json::from_str(example).unwrap_or_else(|error| panic!("{error}: {example}"));
        let again = serde_json::to_value(&record).unwrap();
        let mut shown: Value = serde_json::from_str(example).unwrap();
        shown.as_object_mut().unwrap().remove("chain");
        assert_eq!(again, shown, "the example leaves something out, or says too much");
    }
}
