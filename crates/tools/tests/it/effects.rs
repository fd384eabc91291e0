//! Lines that are allowed without asking, run for real: nothing may change, and nothing outside of the workspace may be shown.
//!
//! A generator makes lines, the policy decides on each as it would for a session, and bash runs those that it lets through,
//! in a namespace. `OSTLER_EFFECTS_LINES` and `OSTLER_EFFECTS_SEED` make it more of them, or others.

mod generator;
mod words;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostler_tools::{ToolSettings, Tools};
use ostler_types::{ApprovalPolicy, JudgedCall, ToolCall, ToolCallId, ToolKind};
use serde_json::json;

use generator::{ALLOWABLE, Line, Random, Words, line};
use words::CORPUS;
use world::EffectsWorld;

/// How many lines each of the four tests makes: 20,000 together, in parts so that none is slow on a loaded machine.
const LINES: usize = 5_000;
/// How many lines run in one namespace.
const BATCH: usize = 400;
/// How many of a hundred lines must be allowed, for the test to say anything.
const LEAST_ALLOWED: usize = 12;

#[test]
fn an_allowed_line_changes_nothing_and_shows_nothing_from_outside() {
    let setting = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let wanted = setting("OSTLER_EFFECTS_LINES").map_or(LINES, |lines| usize::try_from(lines).unwrap());
    check(wanted, setting("OSTLER_EFFECTS_SEED").unwrap_or(1));
}

#[test]
fn an_allowed_line_leaves_no_trace_from_a_second_seed() {
    check(LINES, 2);
}

#[test]
fn an_allowed_line_leaves_no_trace_from_a_third_seed() {
    check(LINES, 3);
}

#[test]
fn an_allowed_line_leaves_no_trace_from_a_fourth_seed() {
    check(LINES, 4);
}

/// Makes so many lines, and runs those that are allowed.
fn check(wanted: usize, seed: u64) {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(EffectFindings::default()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (next, found) = (&next, &found);
            scope.spawn(move || {
                let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(worker as u64));
                work(&mut random, wanted, next, found);
            });
        }
    });
    let found = found.into_inner().unwrap();
    found.print(seed);
    assert!(found.failures.is_empty(), "{}", found.failures.join("\n"));
    assert!(found.made >= wanted);
    assert!(
        found.allowed * 100 >= found.made * LEAST_ALLOWED,
        "only {} of {} lines were allowed",
        found.allowed,
        found.made
    );
    for construct in ALLOWABLE {
        assert!(found.constructs.contains_key(construct), "no line with {construct} was allowed");
    }
}

/// The lines that got through once ask by now, each for itself; a few that look like them do not.
#[test]
fn lines_that_once_got_through_leave_no_trace() {
    let world = EffectsWorld::new();
    let judge = Judge::new(&world);
    let allowed: Vec<String> =
        CORPUS.iter().filter(|line| judge.allows(line)).map(|line| (*line).to_owned()).collect();
    let traces = world.run(&allowed);
    assert!(traces.changed.is_empty() && traces.shown.is_empty(), "{:?} {:?}", traces.changed, traces.shown);
    assert!(allowed.iter().all(|line| !line.contains("touch P)]'; ")), "{allowed:?}");
}

/// What all workers have found.
#[derive(Default)]
struct EffectFindings {
    made: usize,
    allowed: usize,
    ran: usize,
    constructs: BTreeMap<&'static str, usize>,
    failures: Vec<String>,
}

impl EffectFindings {
    fn print(&self, seed: u64) {
        let EffectFindings { made, allowed, ran, constructs, failures } = self;
        println!(
            "seed {seed}: {made} lines, {allowed} allowed, {ran} different ones run, {} failures",
            failures.len()
        );
        for (construct, count) in constructs {
            println!("{count:8} {construct}");
        }
    }
}

