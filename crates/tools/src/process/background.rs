//! A program that goes on after the call that started it. A task of its own attends it and keeps the last
//! of what it prints; the handle looks at that, types, and ends it. Dropping the handle kills the program.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_runner::ToolContext;
use ostler_sandbox::SandboxProfile;
use ostler_types::SessionId;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use super::program_group::{EndedProgram, ProgramGroup};
use super::program_io::{KillReason, ProgramInput, run_until_ended};
use super::{CommandEnding, sandbox_notes, sandbox_warnings, terminal};
use crate::output::OutputCapture;
use crate::program_confiner::{ProgramConfiner, ProgramSpec};

/// How much is kept of what was printed and not yet asked for.
const MAX_UNREAD_BYTES: usize = 1024 * 1024;
/// How many pieces of input may wait for the program to read them.
const QUEUED_INPUTS: usize = 16;
/// How long an end that was asked for is awaited.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// How long more output is awaited when some has come.
const SETTLE_TIME: Duration = Duration::from_millis(200);

/// A program in the background.
pub(crate) struct BackgroundProcess {
    pub(crate) session: SessionId,
    pub(crate) id: String,
    terminal: bool,
    shared: Arc<BackgroundShared>,
    input: mpsc::Sender<Vec<u8>>,
    task: JoinHandle<()>,
}

/// What the program printed since it was last asked, and how it stands.
#[derive(Debug)]
pub(crate) struct BackgroundSnapshot {
    /// Head and tail where it is long.
    pub(crate) output: String,
    /// All of it that was kept, where `output` leaves some out.
    pub(crate) full_output: Option<Vec<u8>>,
    /// None while it runs.
    pub(crate) ending: Option<CommandEnding>,
    /// What the sandbox has to say of it.
    pub(crate) notes: Vec<String>,
    /// Those of them that people must see.
    pub(crate) warnings: Vec<String>,
}

/// What the task and the handle both see.
#[derive(Default)]
struct BackgroundShared {
    unread: Mutex<UnreadOutput>,
    /// How much was printed so far, and how it ended.
    progress: watch::Sender<BackgroundProgress>,
    end_requested: Notify,
}

#[derive(Debug, Clone, Default)]
struct BackgroundProgress {
    printed: u64,
    ended: Option<(CommandEnding, SandboxRemarks)>,
}

/// What the sandbox says of it when it has ended.
#[derive(Debug, Clone, Default)]
struct SandboxRemarks {
    notes: Vec<String>,
    warnings: Vec<String>,
}

impl BackgroundProcess {
    /// Starts a program. With a timeout it is killed when that is over; else it runs until it is ended.
    pub(super) async fn start(
        confines: &ProgramConfiner,
        context: &ToolContext,
        program: ProgramSpec,
        id: String,
        timeout: Option<Duration>,
    ) -> Result<BackgroundProcess, String> {
        if let Some(reason) = confines.background_refusal() {
            return Err(reason.to_owned());
        }
        let terminal = program.terminal;
        let mut prepared = confines.prepare(context, program).await.map_err(|failed| failed.0)?;
        let profile = prepared.profile.take();
        let group = ProgramGroup::spawn(prepared, terminal, true).map_err(|error| format!("{error}."))?;
        let shared = Arc::<BackgroundShared>::default();
        let (input, queue) = mpsc::channel(QUEUED_INPUTS);
        let task = tokio::spawn(attend_to_end(
            group,
            profile,
            ProgramInput::from_queue(queue),
            timeout,
            shared.clone(),
        ));
        Ok(BackgroundProcess { session: context.session, id, terminal, shared, input, task })
    }

    pub(crate) fn is_running(&self) -> bool {
        self.shared.progress.borrow().ended.is_none()
    }

