//! Opening a log to be appended to: making a new one, cutting a torn one, refusing a damaged one.

use std::io;
use std::sync::Arc;

use ostler_types::SessionId;

use super::Committer;
use super::open_files::LogFileKind;
use crate::check::{LogDamage, cut_torn};
use crate::disk::DiskFile;
use crate::log::LogError;
use crate::log_heads::LogHead;
use crate::log_walk::LogFile;
use crate::seek::{survey, survey_all, tail};
use crate::shared::disk_error;

impl Committer {
    /// The log's file and its end. From here on readers go by the head, not by the file's length.
    pub(super) fn open(
        &mut self,
        session: SessionId,
        expected_seq: u64,
    ) -> Result<(Arc<DiskFile>, LogHead), LogError> {
        let known = self.shared.heads.get(session);
        if let Some(known) = known
            && !known.suspect
            && let Some(file) = self.files.get(session, LogFileKind::Log)
        {
            return Ok((file, known.head));
        }
        if known.is_none() && !self.shared.heads.has_room() {
            return Err(LogError::Io("too many logs wait for the disk to recover".to_owned()));
        }
        let failed = |error: io::Error| disk_error("opening a log", &error);
        let path = self.shared.layout.log(session);
        if !path.try_exists().map_err(failed)? {
            if expected_seq != 1 || known.is_some_and(|known| known.head.seq > 0) {
                return Err(LogError::NotFound);
            }
            self.shared.disk.create_dir(&self.shared.layout.session(session)).map_err(failed)?;
        }
        let file = self.shared.disk.open(&path).map_err(failed)?;
        let length = file.file.metadata().map_err(failed)?.len();
        let head = match known {
            Some(known) if known.suspect => self.cut_to(session, &file, known.head, length)?,
            Some(known) if known.head.length == length => known.head,
            Some(_) | None => self.survey(session, &file, length)?,
        };
        self.shared.heads.put(session, head);
        Ok((self.files.put(session, LogFileKind::Log, file), head))
    }

    /// Looks at a log of which nothing is known, and cuts off what a crash left of an append.
    fn survey(&mut self, session: SessionId, file: &DiskFile, length: u64) -> Result<LogHead, LogError> {
        let failed = |error: io::Error| disk_error("opening a log", &error);
        let log = LogFile::new(&file.file, session, &self.shared.bytes_read);
        let found = survey(&log, length).map_err(failed)?;
        if let Some(damage) = found.damage {
            self.shared.quarantine.report(session, &damage);
            return Err(damage.into());
        }
        if found.head.length < length {
            // Readers must not see the file change under them.
            self.shared.heads.put(session, found.head);
            self.unmark(session)?;
            cut_torn(&self.shared, session, file, found.head, length).map_err(failed)?;
        }
        Ok(found.head)
    }

    /// Cuts a suspect log back to what was acknowledged, and makes sure that this much is there.
    fn cut_to(
        &self,
        session: SessionId,
        file: &DiskFile,
        head: LogHead,
        length: u64,
    ) -> Result<LogHead, LogError> {
        let failed = |error: io::Error| disk_error("reopening a log after the disk failed", &error);
        if length > head.length {
            self.shared.disk.truncate(file, head.length).map_err(failed)?;
        }
        let log = LogFile::new(&file.file, session, &self.shared.bytes_read);
        let found = tail(&log, head.length.min(length)).map_err(failed)?;
        if found == Some(head) {
            self.shared.disk.sync_data(file).map_err(failed)?;
            tracing::info!(%session, seq = head.seq, "a log was reopened after the disk failed");
            return Ok(head);
        }
        let found = survey_all(&log, head.length.min(length)).map_err(failed)?;
        let damage = found.damage.unwrap_or_else(|| LogDamage {
            seq: found.head.seq + 1,
            offset: found.head.length,
            what: "an acknowledged record is gone since the disk failed".to_owned(),
        });
        self.shared.quarantine.report(session, &damage);
        Err(damage.into())
    }

    /// Makes the next append write a new marker. The feed may know records that were in the torn end,
    /// if they were ever acknowledged; the new marker keeps a repair from taking them for their successors.
    fn unmark(&mut self, session: SessionId) -> Result<(), LogError> {
        self.repair_feed()?;
        self.shared.feed.sync().map_err(|error| disk_error("syncing the feed", &error))?;
        self.marked.remove(&session);
        Ok(())
    }
}
