//! How an export reaches the files that the log keeps beside a session's records.

use std::io::{self, Read};

/// The files beside a session's records. Called from threads that may block.
pub trait SessionFiles {
    /// Opens a file; none where there is no such file.
    fn open(&self, name: &str) -> io::Result<Option<OpenSessionFile<'_>>>;

    /// The names of the files in a folder and below it, in their order. The folder ends with a slash.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;
}

/// A file that an export reads.
pub struct OpenSessionFile<'a> {
    /// Its length in bytes.
    pub size: u64,
    /// What is in it.
    pub content: Box<dyn Read + 'a>,
}
