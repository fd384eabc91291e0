//! Caches that a program may write for itself alone: what it writes lies over them, in memory, and goes with it. Done
//! by the helper inside the sandbox, in namespaces of its own, since bubblewrap has no such mount in older versions.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

/// Where what is written is kept: in a directory of the sandbox's own.
const UPPER_LAYERS: &str = "/run/ostler-caches";

/// Puts a writable layer over each directory. All of them together hold so many bytes.
pub(crate) fn mount_overlays(caches: &[PathBuf], bytes: u64, proc_read_only: bool) -> Result<(), String> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: std::io::Error| format!("making caches writable: {what}: {error}")
    };
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    // Safe with these flags: no descriptor becomes another's.
    #[expect(deprecated, reason = "the other form is for flags that are not used here")]
    rustix::thread::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
        .map_err(|errno| failed("namespaces")(errno.into()))?;
    fs::write("/proc/self/setgroups", "deny").map_err(failed("groups"))?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).map_err(failed("user"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).map_err(failed("group"))?;
    fs::create_dir_all(UPPER_LAYERS).map_err(failed("directory"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let size = c_string(&format!("size={bytes},mode=0700"))?;
    mount("tmpfs", UPPER_LAYERS, "tmpfs", flags, &*size).map_err(|errno| failed("memory")(errno.into()))?;
    for (number, cache) in caches.iter().enumerate() {
        let own = Path::new(UPPER_LAYERS).join(number.to_string());
        let (upper, work) = (own.join("upper"), own.join("work"));
        fs::create_dir_all(&upper).and_then(|()| fs::create_dir(&work)).map_err(failed("layer"))?;
        let lower = cache.to_str().filter(|path| !path.contains([':', ',', '\\', '"']));
        // One with an odd name stays read-only.
        let Some(lower) = lower else { continue };
        let (upper, work) = (upper.display(), work.display());
        let options = c_string(&format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr"))?;
        mount("overlay", cache, "overlay", flags, &*options).map_err(|errno| failed(lower)(errno.into()))?;
    }
    unmount(UPPER_LAYERS, UnmountFlags::DETACH).map_err(|errno| failed("detaching")(errno.into()))?;
    // It only holds a place.
    let _ = fs::remove_dir(UPPER_LAYERS);
    if proc_read_only {
        let flags = flags | MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOEXEC;
        mount_remount("/proc", flags, &*c_string("")?).map_err(|errno| failed("/proc")(errno.into()))?;
    }
    Ok(())
}

fn c_string(options: &str) -> Result<CString, String> {
    CString::new(options).map_err(|_| "making caches writable: a path has a zero byte".to_owned())
}
