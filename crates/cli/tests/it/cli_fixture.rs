//! The binary as people and scripts type it: in a directory of its own, with pipes, signals and terminals around it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use crate::process::binary;

/// A data directory, a workspace and a configuration file.
pub(crate) struct CliFixture {
    dir: TempDir,
    pub(crate) work: PathBuf,
    pub(crate) data: PathBuf,
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub(crate) struct CliOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CliFixture {
    pub(crate) fn new(config: &str) -> CliFixture {
        let dir = tempfile::tempdir().unwrap();
        let [data, work] = ["data", "work"].map(|name| dir.path().join(name));
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join("README.md"), "a file to read\n").unwrap();
        std::fs::write(dir.path().join("config.toml"), config).unwrap();
        CliFixture { dir, work, data }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command that is to be typed, with nothing on stdin.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = binary();
        command.arg("--data-dir").arg(&self.data).arg("--config").arg(self.path("config.toml"));
        command.args(arguments).current_dir(&self.work).env("MOCK_KEY", "a key");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> CliOutput {
        to_output(self.command(arguments).output().unwrap())
    }

    /// The same, with this on stdin.
    pub(crate) fn run_with_input(&self, input: &str, arguments: &[&str]) -> CliOutput {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        to_output(child.wait_with_output().unwrap())
    }

    /// Starts it, to be read line by line.
    pub(crate) fn start(&self, arguments: &[&str]) -> StartedCli {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        StartedCli { child, lines: Some(lines) }
    }
}

fn to_output(output: Output) -> CliOutput {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CliOutput { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A command at work; killed when dropped.
pub(crate) struct StartedCli {
    child: Child,
    lines: Option<BufReader<std::process::ChildStdout>>,
}

impl StartedCli {
    /// The next line of stdout; none at its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.as_mut()?.read_line(&mut line).unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// Reads on until a line holds this, and returns that.
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            let line = self.line().unwrap_or_else(|| panic!("it ended before `{text}`"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// What a reader sees that has gone its way.
    pub(crate) fn stops_reading(&mut self) {
        self.lines = None;
    }

    /// Hands its lines to somebody else.
    pub(crate) fn take_lines(&mut self) -> impl Iterator<Item = String> + Send + use<> {
        self.lines.take().unwrap().lines().map_while(Result::ok)
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> CliOutput {
        let (mut out, mut err) = (String::new(), String::new());
        if let Some(mut lines) = self.lines.take() {
            lines.read_to_string(&mut out).unwrap();
        }
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        CliOutput { code: self.child.wait().unwrap().code(), out, err }
    }
}

impl Drop for StartedCli {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A terminal: what its owner sees, and what a program is given.
pub(crate) fn terminal(columns: u16, rows: u16) -> (File, OwnedFd) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let owner = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&owner).unwrap();
    unlockpt(&owner).unwrap();
    let name = ptsname(&owner, Vec::new()).unwrap();
    let program = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&program, size).unwrap();
    (File::from(owner), program.into())
}

/// Reads a terminal until it has shown this, and returns all that it has shown.
pub(crate) fn sees(terminal: &mut File, text: &str) -> String {
    let (mut shown, mut chunk) = (String::new(), [0; 4096]);
    while !shown.contains(text) {
        let read = terminal.read(&mut chunk).unwrap_or_else(|error| panic!("{error}, after: {shown}"));
        shown.push_str(&String::from_utf8_lossy(&chunk[..read]));
    }
    shown
}
