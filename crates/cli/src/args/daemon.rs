//! The arguments of `ostler stop`, `restart`, `status` and `upgrade`.

use clap::Args;

/// `ostler stop` and `ostler restart`.
#[derive(Debug, Clone, Args)]
pub struct StopArgs {
    /// Seconds to wait for running turns to be canceled
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
    /// Kill it if it does not stop in time
    #[arg(long)]
    pub force: bool,
}

/// `ostler status`.
#[derive(Debug, Clone, Args)]
pub struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ostler upgrade`.
#[derive(Debug, Clone, Args)]
pub struct UpgradeArgs {
    /// Only show whether there is a newer release
    #[arg(long)]
    pub check: bool,
}
