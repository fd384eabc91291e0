//! What runs around and inside a sandbox: one process outside that outlives everything in it, and one inside that gives
//! up what is left and then becomes the program. Both are [`run_helper`], told what to do by an order.
//!
//! Most commands are short, so the two starts are most of what confinement costs. That is why this is a crate of its own
//! with few dependencies, built as a small program besides. What a sandbox is to look like is worked out by `sandbox`,
//! which also shares from here what both have to agree on: the orders, and the journals that a crash leaves behind.

mod capabilities;
mod confine;
mod entry;
mod environment;
mod gate;
mod landlock_rules;
mod limits;
mod mount_watch;
mod mountinfo;
mod orders;
mod overlay;
mod placeholder;
mod processes;
mod protected_snapshot;
mod quota;
mod recovery;
mod repository_state;
mod repository_watch;
mod sandbox_monitor;
mod saved_modes;
mod supervise;
mod syscall_filter;

pub use entry::{CHECK_COMMAND, CONFINE_COMMAND, SUPERVISE_COMMAND, run_helper};
pub use environment::{EnvironmentVariable, write_environment};
pub use landlock_rules::{LANDLOCK_OLDEST, LANDLOCK_WITH_SCOPES, LANDLOCK_WITH_TCP, landlock_version};
pub use orders::{
    ConfineOrder, DirectoryIdentity, ExpectedMounts, JoinCgroup, LandlockRules, MountShows, OwnHome,
    PRIVATE_DIRECTORIES, ProcessLimits, SuperviseOrder, SyscallFilter, TemporaryQuota,
};
pub use placeholder::{ListedPlaceholder, PlaceholderStamp, may_be_placeholder, remove_placeholder};
pub use protected_snapshot::{ProtectedSnapshot, SnapshotPath};
pub use recovery::{
    LEASE_FILE, LOCK_FILE, PLACEHOLDERS_PREFIX, RECOVERY_TIMEOUT, RUN_DIRECTORY_PREFIX, SNAPSHOT_PREFIX,
    recover,
};
pub use saved_modes::SavedModes;
pub use supervise::{INNER_HELPER, LEASE_EXPOSED_PREFIX, LEASE_OVER};
