//! Files that are needed for the time of one request: a copy to be sent, a body to be read from several places.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

/// Where such files lie.
#[derive(Clone)]
pub(super) struct ScratchDirectory(Arc<PathBuf>);

impl ScratchDirectory {
    /// A folder of its own in the data directory. What a daemon left there that was killed is removed.
    pub(super) fn new(data_dir: &Path) -> ScratchDirectory {
        let folder = data_dir.join("scratch");
        _ = fs::remove_dir_all(&folder);
        ScratchDirectory(Arc::new(folder))
    }

    /// A path that nothing is at. What is put there is removed with what is returned.
    pub(super) fn new_file(&self, name: Uuid) -> io::Result<ScratchFile> {
        fs::create_dir_all(&*self.0)?;
        Ok(ScratchFile(self.0.join(name.simple().to_string())))
    }
}

/// A path that is free while this lives.
pub(super) struct ScratchFile(PathBuf);

impl ScratchFile {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}
