//! What is asked about the use of models.

use ostler_api_types::UsageBy;
use ostler_types::SessionId;

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
