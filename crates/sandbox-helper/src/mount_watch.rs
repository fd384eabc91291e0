//! The mounts of a sandbox from outside: looked at before its program starts, and watched while it runs.
//!
//! A mount is gone from every sandbox when somebody on the machine replaces or removes what it is mounted on, as git does
//! with its settings at each `git config`, and editors with a file that they save. What it protected can be written
//! from then on, so a program that loses one is ended.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::mountinfo;
use crate::orders::ExpectedMounts;

const OWN_MOUNTINFO: &str = "/proc/self/mountinfo";

/// The list of a sandbox's mounts, which the kernel keeps up to date.
pub(crate) struct MountWatch {
    list: File,
    /// The first process of the sandbox: all others die with it.
    first_process: OwnedFd,
    /// The mounts without which the program must not go on.
    watched: Vec<PathBuf>,
}

impl MountWatch {
    /// Looks at the mounts of the first process of a sandbox, which are all made. Fails where they are not as meant.
    pub(crate) fn begin(process: u32, meant: &ExpectedMounts) -> Result<MountWatch, String> {
        let failed = |error: io::Error| format!("looking at its mounts: {error}");
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or("its process has no number")?;
        let first = pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| failed(errno.into()))?;
        let mut list = File::open(format!("/proc/{process}/mountinfo")).map_err(failed)?;
        let machine = fs::read(OWN_MOUNTINFO).map_err(failed)?;
        mountinfo::verify(&machine, &read(&mut list).map_err(failed)?, meant)?;
        Ok(MountWatch { list, first_process: first, watched: meant.watched.clone() })
    }

    /// Has something urgent when the mounts have changed.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.list.as_fd()
    }

    /// Ends the program where a mount is gone without which it must not go on, and says which one. What it could have
    /// written it writes in a moment, so it ends at once.
    pub(crate) fn end_if_mount_lost(&mut self) -> Option<PathBuf> {
        let lost = match read(&mut self.list) {
            Ok(list) => mountinfo::first_unmounted(&list, &self.watched).cloned()?,
            // It cannot be known, so it counts as lost.
            Err(_) => "something protected".into(),
        };
        // It may have ended just now.
        let _ = pidfd_send_signal(&self.first_process, Signal::KILL);
        Some(lost)
    }
}

fn read(mut list: impl Read + Seek) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    list.rewind()?;
    list.read_to_end(&mut text)?;
    Ok(text)
}
