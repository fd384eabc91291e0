//! A real terminal: a pane of tmux with a shell in it, that is typed into and looked at. Its server, and every daemon
//! of its data directory, end with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long anything is awaited before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A shell in a terminal.
pub(crate) struct Pane {
    name: String,
    pub(crate) data: PathBuf,
    pub(crate) work: PathBuf,
    dir: TempDir,
}

impl Pane {
    /// A shell in an empty workspace, in a terminal of this size.
    pub(crate) fn new(columns: u16, rows: u16) -> Pane {
        let dir = tempfile::tempdir_in(crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        let [data, work] = ["data", "work"].map(|name| dir.path().join(name));
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join("README.md"), "A shop.\n").unwrap();
        let config = "[server]\nlisten = \"127.0.0.1:0\"\n";
        std::fs::write(dir.path().join("config.toml"), config).unwrap();
        let name = format!("ostler-{}-{}", std::process::id(), dir.path().file_name().unwrap().display());
        let pane = Pane { name, data, work, dir };
        let size = [columns.to_string(), rows.to_string()];
        let shell = "env -i PATH=\"$PATH\" HOME=/nonexistent TERM=tmux-256color PS1='$ ' OSTLER_MODELS_DISCOVER=false \
                     OSTLER_CONTEXT_BUNDLE=false ENV= sh -i";
        let work = pane.work.to_str().unwrap();
        let made = pane.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &size[0],
            "-y",
            &size[1],
            "-c",
            work,
            shell,
        ]);
        assert!(made.status.success(), "tmux starts: {}", String::from_utf8_lossy(&made.stderr));
        pane.sees("$");
        pane
    }

    /// Starts the terminal client.
    pub(crate) fn open(&self, arguments: &str) {
        let program = env!("CARGO_BIN_EXE_ostler");
        let config = self.dir.path().join("config.toml");
        let globals = format!("--data-dir {} --config {}", self.data.display(), config.display());
        self.types(&format!("clear; {program} tui {globals} {arguments}"));
        self.presses("Enter");
        self.sees("Describe a task");
    }

    /// The same, and waits for the daemon that is started for it.
    pub(crate) fn open_with_daemon(&self) {
        self.open("");
        self.sees("started a daemon in the background");
    }

    /// Types a text, as it is.
    pub(crate) fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", text]);
    }

    /// Presses keys by their names.
    pub(crate) fn presses(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Pastes a text, as a terminal does that says what is pasted.
    pub(crate) fn pastes(&self, text: &str) {
        let file = self.dir.path().join("pasted");
        std::fs::write(&file, text).unwrap();
        self.tmux(&["load-buffer", file.to_str().unwrap()]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    pub(crate) fn resizes(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Waits until something is on the screen, and gives the screen.
    #[track_caller]
    pub(crate) fn sees(&self, text: &str) -> String {
        self.until(&format!("`{text}` to be seen"), |screen| screen.contains(text))
    }

    /// Waits until the screen is as it should be, and gives it.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "waited in vain for {what}; the screen:\n{screen}");
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Processes of the program that work on this data directory and have this word among their arguments.
    pub(crate) fn processes(&self, word: &str) -> Vec<i32> {
        let of = |entry: std::fs::DirEntry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            let ours = words.contains(&self.data.to_str()?.as_bytes()) && words.contains(&word.as_bytes());
            ours.then_some(pid)
        };
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
    }

    pub(crate) fn signal(&self, word: &str, signal: rustix::process::Signal) {
        for pid in self.processes(word) {
            _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal);
        }
    }

    /// The log of the only session.
    pub(crate) fn log(&self) -> String {
        let session = std::fs::read_dir(self.data.join("sessions")).unwrap().flatten().next().unwrap();
        std::fs::read_to_string(session.path().join("events.ndjson")).unwrap()
    }

    pub(crate) fn directory(&self) -> &Path {
        self.dir.path()
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-L").arg(&self.name).args(arguments).env_remove("TMUX");
        command.output().expect("tmux is there; .ci/setup installs it")
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.signal("serve", rustix::process::Signal::KILL);
        self.tmux(&["kill-server"]);
    }
}