    /// Gives it something to read. The error says why it cannot be given.
    pub(crate) fn write(&self, input: String) -> Result<(), String> {
        if !self.is_running() {
            return Err("The process has ended, so nothing was written.".to_owned());
        }
        self.input.try_send(input.into_bytes()).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                "The process has not read its earlier input, so nothing was written.".to_owned()
            }
            mpsc::error::TrySendError::Closed(_) => {
                "The process has closed its stdin, so nothing was written.".to_owned()
            }
        })
    }

    /// Asks it to end. [`BackgroundProcess::until_ended`] says when it has.
    pub(crate) fn request_end(&self) {
        self.shared.end_requested.notify_one();
    }

    /// Waits until it has ended, but not for ever.
    pub(crate) async fn wait_until_ended(&self) {
        self.wait_for(END_TIMEOUT, |progress| progress.ended.is_some()).await;
    }

    /// Waits until it has printed something that was not asked for yet, or has ended.
    pub(crate) async fn wait_for_output(&self, time: Duration) {
        let has_unread = !self.shared.unread().bytes.is_empty();
        let printed = self.shared.progress.borrow().printed;
        let is_news = |progress: &BackgroundProgress| {
            has_unread || progress.printed > printed || progress.ended.is_some()
        };
        self.wait_for(time, is_news).await;
        if self.is_running() {
            self.wait_for(time.min(SETTLE_TIME), |progress| progress.ended.is_some()).await;
        }
    }

    /// Waits until it has ended, for at most this time.
    pub(crate) async fn wait_for_end(&self, time: Duration) {
        self.wait_for(time, |progress| progress.ended.is_some()).await;
    }

    /// What it printed since this was last called, and how it stands.
    pub(crate) fn snapshot(&self) -> BackgroundSnapshot {
        // First the end, so that nothing is printed after it.
        let ended = self.shared.progress.borrow().ended.clone();
        let UnreadOutput { bytes, left_out } = std::mem::take(&mut *self.shared.unread());
        let mut text = String::from_utf8_lossy(&Vec::from(bytes)).into_owned();
        if self.terminal {
            text = terminal::strip_control_sequences(&text);
        }
        let mut capture = OutputCapture::new(&|_, _| {});
        if left_out > 0 {
            capture.push("stdout", &format!("[… {left_out} bytes of earlier output were dropped …]\n"));
        }
        capture.push("stdout", &text);
        let captured = capture.finish();
        let (ending, said) =
            ended.map_or((None, SandboxRemarks::default()), |(ending, said)| (Some(ending), said));
        let SandboxRemarks { notes, warnings } = said;
        BackgroundSnapshot { output: captured.text, full_output: captured.whole, ending, notes, warnings }
    }

    async fn wait_for(&self, time: Duration, is_true: impl FnMut(&BackgroundProgress) -> bool) {
        let mut progress = self.shared.progress.subscribe();
        // Running out of time is an answer too, and the sender lives as long as this.
        let _ = tokio::time::timeout(time, progress.wait_for(is_true)).await;
    }
}

impl Drop for BackgroundProcess {
    fn drop(&mut self) {
        // With the task goes the group that it holds.
        self.task.abort();
    }
}

/// Attends the program to its end.
async fn attend_to_end(
    mut group: ProgramGroup,
    profile: Option<SandboxProfile>,
    mut input: ProgramInput,
    timeout: Option<Duration>,
    shared: Arc<BackgroundShared>,
) {
    let mut take = |_: &'static str, text: &str| shared.take(text);
    let time_is_up = async {
        match timeout {
            Some(timeout) => {
                tokio::time::sleep(timeout).await;
                KillReason::TimedOut(timeout)
            }
            None => std::future::pending().await,
        }
    };
    let cut = async {
        tokio::select! {
            cut = time_is_up => cut,
            () = shared.end_requested.notified() => KillReason::Requested,
        }
    };
    let attended = run_until_ended(&mut group, &mut input, cut, &mut take).await;
    let EndedProgram { status, teardown: aftermath } = group.end().await;
    let ending = attended.kill_reason.map_or_else(|| super::ending_from_status(status), CommandEnding::from);
    let last = String::from_utf8_lossy(shared.unread().bytes.make_contiguous()).into_owned();
    let notes = sandbox_notes(&ending, profile.as_ref(), &aftermath, &last);
    let said = SandboxRemarks { notes, warnings: sandbox_warnings(&aftermath) };
    // Its model may never ask how it ended.
    said.warnings.iter().for_each(|warning| tracing::warn!("a command in the background: {warning}"));
    shared.progress.send_modify(|progress| progress.ended = Some((ending, said)));
}

impl BackgroundShared {
    fn unread(&self) -> std::sync::MutexGuard<'_, UnreadOutput> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.unread().push(text.as_bytes());
        self.progress.send_modify(|progress| progress.printed += text.len() as u64);
    }
}

/// The last of what was printed and not asked for.
#[derive(Debug, Default)]
struct UnreadOutput {
    bytes: VecDeque<u8>,
    left_out: u64,
}

impl UnreadOutput {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let over = self.bytes.len().saturating_sub(MAX_UNREAD_BYTES);
        self.bytes.drain(..over);
        self.left_out += over as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_UNREAD_BYTES, UnreadOutput};

    #[test]
    fn the_last_of_it_is_kept() {
        let mut unread = UnreadOutput::default();
        for _ in 0..40 {
            unread.push(&[b'x'; 64 * 1024]);
        }
        unread.push(b"end");
        assert_eq!(unread.bytes.len(), MAX_UNREAD_BYTES);
        assert_eq!(unread.left_out, 40 * 64 * 1024 + 3 - MAX_UNREAD_BYTES as u64);
        assert!(unread.bytes.make_contiguous().ends_with(b"xend"));
    }
}
