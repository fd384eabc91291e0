//! The arguments of `ostler logs` and `ostler watch`.

use clap::Args;

use super::SessionRef;

/// `ostler logs`.
#[derive(Debug, Clone, Args)]
pub struct LogsArgs {
    /// The session: id, start of an id, `last` or list number [default: the only one here]
    #[arg(value_name = "ID")]
    pub id: Option<SessionRef>,
    /// Keep printing new records; wait for the daemon if it restarts
    #[arg(short, long)]
    pub follow: bool,
    /// Only records after this one
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub since: u64,
    /// Last N records
    #[arg(short = 'n', long, value_name = "N")]
    pub tail: Option<u64>,
    /// Print the records as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `ostler watch`.
#[derive(Debug, Clone, Args)]
pub struct WatchArgs {
    /// Print the records of all sessions as JSON lines
    #[arg(long)]
    pub json: bool,
}
