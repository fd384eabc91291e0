//! The messages of this wire, as they are written. What they lead to is for others.

use jiff::Timestamp;
use ostler_engine::Project;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// What a client calls its request: a text or a number, given back as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct IdeRequestId(Value);

/// What a client can ask for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub(super) enum IdeRequest {
    #[serde(rename = "project:add")]
    AddProject { path: String },
    #[serde(rename = "project:remove")]
    RemoveProject { project_id: String },
    #[serde(rename = "project:list")]
    ListProjects {},
    #[serde(rename = "session:list")]
    ListSessions { project_id: String },
    #[serde(rename = "session:create")]
    Create { project_id: String, cli_type: String },
    #[serde(rename = "session:open")]
    Open { session_id: String },
    #[serde(rename = "session:send")]
    Send { session_id: String, content: String },
    #[serde(rename = "session:cancel")]
    Cancel { session_id: String },
    #[serde(rename = "session:archive")]
    Archive { session_id: String },
    #[serde(rename = "session:reconnect")]
    Reconnect { cli_type: String },
    #[serde(rename = "session:discover")]
    Discover { project_id: String, cli_type: String },
    #[serde(rename = "session:adopt")]
    Adopt { project_id: String, session_id: String },
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub(super) enum IdeFrame<'a> {
    #[serde(rename = "project:added")]
    ProjectAdded {
        project: ProjectInfo,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
    },
    #[serde(rename = "project:removed")]
    ProjectRemoved {
        project_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
    },
    #[serde(rename = "project:list")]
    Projects {
        projects: Vec<ProjectInfo>,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
    },
    #[serde(rename = "session:list")]
    Sessions {
        project_id: &'a str,
        sessions: Vec<SessionItem>,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
    },
    #[serde(rename = "session:discovered")]
    Discovered {
        project_id: &'a str,
        cli_type: &'a str,
        sessions: Vec<DiscoveredItem>,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
    },
    #[serde(rename = "session:created")]
    Created {
        session_id: &'a str,
        project_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
    },
    #[serde(rename = "session:history")]
    History {
        session_id: &'a str,
        entries: &'a [IdeEntry],
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
    },
    #[serde(rename = "session:archived")]
    Archived {
        session_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
    },
    #[serde(rename = "session:title-updated")]
    TitleUpdated { session_id: &'a str, title: &'a str },
    #[serde(rename = "session:update")]
    Update { session_id: &'a str, entry: IdeEntry },
    #[serde(rename = "session:chunk")]
    Chunk { session_id: &'a str, entry_id: &'a str, content: &'a str },
    #[serde(rename = "session:complete")]
    Complete { session_id: &'a str, entry_id: &'a str },
    #[serde(rename = "session:cancelled")]
    Cancelled { session_id: &'a str, entry_id: &'a str },
    #[serde(rename = "agent:status")]
    AgentStatus {
        cli_type: &'a str,
        status: IdeAgentStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
    },
    #[serde(rename = "error")]
    Error {
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<IdeRequestId>,
        message: &'a str,
        /// Only where it is not the answer to a request.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<&'a str>,
    },
}

/// A registered workspace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectInfo {
    id: Uuid,
    path: String,
    name: String,
    added_at: String,
}

impl From<Project> for ProjectInfo {
    fn from(Project { id, runner: _, path, name, added_at }: Project) -> ProjectInfo {
        ProjectInfo { id, path, name, added_at: format_time(added_at) }
    }
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionItem {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) last_active_at: String,
    pub(super) cli_type: String,
}

/// A session that an agent keeps itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DiscoveredItem {
    pub(super) id: String,
    pub(super) title: String,
    /// As the agent writes it.
    pub(super) last_active_at: Option<String>,
    /// Whether it is among the sessions of this daemon.
    pub(super) adopted: bool,
}

