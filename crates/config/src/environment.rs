//! The environment as a value: taken from the process once by `cli`, or made up by a test or an embedder.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Variables and their values. A variable that is set to nothing counts as not set: an empty one is
/// far more often a mistake than a wish, and must not switch approvals off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// These variables and no others.
    pub fn from_pairs(pairs: &[(&str, &str)]) -> Environment {
        let variables = pairs.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value)));
        Environment { variables: variables.collect() }
    }

    /// A variable's value, unless it is empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// A variable's value as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// All variables.
    pub fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (name.into(), value.clone()))
    }

    /// The names that begin so, in order.
    pub(crate) fn names_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.variables.keys().map(String::as_str).filter(move |name| name.starts_with(prefix))
    }
}

impl FromIterator<(String, OsString)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, OsString)>>(variables: T) -> Environment {
        Environment { variables: variables.into_iter().collect() }
    }
}
