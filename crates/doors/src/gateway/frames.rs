//! Every frame of this wire, as it is written. The JSON Schema is made from these types, so what is said there
//! is what is sent.

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// The answer to an `auth` frame.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuthReply {
    #[serde(rename = "type")]
    kind: AuthKind,
    /// Whether the client is in.
    ok: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AuthKind {
    Auth,
}

impl AuthReply {
    pub(super) fn accepted() -> AuthReply {
        AuthReply { kind: AuthKind::Auth, ok: true, error: None }
    }

    pub(super) fn refused(error: &'static str) -> AuthReply {
        AuthReply { kind: AuthKind::Auth, ok: false, error: Some(error) }
    }
}

/// The answer to a request that was carried out.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Response<'a> {
    /// The request's own.
    pub(super) id: &'a GatewayRequestId,
    /// What came of it.
    pub(super) result: &'a GatewayOutcome,
}

/// The answer to a request that was not carried out, or to something that was no request.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorResponse<'a> {
    /// The request's own; null when it had none that can be used.
    pub(super) id: Option<&'a GatewayRequestId>,
    /// Why not.
    pub(super) error: &'a RpcError,
}

/// What a client calls its request.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(super) struct GatewayRequestId(pub(super) Value);

impl JsonSchema for GatewayRequestId {
    fn schema_name() -> Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "What a client calls its request: a text that is not empty, or a number that is not 0.",
            "anyOf": [{"type": "string", "minLength": 1}, {"type": "number"}]
        })
    }
}

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct RpcError {
    /// -32700 no JSON, -32600 no request, -32601 no such method, -32602 wrong params, -32603 anything else.
    pub(super) code: i32,
    /// What happened, and what was expected.
    pub(super) message: String,
}

impl RpcError {
    pub(super) fn parse(detail: &str) -> RpcError {
        RpcError { code: -32700, message: format!("Parse error: {detail}") }
    }

    pub(super) fn request(detail: &str) -> RpcError {
        RpcError { code: -32600, message: format!("Invalid request: {detail}") }
    }

    pub(super) fn method(name: &str) -> RpcError {
        let name: String = name.chars().take(100).collect();
        RpcError { code: -32601, message: format!("Method not found: {name}") }
    }

    pub(super) fn params(detail: impl std::fmt::Display) -> RpcError {
        RpcError { code: -32602, message: format!("Invalid params: {detail}") }
    }

    pub(super) fn internal(message: impl Into<String>) -> RpcError {
        RpcError { code: -32603, message: message.into() }
    }
}

/// What comes of a request, by method.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Outcome")]
pub(super) enum GatewayOutcome {
    /// Of `health.check`.
    Health(GatewayHealth),
    /// Of `agents.list`.
    Agents {
        /// The default one first.
        agents: Vec<AgentInfo>,
    },
    /// Of `sessions.create`.
    #[serde(rename_all = "camelCase")]
    Created {
        /// The new session.
        session_key: Uuid,
        /// The same session as `sessions.list` shows it.
        meta: Box<SessionMeta>,
    },
    /// Of `sessions.list`.
    Sessions {
        /// Newest first.
        sessions: Vec<SessionMeta>,
    },
    /// Of `sessions.get`.
    Session(Box<SessionDetail>),
    /// Of `chat.send`.
    #[serde(rename_all = "camelCase")]
    Sent {
        /// The run that answers the message.
        run_id: Uuid,
    },
    /// Of `chat.history`.
    History {
        /// Oldest first.
        messages: Vec<TranscriptMessage>,
    },
    /// Of `chat.abort`, `exec.approve` and `exec.deny`.
    Done {
        /// Always true.
        ok: bool,
    },
    /// Of `approvals.list`.
    Approvals {
        /// Oldest first.
        approvals: Vec<WaitingApproval>,
    },
}

/// That the daemon is there; also the answer to `GET /health`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Health")]
pub(super) struct GatewayHealth {
    /// Always `ok`.
    pub(super) status: &'static str,
    /// Seconds since the daemon started.
    pub(super) uptime: u64,
}

/// An agent that sessions can be made for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct AgentInfo {
    /// What `sessions.create` takes as `agentId`.
    pub(super) id: String,
    /// The same.
    pub(super) name: String,
    /// Its model.
    pub(super) model: String,
    /// What it is for.
    pub(super) description: String,
}

/// A session in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionMeta {
    /// Its key.
    pub(super) key: Uuid,
    /// The agent that it was made for.
    pub(super) agent_id: String,
    /// When it was made, in milliseconds since 1970.
    pub(super) created_at: i64,
    /// When something last happened in it.
    pub(super) updated_at: i64,
    /// What people call it: its title, or the beginning of its first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
}

