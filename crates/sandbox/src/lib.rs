//! Runs a program confined: what it may write, read, reach and use up is said by a [`SandboxProfile`].
//!
//! [`Sandbox::probe`] finds out what this machine can do: bubblewrap, else Landlock with seccomp, else
//! nothing; its [`SandboxReport`] says which and what that leaves open. [`Sandbox::command`] then makes a
//! command that the caller gives an environment and pipes, and spawns. Where nothing confines, no
//! command is made: whether to run in the open is for people to decide, elsewhere.
//!
//! A confined program runs under two processes of `ostler_sandbox_helper`: one outside that outlives
//! everything in the sandbox, and one inside that gives up what is left and then becomes the program. The
//! helper is embedded here as a small program; where that cannot be started, the caller's own program is it,
//! by [`run_helper`]. Which environment a program gets, how long it may take and how much it may print are
//! the caller's.

mod cgroup;
mod confinement;
mod denial;
mod embedded_repositories;
mod error;
mod git_directory;
mod helper_image;
mod home;
mod layout;
mod mounts;
mod nested_repositories;
mod placeholders;
mod probe;
mod probe_cache;
mod profile;
mod protected_name;
mod protected_paths;
mod report;
mod run_directory;
mod sandbox;
mod secrets;
mod shared_snapshot;
mod spare_directories;

pub use confinement::{Confinement, TeardownReport};
pub use denial::explain_denial;
pub use embedded_repositories::SuspectRepository;
pub use error::SandboxError;
pub use home::HomePlaces;
pub use layout::unfit_workspace_reason;
pub use placeholders::{is_placeholder, is_placeholder_file};
pub use profile::{SandboxLimits, SandboxProfile, WorkspaceAccess};
pub use protected_name::{GIT_REPOSITORY, protected_component, protected_name, protected_place};
pub use protected_paths::PROTECTED_NAMES;
pub use report::{SandboxBackend, SandboxReport};
pub use sandbox::{BackendChoice, ConfinedCommand, Sandbox, SandboxSettings};
pub use secrets::secret_places;

/// Runs as the helper of the sandbox: see `ostler_sandbox_helper::run_helper`. To be called first thing in a process
/// made for it, while that has one thread.
pub fn run_helper(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    ostler_sandbox_helper::run_helper(arguments)
}
