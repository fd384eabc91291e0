//! Where everything lies in the data directory, and which names a file beside a log may have.

use std::path::{Path, PathBuf};

use ostler_types::SessionId;

/// The longest name of a file beside a log, and the deepest.
const MAX_COMPONENT: usize = 200;
pub(crate) const MAX_DEPTH: usize = 8;

/// The data directory's paths.
#[derive(Debug, Clone)]
pub(crate) struct DataLayout {
    pub(crate) root: PathBuf,
    pub(crate) sessions: PathBuf,
    pub(crate) unsettled: PathBuf,
    pub(crate) feed: PathBuf,
    pub(crate) quarantine: PathBuf,
    pub(crate) lock: PathBuf,
}

impl DataLayout {
    pub(crate) fn new(root: &Path) -> DataLayout {
        DataLayout {
            root: root.to_owned(),
            sessions: root.join("sessions"),
            unsettled: root.join("unsettled"),
            feed: root.join("feed"),
            quarantine: root.join("quarantine.ndjson"),
            lock: root.join("lock"),
        }
    }

    pub(crate) fn session(&self, session: SessionId) -> PathBuf {
        self.sessions.join(session.to_string())
    }

    pub(crate) fn log(&self, session: SessionId) -> PathBuf {
        self.session(session).join("events.ndjson")
    }

    pub(crate) fn drafts(&self, session: SessionId) -> PathBuf {
        self.session(session).join("drafts.ndjson")
    }

    pub(crate) fn snapshot(&self, session: SessionId) -> PathBuf {
        self.session(session).join("snapshot.json")
    }

    pub(crate) fn marker(&self, session: SessionId) -> PathBuf {
        self.unsettled.join(session.to_string())
    }

    /// Where a removed session waits for its deletion.
    pub(crate) fn trash(&self, session: SessionId) -> PathBuf {
        self.root.join(format!("{TRASH}{session}"))
    }
}

/// How the names of removed sessions begin.
pub(crate) const TRASH: &str = "trash-";

/// The parts of the name of a file beside a log, or none when it could leave the folder, hide, or
/// take the place of a file that the log itself keeps there.
pub(crate) fn blob_components(name: &str) -> Option<Vec<&str>> {
    let components: Vec<&str> = name.split('/').collect();
    let plain = |component: &&str| {
        !component.is_empty()
            && component.len() <= MAX_COMPONENT
            && !component.starts_with('.')
            && !component.contains(|c: char| c.is_control() || c == '\\')
    };
    let reserved = ["events.", "drafts.", "snapshot.", "torn-", "subagent_"]
        .iter()
        .any(|own| components[0].starts_with(own));
    let accepted = components.len() <= MAX_DEPTH && components.iter().all(plain) && !reserved;
    accepted.then_some(components)
}

#[cfg(test)]
mod tests {
    use super::blob_components;

    #[test]
    fn a_blob_stays_in_its_folder() {
        for good in ["artifacts/turn_1/out.txt", "a", "artifacts/t/with space", "attachments/ü.png"] {
            assert!(blob_components(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "a/../b",
            "a//b",
            "a/",
            "./a",
            "a/.hidden",
            "a\\b",
            "a\0b",
            "a\nb",
            "events.ndjson",
            "drafts.ndjson",
            "snapshot.json",
            "events.damaged-1.ndjson",
            "torn-12",
            "subagent_0000aa/events.ndjson",
        ] {
            assert!(blob_components(bad).is_none(), "{bad:?}");
        }
        assert!(blob_components(&"x".repeat(201)).is_none());
        assert!(blob_components(&"x/".repeat(9)).is_none());
    }
}