/// Makes lines, decides and runs batches until enough were made.
fn work(random: &mut Random, wanted: usize, next: &AtomicUsize, found: &Mutex<EffectFindings>) {
    let (mut seen, words) = (BTreeSet::new(), Words::new());
    loop {
        let world = EffectsWorld::new();
        let (judge, root) = (Judge::new(&world), world.root().display().to_string());
        let (mut batch, mut made, mut allowed) = (Vec::new(), 0, Vec::new());
        while batch.len() < BATCH && next.fetch_add(1, Ordering::Relaxed) < wanted {
            let line = line(random, &words, &root);
            made += 1;
            if judge.allows(&line.text) {
                if seen.insert(line.text.replace(&root, "@")) {
                    batch.push(line.text.clone());
                }
                allowed.push(line);
            }
        }
        let failures = failures(&world, &batch);
        let mut found = found.lock().unwrap();
        found.made += made;
        found.allowed += allowed.len();
        found.ran += batch.len();
        found.failures.extend(failures);
        for construct in allowed.iter().flat_map(|Line { constructs, .. }| constructs) {
            *found.constructs.entry(construct).or_default() += 1;
        }
        if made == 0 || found.failures.len() > 20 {
            return;
        }
    }
}

/// Runs lines, and finds the ones that left a trace.
fn failures(world: &EffectsWorld, lines: &[String]) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let traces = world.run(lines);
    let mut failures: Vec<String> = traces
        .shown
        .iter()
        .map(|position| format!("shows what is outside: {:?}", lines[*position]))
        .collect();
    if traces.changed.is_empty() {
        return failures;
    }
    let again = |lines: &[String]| {
        let fresh = EffectsWorld::new();
        let lines: Vec<String> =
            lines.iter().map(|line| line.replace(&show(world.root()), &show(fresh.root()))).collect();
        !fresh.run(&lines).changed.is_empty()
    };
    // Halves, until one line is left.
    let mut rest = lines;
    while rest.len() > 1 {
        let (first, second) = rest.split_at(rest.len() / 2);
        rest = if again(first) { first } else { second };
    }
    failures.push(format!("changes {:?}: {:?}", traces.changed, rest));
    failures
}

fn show(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}

/// Decides as a session with the usual policy would, in a workspace that is not trusted.
struct Judge {
    tools: Tools,
    policy: ApprovalPolicy,
    workspace: std::path::PathBuf,
    runtime: tokio::runtime::Runtime,
}

impl Judge {
    fn new(world: &EffectsWorld) -> Judge {
        let settings = ToolSettings {
            allow_unconfined: true,
            home: Some(world.home()),
            environment: std::env::vars_os().collect(),
            ..ToolSettings::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Judge {
            tools: Tools::new(settings),
            policy: ApprovalPolicy::default(),
            workspace: world.workspace(),
            runtime,
        }
    }

    fn allows(&self, line: &str) -> bool {
        let input = json!({"command": line});
        let tool = self.tools.get("shell").unwrap();
        let subject = self.runtime.block_on(tool.subject(&input, &self.workspace));
        let call = ToolCall { id: ToolCallId("c".to_owned()), name: "shell".to_owned(), input };
        let judged = JudgedCall { call: &call, kind: ToolKind::Exec, subject: &subject, trusted: false };
        !self.policy.asks(&judged)
    }
}

/// Lines that do leave a trace, to show that the oracle would see one.
#[test]
fn a_trace_is_seen() {
    for line in [
        "touch P",
        "touch notes.txt",
        "chmod 600 notes.txt",
        "echo 'x[$(touch P)]'; echo \"n$((_))\"",
        "tree -Lo 2 P",
        "rm ./-o",
    ] {
        assert!(!EffectsWorld::new().run(&[line.to_owned()]).changed.is_empty(), "{line:?}");
    }
    for line in [
        "cat link-file",
        "ls ..//sibling",
        "cd .. && cat secret.txt",
        "cat ~/.env >&2",
        "diff d1 d2",
        "strings @rsp",
    ] {
        let world = EffectsWorld::new();
        assert_eq!(world.run(&["ls".to_owned(), line.to_owned()]).shown, [1], "{line:?}");
        assert!(!Judge::new(&world).allows(line), "{line:?}");
    }
}
