//! One call of git as a process: in a group of its own, with a limit on its time and its output, killed with
//! all that it has started when nobody waits for it any more.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use crate::error::GitError;
use crate::output::GitOutput;

pub(crate) const NOT_INSTALLED: &str = "Git is not installed on this machine.";
/// How much of what git says beside its answer is read.
const MAX_ERRORS: u64 = 4 * 1024;

/// What a call may take, and what it is told.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) input: Vec<u8>,
    pub(crate) max_output: u64,
    pub(crate) time_limit: Duration,
    /// Fires when nobody wants it any more.
    pub(crate) canceled: CancellationToken,
}

/// Runs a command to its end.
pub(crate) async fn run(mut command: Command, call: Call) -> Result<GitOutput, GitError> {
    let stdin = if call.input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    let mut group = Group(command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => GitError::new(NOT_INSTALLED),
        _ => GitError::new(format!("Git could not be started: {error}.")),
    })?);
    let (stdin, stdout, stderr) = (group.0.stdin.take(), group.0.stdout.take(), group.0.stderr.take());
    let (max_output, seconds) = (call.max_output, call.time_limit.as_secs());
    let ended = tokio::time::timeout(call.time_limit, async {
        let ((), (stdout, is_cut), (stderr, _)) =
            tokio::join!(write(stdin, &call.input), read_to(stdout, max_output), read_to(stderr, MAX_ERRORS));
        // What is not read would keep git waiting for ever.
        if is_cut {
            group.kill();
        }
        let status = group.0.wait().await.ok();
        let is_success = status.is_some_and(|status| status.success() || is_cut);
        let code = status.and_then(|status| status.code());
        GitOutput { is_success, code, stdout, is_cut, stderr: String::from_utf8_lossy(&stderr).into_owned() }
    });
    let ended = tokio::select! {
        ended = ended => ended.map_err(|_| GitError::new(format!("Git took longer than {seconds} s and was ended."))),
        () = call.canceled.cancelled() => Err(GitError::new("Git was ended because nobody waits for it any more.")),
    };
    if ended.is_err() {
        // Nothing of it may still write when the caller hears of it.
        group.kill();
        let _ = group.0.wait().await;
    }
    ended
}

/// Git may end without reading all of it; how it ended says more than the broken pipe.
async fn write(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
}

/// Reads up to a limit, and says whether there was more.
async fn read_to(reader: Option<impl AsyncRead + Unpin>, limit: u64) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    if let Some(mut reader) = reader {
        // What was read before an error is still what git said.
        let _ = (&mut reader).take(limit).read_to_end(&mut bytes).await;
        let is_full = bytes.len() as u64 == limit;
        let is_cut = is_full && reader.read_u8().await.is_ok();
        return (bytes, is_cut);
    }
    (bytes, false)
}

/// A running git and all that it starts. Dropping it kills them.
struct Group(Child);

impl Group {
    fn kill(&self) {
        // The id is there as long as the child was not awaited, and names this group and no other.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            // The only failure is that nobody is left.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