/// A session with its conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionDetail {
    /// The session.
    pub(super) session: SessionMeta,
    /// Its conversation, oldest first; without its beginning where it is very long.
    pub(super) messages: Vec<TranscriptMessage>,
    /// How its newest run stands, so that a client which was away knows what it has missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_run: Option<RunInfo>,
}

/// How a run stands.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunInfo {
    /// The run.
    pub(super) run_id: Uuid,
    /// `running`, `completed`, `failed` or `aborted`.
    pub(super) status: RunStatus,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunStatus {
    Running,
    Completed,
    Failed,
    Aborted,
}

/// Something said in a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TranscriptMessage {
    /// Who said it.
    pub(super) role: TranscriptRole,
    /// What was said.
    pub(super) content: String,
    /// When, in milliseconds since 1970.
    pub(super) timestamp: i64,
    /// The run that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_id: Option<Uuid>,
    /// The tool that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum TranscriptRole {
    User,
    Assistant,
    ToolResult,
}

/// A call that waits for an answer, in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WaitingApproval {
    #[serde(flatten)]
    pub(super) request: ApprovalRequest,
    /// The session that asks.
    pub(super) session_key: Uuid,
    /// The run that asks.
    pub(super) run_id: Uuid,
    /// Since when, in milliseconds since 1970.
    pub(super) requested_at: i64,
}

/// A call that waits for an answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApprovalRequest {
    /// What `exec.approve` and `exec.deny` take.
    pub(super) approval_id: Uuid,
    /// The tool.
    pub(super) tool_name: String,
    /// What it is to do, in a line.
    pub(super) summary: String,
    /// The call's input.
    pub(super) details: Value,
}

/// What happens in a session, to everybody on a socket that has named it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", content = "data")]
pub(super) enum ServerEvent<'a> {
    /// More text of an answer; to be appended.
    #[serde(rename = "chat.delta", rename_all = "camelCase")]
    Delta {
        /// The run.
        run_id: Uuid,
        /// The text.
        text: Cow<'a, str>,
    },
    /// A run is over: as it should be, or because somebody stopped it.
    #[serde(rename = "chat.final", rename_all = "camelCase")]
    Final {
        /// The run.
        run_id: Uuid,
        /// What it took, over all its steps.
        usage: RunUsage,
        /// True when it was stopped; what it had written is in the history.
        #[serde(skip_serializing_if = "Option::is_none")]
        aborted: Option<bool>,
    },
    /// A run has failed, and is over.
    #[serde(rename = "chat.error", rename_all = "camelCase")]
    Error {
        /// The run.
        run_id: Uuid,
        /// Why.
        message: String,
    },
    /// A tool has answered.
    #[serde(rename = "chat.tool_result", rename_all = "camelCase")]
    ToolResult {
        /// The run.
        run_id: Uuid,
        /// The tool.
        tool: String,
        /// How its program ended, where it ran one.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// What it said; the first 8,000 characters.
        output: String,
    },
    /// A call waits for an answer.
    #[serde(rename = "exec.approval_request")]
    ApprovalRequest(ApprovalRequest),
    /// Somebody has answered, here or elsewhere.
    #[serde(rename = "exec.approval_resolved", rename_all = "camelCase")]
    ApprovalResolved {
        /// The question.
        approval_id: Uuid,
        /// The answer.
        approved: bool,
        /// Who answered.
        by: String,
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A tool has begun, or a run waits for its model.
    #[serde(rename = "tool.progress", rename_all = "camelCase")]
    Progress {
        /// The run.
        run_id: Uuid,
        /// What goes on.
        message: String,
    },
    /// The socket follows too many sessions, and no longer this one.
    #[serde(rename = "sessions.released", rename_all = "camelCase")]
    Released {
        /// The session; name it again to follow it again.
        session_key: Uuid,
    },
}

/// What a run took.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

/// The JSON Schema of every frame, in both directions.
pub(super) fn schema() -> Value {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    let client: Vec<Value> = super::params::client_frames(&mut generator);
    let server = [
        generator.subschema_for::<AuthReply>(),
        generator.subschema_for::<Response<'_>>(),
        generator.subschema_for::<ErrorResponse<'_>>(),
        generator.subschema_for::<ServerEvent<'_>>(),
    ];
    let mut definitions = generator.take_definitions(true);
    definitions.insert("ClientFrame".to_owned(), json!({"oneOf": client}));
    definitions.insert("ServerFrame".to_owned(), json!({"oneOf": server}));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The frames of the gateway",
        "description": "One WebSocket text message is one frame. `docs/protocols/gateway.md` tells in which order they come.",
        "oneOf": [{"$ref": "#/$defs/ClientFrame"}, {"$ref": "#/$defs/ServerFrame"}],
        "$defs": definitions,
    })
}
