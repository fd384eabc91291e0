//! `ostler usage` from outside: what a run took, in a table and as JSON, in days that begin where the user is.

use std::path::Path;
use std::process::Output;

use jiff::Timestamp;
use jiff::tz::Offset;
use ostler_api_types::UsageTable;
use ostler_types::{Event, Record, SessionView, StepEvent};

use crate::process::binary;

/// Runs the binary where the clock is fourteen hours ahead.
fn ostler(data: &Path, arguments: &[&str]) -> Output {
    let mut command = binary();
    command.env("TZ", "<+14>-14").arg("--data-dir").arg(data).args(arguments);
    command.current_dir(data.parent().unwrap()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn usage(data: &Path, arguments: &[&str]) -> UsageTable {
    let arguments: Vec<&str> = ["usage", "--json"].into_iter().chain(arguments.iter().copied()).collect();
    serde_json::from_str(&stdout(&ostler(data, &arguments))).unwrap()
}

/// The day on which a time falls there.
fn local_day(at: Timestamp) -> String {
    Offset::from_hours(14).unwrap().to_datetime(at).date().to_string()
}

#[test]
fn what_a_run_took_is_shown_by_local_day_and_by_everything_else() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    assert!(stdout(&ostler(&data, &["usage"])).starts_with("No model usage since 2"));

    let ran = stdout(&ostler(&data, &["run", "--json", "--model", "demo:demo", "say hello there"]));
    let records: Vec<Record> = ran.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let uses: Vec<&Record> = records
        .iter()
        .filter(|record| matches!(record.event, Event::Step(StepEvent::UsageRecorded { .. })))
        .collect();
    assert!(!uses.is_empty(), "{ran}");
    let id = records[0].session_id.to_string();
    let view: SessionView =
        serde_json::from_str(&stdout(&ostler(&data, &["sessions", "show", "--json", &id]))).unwrap();

    let days = usage(&data, &[]);
    assert_eq!(days.rows[0].key, local_day(uses.last().unwrap().ts));
    assert_eq!((days.total.steps, days.total.usage), (uses.len() as u64, view.session.usage));
    for (by, key) in [("model", "demo:demo"), ("session", &id), ("workspace", &view.session.workspace_path)] {
        let table = usage(&data, &["--by", by]);
        assert_eq!((table.rows.len(), table.rows[0].key.as_str()), (1, key));
        assert_eq!((table.rows[0].sum, table.total), (days.total, days.total), "{by}");
        let drawn = stdout(&ostler(&data, &["usage", "--by", by, "--since", "30d"]));
        let first: Vec<&str> = drawn.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(first[..3], [by, key, "total"], "{drawn}");
    }
    let today = local_day(Timestamp::now());
    let tomorrow = today.parse::<jiff::civil::Date>().unwrap().tomorrow().unwrap().tomorrow().unwrap();
    assert_eq!(usage(&data, &["--since", &tomorrow.to_string()]).total.steps, 0);
    assert_eq!(usage(&data, &["--since", "2026-01-01"]).total, days.total);
}
