//! Markers: a file for each session that was appended to and has not been settled since.
//!
//! A marker is on disk before the records that it announces, so that after a crash the sessions that
//! need a look are found without looking at all of them. It says where the feed must be checked from.

use std::io;

use ostler_types::SessionId;
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, DiskFile};
use crate::layout::DataLayout;

/// What a marker says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    /// The session's last record before the marker: it and all before it are in the feed.
    pub(crate) seq: u64,
    /// The records after that one are in the feed at this position or later.
    pub(crate) feed: u64,
    /// Whether the session is being made by several appends, and not whole yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unfinished: bool,
    /// The session in whose folder this one is being made, until it has its first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<SessionId>,
}

/// The marker of one session, if it has one.
pub(crate) fn read(layout: &DataLayout, session: SessionId) -> Option<Marker> {
    serde_json::from_slice(&std::fs::read(layout.marker(session)).ok()?).ok()
}

/// Writes a marker. It counts only once the returned file and its directory are synced.
pub(crate) fn write(
    disk: &dyn Disk,
    layout: &DataLayout,
    session: SessionId,
    marker: Marker,
) -> io::Result<DiskFile> {
    let mut text = serde_json::to_vec(&marker)?;
    text.push(b'\n');
    let file = disk.open(&layout.marker(session))?;
    disk.truncate(&file, 0)?;
    disk.write_at(&file, &text, 0)?;
    Ok(file)
}

/// Puts another marker in the place of one, so that at no time there is none.
pub(crate) fn replace(
    disk: &dyn Disk,
    layout: &DataLayout,
    session: SessionId,
    marker: Marker,
) -> io::Result<()> {
    let (target, part) = (layout.marker(session), layout.unsettled.join(format!("{session}.part")));
    let mut text = serde_json::to_vec(&marker)?;
    text.push(b'\n');
    let file = disk.open(&part)?;
    disk.truncate(&file, 0)?;
    disk.write_at(&file, &text, 0)?;
    disk.sync_data(&file)?;
    disk.rename(&part, &target)?;
    disk.sync_dir(&layout.unsettled)
}

/// Every marker. One that was torn says the most cautious thing: check the feed from its start.
pub(crate) fn list(layout: &DataLayout) -> io::Result<Vec<(SessionId, Marker)>> {
    let mut markers = Vec::new();
    for entry in std::fs::read_dir(&layout.unsettled)? {
        let entry = entry?;
        let Some(session) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let marker = std::fs::read(entry.path())
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        markers.push((session, marker));
    }
    Ok(markers)
}
