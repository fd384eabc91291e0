//! What is asked about the use of models, and what the http door answers.

use ostler_types::{SessionId, Usage};
use serde::{Deserialize, Serialize};

use crate::requests::query;

/// What to sum up, and how. What is absent filters nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageFilter {
    /// What a row stands for.
    pub by: UsageBy,
    /// Only what was used at this time or later: an RFC 3339 time, or a date for its beginning.
    pub from: Option<String>,
    /// Only what was used before this time: an RFC 3339 time, or a date for its beginning.
    pub to: Option<String>,
    /// Only what this session used.
    pub session: Option<SessionId>,
    /// Only what was used in this directory.
    pub workspace: Option<String>,
    /// Only what this model did.
    pub model: Option<String>,
    /// How many minutes ahead of UTC days and dates begin.
    pub utc_offset_minutes: i32,
}

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    /// A day.
    Day,
    /// A model.
    Model,
    /// A session.
    Session,
    /// A workspace.
    Workspace,
    /// Everything.
    Total,
}

/// What was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageTable {
    /// What a row stands for.
    pub by: UsageBy,
    /// The newest days first, of all else the dearest first.
    pub rows: Vec<UsageRow>,
    /// How many more rows there would have been.
    #[serde(default)]
    pub left_out: u64,
    /// Everything that was asked for, with what was left out.
    pub total: UsageSum,
}

/// What was used by one day, model, session or workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageRow {
    /// Which one: a date, a name, an id or a path.
    pub key: String,
    /// What it used.
    #[serde(flatten)]
    pub sum: UsageSum,
}

/// What some answers took together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageSum {
    /// How many answers of a model.
    pub steps: u64,
    /// Their tokens, and what they cost as far as prices are known.
    #[serde(flatten)]
    pub usage: Usage,
    /// How many of them have no price, so that the cost is at least what it says.
    pub unpriced_steps: u64,
}

impl UsageFilter {
    /// Everything that was ever used, with days that begin as they do in UTC.
    pub fn new(by: UsageBy) -> UsageFilter {
        let (from, to, session, workspace, model) = (None, None, None, None, None);
        UsageFilter { by, from, to, session, workspace, model, utc_offset_minutes: 0 }
    }

    pub(crate) fn query(&self) -> String {
        let session = self.session.map(|session| session.to_string());
        let offset = self.utc_offset_minutes.to_string();
        query(&[
            ("by", Some(self.by.as_str())),
            ("from", self.from.as_deref()),
            ("to", self.to.as_deref()),
            ("session", session.as_deref()),
            ("workspace", self.workspace.as_deref()),
            ("model", self.model.as_deref()),
            ("utc_offset_minutes", Some(&offset)),
        ])
    }
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
