//! What git ignores: the rules of one directory and of those above it. A file of rules is read through
//! its directory and never through a link, as git has it.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ostler_workspace_fs::{Links, read_beneath};

/// The files of rules in each directory. The second overrules the first, as ripgrep has it.
pub(super) const FILES: &[&str] = &[".gitignore", ".ignore"];
/// How much of a file of rules is read.
const MAX_BYTES: u64 = 256 * 1024;

/// The rules of a directory, and of those above it.
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    /// The directory, relative to the workspace.
    directory: PathBuf,
    own: Gitignore,
}

impl Rules {
    /// The rules in `files` of a directory on top of those above it, which stay alone where it has none.
    pub(super) fn read(
        above: Option<Arc<Rules>>,
        directory: impl AsFd,
        path: &Path,
        files: &[&str],
    ) -> Option<Arc<Rules>> {
        let mut builder = GitignoreBuilder::new(".");
        for file in files {
            let Ok((file, _)) = read_beneath(directory.as_fd(), Path::new(file), Links::None) else {
                continue;
            };
            let mut bytes = Vec::new();
            if file.take(MAX_BYTES).read_to_end(&mut bytes).is_err() {
                continue;
            }
            let text = String::from_utf8_lossy(&bytes);
            for line in text.strip_prefix('\u{feff}').unwrap_or(&text).lines() {
                // Git passes over a line that it does not understand, too.
                let _ = builder.add_line(None, line);
            }
        }
        match builder.build() {
            Ok(own) if !own.is_empty() => Some(Arc::new(Rules { above, directory: path.to_owned(), own })),
            Ok(_) | Err(_) => above,
        }
    }

    /// Whether a path, relative to the workspace, is ignored. The nearest rule that says anything
    /// decides.
    pub(super) fn ignore(rules: Option<&Rules>, path: &Path, is_directory: bool) -> bool {
        let mut next = rules;
        while let Some(rules) = next {
            match rules.own.matched(rules.below(path), is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = rules.above.as_deref(),
            }
        }
        false
    }

    /// The path relative to the directory of these rules, in which it lies.
    fn below<'a>(&self, path: &'a Path) -> &'a Path {
        let above = self.directory.as_os_str().len();
        let skipped = if above == 0 { 0 } else { above + 1 };
        path.as_os_str().as_bytes().get(skipped..).map_or(path, |below| Path::new(OsStr::from_bytes(below)))
    }
}
