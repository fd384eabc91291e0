//! `ostler` and `ostler tui`.

use std::path::PathBuf;

use clap::Args;
use ostler_types::SessionId;

/// The terminal client.
#[derive(Debug, Clone, Default, Args)]
pub struct TuiArgs {
    /// Work in this directory [default: the current one]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Open this session
    #[arg(long, value_name = "ID", conflicts_with = "continue_last")]
    pub session: Option<SessionId>,
    /// Open the session of this directory in which something happened last
    #[arg(long = "continue")]
    pub continue_last: bool,
    /// Use these colours: night, day, terminal or plain [env: OSTLER_THEME]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Listen to the mouse: the wheel scrolls, a click folds
    #[arg(long)]
    pub mouse: bool,
}
