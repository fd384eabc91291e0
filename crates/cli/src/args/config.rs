//! The arguments of `ostler config`.

use clap::Subcommand;

/// `ostler config`.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Show every key, its value and its source.
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the value of a setting.
    Get {
        /// The setting, such as models.default
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Set a setting in the configuration file; comments are kept.
    Set {
        /// The setting, such as models.default
        #[arg(value_name = "KEY")]
        key: String,
        /// The value: text, a number, true, false, or a list with commas
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,
    },
    /// Remove a setting from the configuration file.
    Unset {
        /// The setting
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Open the configuration file in an editor, and check it before it is saved.
    Edit,
}
