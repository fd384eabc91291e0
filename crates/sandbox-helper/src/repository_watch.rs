//! Watches, from outside, that the repository at the top of a writable directory stays one, and that no directory becomes
//! one itself. Where git finds no repository in `.git`, it looks at the directory around it: a command that breaks the one
//! and makes the other would have git obey settings that nothing protects.
//!
//! What a command did is put right when it has ended; this ends one that runs for longer. Whoever watches a directory has
//! to wait for the kernel when he stops, longer than a short command takes, so that short ones are not watched.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ostler_workspace_fs::RootedTree;
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::repository_state;

const MARKER: &str = ".git";
const HEAD: &str = "HEAD";
/// How many bytes of events are read at a time.
const BUFFER: usize = 4096;

/// After how long a command is watched.
const WATCH_DELAY: Duration = Duration::from_secs(1);

/// Directories that are to be watched.
pub(crate) struct RepositoryWatch {
    directories: Vec<WatchedDirectory>,
    /// When to begin; none once it has begun.
    begins_at: Option<Instant>,
    events: Option<OwnedFd>,
}

struct WatchedDirectory {
    path: PathBuf,
    tree: RootedTree,
    has_repository: bool,
}

impl RepositoryWatch {
    /// Looks at them, before the command starts.
    pub(crate) fn new(tops: &[PathBuf]) -> RepositoryWatch {
        let tops: Vec<WatchedDirectory> = tops.iter().filter_map(|top| WatchedDirectory::open(top)).collect();
        let due = (!tops.is_empty()).then(|| Instant::now() + WATCH_DELAY);
        RepositoryWatch { directories: tops, begins_at: due, events: None }
    }

    /// When to begin, while it has not.
    pub(crate) fn begins_at(&self) -> Option<Instant> {
        self.begins_at
    }

    /// Becomes readable when something has changed, once it has begun.
    pub(crate) fn events(&self) -> Option<&OwnedFd> {
        self.events.as_ref()
    }

    /// Begins if it is time, and says why the command ends where a repository is broken already. Where the kernel has
    /// no room for it, what is put right at the end counts.
    pub(crate) fn begin_if_due(&mut self, now: Instant) -> Option<String> {
        self.begins_at.take_if(|due| *due <= now)?;
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        for top in &self.directories {
            let (path, flags) = match top.has_repository {
                true => {
                    (top.path.join(MARKER), WatchFlags::MODIFY | WatchFlags::ATTRIB | WatchFlags::MOVE_SELF)
                }
                false => (top.path.clone(), WatchFlags::empty()),
            };
            let flags =
                flags | WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::ONLYDIR;
            // One that is gone is broken, as is seen below.
            let _ = inotify::add_watch(&events, path, flags);
        }
        self.events = Some(events);
        self.broken_reason()
    }

    /// Reads what has changed, and says why the command ends where a repository is broken.
    pub(crate) fn check_events(&mut self) -> Option<String> {
        let events = self.events.as_ref()?;
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(events, &mut buffer);
        let mut counts = false;
        let failed = loop {
            match reader.next() {
                // One without a name is about the directory itself, or says that some were lost.
                Ok(event) => {
                    counts |= event
                        .file_name()
                        .is_none_or(|name| [&b"HEAD"[..], b"objects", b"refs"].contains(&name.to_bytes()));
                }
                Err(Errno::INTR) => counts = true,
                Err(error) => break error != Errno::AGAIN,
            }
        };
        if failed {
            self.events = None;
        }
        if counts { self.broken_reason() } else { None }
    }

    fn broken_reason(&self) -> Option<String> {
        let top = self.directories.iter().find(|top| top.is_broken())?;
        Some(format!(
            "ended by Ostler: it changed {} so that git would obey settings which are not protected",
            top.path.display()
        ))
    }
}

impl WatchedDirectory {
    /// None where git looks no further, or would take the directory for a repository already.
    fn open(path: &Path) -> Option<WatchedDirectory> {
        let tree = RootedTree::open(path).ok()?;
        let has_repository = repository_state::is_repository(&tree, Path::new(MARKER));
        let top = WatchedDirectory { path: path.to_owned(), tree, has_repository };
        let is_elsewhere = !has_repository && path.join(MARKER).is_file();
        (!is_elsewhere && !top.is_broken()).then_some(top)
    }

    fn is_broken(&self) -> bool {
        match self.has_repository {
            true => !repository_state::is_repository(&self.tree, Path::new(MARKER)),
            false => self.tree.stat(Path::new(HEAD)).is_ok_and(|found| found.is_some()),
        }
    }
}
