//! What the committer does besides appending: settling, removing and salvaging sessions.

use std::io;
use std::path::PathBuf;

use ostler_types::SessionId;

use super::Committer;
use crate::check::{SalvageReport, salvage};
use crate::feed_repair::repair;
use crate::log::LogError;
use crate::shared::disk_error;

impl Committer {
    /// Removes the marker, once all that it stands for is in the feed for good.
    pub(super) fn settle(&mut self, session: SessionId) -> Result<(), LogError> {
        let failed = |error: io::Error| disk_error("settling a session", &error);
        if let Some(known) = self.shared.heads.get(session)
            && known.suspect
        {
            // Without a marker nobody would add to the feed what a restart finds in this log.
            self.open(session, known.head.seq + 1)?;
        }
        if self.marked.contains(&session) {
            self.mend_feed()?;
            self.shared.feed.sync().map_err(failed)?;
        }
        remove_if_there(self.shared.disk.remove_file(&self.shared.layout.marker(session))).map_err(failed)?;
        self.marked.remove(&session);
        self.files.close(session);
        Ok(())
    }

    /// Moves a session out of sight. Deleting it can take long, and is left to the caller.
    pub(super) fn remove(&mut self, session: SessionId) -> Result<PathBuf, LogError> {
        let failed = |error: io::Error| disk_error("removing a session", &error);
        let (folder, trash) = (self.shared.layout.session(session), self.shared.layout.trash(session));
        match self.shared.disk.rename(&folder, &trash) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LogError::NotFound),
            Err(error) => return Err(failed(error)),
        }
        self.forget(session);
        self.shared.disk.sync_dir(&self.shared.layout.sessions).map_err(failed)?;
        remove_if_there(self.shared.disk.remove_file(&self.shared.layout.marker(session))).map_err(failed)?;
        Ok(trash)
    }

    /// Puts the good part of a damaged log in its place.
    pub(super) fn salvage(&mut self, session: SessionId) -> Result<SalvageReport, LogError> {
        // The feed keeps its places of the records that are given up; they lead nowhere.
        self.mend_feed()?;
        self.shared.feed.sync().map_err(|error| disk_error("syncing the feed", &error))?;
        let report = salvage(&self.shared, session)?;
        if report.kept_as.is_some() {
            self.forget(session);
        }
        Ok(report)
    }

    /// Repairs the feed if the disk failed under it.
    pub(super) fn mend_feed(&mut self) -> Result<(), LogError> {
        if self.shared.feed.is_broken() {
            repair(&self.shared)?;
            tracing::info!("the feed was repaired from the logs");
        }
        Ok(())
    }

    fn forget(&mut self, session: SessionId) {
        self.files.close(session);
        self.marked.remove(&session);
        self.shared.heads.remove(session);
        self.shared.quarantine.forget(session);
    }
}

fn remove_if_there(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
