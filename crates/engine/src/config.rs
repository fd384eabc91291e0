//! What an engine is made of. Everything comes in from outside: the log, the index, the agents, the
//! clock; so tests can put their own in place of each.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, TimestampRound, Unit};
use ostler_agent::Agent;
use ostler_documents::Documents;
use ostler_eventlog::Log;
use ostler_index::{Index, OpenedIndex};
use ostler_runner::Runner;
use ostler_types::{Clock, Rule, Secrets};
use uuid::Uuid;

/// What an engine is made of.
pub struct EngineConfig {
    /// The truth.
    pub log: Arc<dyn Log>,
    /// The view for listing and searching.
    pub index: Arc<dyn Index>,
    /// Whether that view was found, or has to be made from the logs.
    pub index_opened: OpenedIndex,
    /// The remembered rules, the workspaces that are trusted, the projects.
    pub documents: Arc<dyn Documents>,
    /// Where the views beside each log go.
    pub data_dir: PathBuf,
    /// Who runs turns, by name. `native` is the default of every door.
    pub agents: HashMap<String, Arc<dyn Agent>>,
    /// Where times and ids come from.
    pub clock: Arc<dyn Clock>,
    /// Where the workspaces are. The engine touches them in no other way.
    pub runner: Arc<dyn Runner>,
    /// Calls that are allowed in every session.
    pub rules: Vec<Rule>,
    /// Words that are masked in all that is recorded and shown.
    pub secrets: Secrets,
    /// How long an actor without turn and subscriber stays awake.
    pub idle_after: Duration,
    /// Whether sessions are only looked at and answered: no turn is run, recovered or ended. For a
    /// process that comes for a moment and must leave everything to the next daemon.
    pub turns_disabled: bool,
}

/// The system's time and random ids.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        now.round(TimestampRound::new().smallest(Unit::Millisecond)).unwrap_or(now)
    }

    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}
