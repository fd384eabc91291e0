//! Reads a whole store and says what cannot be restored. A blob that is not what its name says is of
//! no use to anybody: it is removed, so that the next capture of the same content writes it again.

use std::collections::HashMap;
use std::fs::File;

use crate::digest::{CheckpointDigest, ContentDigest};
use crate::error::Error;
use crate::manifest::read_page;
use crate::store::CheckpointStore;
use crate::store_files::remove_if_there;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreCheck {
    /// How many checkpoints there are.
    pub checkpoints: usize,
    /// How many blobs they use.
    pub blobs: usize,
    /// Which cannot be restored whole. All others can.
    pub damage: Vec<CheckpointDamage>,
}

/// A checkpoint that cannot be restored whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointDamage {
    /// Which one.
    pub checkpoint: CheckpointDigest,
    /// The first thing that is wrong with it.
    pub what: String,
}

/// Checks every checkpoint of a store.
pub(crate) fn check(store: &CheckpointStore) -> Result<StoreCheck, Error> {
    let (mut ids, _) = store.ids()?;
    ids.sort_unstable();
    let mut checked = StoreCheck { checkpoints: ids.len(), ..StoreCheck::default() };
    let mut known = HashMap::new();
    for id in ids {
        match check_one(store, id, &mut known) {
            Ok(()) => {}
            Err(Error::Damaged { checkpoint, what }) => {
                checked.damage.push(CheckpointDamage { checkpoint, what })
            }
            Err(error) => return Err(error),
        }
    }
    checked.blobs = known.len();
    if !checked.damage.is_empty() {
        let failed =
            |error| Error::io("Cannot forget what is known of workspaces in", store.files.root(), error);
        for directory in std::fs::read_dir(store.files.workspaces()).map_err(failed)? {
            // Then everything is read, and what is missing written, at the next capture.
            remove_if_there(&directory.map_err(failed)?.path().join("stats")).map_err(failed)?;
        }
    }
    Ok(checked)
}

fn check_one(
    store: &CheckpointStore,
    id: CheckpointDigest,
    known: &mut HashMap<ContentDigest, bool>,
) -> Result<(), Error> {
    let head = store.head(id)?;
    for page in &head.pages {
        if !is_whole(store, page, known)? {
            return Err(Error::Damaged {
                checkpoint: id,
                what: format!("its page {page} is missing or damaged"),
            });
        }
        let entries = read_page(&store.blob(id, page)?).ok_or_else(|| Error::Damaged {
            checkpoint: id,
            what: format!("its page {page} makes no sense"),
        })?;
        for (path, node) in entries {
            if let Some(digest) = node.digest()
                && !is_whole(store, &digest, known)?
            {
                let what = format!("the content of {} is missing or damaged", path.display());
                return Err(Error::Damaged { checkpoint: id, what });
            }
        }
    }
    Ok(())
}

/// Whether a blob holds what its name says; each is read once.
fn is_whole(
    store: &CheckpointStore,
    digest: &ContentDigest,
    known: &mut HashMap<ContentDigest, bool>,
) -> Result<bool, Error> {
    if let Some(known) = known.get(digest) {
        return Ok(*known);
    }
    let path = store.files.blob(digest);
    let failed = |error| Error::io("Cannot read", &path, error);
    let is_whole = match File::open(&path) {
        Ok(file) => ContentDigest::of_reader(file).map_err(failed)?.0 == *digest,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(failed(error)),
    };
    if !is_whole {
        remove_if_there(&path).map_err(failed)?;
    }
    known.insert(*digest, is_whole);
    Ok(is_whole)
}
