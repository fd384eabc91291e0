//! All files of a session in a zip archive: the log, the views as they belong to it, and what lies beside it.
//!
//! Only what a session is known to have is taken, by name, and only regular files: a link in the folder leads
//! nowhere.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use jiff::Timestamp;

use super::copy::Copy;
use super::write_ndjson;
use crate::zip::ZipWriter;

/// Files of the session's folder that are taken as they are.
const PLAIN: [&str; 2] = ["session.json", "raw.jsonl"];
/// Text files whose length the database tells.
const TEXTS: [&str; 3] = ["context.md", "transcript.jsonl", "verbose.md"];
/// Files in one folder beside the log, at most; the engine keeps to far fewer.
const MAX_FILES: usize = 10_000;

/// Where the files of a session lie.
#[derive(Debug, Clone, Copy)]
pub struct Folders<'a> {
    /// The folder of its log.
    pub session: &'a Path,
    /// The folder of its views, which may be the same.
    pub views: &'a Path,
    /// A path that is free to be used meanwhile.
    pub scratch: &'a Path,
}

/// Writes the archive. `lines` are the lines of the log, and `at` is what the entries say of their age.
pub fn write_zip<L: AsRef<[u8]>>(
    folders: Folders<'_>,
    lines: impl IntoIterator<Item = io::Result<L>>,
    at: Timestamp,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut zip = ZipWriter::new(out, at);
    zip.add("events.ndjson", |out| write_ndjson(lines, out))?;
    for name in PLAIN {
        add_file(&mut zip, &folders.session.join(name), name, u64::MAX)?;
    }
    add_views(&mut zip, folders)?;
    add_folder(&mut zip, &folders.session.join("attachments"), "attachments")?;
    for turn in names(&folders.session.join("artifacts"))? {
        let within = format!("artifacts/{turn}");
        add_folder(&mut zip, &folders.session.join(&within), &within)?;
    }
    zip.finish()?;
    Ok(())
}

/// Adds the views, if there are any yet, as they were at one moment.
fn add_views(zip: &mut ZipWriter<&mut dyn Write>, folders: Folders<'_>) -> io::Result<()> {
    if !folders.views.join("session.db").is_file() {
        return Ok(());
    }
    let copy = Copy::make(folders.views, folders.scratch)?;
    add_file(zip, &copy.path, "session.db", u64::MAX)?;
    for name in TEXTS {
        // Text is only ever added, so what belonged to the database then is still there.
        let length = copy.length_of(name).unwrap_or(u64::MAX);
        add_file(zip, &folders.views.join(name), name, length)?;
    }
    Ok(())
}

fn add_folder(zip: &mut ZipWriter<&mut dyn Write>, folder: &Path, within: &str) -> io::Result<()> {
    for name in names(folder)? {
        add_file(zip, &folder.join(&name), &format!("{within}/{name}"), u64::MAX)?;
    }
    Ok(())
}

/// Adds a regular file, up to a length; anything else, and what is not there, is passed over.
fn add_file(zip: &mut ZipWriter<&mut dyn Write>, path: &Path, name: &str, length: u64) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() && length > 0 => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let file = File::open(path)?;
    zip.add(name, |out| io::copy(&mut file.take(length), out).map(drop))
}

/// The names in a folder that are plain ones, in their order; none when there is no such folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    match fs::symlink_metadata(folder) {
        Ok(there) if there.is_dir() => {}
        Ok(_) => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)?.take(MAX_FILES) {
        let name = entry?.file_name().into_string().unwrap_or_default();
        // Hidden ones are files that are still being written.
        if !name.is_empty() && !name.starts_with('.') && !name.contains('\\') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
