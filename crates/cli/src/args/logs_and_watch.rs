//! The arguments of `ostler logs` and `ostler watch`.

use clap::Args;
use ostler_types::SessionId;

/// `ostler logs`.
#[derive(Debug, Clone, Args)]
pub struct LogsArgs {
    /// The session
    #[arg(value_name = "ID")]
    pub id: SessionId,
    /// Stay, and show what is recorded from now on; a daemon that is started again is waited for
    #[arg(short, long)]
    pub follow: bool,
    /// Only records after this one
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub since: u64,
    /// Only the last so many
    #[arg(short = 'n', long, value_name = "N")]
    pub tail: Option<u64>,
    /// Print the records themselves, as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `ostler watch`.
#[derive(Debug, Clone, Args)]
pub struct WatchArgs {
    /// Print the records of all sessions instead, as JSON lines
    #[arg(long)]
    pub json: bool,
}
