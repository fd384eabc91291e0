//! Runs programs: one to its end within a bounded time and with bounded output, or in the background for
//! a session.
//!
//! Nothing of a confined program outlives it. Of an unconfined one its process group does not; a process
//! that leaves the group (by `setsid`) does, and holding it is what a sandbox is for. How a program is
//! confined is left to `program_confiner`.

mod background;
mod background_table;
mod program_group;
mod program_io;
mod terminal;

use std::process::ExitStatus;
use std::time::Duration;

use ostler_runner::{CommandEnding, CommandOutcome, ToolContext};
use ostler_sandbox::{SandboxProfile, SuspectRepository, TeardownReport, explain_denial};
use rustix::process::Signal;
use tokio::time::Instant;

pub(crate) use self::background::{BackgroundProcess, BackgroundSnapshot};
pub(crate) use self::background_table::BackgroundProcesses;
use self::program_group::ProgramGroup;
pub(crate) use self::program_io::ProgramInput;
use self::program_io::{KillReason, OutputHandler, run_until_ended};
use crate::output::OutputCapture;
use crate::program_confiner::{ProgramConfiner, ProgramSpec};
use crate::prompts;
use crate::text::reveal_line;

/// How many warnings one command can lead to.
const MAX_WARNINGS: usize = 8;

/// Runs a shell command in a workspace and waits for it.
pub(crate) async fn run_command(
    confines: &ProgramConfiner,
    context: &ToolContext,
    command: &str,
    timeout: Duration,
) -> CommandOutcome {
    run_program(confines, context, ProgramSpec::bash_path(command, None), timeout).await
}

/// Runs a program and waits for it. Dropping the future kills all that it started.
pub(crate) async fn run_program(
    confines: &ProgramConfiner,
    context: &ToolContext,
    program: ProgramSpec,
    timeout: Duration,
) -> CommandOutcome {
    let terminal = program.terminal;
    let mut capture = OutputCapture::new(&*context.output);
    let take = |stream: &'static str, text: &str| capture.push(stream, text);
    let ran = run(confines, context, program, timeout, ProgramInput::none(), take).await;
    let captured = capture.finish();
    let output = if terminal { terminal::strip_control_sequences(&captured.text) } else { captured.text };
    match ran {
        Ok(ran) => ran.outcome(output, captured.whole),
        Err(reason) => CommandOutcome::not_started(reason),
    }
}

/// How a program went, apart from what it printed.
pub(crate) struct ProgramEnd {
    pub(crate) ending: CommandEnding,
    duration_ms: u64,
    left_processes: bool,
    profile: Option<SandboxProfile>,
    teardown: TeardownReport,
}

/// Runs a program to its end, and gives what it prints to `take`. The error says why it did not start.
pub(crate) async fn run(
    confines: &ProgramConfiner,
    context: &ToolContext,
    program: ProgramSpec,
    timeout: Duration,
    mut input: ProgramInput,
    mut take: impl OutputHandler,
) -> Result<ProgramEnd, String> {
    let started = Instant::now();
    let terminal = program.terminal;
    let mut prepared = confines.prepare(context, program).await.map_err(|failed| failed.0)?;
    let profile = prepared.profile.take();
    let mut group =
        ProgramGroup::spawn(prepared, terminal, input.has_input()).map_err(|error| format!("{error}."))?;
    let cut = async {
        tokio::time::sleep_until(started + timeout).await;
        KillReason::TimedOut(timeout)
    };
    let attended = run_until_ended(&mut group, &mut input, cut, &mut take).await;
    let ended = group.end().await;
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let ending = attended.kill_reason.map_or_else(|| ending_from_status(ended.status), CommandEnding::from);
    Ok(ProgramEnd {
        ending,
        duration_ms,
        left_processes: attended.pipes_left_open,
        profile,
        teardown: ended.teardown,
    })
}

impl ProgramEnd {
    /// The same with what it printed, and what the sandbox has to say of that.
    pub(crate) fn outcome(self, output: String, whole: Option<Vec<u8>>) -> CommandOutcome {
        let ProgramEnd { ending, duration_ms, left_processes, profile, teardown: aftermath } = self;
        let (notes, warnings) =
            (sandbox_notes(&ending, profile.as_ref(), &aftermath, &output), sandbox_warnings(&aftermath));
        CommandOutcome { ending, duration_ms, output, whole, left_processes, notes, warnings }
    }
}

pub(crate) fn ending_from_status(status: Option<ExitStatus>) -> CommandEnding {
    use std::os::unix::process::ExitStatusExt;
    let code = status.and_then(|status| status.code());
    let signal = || status.and_then(|status| status.signal()).unwrap_or(Signal::KILL.as_raw());
    code.map_or_else(|| CommandEnding::Signaled(signal()), CommandEnding::Exited)
}

impl From<KillReason> for CommandEnding {
    fn from(cut: KillReason) -> CommandEnding {
        match cut {
            KillReason::TimedOut(after) => CommandEnding::TimedOut(after),
            KillReason::Requested => CommandEnding::Ended,
        }
    }
}

/// Notes for the model about a program that has ended: denials, reverted changes, suspect repositories.
fn sandbox_notes(
    ending: &CommandEnding,
    profile: Option<&SandboxProfile>,
    aftermath: &TeardownReport,
    output: &str,
) -> Vec<String> {
    let denial = match (ending, profile) {
        (CommandEnding::Exited(code), Some(profile)) => explain_denial(profile, Some(*code), output),
        (_, Some(_) | None) => None,
    };
    let restored = aftermath.restored.iter().map(|path| prompts::restored_note(&path.display().to_string()));
    let suspect = aftermath.suspect_repositories.iter().map(|repository| {
        let path = reveal_line(&repository.path.to_string_lossy());
        let reasons = reveal_line(&repository.reasons.join(", "));
        prompts::suspect_repository_note(&path, &reasons)
    });
    denial.into_iter().chain(restored).chain(suspect).collect()
}

/// Warnings for people: their own git would run what the program left behind.
fn sandbox_warnings(aftermath: &TeardownReport) -> Vec<String> {
    let warning = |repository: &SuspectRepository| {
        format!(
            "This command left a git repository in {} that may run programs through {}. Inspect it before \
             you use git there or at the top of the workspace.",
            reveal_line(&repository.path.to_string_lossy()),
            reveal_line(&repository.reasons.join(", "))
        )
    };
    let exposed = aftermath.exposed.iter().map(|path| {
        format!(
            "{} was replaced while this command ran, so the command was stopped. For a moment the command \
             could write there: inspect it before you use it.",
            reveal_line(&path.to_string_lossy())
        )
    });
    exposed.chain(aftermath.suspect_repositories.iter().map(warning)).take(MAX_WARNINGS).collect()
}
