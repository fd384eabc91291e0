//! What the last probe found, so that a start need not try again: a try takes as long as all the rest of a
//! start together. It holds until the machine is booted anew or a program that takes part changes. Should
//! it be wrong all the same, commands fail; none runs unconfined for it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::helper_image::HelperImage;
use crate::probe::ConfinementMethod;
use crate::sandbox::SandboxSettings;

/// The helper with which these means worked when they were last tried, where nothing that matters has changed since.
pub(crate) fn cached_helper(settings: &SandboxSettings, means: &ConfinementMethod) -> Option<HelperImage> {
    let known = std::fs::read_to_string(cache_path(settings)).ok()?;
    let is_known = |helper: &HelperImage| cache_key(settings, means, *helper).as_ref() == Some(&known);
    [HelperImage::Embedded, HelperImage::Given].into_iter().find(is_known)
}

/// Remembers that these means work. What cannot be remembered is tried again.
pub(crate) fn store(settings: &SandboxSettings, means: &ConfinementMethod, helper: HelperImage) {
    if let Some(circumstances) = cache_key(settings, means, helper) {
        let _ = std::fs::write(cache_path(settings), circumstances);
    }
}

/// Forgets what was found.
pub(crate) fn clear(settings: &SandboxSettings) {
    let _ = std::fs::remove_file(cache_path(settings));
}

fn cache_path(settings: &SandboxSettings) -> PathBuf {
    settings.scratch.join("probed")
}

/// All that the outcome of a try depends on, as far as it can be told.
fn cache_key(settings: &SandboxSettings, means: &ConfinementMethod, image: HelperImage) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let helper = file_stamp(settings.helper.path())?;
    let program = match means {
        ConfinementMethod::Bubblewrap { program, .. } => file_stamp(program)?,
        ConfinementMethod::Landlock { .. } => String::new(),
    };
    let user = geteuid().as_raw();
    let boot = boot.trim();
    Some(format!("{means:?} by user {user} in boot {boot}, helper {image:?} {helper}, program {program}"))
}

fn file_stamp(path: &Path) -> Option<String> {
    let it = path.metadata().ok()?;
    Some(format!("{} {} {} {}.{}", it.dev(), it.ino(), it.size(), it.mtime(), it.mtime_nsec()))
}
