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
mod environment;
mod error;
mod filter;
mod gate;
mod git_directory;
mod git_state;
mod helper;
mod home;
mod layout;
mod limits;
mod modes;
mod mount_watch;
mod mounted;
mod mounts;
mod nested;
mod orders;
mod overlay;
mod placeholders;
mod probe;
mod processes;
mod profile;
mod protected;
mod protected_name;
mod quota;
mod remembered;
mod report;
mod repository_watch;
mod ruleset;
mod run;
mod sandbox;
mod secrets;
mod shared_snapshot;
mod snapshot;
mod supervise;

pub use confinement::{Aftermath, Confinement};
pub use denial::explain_denial;
pub use embedded::ArmedRepository;
pub use error::SandboxError;
pub use helper::run_helper;
pub use home::HomePlaces;
pub use layout::unfit;
pub use placeholders::{holds_a_place, is_placeholder};
pub use profile::{Limits, Profile, WorkspaceAccess};
pub use protected::PROTECTED_NAMES;
pub use protected_name::{protected_component, protected_name, protected_target};
pub use report::{Backend, Report};
pub use sandbox::{Choice, Confined, Sandbox, Settings};
pub use secrets::secret_places;
