//! The mounts of a sandbox from outside: looked at before its program starts, and watched while it runs.
//!
//! A mount is gone from every sandbox when somebody on the machine replaces or removes what it is mounted on, as git does
//! with its settings at each `git config`, and editors with a file that they save. What it protected can be written
//! from then on, so a program that loses one is ended.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::mounted;
use crate::orders::Mounts;

const OWN: &str = "/proc/self/mountinfo";

/// The protected path that a program has lost, once it has.
pub(crate) type Lost = Arc<OnceLock<PathBuf>>;

/// The list of a sandbox's mounts, which the kernel keeps up to date.
pub(crate) struct MountWatch {
    list: File,
    /// The first process of the sandbox: all others die with it.
    first: OwnedFd,
}

impl MountWatch {
    /// Looks at the mounts of the first process of a sandbox, which are all made. Fails where they are not as meant.
    pub(crate) fn begin(process: u32, meant: &Mounts) -> Result<MountWatch, String> {
        let failed = |error: io::Error| format!("looking at its mounts: {error}");
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or("its process has no number")?;
        let first = pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| failed(errno.into()))?;
        let mut list = File::open(format!("/proc/{process}/mountinfo")).map_err(failed)?;
        let machine = fs::read(OWN).map_err(failed)?;
        mounted::verify(&machine, &read(&mut list).map_err(failed)?, meant)?;
        Ok(MountWatch { list, first })
    }

    /// Ends the program when a mount is gone without which it must not go on, and keeps which one it was. A thread waits
    /// for that, which lives as long as this process: such a list is always readable, and only asked whether it has
    /// something urgent does it tell of changes.
    pub(crate) fn start(self, watched: Vec<PathBuf>, lost: Lost) -> io::Result<()> {
        let watch = move || {
            let path = self.wait(&watched).unwrap_or_else(|| "something protected".into());
            // Kept before the program can be seen to have ended.
            let _ = lost.set(path);
            // What it could have written it writes in a moment, so it ends at once.
            let _ = pidfd_send_signal(&self.first, Signal::KILL);
        };
        std::thread::Builder::new().name("mounts".to_owned()).spawn(watch).map(drop)
    }

    /// Waits until one of these is gone. None where that cannot be known.
    fn wait(&self, watched: &[PathBuf]) -> Option<PathBuf> {
        let mut list = &self.list;
        loop {
            match poll(&mut [PollFd::new(&self.list, PollFlags::PRI)], None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return None,
            }
            if let Some(path) = mounted::lost(&read(&mut list).ok()?, watched) {
                return Some(path.clone());
            }
        }
    }
}

fn read(mut list: impl Read + Seek) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    list.rewind()?;
    list.read_to_end(&mut text)?;
    Ok(text)
}
