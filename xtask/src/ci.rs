//! Everything that must hold before a change is taken, in one command. The steps run in order and
//! stop at the first that fails; each names the command that runs it alone.

use std::process::Command;
use std::time::Instant;

use crate::{commits, generate, licences, repository, setup, tidy};

struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    /// A cargo command, with an environment variable if it needs one.
    Cargo { arguments: &'static str, environment: Option<(&'static str, &'static str)> },
    /// One of our own commands.
    Xtask { command: &'static str, run: fn() -> Result<(), String> },
    /// A script of the repository. One that is not there fails: a check that cannot fail is none.
    Script { path: &'static str },
}

/// In this order, so that what takes seconds is said before what takes minutes. Steps that run the daemon come after the
/// tests, which build it.
const STEPS: &[Step] = &[
    Step { name: "format", work: Work::cargo("fmt --all --check") },
    Step { name: "commits", work: Work::Xtask { command: "commits", run: commits::run } },
    Step { name: "tidy", work: Work::Xtask { command: "tidy", run: tidy::run } },
    Step { name: "licences", work: Work::Xtask { command: "licences", run: licences::run } },
    Step { name: "clippy", work: Work::cargo("clippy --workspace --all-targets --locked -- -D warnings") },
    Step { name: "tools", work: Work::Xtask { command: "setup", run: setup::run } },
    Step { name: "tests", work: Work::cargo("nextest run --workspace --locked --profile ci") },
    Step { name: "generated", work: Work::Xtask { command: "generate --check", run: generate::check_built } },
    Step { name: "attack", work: Work::Script { path: "tests/attack/run.sh" } },
    Step { name: "clients", work: Work::Script { path: "clients/test.sh" } },
    Step { name: "adapter", work: Work::Script { path: "tests/acp/adapter.sh" } },
    Step { name: "page", work: Work::Script { path: "web/test.sh" } },
    Step {
        name: "docs",
        work: Work::Cargo {
            arguments: "doc --workspace --no-deps --locked",
            environment: Some(("RUSTDOCFLAGS", "-D warnings")),
        },
    },
    Step { name: "contract", work: Work::Script { path: "tests/schemathesis.sh" } },
];

/// Runs every step.
pub(crate) fn run() -> Result<(), String> {
    let begin = Instant::now();
    for step in STEPS {
        println!("== {}", step.name);
        let started = Instant::now();
        let outcome = step.work.run();
        let seconds = started.elapsed().as_secs_f64();
        outcome.map_err(|error| failure(step, seconds, &error))?;
        println!("== {} held ({seconds:.1} s)\n", step.name);
    }
    println!("all steps held ({:.1} s)", begin.elapsed().as_secs_f64());
    Ok(())
}

fn failure(step: &Step, seconds: f64, error: &str) -> String {
    let (name, alone) = (step.name, step.work.alone());
    format!(
        "{error}\n\n== {name} FAILED after {seconds:.1} s; the steps after it did not run\nto run it alone: {alone}"
    )
}

impl Work {
    const fn cargo(arguments: &'static str) -> Work {
        Work::Cargo { arguments, environment: None }
    }

    fn run(&self) -> Result<(), String> {
        match self {
            Work::Cargo { arguments, environment } => {
                let mut cargo = repository::cargo();
                cargo.args(arguments.split_whitespace()).envs(*environment);
                repository::run(&mut cargo)
            }
            Work::Xtask { command: _, run } => run(),
            Work::Script { path } => {
                // With the daemon that the tests built: built by itself it has other features of its dependencies, and
                // most of them would be compiled a second time.
                let daemon = repository::target().join("debug/ostler");
                let mut script = Command::new("bash");
                script.arg(path).current_dir(repository::root()).env("OSTLER_BINARY", daemon);
                repository::run(&mut script)
            }
        }
    }

    /// What to type to run this step and no other.
    fn alone(&self) -> String {
        match self {
            Work::Cargo { arguments, environment: None } => format!("cargo {arguments}"),
            Work::Cargo { arguments, environment: Some((name, value)) } => {
                format!("{name}=\"{value}\" cargo {arguments}")
            }
            Work::Xtask { command, run: _ } => format!("cargo xtask {command}"),
            Work::Script { path } => format!("bash {path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{STEPS, Step, Work, failure};

    fn fails() -> Result<(), String> {
        Err("it broke".to_owned())
    }

    #[test]
    fn a_failed_step_says_how_to_run_it_alone() {
        let step = Step { name: "tidy", work: Work::Xtask { command: "tidy", run: fails } };
        let error = step.work.run().unwrap_err();
        let text = failure(&step, 1.25, &error);
        assert!(text.starts_with("it broke"), "{text}");
        assert!(text.contains("tidy FAILED") && text.ends_with("cargo xtask tidy"), "{text}");
    }

    #[test]
    fn every_script_is_there_and_a_missing_one_fails() {
        for step in STEPS {
            let Work::Script { path } = step.work else { continue };
            assert!(crate::repository::root().join(path).exists(), "{path}");
        }
        assert!(Work::Script { path: "tests/no-such-script.sh" }.run().is_err());
    }

    #[test]
    fn the_command_shown_is_the_command_run() {
        let docs = STEPS.iter().find(|step| step.name == "docs").unwrap();
        assert_eq!(
            docs.work.alone(),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps --locked"
        );
    }
}
