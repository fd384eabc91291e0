//! Names: a name leads to one open session.
//!
//! The index knows all names, and lags; so what this process has named is remembered besides, until the index has
//! it. Whether a session is still open and has the name is asked of the session itself, which knows.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use ostler_types::{Refusal, RefusalCode, SessionId, SessionStatus};

use crate::engine::Engine;
use crate::error::EngineError;

/// Names that are remembered, until the index has them all.
const MAX_REMEMBERED_NAMES: usize = 16 << 10;

/// The names that were given or looked up in this process.
#[derive(Default)]
pub(crate) struct SessionNames {
    known: Mutex<HashMap<String, NameHolder>>,
}

/// Who has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameHolder {
    /// A session that is about to be made.
    Nobody,
    /// This session, as far as is known.
    Session(SessionId),
}

/// A name that is kept for a session until it is made, or cannot be.
pub(crate) struct ReservedName<'a> {
    names: &'a SessionNames,
    name: String,
    given: bool,
}

impl ReservedName<'_> {
    /// The session was made.
    pub(crate) fn assign(mut self, id: SessionId) {
        self.given = true;
        self.names.known().insert(self.name.clone(), NameHolder::Session(id));
    }
}

impl Drop for ReservedName<'_> {
    fn drop(&mut self) {
        if !self.given {
            self.names.known().remove(&self.name);
        }
    }
}

impl SessionNames {
    fn known(&self) -> MutexGuard<'_, HashMap<String, NameHolder>> {
        self.known.lock().expect("no code panics while it holds the names")
    }

    /// Forgets a holder that has the name no longer.
    fn forget(&self, name: &str, holder: NameHolder) {
        let mut known = self.known();
        if known.get(name) == Some(&holder) {
            known.remove(name);
        }
    }
}

impl Engine {
    /// The open session of this name.
    pub async fn by_name(&self, name: &str) -> Result<Option<SessionId>, EngineError> {
        self.wait_until_recovered().await?;
        let holder = self.shared.names.known().get(name).copied();
        match holder {
            Some(NameHolder::Nobody) => return Ok(None),
            Some(NameHolder::Session(id)) if self.has_name(id, name).await? => return Ok(Some(id)),
            Some(stale) => self.shared.names.forget(name, stale),
            None => {}
        }
        let Some(id) = self.shared.index.by_name(name).await? else { return Ok(None) };
        if !self.has_name(id, name).await? {
            // The index is behind; a name that was given again since would be known here.
            return Ok(None);
        }
        self.make_room().await?;
        self.shared.names.known().entry(name.to_owned()).or_insert(NameHolder::Session(id));
        Ok(Some(id))
    }

    /// Keeps a name for a session that is about to be made, unless an open one has it.
    pub(crate) async fn reserve(&self, name: &str) -> Result<ReservedName<'_>, EngineError> {
        self.make_room().await?;
        loop {
            if self.by_name(name).await?.is_some() {
                return Err(name_taken(name).into());
            }
            let names = &self.shared.names;
            let mut known = names.known();
            match known.get(name) {
                Some(NameHolder::Nobody) => return Err(name_taken(name).into()),
                // Somebody was quicker; look again.
                Some(NameHolder::Session(_)) => {}
                None => {
                    known.insert(name.to_owned(), NameHolder::Nobody);
                    return Ok(ReservedName { names, name: name.to_owned(), given: false });
                }
            }
        }
    }

    /// Lets the index keep what is remembered, before it is too much.
    async fn make_room(&self) -> Result<(), EngineError> {
        if self.shared.names.known().len() >= MAX_REMEMBERED_NAMES {
            self.shared.index.flush().await?;
            self.shared.names.known().retain(|_, holder| *holder == NameHolder::Nobody);
        }
        Ok(())
    }

    async fn has_name(&self, id: SessionId, name: &str) -> Result<bool, EngineError> {
        match self.view(id).await {
            Ok(view) => {
                let is_open = view.session.status != SessionStatus::Completed;
                Ok(is_open && view.session.name.as_deref() == Some(name))
            }
            Err(EngineError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A name that cannot be given.
pub(crate) fn name_taken(name: &str) -> Refusal {
    Refusal::conflict(RefusalCode::NameTaken, format!("another open session is called `{name}`"))
        .hint("choose another name, or close that session")
}
