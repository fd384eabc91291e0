//! The laws of every log, each against many random histories.
//!
//! The histories are the same at each run. `PROPTEST_RNG_SEED` and `PROPTEST_CASES` give others.

use ostler_types::{Record, State};
use proptest::prelude::{ProptestConfig, any, prop};
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};
use serde_json::{Number, Value, json};

use crate::audit::Law;
use crate::history_moves::{HistoryMove, histories};
use crate::history_player::HistoryPlayer;
use crate::session_driver::{SessionDriver, call, propose};

#[test]
fn a_turn_has_one_terminal_and_nothing_after_it() {
    check(Law::Terminals);
}

#[test]
fn calls_and_results_pair_before_a_model_is_asked_again() {
    check(Law::Pairs);
}

#[test]
fn a_call_starts_once_and_as_it_was_approved() {
    check(Law::Starts);
}

#[test]
fn a_queued_message_is_delivered_once_in_order_or_withdrawn() {
    check(Law::Queue);
}

#[test]
fn the_state_is_the_fold_of_the_log() {
    check(Law::Fold);
}

#[test]
fn one_key_makes_one_message() {
    check(Law::Keys);
}

#[test]
fn a_restart_repairs_what_ran_and_leaves_what_waited() {
    check(Law::Recovery);
}

#[test]
fn a_cancel_keeps_what_was_written() {
    check(Law::Cancel);
}

#[test]
fn the_status_says_what_the_log_says() {
    check(Law::Status);
}

#[test]
fn the_state_stays_within_its_limits() {
    check(Law::Bounds);
}

#[test]
fn a_turn_that_is_over_is_not_heard() {
    check(Law::Over);
}

/// Numbers of a tool's input are shown to the person who approves, and compared with rules, before
/// and after a restart.
#[test]
fn a_tool_input_survives_the_log() {
    let numbers = prop::collection::vec(any::<f64>(), 1..8);
    let outcome = runner(256, 0).run(&numbers, |numbers| {
        let number = |n: &f64| Number::from_f64(*n).map_or(Value::Null, Value::Number);
        let mut world = SessionDriver::new();
        world.submit("go");
        let made = call("a", "draw", json!({"points": numbers.iter().map(number).collect::<Vec<_>>()}));
        world.step(std::slice::from_ref(&made));
        world.report(propose(&made));
        verdict(&world.audit.faults, Law::Fold)
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// A log that is cut anywhere still folds, and folding the rest on top gives the whole.
#[test]
fn a_log_can_be_cut_anywhere() {
    let outcome = runner(64, 0).run(&(histories(), any::<usize>()), |(history, cut)| {
        let log = played(history).world.log;
        let cut = 1 + cut % log.len();
        let mut state = State::fold(&log[..cut]).expect("every beginning of a log folds");
        log[cut..].iter().for_each(|record| state.apply(record));
        let whole = State::fold(&log).expect("the log folds");
        let same = state == whole && State::fold(&log[1..]).is_none();
        if same { Ok(()) } else { Err(TestCaseError::fail(format!("cut after {cut}"))) }
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn check(law: Law) {
    let outcome = runner(120, law as u64).run(&histories(), |history| {
        let play = played(history);
        verdict(&play.world.audit.faults, law).map_err(|error| with_log(&error, &play.world.log))
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn played(history: Vec<HistoryMove>) -> HistoryPlayer {
    let mut play = HistoryPlayer::new();
    history.into_iter().for_each(|step| play.make(step));
    play
}

fn verdict(faults: &[(Law, String)], law: Law) -> Result<(), TestCaseError> {
    match faults.iter().find(|(broken, _)| *broken == law) {
        Some((_, fault)) => Err(TestCaseError::fail(fault.clone())),
        None => Ok(()),
    }
}

fn with_log(error: &TestCaseError, log: &[Record]) -> TestCaseError {
    let line = |record: &Record| serde_json::to_string(record).expect("a record can be written");
    let lines: Vec<String> = log.iter().skip(1).map(line).collect();
    TestCaseError::fail(format!("{error}\n{}", lines.join("\n")))
}

fn runner(cases: u32, seed: u64) -> TestRunner {
    let asked = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { cases };
    let rng_seed = if asked.rng_seed == RngSeed::Random { RngSeed::Fixed(seed) } else { asked.rng_seed };
    TestRunner::new(ProptestConfig { cases, rng_seed, failure_persistence: None, ..asked })
}
