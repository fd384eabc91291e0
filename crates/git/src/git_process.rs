//! One call as a process: with a limit on its time and its output, killed with all that it has started when nobody
//! waits for it any more.

use std::process::Stdio;
use std::time::Duration;

use ostler_process::PreparedCommand;
use ostler_sandbox::Confinement;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio_util::sync::CancellationToken;

use crate::error::GitError;
use crate::output::GitOutput;

pub(crate) const NOT_INSTALLED: &str =
    "Git is not installed in the system's directories (/usr/bin, /usr/local/bin).";
/// What a shell or the sandbox ends with where there is no such program.
const NOT_FOUND: i32 = 127;
/// How much of what git says beside its answer is read.
const MAX_ERRORS: u64 = 16 * 1024;

/// What is to be started.
pub(crate) struct PreparedGitCall {
    pub(crate) command: PreparedCommand,
    pub(crate) confinement: Option<Confinement>,
}

/// What a call may take, and what it is told.
#[derive(Debug, Clone)]
pub(crate) struct GitCallLimits {
    pub(crate) input: Vec<u8>,
    pub(crate) max_output: u64,
    pub(crate) time_limit: Duration,
}

/// Runs a command to its end.
pub(crate) async fn run(
    started: PreparedGitCall,
    limits: GitCallLimits,
    canceled: &CancellationToken,
) -> Result<GitOutput, GitError> {
    let PreparedGitCall { mut command, confinement } = started;
    let stdin = if limits.input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).own_group();
    let child =
        command.spawn().map_err(|error| GitError::new(format!("Git could not be started: {error}.")))?;
    let mut group = GitProcessGroup { child, confinement };
    let ended = tokio::select! {
        ended = tokio::time::timeout(limits.time_limit, group.output(&limits)) => ended.map_err(|_| {
            GitError::new(format!("Git took longer than {} s and was ended.", limits.time_limit.as_secs()))
        }),
        () = canceled.cancelled() => Err(GitError::new("Git was ended because nobody waits for it any more.")),
    };
    if ended.is_err() {
        // Nothing of it may still write when the caller hears of it.
        group.kill();
        let _ = group.child.wait().await;
    }
    if let Some(confinement) = group.confinement.take() {
        // What a sandbox stood on is taken down where the disk may be waited for.
        let _ = tokio::task::spawn_blocking(move || confinement.finish()).await;
    }
    match ended {
        Ok(output) if output.code == Some(NOT_FOUND) => Err(GitError::new(NOT_INSTALLED)),
        ended => ended,
    }
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
struct GitProcessGroup {
    child: Child,
    confinement: Option<Confinement>,
}

impl GitProcessGroup {
    async fn output(&mut self, limits: &GitCallLimits) -> GitOutput {
        let child = &mut self.child;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ((), (stdout, is_cut), (stderr, _)) = tokio::join!(
            write(stdin, &limits.input),
            read_to(stdout, limits.max_output),
            read_to(stderr, MAX_ERRORS)
        );
        // What is not read would keep git waiting for ever.
        if is_cut {
            self.kill();
        }
        let status = self.child.wait().await.ok();
        let is_success = status.is_some_and(|status| status.success() || is_cut);
        let code = status.and_then(|status| status.code());
        GitOutput { is_success, code, stdout, is_cut, stderr: String::from_utf8_lossy(&stderr).into_owned() }
    }

    fn kill(&self) {
        if let Some(confinement) = &self.confinement {
            return confinement.kill();
        }
        // The id is there as long as the child was not awaited, and names this group and no other.
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            // The only failure is that nobody is left.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for GitProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
