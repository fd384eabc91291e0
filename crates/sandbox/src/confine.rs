//! The helper inside the sandbox: gives up everything that the program must not have, then becomes it.
//! Whatever fails here fails the command; the program is never started with less confinement.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{getpgrp, getpid, ioctl_tiocsctty, setsid};

use crate::orders::{Confine, Identity};
use crate::{capabilities, filter, limits, ruleset};

/// Becomes the program. Returns only when that cannot be.
pub(crate) fn run(order: &Confine, program: &[OsString]) -> Result<ExitCode, String> {
    for identity in &order.identities {
        verify(identity)?;
    }
    std::env::set_current_dir(&order.current_dir)
        .map_err(|error| format!("{}: {error}", order.current_dir.display()))?;
    // bubblewrap has begun a session already, and a leader cannot begin another.
    if getpgrp() != getpid() {
        setsid().map_err(|error| format!("beginning a session: {error}"))?;
    }
    if order.terminal {
        ioctl_tiocsctty(std::io::stdin()).map_err(|error| format!("taking its terminal: {error}"))?;
    }
    capabilities::drop_all()?;
    limits::apply(&order.limits, order.shared_process_count)?;
    ruleset::apply(order.rules.as_ref(), order.scoped)?;
    filter::apply(order.filter)?;
    let (first, arguments) = program.split_first().ok_or("there is no program")?;
    let error = Command::new(first).args(arguments).env("TMPDIR", &order.temporary).exec();
    eprintln!("{}: {error}", first.display());
    Ok(ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 }))
}

/// Between the check and the mount, another session could have put a link in a directory's place.
fn verify(identity: &Identity) -> Result<(), String> {
    let path = identity.path.display();
    let found = std::fs::symlink_metadata(&identity.path).map_err(|error| format!("{path}: {error}"))?;
    if (found.dev(), found.ino()) == (identity.device, identity.inode) {
        Ok(())
    } else {
        Err(format!("{path} was replaced by something else while the sandbox was made; try again"))
    }
}
