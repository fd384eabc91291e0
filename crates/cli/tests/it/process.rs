//! Daemons as real processes: started, killed, started again. Each ends with its owner.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use ostler_client::{Client, DaemonEndpoint};

/// A daemon, killed when dropped.
pub(crate) struct DaemonProcess {
    child: Child,
    data_dir: PathBuf,
    pub(crate) address: Option<SocketAddr>,
}

impl DaemonProcess {
    /// The real binary, on a TCP port of its own choice.
    pub(crate) fn serve(data_dir: &Path, config: &str) -> DaemonProcess {
        DaemonProcess::serve_with(data_dir, config, &[])
    }

    /// The same with variables in its environment.
    pub(crate) fn serve_with(data_dir: &Path, config: &str, environment: &[(&str, &str)]) -> DaemonProcess {
        let mut command = binary();
        command.envs(environment.iter().copied());
        let file = data_dir.parent().unwrap().join("config.toml");
        std::fs::write(&file, config).unwrap();
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file)
            .arg("--data-dir")
            .arg(data_dir);
        let (child, line) = start(command, "ostler is ready at http://");
        let address = line.and_then(|line| line.strip_prefix("ostler is ready at http://")?.parse().ok());
        DaemonProcess {
            child,
            data_dir: data_dir.to_owned(),
            address: Some(address.expect("the daemon starts")),
        }
    }

    /// The daemon with faults, on its socket. It may die before it is ready.
    pub(crate) fn faulty(data_dir: &Path, faults: &str) -> DaemonProcess {
        let test = std::env::current_exe().unwrap();
        let path = test.parent().unwrap().parent().unwrap().join("examples/faulty_daemon");
        let mut command = Command::new(path);
        command.arg(data_dir).env("OSTLER_TEST_FAULTS", faults);
        let (child, _) = start(command, "ready");
        DaemonProcess { child, data_dir: data_dir.to_owned(), address: None }
    }

    /// A client over the socket, if the daemon is there.
    pub(crate) async fn client(&self) -> Option<Client> {
        let endpoint = DaemonEndpoint::Unix(self.data_dir.join("ostler.sock"));
        Client::connect(endpoint, Some(token(&self.data_dir)?)).await.ok()
    }

    /// A client over TCP.
    pub(crate) async fn tcp_client(&self) -> Client {
        let endpoint = DaemonEndpoint::Tcp(self.address.unwrap());
        Client::connect(endpoint, token(&self.data_dir)).await.unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Bytes of memory that the process holds now.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the process has ended by itself.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The binary under test, in an environment of its own.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/nonexistent");
    // What runs on the machine of whoever tests is not asked.
    command.env("OSTLER_MODELS_DISCOVER", "false").stdin(Stdio::null());
    // What a session is told of its workspace depends on what lies there; most tests are about something else.
    command.env("OSTLER_CONTEXT_BUNDLE", "false");
    command
}

fn token(data_dir: &Path) -> Option<String> {
    Some(std::fs::read_to_string(data_dir.join("token")).ok()?.trim().to_owned())
}

/// Starts a daemon and waits for its first line; `None` when it ended before.
fn start(mut command: Command, expected: &str) -> (Child, Option<String>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.find_map(|line| line.ok().filter(|line| line.starts_with(expected)));
    (child, line)
}
