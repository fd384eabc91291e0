//! Names of runners, and how a workspace is known by runner and path.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// The longest name.
const MAX_BYTES: usize = 64;

/// The name of a runner other than the daemon's own machine: letters, digits, dots, dashes and underscores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunnerName(String);

impl RunnerName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a workspace is known by wherever it is remembered (trust, rules, the list's filter): its path on the daemon's
/// own machine, and `runner:path` elsewhere. A path is absolute and a name holds no slash, so that neither can be
/// taken for the other, and what was remembered before there were runners means the daemon's own machine.
pub fn workspace_key(runner: Option<&RunnerName>, path: &str) -> String {
    match runner {
        Some(runner) => format!("{runner}:{path}"),
        None => path.to_owned(),
    }
}

impl FromStr for RunnerName {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<RunnerName, Refusal> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || name.len() > MAX_BYTES || !name.bytes().all(is_plain) {
            let message = format!(
                "the name of a runner has 1 to {MAX_BYTES} letters, digits, dots, dashes and underscores"
            );
            return Err(Refusal::invalid("bad_runner", message));
        }
        Ok(RunnerName(name.to_owned()))
    }
}

impl TryFrom<String> for RunnerName {
    type Error = Refusal;

    fn try_from(name: String) -> Result<RunnerName, Refusal> {
        name.parse()
    }
}

impl From<RunnerName> for String {
    fn from(name: RunnerName) -> String {
        name.0
    }
}

impl fmt::Display for RunnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{RunnerName, workspace_key};
    use crate::{Event, NewSession, Session, SessionEvent, SessionId};

    fn session(runner: Option<RunnerName>) -> Session {
        let (id, at) = (SessionId::new(Uuid::from_u128(7)), jiff::Timestamp::UNIX_EPOCH);
        let new = NewSession { runner, ..NewSession::new(id, at, "/w", "demo:demo") };
        let first = crate::create(new).unwrap().remove(0);
        let Event::Session(SessionEvent::Created { session }) = first else { panic!("{first:?}") };
        session
    }

    #[test]
    fn a_session_of_the_daemons_own_machine_names_no_runner() {
        let local = session(None);
        let written = serde_json::to_value(&local).unwrap();
        assert!(!written.as_object().unwrap().contains_key("runner"), "{written}");
        assert_eq!(serde_json::from_value::<Session>(written).unwrap(), local);
        assert_eq!(local.workspace_key(), "/w");

        let remote = session(Some("lab1".parse().unwrap()));
        let written = serde_json::to_value(&remote).unwrap();
        assert_eq!(written["runner"], "lab1");
        assert_eq!(serde_json::from_value::<Session>(written).unwrap(), remote);
        assert_eq!(remote.workspace_key(), "lab1:/w");
    }

    #[test]
    fn a_name_cannot_be_taken_for_a_path() {
        for name in ["", "a/b", "a:b", "a b", &"x".repeat(65)] {
            assert!(name.parse::<RunnerName>().is_err(), "{name}");
            assert!(serde_json::from_value::<RunnerName>(name.into()).is_err(), "{name}");
        }
        assert_ne!(workspace_key(None, "/a"), workspace_key(Some(&"a".parse().unwrap()), "/a"));
    }
}
