//! Calls that are allowed in every session: those of the configuration, and those that somebody
//! answered `always` to. The latter are kept in `rules.json`, replaced atomically.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ostler_types::{Rule, ToolCall};

/// How many rules are remembered.
const LIMIT: usize = 10_000;

/// The standing rules of a data directory.
#[derive(Debug)]
pub(crate) struct Rules {
    path: PathBuf,
    configured: Vec<Rule>,
    remembered: Mutex<Vec<Rule>>,
}

impl Rules {
    /// Reads what was remembered. A file that cannot be read allows nothing.
    pub(crate) fn load(path: PathBuf, configured: Vec<Rule>) -> Rules {
        let remembered = match std::fs::read(&path) {
            Ok(content) => serde_json::from_slice(&content).unwrap_or_else(|error| {
                tracing::warn!(%error, "rules.json is not readable and is ignored; every call asks again");
                Vec::new()
            }),
            Err(_) => Vec::new(),
        };
        Rules { path, configured, remembered: Mutex::new(remembered) }
    }

    pub(crate) fn allow(&self, call: &ToolCall) -> bool {
        let remembered = self.remembered.lock().expect("no code panics while it holds the rules");
        self.configured.iter().chain(remembered.iter()).any(|rule| rule.allows(call))
    }

    /// Remembers a rule for ever.
    pub(crate) fn add(&self, rule: Rule) -> std::io::Result<()> {
        let mut remembered = self.remembered.lock().expect("no code panics while it holds the rules");
        if remembered.contains(&rule) {
            return Ok(());
        }
        if remembered.len() >= LIMIT {
            return Err(std::io::Error::other("rules.json is full; remove rules that are no longer wanted"));
        }
        remembered.push(rule);
        replace(&self.path, &serde_json::to_vec_pretty(&*remembered)?)
    }
}

fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension("json.new");
    let mut file = std::fs::File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}
