//! Bringing a group to the disk, in the order that keeps every promise: markers before records, records
//! before the feed, all of it before the answers.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_types::SessionId;

use super::super::Committer;
use super::super::open_files::LogFileKind;
use super::{CommitGroup, StagedLog};
use crate::disk::DiskFile;
use crate::drafts::MAX_DRAFTS;
use crate::feed::FeedEntry;
use crate::log::LogError;
use crate::markers::{self, Marker};
use crate::nested_sessions;
use crate::shared::disk_error;

/// With more files than this, one sync of the file system is cheaper than a sync of each.
const MAX_SYNCS: usize = if cfg!(target_os = "linux") { 8 } else { usize::MAX };

impl Committer {
    /// Commits a group. Each session fails or succeeds by itself.
    pub(in super::super) fn commit(&mut self, mut group: CommitGroup) {
        let settling = std::mem::take(&mut group.settling);
        self.append(group);
        for (session, reply) in settling {
            let _ = reply.send(self.settle(session));
        }
    }

    fn append(&mut self, mut group: CommitGroup) {
        if !group.sessions.is_empty() && !self.shared.lock.holds() {
            return self.refuse(group);
        }
        self.mark(&mut group);
        self.write(&mut group);
        let drafts = self.write_drafts(&group);
        self.sync(&mut group, &drafts);
        self.publish(group);
    }

    /// Somebody replaced the data directory or its lock, so that another process may write there: nothing is written
    /// to what is not ours any more.
    fn refuse(&mut self, group: CommitGroup) {
        tracing::error!("the data directory or its lock was replaced: this daemon writes nothing any more");
        for mut staged in group.sessions {
            staged.failed = Some(LogError::Fenced);
            staged.answer();
        }
    }

    /// Makes sure that each session has its folder and its marker on disk before a record is written.
    fn mark(&mut self, group: &mut CommitGroup) {
        let (mut files, mut folders) = (Vec::new(), BTreeSet::new());
        let feed = self.shared.feed.synced();
        let mut fresh: Vec<&mut StagedLog> = Vec::new();
        for staged in group.sessions.iter_mut().filter(|staged| staged.is_good()) {
            let new = staged.before.length == 0;
            if !new && self.marked.contains(&staged.session) {
                continue;
            }
            let unfinished = self.unfinished.contains(&staged.session);
            let marker = Marker { seq: staged.before.seq, feed, unfinished, parent: None };
            match markers::write(&*self.shared.disk, &self.shared.layout, staged.session, marker) {
                Ok(file) => files.push(file),
                Err(error) => {
                    staged.failed = Some(disk_error("marking a session", &error));
                    continue;
                }
            }
            folders.insert(self.shared.layout.unsettled.clone());
            if new {
                folders.insert(self.shared.layout.sessions.clone());
                folders.insert(self.shared.layout.session(staged.session));
            }
            fresh.push(staged);
        }
        match self.sync_names(&files, &folders) {
            Ok(()) => self.marked.extend(fresh.iter().map(|staged| staged.session)),
            Err(error) => {
                for staged in fresh {
                    staged.failed = Some(disk_error("marking a session", &error));
                    self.abandon(staged);
                }
            }
        }
    }

    fn sync_names(&self, files: &[DiskFile], folders: &BTreeSet<PathBuf>) -> io::Result<()> {
        if files.len() + folders.len() > MAX_SYNCS {
            return self.shared.disk.sync_all(&self.shared.layout.root);
        }
        files.iter().try_for_each(|file| self.shared.disk.sync_data(file))?;
        folders.iter().try_for_each(|folder| self.shared.disk.sync_dir(folder))
    }

    /// A session that could not be made leaves nothing behind, so that the next try begins anew.
    fn abandon(&mut self, staged: &StagedLog) {
        if staged.before.length > 0 {
            return;
        }
        let session = staged.session;
        self.files.close(session);
        self.shared.heads.remove(session);
        let _ = nested_sessions::discard(&self.shared, session);
        let _ = self.shared.disk.remove_file(&self.shared.layout.marker(session));
        self.marked.remove(&session);
    }

    /// Writes each log once; what could not be written whole is taken back.
    fn write(&mut self, group: &mut CommitGroup) {
        for staged in group.sessions.iter_mut().filter(|staged| staged.is_good()) {
            let start = staged.before.length;
            let Err(error) = self.shared.disk.write_at(&staged.file, &staged.buffer, start) else { continue };
            staged.failed = Some(disk_error("writing a log", &error));
            if self.shared.disk.truncate(&staged.file, start).is_err() {
                self.mark_suspect(staged);
            }
        }
    }

