//! The feed: the order of all records of all sessions, as a file of places in their logs.
//!
//! The committer adds to it after the records are on disk, without a sync. Nobody is shown a place that
//! is not itself on disk: a reader syncs the feed first, so that a cursor handed out stays true through
//! a power cut. What a crash loses of it, `feed_repair` finds again in the logs.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_types::SessionId;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use uuid::Uuid;

use crate::disk::{Disk, DiskFile};
use crate::log::FeedPosition;
use crate::sealed_line::RecordChain;

/// The size of a place in the file.
pub(crate) const FEED_ENTRY_BYTES: u64 = 48;

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FeedEntry {
    pub(crate) session: SessionId,
    pub(crate) seq: u64,
    /// Where its line begins in the session's log.
    pub(crate) offset: u64,
    /// How long the line is, without its line feed.
    pub(crate) length: u32,
    pub(crate) chain: RecordChain,
}

impl FeedEntry {
    /// Session 16, seq 8, offset 8, length 4, chain 8, checksum 4; numbers with the low byte first.
    pub(crate) fn to_bytes(self) -> [u8; FEED_ENTRY_BYTES as usize] {
        let mut bytes = [0; FEED_ENTRY_BYTES as usize];
        bytes[..16].copy_from_slice(self.session.uuid().as_bytes());
        bytes[16..24].copy_from_slice(&self.seq.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.offset.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.length.to_le_bytes());
        bytes[36..44].copy_from_slice(&self.chain.raw());
        let sum = checksum(&bytes[..44]);
        bytes[44..].copy_from_slice(&sum);
        bytes
    }

    /// The place in these bytes, if they are whole.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<FeedEntry> {
        let bytes: &[u8; FEED_ENTRY_BYTES as usize] = bytes.try_into().ok()?;
        if checksum(&bytes[..44]) != bytes[44..] {
            return None;
        }
        let number = |at: usize| Some(u64::from_le_bytes(bytes[at..at + 8].try_into().ok()?));
        Some(FeedEntry {
            session: SessionId::new(Uuid::from_slice(&bytes[..16]).ok()?),
            seq: number(16)?,
            offset: number(24)?,
            length: u32::from_le_bytes(bytes[32..36].try_into().ok()?),
            chain: RecordChain::from_raw(bytes[36..44].try_into().ok()?),
        })
    }
}

/// The first four bytes of the SHA-256 of what is before them.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    [digest[0], digest[1], digest[2], digest[3]]
}

/// The feed's file and its state. The committer alone adds to it; readers sync and read it.
pub(crate) struct Feed {
    disk: Arc<dyn Disk>,
    file: DiskFile,
    state: Mutex<FeedState>,
    /// Held during a sync: of two at once, only one would be told of a failure.
    syncing: Mutex<()>,
    end: watch::Sender<FeedPosition>,
}

#[derive(Debug, Clone, Copy)]
struct FeedState {
    /// How many places have been written.
    end: u64,
    /// How many of them are on disk, and will never change.
    synced: u64,
    /// Whether `synced` is known: at first the file must be looked at.
    known: bool,
    /// Something after `synced` could not be written: it must be repaired before more is added.
    broken: bool,
}

impl Feed {
    /// Opens the file; it is not fit for use until it has been repaired.
    pub(crate) fn open(disk: Arc<dyn Disk>, path: &std::path::Path) -> io::Result<Feed> {
        let file = disk.open(path)?;
        let state = Mutex::new(FeedState { end: 0, synced: 0, known: false, broken: true });
        Ok(Feed { disk, file, state, syncing: Mutex::new(()), end: watch::Sender::new(FeedPosition(0)) })
    }

    /// Adds places. When that fails the feed is broken; the records themselves are safe.
    pub(crate) fn append(&self, places: &[FeedEntry]) {
        let FeedState { end, broken, .. } = *self.state();
        if broken || places.is_empty() {
            return;
        }
        match self.write(places, end) {
            Ok(end) => self.advance(end),
            Err(error) => {
                tracing::warn!(%error, "the feed could not be written, and will be repaired from the logs");
                self.state().broken = true;
            }
        }
    }

