//! Reads a file of a workspace that is to be believed: a plain file of a reasonable size, reached without a
//! link, so that it is the workspace's own and not something that a link was pointed at.

use std::io::Read;
use std::path::Path;

use ostler_workspace_fs::{LinkPolicy, ReadError, RootedTree};
use rustix::fs::FileType;
use rustix::io::Errno;

/// The largest file that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// The text of a file; none where there is none. An error says what is wrong and what to do.
pub(super) fn read_plain_file(workspace: &Path, name: &str) -> Result<Option<String>, String> {
    let fail = |why: &str| Err(format!("{name} is not used: {why}"));
    let Ok(tree) = RootedTree::open_following(workspace) else { return Ok(None) };
    let file = match tree.file(Path::new(name), LinkPolicy::None) {
        Ok((file, _)) => file,
        Err(ReadError::Errno(Errno::NOENT | Errno::NOTDIR)) => return Ok(None),
        Err(ReadError::Errno(Errno::LOOP | Errno::XDEV)) => {
            return fail("it is a symbolic link or lies behind one; put a plain file there");
        }
        Err(ReadError::Errno(errno)) => return fail(&format!("it cannot be opened: {errno}")),
        Err(ReadError::NotAFile(FileType::Directory))
            if ostler_sandbox::is_placeholder(&workspace.join(name)) =>
        {
            return Ok(None);
        }
        Err(ReadError::NotAFile(_)) => return fail("it is not a file; put a plain file there"),
    };
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|error| format!("{name} is not used: it cannot be read: {error}"))?;
    if text.len() as u64 > MAX_BYTES {
        return fail(&format!("it is larger than {} KiB; make it shorter", MAX_BYTES / 1024));
    }
    String::from_utf8(text).map(Some).or_else(|_| fail("it is not UTF-8; save it as UTF-8"))
}
