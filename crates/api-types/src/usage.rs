//! What models were used for: tokens and money.

use ostler_types::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "By")]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    Day,
    Model,
    Session,
    Workspace,
    Total,
}

/// What was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageTable {
    pub by: UsageBy,
    /// At most 1,000 rows: the newest days first, of all else the dearest first.
    pub rows: Vec<UsageRow>,
    /// How many more rows there would have been.
    pub left_out: u64,
    /// Everything that was asked for, with what was left out.
    pub total: UsageSum,
}

/// What was used by one day, model, session or workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Keyed")]
pub struct UsageRow {
    /// The date, the model's name, the session's id, the workspace's path, or `total`.
    pub key: String,
    #[serde(flatten)]
    pub sum: UsageSum,
}

/// What some answers took together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Sum")]
pub struct UsageSum {
    /// How many answers of a model.
    pub steps: u64,
    #[serde(flatten)]
    pub usage: Usage,
    /// How many of them have no price, so that the cost is at least what it says.
    pub unpriced_steps: u64,
}

impl UsageBy {
    /// The word used on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            UsageBy::Day => "day",
            UsageBy::Model => "model",
            UsageBy::Session => "session",
            UsageBy::Workspace => "workspace",
            UsageBy::Total => "total",
        }
    }
}
