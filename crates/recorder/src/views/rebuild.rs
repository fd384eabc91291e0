//! Making the views anew, beside the old ones until they are whole.

use std::fs;
use std::io;
use std::path::Path;

use ostler_types::{Record, SessionId};

use super::database::DATABASE;
use super::progress::TextFile;
use super::{SessionViews, remove};
use crate::RecorderError;

/// Where the new ones are made.
const TEMPORARY_FOLDER: &str = "views.new";
/// Records that are written in one transaction.
const RECORDS_PER_TRANSACTION: usize = 500;

/// Makes the views of a folder from the session's whole log. The old ones stay as they are until the new ones are
/// there; a failure before that changes nothing. Nobody may have the old ones open.
pub fn rebuild(
    dir: &Path,
    session: SessionId,
    records: impl IntoIterator<Item = io::Result<Record>>,
) -> Result<(), RecorderError> {
    let aside = dir.join(TEMPORARY_FOLDER);
    clear(&aside)?;
    fs::create_dir(&aside).map_err(|source| RecorderError { path: aside.clone(), source })?;
    let made = make(&aside, session, records).and_then(|()| move_in(&aside, dir));
    let cleared = clear(&aside);
    made.and(cleared)
}

fn make(
    dir: &Path,
    session: SessionId,
    records: impl IntoIterator<Item = io::Result<Record>>,
) -> Result<(), RecorderError> {
    let mut views = SessionViews::open(dir, session)?;
    let mut some = Vec::new();
    for record in records {
        some.push(record.map_err(|source| RecorderError { path: dir.to_owned(), source })?);
        if some.len() == RECORDS_PER_TRANSACTION {
            views.apply(&some)?;
            some.clear();
        }
    }
    views.apply(&some)?;
    views.close()
}

/// The database goes first and comes last: whatever else a crash leaves counts for nothing without it.
fn move_in(aside: &Path, dir: &Path) -> Result<(), RecorderError> {
    remove(dir)?;
    for name in TextFile::ALL.map(TextFile::name).into_iter().chain([DATABASE]) {
        let path = dir.join(name);
        match fs::rename(aside.join(name), &path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(RecorderError { path, source });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn clear(aside: &Path) -> Result<(), RecorderError> {
    let cleared = match fs::symlink_metadata(aside) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(aside),
        Ok(_) => fs::remove_file(aside),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    cleared.map_err(|source| RecorderError { path: aside.to_owned(), source })
}
