//! Runs a program confined: what it may write, read, reach and use up is said by a [`Profile`].
//!
//! [`Sandbox::probe`] finds out what this machine can do: bubblewrap, else Landlock with seccomp, else
//! nothing; its [`Report`] says which and what that leaves open. [`Sandbox::command`] then makes a
//! command that the caller gives an environment and pipes, and spawns. Where nothing confines, no
//! command is made: whether to run in the open is for people to decide, elsewhere.
//!
//! A confined program runs under two processes of our own binary, both in [`run_helper`]: one outside
//! that outlives everything in the sandbox, and one inside that gives up what is left and then becomes
//! the program. Which environment a program gets, how long it may take and how much it may print are
//! the caller's.

mod capabilities;
mod cgroup;
mod confine;
mod confinement;
mod denial;
mod embedded;
mod error;
mod filter;
mod git;
mod git_config;
mod git_directory;
mod git_index;
mod helper;
mod layout;
mod limits;
mod mounts;
mod nested;
mod orders;
mod placeholders;
mod probe;
mod processes;
mod profile;
mod protected;
mod remembered;
mod report;
mod ruleset;
mod sandbox;
mod secrets;
mod snapshot;
mod supervise;

pub use confinement::{Aftermath, Confinement};
pub use denial::explain_denial;
pub use embedded::ArmedRepository;
pub use error::SandboxError;
pub use git::{GitOutput, hardened_git, hardened_git_calls};
pub use helper::run_helper;
pub use layout::unfit;
pub use placeholders::{holds_a_place, is_placeholder};
pub use profile::{Limits, Profile, WorkspaceAccess};
pub use protected::PROTECTED_NAMES;
pub use report::{Backend, Report};
pub use sandbox::{Choice, Confined, Sandbox, Settings};
pub use secrets::secret_places;
