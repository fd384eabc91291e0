//! Where a program waits, inside a sandbox that mounts have made, until the helper outside has looked at the mounts.
//!
//! Mounts are made by path. A command that runs already can swap directories of the workspace just then, so that
//! a mount ends up elsewhere or shows something else, and swap them back before anybody inside looks. Only the list
//! of mounts tells the truth, and only outside is it known what should be where.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The variables that tell the helper inside which descriptors they are.
const READY: &str = "OSTLER_READY";
const GO: &str = "OSTLER_GO";

/// The ends of the helper outside.
pub(crate) struct Gate {
    ready: PipeReader,
    go: PipeWriter,
}

/// The ends of the helper inside, to be inherited by it.
pub(crate) struct GateInside {
    ready: PipeWriter,
    go: PipeReader,
}

impl Gate {
    /// Makes one.
    pub(crate) fn new() -> io::Result<(Gate, GateInside)> {
        let (ready, tell) = io::pipe()?;
        let (go, open) = io::pipe()?;
        Ok((Gate { ready, go: open }, GateInside { ready: tell, go }))
    }

    /// Becomes readable when all mounts are made, or when nobody waits any more.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    /// Whether all mounts are made; false where the sandbox ended before.
    pub(crate) fn is_ready(&mut self) -> bool {
        self.ready.read_exact(&mut [0]).is_ok()
    }

    /// Lets the program start.
    pub(crate) fn open(mut self) -> io::Result<()> {
        self.go.write_all(&[0])
    }
}

impl GateInside {
    /// The descriptors that have to be inherited.
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.ready.as_fd(), self.go.as_fd()]
    }

    /// What the helper inside has to be told.
    pub(crate) fn variables(&self) -> [(&'static str, String); 2] {
        [(READY, self.ready.as_raw_fd().to_string()), (GO, self.go.as_raw_fd().to_string())]
    }
}

/// Waits at the gate, inside. False where it stays closed, which the helper outside explains.
pub(crate) fn wait_until_open() -> Result<bool, String> {
    let failed = |error: io::Error| format!("waiting until its mounts were looked at: {error}");
    let mut ready = OpenOptions::new().write(true).open(inherited(READY)?).map_err(failed)?;
    ready.write_all(&[0]).map_err(failed)?;
    drop(ready);
    let mut go = File::open(inherited(GO)?).map_err(failed)?;
    go.read(&mut [0]).map(|bytes| bytes > 0).map_err(failed)
}

fn inherited(variable: &str) -> Result<String, String> {
    let number = std::env::var(variable).ok().and_then(|number| number.parse::<u32>().ok());
    number.map(|number| format!("/proc/self/fd/{number}")).ok_or_else(|| format!("{variable} is missing"))
}
