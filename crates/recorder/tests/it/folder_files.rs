//! The files beside a session's records, for tests, in a folder.

use std::fs::File;
use std::io;
use std::path::Path;

use ostler_recorder::export::{OpenSessionFile, SessionFiles};

pub(crate) struct FolderFiles<'a>(pub(crate) &'a Path);

impl SessionFiles for FolderFiles<'_> {
    fn open(&self, name: &str) -> io::Result<Option<OpenSessionFile<'_>>> {
        let path = self.0.join(name);
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_file() && !name.contains("..") && !name.starts_with('/') => {
                Ok(Some(OpenSessionFile { size: metadata.len(), content: Box::new(File::open(path)?) }))
            }
            Ok(_) | Err(_) => Ok(None),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let Ok(entries) = self.0.join(folder).read_dir() else { return Ok(names) };
        for entry in entries {
            let (entry, mut name) = (entry.as_ref().unwrap(), folder.to_owned());
            name.push_str(entry.file_name().to_str().unwrap());
            match entry.file_type()? {
                kind if kind.is_dir() => names.extend(self.list(&(name + "/"))?),
                kind if kind.is_file() && !entry.file_name().to_string_lossy().starts_with('.') => {
                    names.push(name);
                }
                _ => {}
            }
        }
        names.sort();
        Ok(names)
    }
}
