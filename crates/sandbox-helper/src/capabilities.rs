//! Gives up the powers of root. Without them root is a user like others, who owns what root owns.
//!
//! It matters for more than files: a root that has its powers reads the environment of any process,
//! whatever Landlock says.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

/// Gives them up for good, for this thread and whatever it becomes.
pub(crate) fn drop_all() -> Result<(), String> {
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // An ordinary user may not, and has none to lose; an older kernel does not know them all.
            Ok(()) | Err(Errno::PERM | Errno::INVAL) => {}
            Err(error) => return Err(format!("giving up capabilities: {error}")),
        }
    }
    let none = CapabilitySet::empty();
    clear_ambient_capability_set()
        .and_then(|()| {
            set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        })
        .map_err(|error| format!("giving up capabilities: {error}"))
}
