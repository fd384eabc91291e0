//! Calls that are allowed in every session: those of the configuration, and those that somebody
//! answered `always` to. The latter are kept in `rules.json`, replaced atomically.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ostler_types::{ApprovalPolicy, Rule, ToolCall};

/// How many rules are remembered.
const LIMIT: usize = 10_000;

/// The standing rules of a data directory.
#[derive(Debug)]
pub(crate) struct Rules {
    path: PathBuf,
    configured: Vec<Rule>,
    /// `None` when the file is there and cannot be read: then nothing is allowed by it, and it is
    /// not written over.
    remembered: Mutex<Option<Vec<Rule>>>,
}

impl Rules {
    /// Reads what was remembered.
    pub(crate) fn load(path: PathBuf, configured: Vec<Rule>) -> Rules {
        let remembered = match std::fs::read(&path) {
            Ok(content) => serde_json::from_slice(&content).map(Some).unwrap_or_else(|error| {
                tracing::warn!(%error, "rules.json is not readable; every call asks again until it is mended or removed");
                None
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Some(Vec::new()),
            Err(error) => {
                tracing::warn!(%error, "rules.json cannot be read; every call asks again");
                None
            }
        };
        Rules { path, configured, remembered: Mutex::new(remembered) }
    }

    /// Whether the rules, with those of the session's own policy, let this call through in this workspace.
    pub(crate) fn allow(
        &self,
        policy: &ApprovalPolicy,
        call: &ToolCall,
        workspace: &str,
        trusted: bool,
    ) -> bool {
        let remembered = self.remembered.lock().expect("no code panics while it holds the rules");
        let here = |rule: &&Rule| rule.workspace.as_ref().is_none_or(|of| of == workspace);
        let standing = self.configured.iter().chain(remembered.iter().flatten()).filter(here);
        policy.lets_through(call, trusted, standing)
    }

    /// Remembers a rule for ever. It holds once it is on disk.
    pub(crate) fn add(&self, rule: Rule) -> Result<()> {
        let mut remembered = self.remembered.lock().expect("no code panics while it holds the rules");
        let Some(known) = &*remembered else {
            return Err(Error::other("rules.json cannot be read; mend or remove it"));
        };
        if known.contains(&rule) {
            return Ok(());
        }
        if known.len() >= LIMIT {
            return Err(Error::other("rules.json is full; remove rules that are no longer wanted"));
        }
        let mut rules = known.clone();
        rules.push(rule);
        replace(&self.path, &serde_json::to_vec_pretty(&rules)?)?;
        *remembered = Some(rules);
        Ok(())
    }
}

pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = path.with_extension("json.new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    let directory = path.parent().unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}
