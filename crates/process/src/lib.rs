//! The one place that starts processes: the daemon's and its tools'. Nothing else makes a `Command`, but the helper of the
//! sandbox, which cannot afford this crate.
//!
//! An [`Invocation`] is what is started: a program by its absolute path, with an environment that is built from
//! nothing. A [`Program`] can only be made by somebody who answers for where it was found: the system's own
//! directories, this very binary, or a [`ProgramFinder`], which takes nothing that a sandboxed command could
//! have written. [`ChildProcess`] is a process that is spoken to over its pipes; a [`Supervisor`] starts, restarts and ends
//! those. What confines a process is left to `sandbox`, what is said to it to others.

mod child;
mod descriptors;
mod environment;
mod finder;
mod invocation;
mod loader_variables;
mod open_environment;
mod supervisor;

pub use child::{ChildProcess, PreparedChild, StderrTail};
pub use descriptors::close_inherited_descriptors;
pub use environment::{child_environment, terminal_environment};
pub use finder::{ProgramFinder, ProgramNotFound};
pub use invocation::{Invocation, PreparedCommand, Program};
pub use loader_variables::is_loader_variable;
pub use supervisor::{
    Instance, InstanceLease, InstancePhase, Launcher, NotReady, StartFailure, StartResult, Supervised,
    Supervisor, SupervisorSettings,
};
