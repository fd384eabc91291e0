//! Remembers which logs are damaged, and tells the owner of the machine, once for each.
//!
//! Nothing is repaired here: a damaged log stays as it is until its owner asks for it to be salvaged.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_types::SessionId;
use serde::Serialize;

use crate::check::LogDamage;
use crate::disk::Disk;

/// Damaged logs that are remembered; those beyond it are found again each time they are read.
const MAX_KNOWN: usize = 4096;
/// The file stops growing here. What it would have said is still in the daemon's own log.
const MAX_FILE: u64 = 4 << 20;

/// The known damage, and the file that reports it.
pub(crate) struct Quarantine {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    known: Mutex<HashMap<SessionId, LogDamage>>,
}

/// One line of the file.
#[derive(Serialize)]
struct DamageReport<'a> {
    session_id: SessionId,
    kind: &'static str,
    seq: u64,
    offset: u64,
    what: &'a str,
}

impl Quarantine {
    pub(crate) fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Quarantine {
        Quarantine { disk, path, known: Mutex::default() }
    }

    /// The damage known of a session's log.
    pub(crate) fn known(&self, session: SessionId) -> Option<LogDamage> {
        self.lock().get(&session).cloned()
    }

    /// Forgets a session, because its log was salvaged or removed.
    pub(crate) fn forget(&self, session: SessionId) {
        self.lock().remove(&session);
    }

    /// Reports damage, the first time that it is found.
    pub(crate) fn report(&self, session: SessionId, damage: &LogDamage) {
        let mut known = self.lock();
        if known.get(&session).is_some_and(|before| before.offset <= damage.offset) {
            return;
        }
        if known.len() < MAX_KNOWN {
            known.insert(session, damage.clone());
        }
        tracing::warn!(%session, seq = damage.seq, offset = damage.offset, what = damage.what, "a log is damaged");
        let LogDamage { seq, offset, ref what } = *damage;
        self.write(&DamageReport { session_id: session, kind: "damaged", seq, offset, what });
    }

    /// Reports that the end of a log was cut off. `seq` is the record that would have stood there.
    pub(crate) fn report_torn(&self, session: SessionId, seq: u64, offset: u64, what: &str) {
        let _known = self.lock();
        tracing::warn!(%session, seq, offset, what, "the torn end of a log was cut off");
        self.write(&DamageReport { session_id: session, kind: "torn", seq, offset, what });
    }

    /// Adds a line, unless the same one is there from an earlier start. Held under the lock, so that
    /// two reports do not take the same place.
    fn write(&self, report: &DamageReport<'_>) {
        let result = (|| -> std::io::Result<()> {
            let mut line = serde_json::to_vec(report)?;
            line.push(b'\n');
            let before = std::fs::read(&self.path).unwrap_or_default();
            let repeated = memchr::memmem::find(&before, &line).is_some();
            let length = before.len() as u64;
            if repeated || length > MAX_FILE {
                return Ok(());
            }
            let file = self.disk.open(&self.path)?;
            self.disk.write_at(&file, &line, length)
        })();
        if let Err(error) = result {
            tracing::warn!(%error, path = %self.path.display(), "a damaged log could not be noted");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, LogDamage>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
