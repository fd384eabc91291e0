//! Sessions in the folder of another one: `sessions/<parent>/subagent_<6 hex>`, with a link under
//! `sessions/<id>` by which everything else finds them. The link is relative, so that a data directory can
//! be moved.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use ostler_types::SessionId;

use crate::layout::DataLayout;
use crate::markers::{self, Marker};
use crate::sealed_line::LineHeader;
use crate::shared::FileLogShared;

/// How the folders of such sessions are called.
const PREFIX: &str = "subagent_";
/// How many digits of the id the name has, the last ones; more where two sessions would have one name.
const DIGITS: &[usize] = &[6, 8, 12, 32];
/// How much of a log is read for its session's id.
const FIRST_BYTES: u64 = 1024;
/// How deep folders in folders are looked for.
const MAX_DEPTH: usize = 16;

/// Makes the marker, the folder and the link of a session that is about to be made, in this order.
pub(crate) fn create_nested(shared: &FileLogShared, session: SessionId, parent: SessionId) -> io::Result<()> {
    let (disk, layout) = (&*shared.disk, &shared.layout);
    let marker = Marker { feed: shared.feed.synced(), parent: Some(parent), ..Marker::default() };
    disk.sync_data(&markers::write(disk, layout, session, marker)?)?;
    disk.sync_dir(&layout.unsettled)?;
    let folder = free_folder(layout, session, parent)?;
    let home = layout.session(parent);
    disk.create_dir(&home.join(&folder))?;
    disk.sync_dir(&home)?;
    disk.symlink(&Path::new(&parent.to_string()).join(folder), &layout.session(session))?;
    disk.sync_dir(&layout.sessions)
}

/// Whether a crash left nothing of a session but its name, or a log without a record.
pub(crate) fn has_no_records(shared: &FileLogShared, session: SessionId) -> bool {
    let name = shared.layout.session(session);
    let Ok(entries) = std::fs::read_dir(&name) else { return name.is_symlink() && !name.exists() };
    match std::fs::metadata(shared.layout.log(session)) {
        Ok(log) => log.len() == 0 && entries.count() == 1,
        Err(_) => entries.count() == 0,
    }
}

/// Removes the folder of a session that never got a record, by the link to it.
pub(crate) fn discard(shared: &FileLogShared, session: SessionId) -> io::Result<()> {
    let name = shared.layout.session(session);
    if !name.is_symlink() {
        return if name.exists() { shared.disk.remove_dir_all(&name) } else { Ok(()) };
    }
    if let Ok(folder) = std::fs::canonicalize(&name) {
        shared.disk.remove_dir_all(&folder)?;
    }
    shared.disk.remove_file(&name)
}

/// The same where the link may be missing.
pub(crate) fn discard_under(shared: &FileLogShared, session: SessionId, parent: SessionId) -> io::Result<()> {
    let name = shared.layout.session(session);
    if name.is_symlink() {
        shared.disk.remove_file(&name)?;
    }
    let home = shared.layout.session(parent);
    for digits in DIGITS {
        let folder = home.join(folder_name(session, *digits));
        if folder.is_dir() && !folder.join("events.ndjson").exists() {
            shared.disk.remove_dir_all(&folder)?;
        }
    }
    Ok(())
}

/// The sessions that lie in a session's folder, and where.
pub(crate) fn direct_children(folder: &Path) -> io::Result<Vec<(SessionId, PathBuf)>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let is_one = entry.file_name().to_string_lossy().starts_with(PREFIX) && entry.file_type()?.is_dir();
        if is_one && let Some(session) = session_in_folder(&entry.path()) {
            found.push((session, entry.path()));
        }
    }
    Ok(found)
}

/// Removes the links to all sessions inside a folder that is about to go, and says which they were.
pub(crate) fn unlink_all(shared: &FileLogShared, folder: &Path) -> io::Result<Vec<SessionId>> {
    let mut inside = Vec::new();
    collect(folder, 0, &mut inside)?;
    for (session, _) in &inside {
        let name = shared.layout.session(*session);
        if name.is_symlink() {
            shared.disk.remove_file(&name)?;
        }
    }
    Ok(inside.into_iter().map(|(session, _)| session).collect())
}

/// Gives each session in another one's folder its link again, and removes links that lead nowhere. Both come
/// of copying or editing a data directory by hand.
pub(crate) fn repair_links(shared: &FileLogShared) -> io::Result<()> {
    let mut mended = false;
    for entry in std::fs::read_dir(&shared.layout.sessions)? {
        let entry = entry?;
        if entry.file_type()?.is_symlink() {
            if !entry.path().exists() {
                tracing::warn!(path = %entry.path().display(), "a link to a session that is gone was removed");
                shared.disk.remove_file(&entry.path())?;
                mended = true;
            }
            continue;
        }
        let mut inside = Vec::new();
        collect(&entry.path(), 0, &mut inside)?;
        for (session, folder) in inside {
            let name = shared.layout.session(session);
            if !name.exists()
                && let Ok(target) = folder.strip_prefix(&shared.layout.sessions)
            {
                tracing::warn!(%session, "a session in another one's folder has its name again");
                shared.disk.symlink(target, &name)?;
                mended = true;
            }
        }
    }
    if mended { shared.disk.sync_dir(&shared.layout.sessions) } else { Ok(()) }
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<(SessionId, PathBuf)>) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    for (session, folder) in direct_children(folder)? {
        collect(&folder, depth + 1, found)?;
        found.push((session, folder));
    }
    Ok(())
}

/// A name that no other session in that folder has.
fn free_folder(layout: &DataLayout, session: SessionId, parent: SessionId) -> io::Result<String> {
    let home = layout.session(parent);
    let names = DIGITS.iter().map(|digits| folder_name(session, *digits));
    let mut free = names.filter(|name| !home.join(name).exists());
    free.next().ok_or_else(|| io::Error::from(ErrorKind::AlreadyExists))
}

fn folder_name(session: SessionId, digits: usize) -> String {
    let hex = session.uuid().simple().to_string();
    format!("{PREFIX}{}", &hex[hex.len() - digits..])
}

/// Whose log lies in a folder, by its first record.
fn session_in_folder(folder: &Path) -> Option<SessionId> {
    let file = File::open(folder.join("events.ndjson")).ok()?;
    let mut first = Vec::new();
    BufReader::new(file.take(FIRST_BYTES)).read_until(b'\n', &mut first).ok()?;
    LineHeader::parse(&first)?.session.parse().ok()
}
