//! The helper inside the sandbox: gives up everything that the program must not have, then becomes it.
//! Whatever fails here fails the command; the program is never started with less confinement.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::process::{getpgrp, getpid, ioctl_tiocsctty, setsid};

use crate::entry::HELPER_FAILED_CODE;
use crate::environment::EnvironmentVariable;
use crate::orders::{ConfineOrder, DirectoryIdentity, OwnHome};
use crate::{capabilities, environment, gate, landlock_rules, limits, overlay, syscall_filter};

/// The first descriptor that is not one of the standard three.
const FIRST_INHERITED: i32 = 3;

/// Becomes the program. Returns only when that cannot be.
pub(crate) fn run(order: &ConfineOrder, program: &[OsString]) -> Result<ExitCode, String> {
    let given = environment::read_inherited()?;
    for identity in &order.identities {
        verify_identity(identity)?;
    }
    if order.waits_at_gate && !gate::wait_until_open()? {
        return Ok(ExitCode::from(HELPER_FAILED_CODE));
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
    if !order.caches.is_empty() {
        overlay::mount_overlays(&order.caches, order.limits.cache_bytes, order.proc_read_only)?;
    }
    if let Some(home) = &order.home {
        prepare_home(home);
    }
    capabilities::drop_all()?;
    limits::apply(&order.limits, order.shared_process_count)?;
    landlock_rules::apply(order.rules.as_ref(), order.scoped, order.terminal)?;
    syscall_filter::apply(order.filter)?;
    let (first, arguments) = program.split_first().ok_or("there is no program")?;
    // The descriptor of this helper's own image, and whatever else came along, ends here.
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
    // A name without a slash is looked for in the PATH that the program is given.
    let error = Command::new(first).args(arguments).env_clear().envs(variables(order, given)).exec();
    eprintln!("{}: {error}", first.display());
    Ok(ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 }))
}

/// Makes a home directory of the program's own. What cannot be made there the program can do without.
fn prepare_home(home: &OwnHome) {
    let _ = std::fs::create_dir_all(&home.path);
    for (name, target) in &home.links {
        let link = home.path.join(name);
        let made = link.parent().map_or(Ok(()), std::fs::create_dir_all);
        let _ = made.and_then(|()| std::os::unix::fs::symlink(target, link));
    }
    if !home.git_configuration.is_empty() {
        let _ = std::fs::write(home.path.join(".gitconfig"), &home.git_configuration);
    }
}

/// The program's environment: what it was given, and where its own directories are.
fn variables(order: &ConfineOrder, given: Vec<EnvironmentVariable>) -> Vec<EnvironmentVariable> {
    let mut variables = given;
    variables.retain(|(name, _)| name != "TMPDIR");
    variables.push(("TMPDIR".into(), order.temporary.clone().into()));
    let Some(home) = &order.home else { return variables };
    // One that its owner has set is not the user's.
    let is_users =
        |value: &OsString| Path::new(value).canonicalize().map_or(true, |value| value == home.real);
    if variables.iter().all(|(name, value)| name != "HOME" || is_users(value)) {
        variables.retain(|(name, _)| name != "HOME");
        variables.push(("HOME".into(), home.path.clone().into()));
    }
    for (name, path) in &home.variables {
        if !variables.iter().any(|(known, _)| known == name.as_str()) {
            variables.push((name.into(), path.into()));
        }
    }
    variables
}

/// Between the check and the mount, another session could have put a link in a directory's place.
fn verify_identity(identity: &DirectoryIdentity) -> Result<(), String> {
    let path = identity.path.display();
    let found = std::fs::symlink_metadata(&identity.path).map_err(|error| format!("{path}: {error}"))?;
    if (found.dev(), found.ino()) == (identity.device, identity.inode) {
        Ok(())
    } else {
        Err(format!("{path} was replaced by something else while the sandbox was made; try again"))
    }
}