/// One thing in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum IdeEntry {
    User {
        entry_id: String,
        content: String,
        timestamp: String,
    },
    Assistant {
        entry_id: String,
        content: String,
        timestamp: String,
    },
    Thinking {
        entry_id: String,
        content: String,
    },
    ToolCall {
        entry_id: String,
        tool_call_id: String,
        name: String,
        status: IdeCallStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl IdeEntry {
    pub(super) fn id(&self) -> &str {
        match self {
            IdeEntry::User { entry_id, .. }
            | IdeEntry::Assistant { entry_id, .. }
            | IdeEntry::Thinking { entry_id, .. }
            | IdeEntry::ToolCall { entry_id, .. } => entry_id,
        }
    }

    /// The same entry, with the name of an earlier entry of the same call.
    pub(super) fn named_as(mut self, earlier: &IdeEntry) -> IdeEntry {
        if let (IdeEntry::ToolCall { name, .. }, IdeEntry::ToolCall { name: earlier, .. }) =
            (&mut self, earlier)
        {
            name.clone_from(earlier);
        }
        self
    }
}

/// How a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum IdeCallStatus {
    Running,
    Complete,
    Error,
}

/// How an agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum IdeAgentStatus {
    Starting,
    Connected,
    Disconnected,
    Reconnecting,
}

/// Takes a message apart. What cannot be read still says which request it was, if it can.
pub(super) fn parse_message(message: &[u8]) -> (Option<IdeRequestId>, Option<IdeRequest>) {
    let Ok(value) = serde_json::from_slice::<Value>(message) else { return (None, None) };
    let id = value.get("requestId").filter(|id| id.is_string() || id.is_number());
    let id = id.cloned().map(IdeRequestId);
    (id, serde_json::from_value(value).ok())
}

/// A time as this wire writes it.
pub(super) fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{IdeCallStatus, IdeEntry, IdeFrame, IdeRequest, format_time, parse_message};

    #[test]
    fn a_request_is_known_by_its_type_and_fields() {
        let (id, request) =
            parse_message(br#"{"type":"session:create","projectId":"p","cliType":"codex","requestId":"r1"}"#);
        assert_eq!(serde_json::to_value(id).unwrap(), json!("r1"));
        let wanted = IdeRequest::Create { project_id: "p".to_owned(), cli_type: "codex".to_owned() };
        assert_eq!(request, Some(wanted));
        let (id, request) = parse_message(br#"{"type":"session:send","sessionId":"ostler:x","requestId":7}"#);
        assert!(id.is_some() && request.is_none(), "the content is missing");
        assert!(parse_message(br#"{"type":"project:list"}"#).1.is_some());
        for bad in ["", "[]", "1", "{}", r#"{"type":"session:destroy"}"#, r#"{"type":5}"#] {
            assert_eq!(parse_message(bad.as_bytes()).1, None, "{bad}");
        }
    }

    #[test]
    fn frames_are_written_as_the_wire_wants_them() {
        let entry = IdeEntry::ToolCall {
            entry_id: "e".to_owned(),
            tool_call_id: "c".to_owned(),
            name: "shell".to_owned(),
            status: IdeCallStatus::Running,
            result: None,
            error: None,
        };
        let frame = IdeFrame::Update { session_id: "ostler:1", entry };
        let wanted = json!({"type": "session:update", "sessionId": "ostler:1", "entry": {
            "type": "tool-call", "entryId": "e", "toolCallId": "c", "name": "shell", "status": "running"}});
        assert_eq!(serde_json::to_value(frame).unwrap(), wanted);
        let frame = IdeFrame::TitleUpdated { session_id: "a:b", title: "t" };
        let wanted = json!({"type": "session:title-updated", "sessionId": "a:b", "title": "t"});
        assert_eq!(serde_json::to_value(frame).unwrap(), wanted);
        assert_eq!(format_time("2026-01-02T03:04:05Z".parse().unwrap()), "2026-01-02T03:04:05.000Z");
    }
}