    /// Makes all that was added so far durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let _alone = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let FeedState { end, synced, broken, .. } = *self.state();
        if broken {
            return Err(io::Error::other("the feed is broken until it can be repaired"));
        }
        if synced == end {
            return Ok(());
        }
        let result = self.disk.sync_data(&self.file);
        let mut state = self.state();
        match &result {
            Ok(()) => state.synced = state.synced.max(end),
            Err(_) => state.broken = true,
        }
        result
    }

    /// Up to `count` places from a position on, all of them durable.
    pub(crate) fn read(&self, from: u64, count: usize) -> io::Result<Vec<FeedEntry>> {
        let wanted = from.saturating_add(count as u64);
        let before = *self.state();
        if before.synced < wanted && before.synced < before.end && !before.broken {
            self.sync()?;
        }
        let until = wanted.min(self.state().synced);
        self.read_raw(from, until)
    }

    /// The places from one position to another, up to the first that is not whole.
    pub(crate) fn read_raw(&self, from: u64, until: u64) -> io::Result<Vec<FeedEntry>> {
        let count = usize::try_from(until.saturating_sub(from)).unwrap_or(0);
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; count * FEED_ENTRY_BYTES as usize];
        self.file.file.read_exact_at(&mut bytes, from * FEED_ENTRY_BYTES)?;
        Ok(bytes.chunks_exact(FEED_ENTRY_BYTES as usize).map_while(FeedEntry::from_bytes).collect())
    }

    /// How many places are durable.
    pub(crate) fn synced(&self) -> u64 {
        self.state().synced
    }

    /// How many places need not be looked at again; none before the first repair.
    pub(crate) fn verified_entries(&self) -> Option<u64> {
        let state = self.state();
        state.known.then_some(state.synced)
    }

    /// Whether it must be repaired.
    pub(crate) fn is_broken(&self) -> bool {
        self.state().broken
    }

    /// Follows the end.
    pub(crate) fn follow(&self) -> watch::Receiver<FeedPosition> {
        self.end.subscribe()
    }

    /// How many places the file has room for.
    pub(crate) fn entries_in_file(&self) -> io::Result<u64> {
        Ok(self.file.file.metadata()?.len() / FEED_ENTRY_BYTES)
    }

    /// Makes the feed whole: cuts it to `keep` places, and adds what `missing` hands over, which is
    /// called until it has no more.
    pub(crate) fn repair(
        &self,
        keep: u64,
        mut missing: impl FnMut() -> io::Result<Option<Vec<FeedEntry>>>,
    ) -> io::Result<()> {
        let _alone = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        self.state().broken = true;
        if self.file.file.metadata()?.len() != keep * FEED_ENTRY_BYTES {
            self.disk.truncate(&self.file, keep * FEED_ENTRY_BYTES)?;
        }
        self.disk.sync_data(&self.file)?;
        *self.state() = FeedState { end: keep, synced: keep, known: true, broken: true };
        let mut end = keep;
        while let Some(places) = missing()? {
            end = self.write(&places, end)?;
        }
        if end > keep {
            self.disk.sync_data(&self.file)?;
        }
        *self.state() = FeedState { end, synced: end, known: true, broken: false };
        self.end.send_replace(FeedPosition(end));
        Ok(())
    }

    fn write(&self, places: &[FeedEntry], at: u64) -> io::Result<u64> {
        let bytes: Vec<u8> = places.iter().flat_map(|place| place.to_bytes()).collect();
        self.disk.write_at(&self.file, &bytes, at * FEED_ENTRY_BYTES)?;
        Ok(at + places.len() as u64)
    }

    fn advance(&self, end: u64) {
        self.state().end = end;
        self.end.send_replace(FeedPosition(end));
    }

    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
