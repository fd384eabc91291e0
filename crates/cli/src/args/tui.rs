//! `ostler` and `ostler tui`.

use std::path::PathBuf;

use clap::Args;

use super::SessionRef;

/// The terminal client.
#[derive(Debug, Clone, Default, Args)]
pub struct TuiArgs {
    /// Work in this directory [default: the current one]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Open this session
    #[arg(long, value_name = "ID", conflicts_with = "continue_last")]
    pub session: Option<SessionRef>,
    /// Open the most recent session in this directory
    #[arg(long = "continue")]
    pub continue_last: bool,
    /// Theme: night, day, terminal or plain [env: OSTLER_THEME]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(ostler_tui::THEME_NAMES))]
    pub theme: Option<String>,
    /// Enable the mouse: the wheel scrolls, a click folds
    #[arg(long)]
    pub mouse: bool,
}
