//! What is sent to the http door beyond the bodies in `ostler-api-types`: queries and JSON.

use bytes::Bytes;
use ostler_types::{SessionId, SessionStatus};
use serde::Serialize;

use crate::ClientError;

/// Which sessions to list. What is absent filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only those that stand so.
    pub status: Option<SessionStatus>,
    /// Only those of this directory.
    pub workspace: Option<String>,
    /// Only those that are put away, or only those that are not.
    pub archived: Option<bool>,
    /// Only those that this session has started.
    pub parent: Option<SessionId>,
    /// Those that other sessions have started, too.
    pub children: bool,
    /// Only those in which these words occur.
    pub q: Option<String>,
    /// How many at most; the daemon allows 200.
    pub limit: Option<u32>,
    /// Where the page before this one ended.
    pub cursor: Option<String>,
}

impl SessionFilter {
    pub(crate) fn query(&self) -> String {
        let limit = self.limit.map(|limit| limit.to_string());
        let parent = self.parent.map(|parent| parent.to_string());
        query(&[
            ("parent", parent.as_deref()),
            ("children", self.children.then_some("true")),
            ("status", self.status.map(SessionStatus::as_str)),
            ("workspace", self.workspace.as_deref()),
            ("archived", self.archived.map(|archived| if archived { "true" } else { "false" })),
            ("q", self.q.as_deref()),
            ("limit", limit.as_deref()),
            ("cursor", self.cursor.as_deref()),
        ])
    }
}

/// The body of a request that has nothing to say beyond its path.
#[derive(Serialize)]
pub(crate) struct EmptyBody {}

/// A body as JSON.
pub(crate) fn encode(body: &impl Serialize) -> Result<Bytes, ClientError> {
    let json = serde_json::to_vec(body)
        .map_err(|error| ClientError::Protocol(format!("the request cannot be written as JSON: {error}")))?;
    Ok(json.into())
}

/// The query string of those pairs that have a value, with its question mark.
pub(crate) fn query(pairs: &[(&str, Option<&str>)]) -> String {
    let mut query = String::new();
    for (name, value) in pairs {
        if let Some(value) = value {
            query.push(if query.is_empty() { '?' } else { '&' });
            query.push_str(name);
            query.push('=');
            escape(value, &mut query);
        }
    }
    query
}

/// Everything but the unreserved characters of RFC 3986 is written as its bytes.
pub(crate) fn escape(value: &str, out: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(b"0123456789ABCDEF"[usize::from(byte >> 4)]));
            out.push(char::from(b"0123456789ABCDEF"[usize::from(byte & 15)]));
        }
    }
}
