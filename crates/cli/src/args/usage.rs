//! The arguments of `ostler models` and `ostler usage`.

use clap::{Args, ValueEnum};
use jiff::civil::Date;

/// `ostler models`.
#[derive(Debug, Clone, Args)]
pub struct ModelsArgs {
    /// Only models whose name contains this
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,
    /// Query the providers again
    #[arg(long)]
    pub refresh: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ostler usage`.
#[derive(Debug, Clone, Args)]
pub struct UsageArgs {
    /// Group by
    #[arg(long, value_name = "WHAT", default_value = "day")]
    pub by: UsageByArg,
    /// Start: a number of days including today, such as 30d, or a date
    #[arg(long, value_name = "DAYS|DATE", default_value = "7d", value_parser = parse_since)]
    pub since: UsageSince,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What a row of `ostler usage` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UsageByArg {
    /// Day, newest first
    Day,
    /// Model, most expensive first
    Model,
    /// Session, most expensive first
    Session,
    /// Workspace, most expensive first
    Workspace,
}

/// Since when `ostler usage` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageSince {
    /// The last days, as many as this, of which today is one.
    Days(u16),
    /// The beginning of a day.
    Date(Date),
}

fn parse_since(text: &str) -> Result<UsageSince, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse().ok()).filter(|days| *days > 0);
    // A longer text would be read as a date too, and its time be left out.
    let date = || text.parse().ok().filter(|_| text.len() == "2026-01-31".len());
    days.map(UsageSince::Days)
        .or_else(|| date().map(UsageSince::Date))
        .ok_or_else(|| "expected a number of days such as 30d, or a date such as 2026-01-31".to_owned())
}
