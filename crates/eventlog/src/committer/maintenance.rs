//! What the committer does besides appending: settling, removing and salvaging sessions.

use std::io;
use std::path::PathBuf;

use ostler_types::SessionId;

use super::Committer;
use crate::check::{SalvageReport, salvage};
use crate::feed_repair::repair;
use crate::log::LogError;
use crate::markers::{self, Marker};
use crate::nested_sessions;
use crate::shared::disk_error;

impl Committer {
    /// Removes the marker, once all that it stands for is in the feed for good. Of sessions that settle together only the
    /// first has to wait for the feed: nothing is added to it in between.
    pub(super) fn settle(&mut self, session: SessionId) -> Result<(), LogError> {
        let failed = |error: io::Error| disk_error("settling a session", &error);
        if let Some(known) = self.shared.heads.get(session)
            && known.suspect
        {
            // Without a marker nobody would add to the feed what a restart finds in this log.
            self.open(session, known.head.seq + 1)?;
        }
        if self.marked.contains(&session) {
            self.repair_feed()?;
            self.shared.feed.sync().map_err(failed)?;
        }
        remove_if_there(self.shared.disk.remove_file(&self.shared.layout.marker(session))).map_err(failed)?;
        self.marked.remove(&session);
        self.files.close(session);
        Ok(())
    }

    /// Notes that a session is being made by several appends, or that it is whole. The marker says so on
    /// disk: its session is thrown away at the next start while it is not whole.
    pub(super) fn set_unfinished(&mut self, session: SessionId, unfinished: bool) -> Result<(), LogError> {
        let failed = |error: io::Error| disk_error("making a session", &error);
        if unfinished {
            let marker = Marker { unfinished, feed: self.shared.feed.synced(), ..Marker::default() };
            markers::replace(&*self.shared.disk, &self.shared.layout, session, marker).map_err(failed)?;
            self.unfinished.insert(session);
            return Ok(());
        }
        // Only the word changes: the feed may still have to be checked from where the marker says.
        let marker =
            Marker { unfinished: false, ..markers::read(&self.shared.layout, session).unwrap_or_default() };
        let replaced = markers::replace(&*self.shared.disk, &self.shared.layout, session, marker);
        replaced.map_err(failed)?;
        self.unfinished.remove(&session);
        Ok(())
    }

    /// Makes the folder of a new session inside that of another one, and the link by which it is found. A
    /// marker comes first, so that a crash at any point leaves nothing that is not found again.
    pub(super) fn create_nested(&mut self, session: SessionId, parent: SessionId) -> Result<(), LogError> {
        let failed = |error: io::Error| disk_error("making a session", &error);
        if !self.shared.layout.log(parent).exists() {
            return Err(LogError::NotFound);
        }
        let placed = nested_sessions::create_nested(&self.shared, session, parent);
        if placed.is_err() {
            let _ = nested_sessions::discard_under(&self.shared, session, parent);
            let _ = self.shared.disk.remove_file(&self.shared.layout.marker(session));
        }
        placed.map_err(failed)
    }

    /// Moves a session out of sight. Deleting it can take long, and is left to the caller.
    pub(super) fn remove(&mut self, session: SessionId) -> Result<PathBuf, LogError> {
        let failed = |error: io::Error| disk_error("removing a session", &error);
        let (name, trash) = (self.shared.layout.session(session), self.shared.layout.trash(session));
        // Those inside lose their names first, so that no name is left without a session.
        for inside in nested_sessions::unlink_all(&self.shared, &name).map_err(failed)? {
            self.forget(inside);
            remove_if_there(self.shared.disk.remove_file(&self.shared.layout.marker(inside)))
                .map_err(failed)?;
        }
        let is_nested = name.is_symlink();
        let folder = if is_nested { std::fs::canonicalize(&name) } else { Ok(name.clone()) };
        match folder.and_then(|folder| self.shared.disk.rename(&folder, &trash)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A session that was begun and has no record yet has a marker only.
                if self.unfinished.remove(&session) {
                    let removed = self.shared.disk.remove_file(&self.shared.layout.marker(session));
                    remove_if_there(removed).map_err(failed)?;
                }
                return Err(LogError::NotFound);
            }
            Err(error) => return Err(failed(error)),
        }
        if is_nested {
            self.shared.disk.remove_file(&name).map_err(failed)?;
        }
        self.forget(session);
        self.shared.disk.sync_dir(&self.shared.layout.sessions).map_err(failed)?;
        remove_if_there(self.shared.disk.remove_file(&self.shared.layout.marker(session))).map_err(failed)?;
        Ok(trash)
    }

    /// Puts the good part of a damaged log in its place.
    pub(super) fn salvage(&mut self, session: SessionId) -> Result<SalvageReport, LogError> {
        // The feed keeps its places of the records that are given up; they lead nowhere.
        self.repair_feed()?;
        self.shared.feed.sync().map_err(|error| disk_error("syncing the feed", &error))?;
        let report = salvage(&self.shared, session)?;
        if report.kept_as.is_some() {
            self.forget(session);
        }
        Ok(report)
    }

    /// Repairs the feed if the disk failed under it.
    pub(super) fn repair_feed(&mut self) -> Result<(), LogError> {
        if self.shared.feed.is_broken() {
            repair(&self.shared)?;
            tracing::info!("the feed was repaired from the logs");
        }
        Ok(())
    }

    fn forget(&mut self, session: SessionId) {
        self.files.close(session);
        self.marked.remove(&session);
        self.unfinished.remove(&session);
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
