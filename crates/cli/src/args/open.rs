//! What `ostler open` understands.

use clap::Args;

/// `ostler open`.
#[derive(Debug, Clone, Args)]
pub struct OpenArgs {
    /// Only print the address; it logs in one browser within ten minutes
    #[arg(long)]
    pub print: bool,
}
