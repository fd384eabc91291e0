//! What one process may use: the limits that every Unix has.

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use crate::orders::ProcessLimits;
use crate::processes::threads_of_user;

/// Lowers the limits of this process and of all that come from it. None is raised.
pub(crate) fn apply(limits: &ProcessLimits, shared_process_count: bool) -> Result<(), String> {
    let others = if shared_process_count { threads_of_user(getuid().as_raw()) } else { 0 };
    let wanted = [
        (Resource::Nproc, Some(limits.processes.saturating_add(others))),
        (Resource::Nofile, Some(limits.open_files)),
        (Resource::Fsize, Some(limits.file_bytes)),
        (Resource::Data, Some(limits.memory_bytes)),
        (Resource::As, limits.address_bytes),
        (Resource::Core, Some(0)),
    ];
    for (resource, limit) in wanted {
        let Some(limit) = limit else { continue };
        let limit = getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
            .map_err(|error| format!("limiting {resource:?} to {limit}: {error}"))?;
    }
    Ok(())
}