    /// The file may hold more than was acknowledged: it is closed, and cut when it is next opened.
    fn mark_suspect(&mut self, staged: &StagedLog) {
        self.files.close(staged.session);
        self.shared.heads.mark_suspect(staged.session, staged.before);
    }

    fn write_drafts(&mut self, group: &CommitGroup) -> Vec<Arc<DiskFile>> {
        let mut written = Vec::new();
        for (session, lines) in &group.drafts {
            match self.write_draft(*session, lines) {
                Ok(file) => written.push(file),
                Err(error) => tracing::warn!(%session, %error, "drafts could not be kept"),
            }
        }
        written
    }

    fn write_draft(&mut self, session: SessionId, lines: &[u8]) -> io::Result<Arc<DiskFile>> {
        let file = match self.files.get(session, LogFileKind::Drafts) {
            Some(file) => file,
            None => {
                let file = self.shared.disk.open(&self.shared.layout.drafts(session))?;
                self.files.put(session, LogFileKind::Drafts, file)
            }
        };
        let length = file.file.metadata()?.len();
        if length + lines.len() as u64 > MAX_DRAFTS {
            return Err(io::Error::other("the session's drafts have reached their limit"));
        }
        if let Err(error) = self.shared.disk.write_at(&file, lines, length) {
            self.shared.disk.truncate(&file, length)?;
            return Err(error);
        }
        Ok(file)
    }

    /// Syncs what was written. A sync that failed is not repeated: the kernel may have dropped the data.
    fn sync(&mut self, group: &mut CommitGroup, drafts: &[Arc<DiskFile>]) {
        let logs = group.sessions.iter().filter(|staged| staged.is_good()).count();
        let whole = if logs + drafts.len() > MAX_SYNCS {
            Some(self.shared.disk.sync_all(&self.shared.layout.root).map_err(|error| sync_error(&error)))
        } else {
            None
        };
        for staged in group.sessions.iter_mut().filter(|staged| staged.is_good()) {
            let result = match &whole {
                Some(result) => result.clone(),
                None => self.shared.disk.sync_data(&staged.file).map_err(|error| sync_error(&error)),
            };
            if let Err(error) = result {
                staged.failed = Some(error);
                self.mark_suspect(staged);
            }
        }
        for file in drafts.iter().filter(|_| whole.is_none()) {
            if let Err(error) = self.shared.disk.sync_data(file) {
                tracing::warn!(%error, path = %file.path.display(), "drafts could not be synced");
            }
        }
    }

    /// Makes the records true for readers and for the feed, then tells the callers.
    fn publish(&mut self, group: CommitGroup) {
        let mut places: Vec<FeedEntry> = Vec::with_capacity(group.feed_entries.len());
        for (index, place) in &group.feed_entries {
            if group.sessions[*index].is_good() {
                places.push(*place);
            }
        }
        for staged in group.sessions.iter().filter(|staged| staged.is_good()) {
            self.shared.heads.put(staged.session, staged.after);
        }
        // A feed that is mended reads these records from their logs.
        if self.shared.feed.is_broken() {
            if let Err(error) = self.repair_feed() {
                tracing::warn!(%error, "the feed could not be repaired yet");
            }
        } else {
            self.shared.feed.append(&places);
        }
        for staged in group.sessions.iter().filter(|staged| staged.is_good() && staged.ends_message) {
            if let Err(error) = self.clear_drafts(staged.session) {
                tracing::warn!(session = %staged.session, %error, "drafts could not be cleared");
            }
        }
        for staged in group.sessions {
            staged.answer();
        }
    }

    fn clear_drafts(&mut self, session: SessionId) -> io::Result<()> {
        let file = match self.files.get(session, LogFileKind::Drafts) {
            Some(file) => file,
            None => {
                let path = self.shared.layout.drafts(session);
                match std::fs::metadata(&path) {
                    Ok(metadata) if metadata.len() > 0 => {}
                    Ok(_) | Err(_) => return Ok(()),
                }
                let file = self.shared.disk.open(&path)?;
                self.files.put(session, LogFileKind::Drafts, file)
            }
        };
        if file.file.metadata()?.len() > 0 {
            self.shared.disk.truncate(&file, 0)?;
        }
        Ok(())
    }
}

fn sync_error(error: &io::Error) -> LogError {
    LogError::Io(format!("syncing a log: {error}"))
}
