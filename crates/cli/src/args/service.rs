//! The arguments of `ostler service` and `ostler self-check`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `ostler service`.
#[derive(Debug, Clone, Subcommand)]
pub enum ServiceCommand {
    /// Install the unit and start it, now and at every login.
    Install {
        /// Only print the unit
        #[arg(long)]
        print: bool,
    },
    /// Show whether the unit is installed and the daemon answers.
    Status,
    /// Stop the daemon and remove the unit; sessions are kept.
    Uninstall,
}

/// `ostler self-check`.
#[derive(Debug, Clone, Args)]
pub struct SelfCheckArgs {
    /// Use a scratch directory below this one [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Keep the scratch directory
    #[arg(long)]
    pub keep: bool,
}
