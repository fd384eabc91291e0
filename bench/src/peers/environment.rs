//! The environment of a peer: its program, a private home directory, the workspace, and the model server. A peer inherits
//! no environment variable but `PATH`, and its proxy variables name a closed port, so that requests to other hosts fail.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// How long a program may take to answer.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(60);
const CLOSED_PROXY: &str = "http://127.0.0.1:9";

/// The environment of one peer.
pub(super) struct PeerEnvironment {
    /// The directory of its packages; for our own daemon, the path of its binary.
    pub(super) programs: PathBuf,
    /// Its home directory.
    pub(super) home: TempDir,
    /// The workspace of its sessions.
    pub(super) workspace: PathBuf,
    /// The model server.
    pub(super) mock: SocketAddr,
}

impl PeerEnvironment {
    /// The address of the model server as OpenAI's clients want it.
    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.mock)
    }

    /// Writes a file of the peer's configuration, below its home.
    pub(super) fn configure(&self, path: &str, text: &str) -> Result<()> {
        let file = self.home.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap_or(self.home.path()))?;
        Ok(std::fs::write(file, text)?)
    }

    /// A program to be started here. It ends when its handle is dropped.
    pub(super) fn command(&self, program: &Path) -> Result<Command> {
        ensure!(program.is_file(), "the package has no {}", program.display());
        let mut command = Command::new(program);
        command.current_dir(&self.workspace).env_clear().kill_on_drop(true);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.home.path());
        command.envs([("OPENAI_API_KEY", "bench"), ("NO_COLOR", "1"), ("NO_PROXY", "127.0.0.1,localhost")]);
        command.envs([
            ("HTTP_PROXY", CLOSED_PROXY),
            ("HTTPS_PROXY", CLOSED_PROXY),
            ("ALL_PROXY", CLOSED_PROXY),
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(self.errors())?);
        Ok(command)
    }

    /// The last lines on stderr of the program that was last started here.
    pub(super) fn stderr_tail(&self) -> String {
        let text = std::fs::read_to_string(self.errors()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(3).collect();
        lines.into_iter().rev().collect::<Vec<&str>>().join(" ")
    }

    fn errors(&self) -> PathBuf {
        self.home.path().join("stderr")
    }
}

/// A child that speaks lines of JSON.
pub(super) struct JsonLines {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl JsonLines {
    pub(super) fn start(mut command: Command) -> Result<JsonLines> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start it")?;
        let stdin = child.stdin.take().context("its input is a pipe")?;
        let stdout = BufReader::new(child.stdout.take().context("its output is a pipe")?);
        Ok(JsonLines { child, stdin, stdout, line: String::new() })
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    pub(super) async fn send(&mut self, frame: &Value) -> Result<()> {
        Ok(self.stdin.write_all(format!("{frame}\n").as_bytes()).await?)
    }

    pub(super) async fn next(&mut self) -> Result<Value> {
        self.line.clear();
        ensure!(self.stdout.read_line(&mut self.line).await? > 0, "it has ended");
        serde_json::from_str(&self.line).with_context(|| format!("not JSON: {}", self.line))
    }

    /// Reads frames until `is_answer` accepts one.
    pub(super) async fn answer(&mut self, is_answer: impl Fn(&Value) -> bool) -> Result<Value> {
        let read = async {
            loop {
                let frame = self.next().await?;
                if is_answer(&frame) {
                    return Ok(frame);
                }
            }
        };
        timeout(ANSWER_LIMIT, read).await.context("it does not answer")?
    }

    pub(super) async fn stop(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}
