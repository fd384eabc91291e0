//! What runs around and inside a sandbox: one process outside that outlives everything in it, and one inside that gives
//! up what is left and then becomes the program. Both are [`run_helper`], told what to do by an order.
//!
//! Most commands are short, so the two starts are most of what confinement costs. That is why this is a crate of its own
//! with few dependencies, built as a small program besides. What a sandbox is to look like is worked out by `sandbox`,
//! which also shares from here what both have to agree on: the orders, and the journals that a crash leaves behind.

mod attendance;
mod capabilities;
mod confine;
mod entry;
mod environment;
mod filter;
mod gate;
mod git_state;
mod limits;
mod modes;
mod mount_watch;
mod mounted;
mod orders;
mod overlay;
mod placeholder;
mod processes;
mod quota;
mod recovery;
mod repository_watch;
mod ruleset;
mod snapshot;
mod supervise;

pub use entry::{CHECK, CONFINE, SUPERVISE, run_helper};
pub use environment::{EnvironmentVariable, write_environment};
pub use modes::SavedModes;
pub use orders::{
    ConfineOrder, DirectoryIdentity, ExpectedMounts, JoinCgroup, LandlockRules, MountShows, OwnHome, PRIVATE,
    ProcessLimits, SuperviseOrder, SyscallFilter, TemporaryQuota,
};
pub use placeholder::{ListedPlaceholder, PlaceholderStamp, may_be_placeholder, remove_placeholder};
pub use recovery::{LEASE, LOCK, PATIENCE, PLACEHOLDERS, RUN, SNAPSHOT, recover};
pub use ruleset::{LANDLOCK_OLDEST, LANDLOCK_WITH_SCOPES, LANDLOCK_WITH_TCP, landlock_version};
pub use snapshot::{ProtectedSnapshot, SnapshotPath};
pub use supervise::{EXPOSED, INNER_HELPER, OVER};
