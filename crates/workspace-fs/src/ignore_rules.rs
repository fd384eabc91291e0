//! Which paths the rules of `.gitignore` and its like ignore: those of one directory and of all above it. Which files of
//! rules count, and whether anything that is ignored is wanted all the same, is left to the callers.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::open::{LinkPolicy, read_beneath};

/// The rules of one directory, and of those above it.
#[derive(Debug)]
pub struct IgnoreRules {
    above: Option<Arc<IgnoreRules>>,
    /// The way from the directory of the rules down to the workspace, where they come from above it.
    path_to_workspace: PathBuf,
    /// The length of the way from the workspace to the directory of the rules, with its slash.
    skipped: usize,
    gitignore: Gitignore,
}

impl IgnoreRules {
    /// How much of a file of rules is read.
    pub const MAX_BYTES: u64 = 256 * 1024;

    /// Reads a file of rules beneath a directory; never through a link, as git has it.
    pub fn read(base: impl AsFd, path: &Path) -> Option<Vec<u8>> {
        let (file, _) = read_beneath(base, path, LinkPolicy::None).ok()?;
        let mut bytes = Vec::new();
        file.take(IgnoreRules::MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The rules of a directory, given relative to the workspace, on top of those above it, which stay alone where the
    /// texts have none. A later text overrules an earlier one.
    pub fn for_directory(
        above: Option<Arc<IgnoreRules>>,
        texts: &[impl AsRef<[u8]>],
        directory: &Path,
    ) -> Option<Arc<IgnoreRules>> {
        let length = directory.as_os_str().len();
        let skipped = if length == 0 { 0 } else { length + 1 };
        IgnoreRules::add(above, texts, PathBuf::new(), skipped)
    }

    /// The same for a directory that holds the workspace, from which `down` leads there.
    pub fn for_parent_directory(
        above: Option<Arc<IgnoreRules>>,
        texts: &[impl AsRef<[u8]>],
        down: &Path,
    ) -> Option<Arc<IgnoreRules>> {
        IgnoreRules::add(above, texts, down.to_owned(), 0)
    }

    fn add(
        above: Option<Arc<IgnoreRules>>,
        texts: &[impl AsRef<[u8]>],
        down: PathBuf,
        skipped: usize,
    ) -> Option<Arc<IgnoreRules>> {
        let mut builder = GitignoreBuilder::new(".");
        for text in texts {
            let text = String::from_utf8_lossy(text.as_ref());
            for line in text.strip_prefix('\u{feff}').unwrap_or(&text).lines() {
                // Git passes over a line that it does not understand, too.
                let _ = builder.add_line(None, line);
            }
        }
        match builder.build() {
            Ok(own) if !own.is_empty() => {
                Some(Arc::new(IgnoreRules { above, path_to_workspace: down, skipped, gitignore: own }))
            }
            Ok(_) | Err(_) => above,
        }
    }

    /// Whether a path, relative to the workspace, is ignored. The nearest rule that says anything decides.
    pub fn is_ignored(rules: Option<&IgnoreRules>, path: &Path, is_directory: bool) -> bool {
        let mut next = rules;
        while let Some(rules) = next {
            match rules.gitignore.matched(rules.relative_to_rules(path), is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = rules.above.as_deref(),
            }
        }
        false
    }

    /// Whether a directory on the way from the repository's root to the workspace is ignored.
    pub fn is_ignored_above(&self, way: &Path, root: &Path, workspace: &Path) -> bool {
        let mut next = Some(self);
        let full = root.join(way);
        while let Some(rules) = next {
            let base =
                workspace.ancestors().nth(rules.path_to_workspace.components().count()).unwrap_or(root);
            if let Ok(below) = full.strip_prefix(base)
                && !below.as_os_str().is_empty()
            {
                match rules.gitignore.matched(below, true) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            next = rules.above.as_deref();
        }
        false
    }

    /// The path relative to the directory of these rules, in which it lies.
    fn relative_to_rules<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        let below = path.as_os_str().as_bytes().get(self.skipped..).unwrap_or_default();
        let below = Path::new(OsStr::from_bytes(below));
        if self.path_to_workspace.as_os_str().is_empty() {
            below.into()
        } else {
            self.path_to_workspace.join(below).into()
        }
    }
}
