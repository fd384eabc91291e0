//! Reads a file of a workspace that is to be believed: a plain file of a reasonable size, reached without a
//! link, so that it is the workspace's own and not something that a link was pointed at.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

/// The largest file that is read.
const MAX_BYTES: u64 = 64 * 1024;
/// How often an open is tried while somebody renames directories under it.
const ATTEMPTS: usize = 32;

/// The text of a file; none where there is none. An error says what is wrong and what to do.
pub(super) fn read(workspace: &Path, name: &str) -> Result<Option<String>, String> {
    let fail = |why: &str| Err(format!("{name} is not used: {why}"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(directory) = open(workspace, flags, Mode::empty()) else { return Ok(None) };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut attempts = 0;
    let opened = loop {
        attempts += 1;
        match openat2(&directory, name, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if attempts < ATTEMPTS => {}
            opened => break opened,
        }
    };
    let file = match opened {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP | Errno::XDEV) => {
            return fail("it is a symbolic link or lies behind one; put a plain file there");
        }
        Err(errno) => return fail(&format!("it cannot be opened: {errno}")),
    };
    let metadata = file.metadata().map_err(|error| format!("{name} is not used: {error}"))?;
    if metadata.is_dir() && ostler_sandbox::is_placeholder(&workspace.join(name)) {
        return Ok(None);
    }
    if !metadata.is_file() {
        return fail("it is not a file; put a plain file there");
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|error| format!("{name} is not used: it cannot be read: {error}"))?;
    if text.len() as u64 > MAX_BYTES {
        return fail(&format!("it is larger than {} KiB; make it shorter", MAX_BYTES / 1024));
    }
    String::from_utf8(text).map(Some).or_else(|_| fail("it is not UTF-8; save it as UTF-8"))
}
