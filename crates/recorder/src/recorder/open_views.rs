//! The views that are open, up to a limit; those that were used longest ago make room for others.

use std::collections::VecDeque;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ostler_types::SessionId;

use super::ViewFolder;
use crate::{RecorderError, SessionViews};

/// Views that are open at the same time. Each costs a file and some memory.
const MAX_OPEN: usize = 64;
/// How long views stay open without being written to.
const MAX_IDLE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct OpenViews {
    /// The one used last is at the end.
    open: VecDeque<OpenView>,
}

struct OpenView {
    session: SessionId,
    views: SessionViews,
    used: Instant,
}

impl OpenViews {
    /// Takes the views of a session out, opening them first if need be.
    pub(super) fn take(
        &mut self,
        session: SessionId,
        folder: &ViewFolder,
    ) -> Result<SessionViews, RecorderError> {
        if let Some(views) = self.remove(session) {
            return Ok(views);
        }
        SessionViews::open(&folder_of(folder)?, session)
    }

    /// Puts them back when they are as they should be. The views that make room for them are let go without a sync: with
    /// so many sessions at work, closing each would cost more than writing it. They are synced when they are next
    /// opened and closed, and made again if the machine goes down before that.
    pub(super) fn put_back(&mut self, session: SessionId, views: SessionViews, now: Instant) {
        self.open.push_back(OpenView { session, views, used: now });
        if self.open.len() > MAX_OPEN {
            drop(self.open.pop_front());
        }
    }

    /// Closes the views of one session.
    pub(super) fn close(&mut self, session: SessionId) -> Result<(), RecorderError> {
        self.remove(session).map_or(Ok(()), SessionViews::close)
    }

    /// Lets go of the views of one session without a sync.
    pub(super) fn release(&mut self, session: SessionId) {
        drop(self.remove(session));
    }

    /// Closes those that nobody has used for a while.
    pub(super) fn close_idle(&mut self, now: Instant) {
        while self.open.front().is_some_and(|open| now.duration_since(open.used) >= MAX_IDLE) {
            self.open.pop_front().into_iter().for_each(OpenView::close);
        }
    }

    /// When the next one will have been idle for long enough.
    pub(super) fn next_idle(&self) -> Option<Instant> {
        self.open.front().map(|open| open.used + MAX_IDLE)
    }

    /// Closes all, as far as there is time; the rest is let go as it is.
    pub(super) fn close_all(&mut self, until: Instant) {
        for open in self.open.drain(..) {
            if Instant::now() < until {
                open.close();
            }
        }
    }

    fn remove(&mut self, session: SessionId) -> Option<SessionViews> {
        let at = self.open.iter().position(|open| open.session == session)?;
        self.open.remove(at).map(|open| open.views)
    }
}

impl OpenView {
    fn close(self) {
        if let Err(error) = self.views.close() {
            tracing::debug!(session = %self.session, %error, "views were let go without a sync");
        }
    }
}

/// The path, with a folder there if one may be made.
pub(super) fn folder_of(folder: &ViewFolder) -> Result<PathBuf, RecorderError> {
    match folder {
        ViewFolder::Existing(path) => Ok(path.clone()),
        ViewFolder::Made(path) => {
            make(path).map_err(|source| RecorderError { path: path.clone(), source })?;
            Ok(path.clone())
        }
    }
}

fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
