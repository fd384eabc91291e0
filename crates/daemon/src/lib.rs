//! A data directory and a configuration become a running daemon: [`Daemon::start`].
//!
//! The command line, tests and programs that embed a daemon start it alike. Arguments, environment, home and the
//! configuration file are read by them and passed in as a [`DaemonConfig`].

mod context_size;
mod daemon;
mod editors;
mod gateway;
mod local_machine;
pub mod models;
pub mod programs;
mod secrets;
mod tool_previews;
mod workspace_trust;

use std::ffi::OsString;
use std::process::ExitCode;

pub use daemon::{Daemon, DaemonConfig, StartError, socket_path, token_path, worktrees_path};
pub use gateway::GatewayPort;
pub use local_machine::sandbox;

/// The word by which a program is started as the sandbox's helper.
pub const SANDBOX_HELPER: &str = "sandbox-helper";

/// Makes the calling program one that confines others: what it is to exit with when it was started as the sandbox's
/// helper. To be called first in `main`, before there is a second thread, with the arguments after the program's name.
pub fn sandbox_helper(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let is_helper = arguments.next().is_some_and(|first| first == SANDBOX_HELPER);
    is_helper.then(|| ostler_sandbox::run_helper(arguments))
}
