//! The arguments of `ostler service` and `ostler self-check`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `ostler service`.
#[derive(Debug, Clone, Subcommand)]
pub enum ServiceCommand {
    /// Write the unit, and start it now and at every login.
    Install {
        /// Only print the unit
        #[arg(long)]
        print: bool,
    },
    /// Say whether the unit is there, and whether the daemon answers.
    Status,
    /// Stop the daemon, and remove the unit; sessions stay.
    Uninstall,
}

/// `ostler self-check`.
#[derive(Debug, Clone, Args)]
pub struct SelfCheckArgs {
    /// Work below this directory [default: the one for temporary files]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Leave what was made there, to look at
    #[arg(long)]
    pub keep: bool,
}
