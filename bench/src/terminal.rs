//! The terminal client in a terminal: a pseudo-terminal of this process's own, whose screen is read as a person would
//! see it. What the client draws is timed when it arrives here; keys are written as a terminal would send them.
//!
//! A program has a terminal only if that is the one of its session, so the client is started by way of this program
//! itself, which begins a session, takes the terminal, and becomes the client.

mod screen;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

pub use screen::VirtualScreen;

/// The argument by which this program is the one that takes a terminal.
pub const TERMINAL_ARGUMENT: &str = "in-terminal";
/// How long something may take to be on the screen.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much is read at a time.
const READ: usize = 64 << 10;

/// A program in a terminal. Dropping it kills the program.
pub struct BenchTerminal {
    ours: File,
    child: Child,
    screen: VirtualScreen,
    /// When the program was started.
    pub started: Instant,
    /// How many bytes the program has drawn so far.
    pub drawn: u64,
}

impl BenchTerminal {
    /// Starts a program in a terminal of so many columns and rows. Its directory is `home`.
    pub fn start(
        program: &Path,
        arguments: &[String],
        home: &Path,
        (columns, rows): (u16, u16),
    ) -> Result<BenchTerminal> {
        let (ours, theirs) = open(columns, rows).context("cannot open a terminal")?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(TERMINAL_ARGUMENT).arg(program).args(arguments).current_dir(home);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("OSTLER_") || name == "TMUX" {
                command.env_remove(name);
            }
        }
        command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor").env_remove("NO_COLOR");
        command.stdin(Stdio::from(theirs.try_clone()?)).stdout(Stdio::from(theirs.try_clone()?));
        command.stderr(Stdio::from(theirs));
        let started = Instant::now();
        let child = command.spawn().context("cannot start a program in a terminal")?;
        let screen = VirtualScreen::new(usize::from(columns), usize::from(rows));
        Ok(BenchTerminal { ours, child, screen, started, drawn: 0 })
    }

    /// The program's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What is on the screen.
    pub fn screen(&self) -> &VirtualScreen {
        &self.screen
    }

    /// Writes keys, as the terminal would.
    pub fn press(&mut self, keys: &str) -> Result<()> {
        Ok(self.ours.write_all(keys.as_bytes())?)
    }

    /// Takes in what is drawn until the screen is as it should be; says when it was.
    pub fn until(&mut self, what: &str, holds: impl Fn(&VirtualScreen) -> bool) -> Result<Instant> {
        let limit = Instant::now() + PATIENCE;
        while !holds(&self.screen) {
            if !self.take(limit)? {
                bail!("waited in vain for {what}; the screen:\n{}", self.screen.text());
            }
        }
        Ok(Instant::now())
    }

    /// Takes in what is drawn for so long.
    pub fn watch_for(&mut self, duration: Duration) -> Result<()> {
        let end = Instant::now() + duration;
        while self.take(end)? {}
        Ok(())
    }

    /// Takes in what is drawn next; false when nothing was until `end`.
    fn take(&mut self, end: Instant) -> Result<bool> {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).context("a time that can be waited for")?;
        let mut polled = [PollFd::new(&self.ours, PollFlags::IN)];
        if left.is_zero() || poll(&mut polled, Some(&timeout))? == 0 {
            return Ok(false);
        }
        let mut bytes = [0; READ];
        let count = match self.ours.read(&mut bytes) {
            Ok(count) => count,
            // A terminal whose program has gone says that there is an error.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => 0,
            Err(error) => return Err(error.into()),
        };
        ensure!(count > 0, "the program has ended; its screen:\n{}", self.screen.text());
        self.drawn += count as u64;
        self.screen.feed(&bytes[..count]);
        Ok(true)
    }
}

impl Drop for BenchTerminal {
    fn drop(&mut self) {
        // It may have gone already, which is as good.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Is the program that takes its standard input as its terminal and becomes another one. Comes back only if that fails.
pub fn become_program(arguments: &[String]) -> Result<()> {
    let (program, arguments) = arguments.split_first().context("say which program")?;
    setsid().context("cannot begin a session")?;
    ioctl_tiocsctty(io::stdin()).context("cannot take the terminal")?;
    Err(Command::new(program).args(arguments).exec()).with_context(|| format!("cannot start {program}"))
}

fn open(columns: u16, rows: u16) -> io::Result<(File, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    tcsetwinsize(&ours, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    Ok((File::from(ours), theirs))
}
