//! A quick run of the figures that a daemon is needed for, with the one that was built beside these tests. What they
//! measure means nothing here; that they measure something does.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ostler_bench::figures::{BenchSetup, FIGURES, WITHOUT_DAEMON};
use ostler_bench::number::BenchNumber;

/// The daemon of the same build; none when only this package was built.
fn daemon() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let binary = test.parent()?.parent()?.join("ostler");
    binary.is_file().then_some(binary)
}

/// Measures figures quickly, and checks what every one of their rows has to have.
async fn measure(figures: &[&str]) -> Vec<BenchNumber> {
    let Some(binary) = daemon() else {
        eprintln!("not run: there is no daemon beside this test; build the whole workspace");
        return Vec::new();
    };
    let place = tempfile::tempdir().unwrap();
    let bench = BenchSetup::new(&binary, place.path(), None, true).unwrap();
    let mut numbers: Vec<BenchNumber> = Vec::new();
    for figure in figures {
        let rows = bench.measure(figure).await.unwrap_or_else(|error| panic!("{figure}: {error:#}"));
        for row in rows {
            assert!(!row.figure.is_empty() && !row.measured.is_empty(), "{figure}: {row:?}");
            assert!(!row.numbers.is_empty(), "{figure} has a row that cannot be compared: {row:?}");
            assert!(row.numbers.iter().all(|number| number.name.starts_with(&format!("{figure}."))));
            numbers.extend(row.numbers);
        }
    }
    assert!(numbers.iter().all(|number| number.value.is_finite() && number.value >= 0.0), "{numbers:?}");
    let names: BTreeSet<&str> = numbers.iter().map(|number| number.name.as_str()).collect();
    assert_eq!(names.len(), numbers.len(), "a name is used twice");
    numbers
}

#[tokio::test]
async fn memory_and_size_are_measured() {
    let numbers = measure(&["binary", "idle", "sleeping"]).await;
    let value = |name: &str| numbers.iter().find(|number| number.name == name).map(|number| number.value);
    // The sum was read a moment after the whole.
    if let (Some(resident), Some(heap), Some(code)) =
        (value("idle.resident"), value("idle.heap"), value("idle.code"))
    {
        assert!(heap > 0.0 && code > 0.0 && (heap + code - resident).abs() < resident / 4.0, "{numbers:?}");
    }
}

#[tokio::test]
async fn first_deltas_and_the_cost_of_turns_are_measured() {
    let numbers = measure(&["first", "first_new", "turn", "delta"]).await;
    let written = numbers.iter().find(|number| number.name == "turn.kept");
    assert!(written.is_none_or(|number| number.value > 0.0), "a turn leaves nothing on disk: {written:?}");
}

#[tokio::test]
async fn a_turn_with_a_tool_is_measured_confined_and_unconfined() {
    measure(&["tool_turn"]).await;
}

#[tokio::test]
async fn many_sessions_at_once_are_measured() {
    measure(&["fifty", "two_hundred", "thousand", "all_events"]).await;
}

#[test]
fn every_figure_is_named_once() {
    let names: BTreeSet<&str> = FIGURES.into_iter().collect();
    assert_eq!(names.len(), FIGURES.len());
    assert!(WITHOUT_DAEMON.iter().all(|figure| names.contains(figure)));
}
