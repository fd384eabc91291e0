//! Bounds what a command keeps in its directory for temporary files, where no mount does: by looking at it
//! now and then. A file that has no name any more is not counted; it is gone with the command, as the rest is,
//! and so no worse than one in the workspace, which has no bound either.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::orders::TemporaryQuota;

/// How often it is looked at, unless looking takes long.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// How many times as long as it took to look is waited at least.
const CHECK_COST_FACTOR: u32 = 10;
/// How many files and directories it may hold.
const MAXIMUM_FILES: u64 = 1_000_000;

/// Looks at a directory now and then.
pub(crate) struct QuotaWatch<'a> {
    quota: &'a TemporaryQuota,
    next_check: Instant,
}

impl<'a> QuotaWatch<'a> {
    /// Begins when it is first asked.
    pub(crate) fn new(quota: &'a TemporaryQuota) -> QuotaWatch<'a> {
        QuotaWatch { quota, next_check: Instant::now() }
    }

    /// When to look next.
    pub(crate) fn due(&self) -> Instant {
        self.next_check
    }

    /// Looks if it is time, and says so where there is too much.
    pub(crate) fn exceeded_at(&mut self, now: Instant) -> Option<String> {
        if now < self.next_check {
            return None;
        }
        let (bytes, files) = disk_usage(&self.quota.directory);
        self.next_check = Instant::now() + CHECK_INTERVAL.max(now.elapsed() * CHECK_COST_FACTOR);
        if bytes > self.quota.bytes {
            return Some(format!(
                "[sandbox] the command was ended: its temporary files took more than {} MiB",
                self.quota.bytes >> 20
            ));
        }
        (files > MAXIMUM_FILES).then(|| {
            format!("[sandbox] the command was ended: it made more than {MAXIMUM_FILES} temporary files")
        })
    }
}

/// What it takes on the disk, and how many files that is. Links are not followed; should a directory become
/// one meanwhile, the count is wrong for once.
fn disk_usage(directory: &Path) -> (u64, u64) {
    let (mut bytes, mut files) = (0, 0);
    let mut waiting = vec![directory.to_owned()];
    while let Some(place) = waiting.pop().filter(|_| files <= MAXIMUM_FILES) {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            files += 1;
            bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    (bytes, files)
}
