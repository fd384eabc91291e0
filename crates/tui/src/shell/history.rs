//! What was sent, remembered in a file: one JSON text a line, the newest last. Losing it is no loss worth a word.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::model::MAX_HISTORY;

/// When the file is longer than so many bytes, only its end is kept.
const MAX_BYTES: usize = 2 << 20;

/// Reads what was remembered.
pub(super) fn load(path: &Path) -> Vec<String> {
    let Ok(text) = std::fs::read_to_string(path) else { return Vec::new() };
    let lines: Vec<&str> = text.lines().collect();
    let newest = &lines[lines.len().saturating_sub(MAX_HISTORY)..];
    if text.len() > MAX_BYTES {
        _ = std::fs::write(path, newest.join("\n") + "\n");
    }
    newest.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Remembers one more.
pub(super) fn append(path: &Path, text: &str) {
    let Ok(mut line) = serde_json::to_string(text) else { return };
    line.push('\n');
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}
