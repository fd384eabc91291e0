"""The frames of the gateway.

Made by clients/generate.py from the daemon's own documents. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


# What a client calls its request: a text that is not empty, or a number that is not 0.
Id: TypeAlias = "str | float"


class AuthReply(TypedDict):
    """The answer to an `auth` frame."""

    type: AuthKind
    # Whether the client is in.
    ok: bool
    # Why it is not.
    error: NotRequired[str | None]


AuthKind: TypeAlias = 'Literal["auth"]'


class Response(TypedDict):
    """The answer to a request that was carried out."""

    # The request's own.
    id: Id
    # What came of it.
    result: Outcome


class AgentsOutcome(TypedDict):
    """Of `agents.list`."""

    # The default one first.
    agents: list[AgentInfo]


class SessionKeyOutcome(TypedDict):
    """Of `sessions.create`."""

    # The new session.
    sessionKey: str
    # The same session as `sessions.list` shows it.
    meta: SessionMeta


class SessionsOutcome(TypedDict):
    """Of `sessions.list`."""

    # Newest first.
    sessions: list[SessionMeta]


class RunIdOutcome(TypedDict):
    """Of `chat.send`."""

    # The run that answers the message.
    runId: str


class MessagesOutcome(TypedDict):
    """Of `chat.history`."""

    # Oldest first.
    messages: list[TranscriptMessage]


class OkOutcome(TypedDict):
    """Of `chat.abort`, `exec.approve` and `exec.deny`."""

    # Always true.
    ok: bool


class ApprovalsOutcome(TypedDict):
    """Of `approvals.list`."""

    # Oldest first.
    approvals: list[WaitingApproval]


# What comes of a request, by method.
Outcome: TypeAlias = "Health | AgentsOutcome | SessionKeyOutcome | SessionsOutcome | SessionDetail | RunIdOutcome | MessagesOutcome | OkOutcome | ApprovalsOutcome"


class Health(TypedDict):
    """That the daemon is there; also the answer to `GET /health`."""

    # Always `ok`.
    status: str
    # Seconds since the daemon started.
    uptime: int


class AgentInfo(TypedDict):
    """An agent that sessions can be made for."""

    # What `sessions.create` takes as `agentId`.
    id: str
    # The same.
    name: str
    # Its model.
    model: str
    # What it is for.
    description: str


class SessionMeta(TypedDict):
    """A session in a list."""

    # Its key.
    key: str
    # The agent that it was made for.
    agentId: str
    # When it was made, in milliseconds since 1970.
    createdAt: int
    # When something last happened in it.
    updatedAt: int
    # What people call it: its title, or the beginning of its first message.
    label: NotRequired[str | None]


class SessionDetail(TypedDict):
    """A session with its conversation."""

    # The session.
    session: SessionMeta
    # Its conversation, oldest first; without its beginning where it is very long.
    messages: list[TranscriptMessage]
    # How its newest run stands, so that a client which was away knows what it has missed.
    lastRun: NotRequired[RunInfo | None]


class TranscriptMessage(TypedDict):
    """Something said in a session."""

    # Who said it.
    role: TranscriptRole
    # What was said.
    content: str
    # When, in milliseconds since 1970.
    timestamp: int
    # The run that it belongs to.
    runId: NotRequired[str | None]
    # The tool that answered.
    toolName: NotRequired[str | None]


TranscriptRole: TypeAlias = 'Literal["user"] | Literal["assistant"] | Literal["tool_result"]'


class RunInfo(TypedDict):
    """How a run stands."""

    # The run.
    runId: str
    # `running`, `completed`, `failed` or `aborted`.
    status: RunStatus
    # Why it failed.
    message: NotRequired[str | None]


RunStatus: TypeAlias = 'Literal["running"] | Literal["completed"] | Literal["failed"] | Literal["aborted"]'


class WaitingApproval(TypedDict):
    """A call that waits for an answer, in a list."""

    # What `exec.approve` and `exec.deny` take.
    approvalId: str
    # The tool.
    toolName: str
    # What it is to do, in a line.
    summary: str
    # The call's input.
    details: Any
    # The session that asks.
    sessionKey: str
    # The run that asks.
    runId: str
    # Since when, in milliseconds since 1970.
    requestedAt: int


class ErrorResponse(TypedDict):
    """The answer to a request that was not carried out, or to something that was no request."""

    # The request's own; null when it had none that can be used.
    id: Id | None
    # Why not.
    error: RpcError


class RpcError(TypedDict):
    """Why a request was not carried out."""

    # -32700 no JSON, -32600 no request, -32601 no such method, -32602 wrong params, -32603 anything else.
    code: int
    # What happened, and what was expected.
    message: str


class ChatDeltaServerEvent(TypedDict):
    """More text of an answer; to be appended."""

    event: Literal["chat.delta"]
    data: ChatDeltaServerEventData


class ChatDeltaServerEventData(TypedDict):
    """An object."""

    # The run.
    runId: str
    # The text.
    text: str


class ChatFinalServerEvent(TypedDict):
    """A run is over: as it should be, or because somebody stopped it."""

    event: Literal["chat.final"]
    data: ChatFinalServerEventData


class ChatFinalServerEventData(TypedDict):
    """An object."""

    # The run.
    runId: str
    # What it took, over all its steps.
    usage: RunUsage
    # True when it was stopped; what it had written is in the history.
    aborted: NotRequired[bool | None]


class ChatErrorServerEvent(TypedDict):
    """A run has failed, and is over."""

    event: Literal["chat.error"]
    data: ChatErrorServerEventData


class ChatErrorServerEventData(TypedDict):
    """An object."""

    # The run.
    runId: str
    # Why.
    message: str


class ChatToolResultServerEvent(TypedDict):
    """A tool has answered."""

    event: Literal["chat.tool_result"]
    data: ChatToolResultServerEventData


class ChatToolResultServerEventData(TypedDict):
    """An object."""

    # The run.
    runId: str
    # The tool.
    tool: str
    # How its program ended, where it ran one.
    exitCode: NotRequired[int | None]
    # What it said; the first 8,000 characters.
    output: str


class ExecApprovalRequestServerEvent(TypedDict):
    """A call waits for an answer."""

    event: Literal["exec.approval_request"]
    data: ApprovalRequest


class ExecApprovalResolvedServerEvent(TypedDict):
    """Somebody has answered, here or elsewhere."""

    event: Literal["exec.approval_resolved"]
    data: ExecApprovalResolvedServerEventData


class ExecApprovalResolvedServerEventData(TypedDict):
    """An object."""

    # The question.
    approvalId: str
    # The answer.
    approved: bool
    # Who answered.
    by: str
    # Why.
    reason: NotRequired[str | None]


class ToolProgressServerEvent(TypedDict):
    """A tool has begun, or a run waits for its model."""

    event: Literal["tool.progress"]
    data: ToolProgressServerEventData


class ToolProgressServerEventData(TypedDict):
    """An object."""

    # The run.
    runId: str
    # What goes on.
    message: str


class SessionsReleasedServerEvent(TypedDict):
    """The socket follows too many sessions, and no longer this one."""

    event: Literal["sessions.released"]
    data: SessionsReleasedServerEventData


class SessionsReleasedServerEventData(TypedDict):
    """An object."""

    # The session; name it again to follow it again.
    sessionKey: str


# What happens in a session, to everybody on a socket that has named it.
ServerEvent: TypeAlias = "ChatDeltaServerEvent | ChatFinalServerEvent | ChatErrorServerEvent | ChatToolResultServerEvent | ExecApprovalRequestServerEvent | ExecApprovalResolvedServerEvent | ToolProgressServerEvent | SessionsReleasedServerEvent"


class RunUsage(TypedDict):
    """What a run took."""

    inputTokens: int
    outputTokens: int


class ApprovalRequest(TypedDict):
    """A call that waits for an answer."""

    # What `exec.approve` and `exec.deny` take.
    approvalId: str
    # The tool.
    toolName: str
    # What it is to do, in a line.
    summary: str
    # The call's input.
    details: Any


class AuthClientFrame(TypedDict):
    """The first frame of every connection."""

    type: Literal["auth"]
    token: str


class HealthCheckClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["health.check"]
    params: NotRequired[HealthCheckClientFrameParams]


class HealthCheckClientFrameParams(TypedDict):
    """An object."""


class AgentsListClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["agents.list"]
    params: NotRequired[AgentsListClientFrameParams]


class AgentsListClientFrameParams(TypedDict):
    """An object."""


class SessionsCreateClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["sessions.create"]
    params: NotRequired[SessionsCreateClientFrameParams]


class SessionsCreateClientFrameParams(TypedDict):
    """An object."""

    agentId: NotRequired[str | None]


class SessionsListClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["sessions.list"]
    params: NotRequired[SessionsListClientFrameParams]


class SessionsListClientFrameParams(TypedDict):
    """An object."""


class SessionsGetClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["sessions.get"]
    params: SessionsGetClientFrameParams


class SessionsGetClientFrameParams(TypedDict):
    """An object."""

    sessionKey: str


class ChatSendClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["chat.send"]
    params: ChatSendClientFrameParams


class ChatSendClientFrameParams(TypedDict):
    """An object."""

    sessionKey: str
    message: str


class ChatHistoryClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["chat.history"]
    params: ChatHistoryClientFrameParams


class ChatHistoryClientFrameParams(TypedDict):
    """An object."""

    sessionKey: str
    limit: NotRequired[int]


class ChatAbortClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["chat.abort"]
    params: ChatAbortClientFrameParams


class ChatAbortClientFrameParams(TypedDict):
    """An object."""

    runId: str


class ExecApproveClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["exec.approve"]
    params: ExecApproveClientFrameParams


class ExecApproveClientFrameParams(TypedDict):
    """An object."""

    approvalId: str
    reason: NotRequired[str | None]


class ExecDenyClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["exec.deny"]
    params: ExecDenyClientFrameParams


class ExecDenyClientFrameParams(TypedDict):
    """An object."""

    approvalId: str
    reason: NotRequired[str | None]


class ApprovalsListClientFrame(TypedDict):
    """An object."""

    id: Id
    method: Literal["approvals.list"]
    params: NotRequired[ApprovalsListClientFrameParams]


class ApprovalsListClientFrameParams(TypedDict):
    """An object."""


ClientFrame: TypeAlias = "AuthClientFrame | HealthCheckClientFrame | AgentsListClientFrame | SessionsCreateClientFrame | SessionsListClientFrame | SessionsGetClientFrame | ChatSendClientFrame | ChatHistoryClientFrame | ChatAbortClientFrame | ExecApproveClientFrame | ExecDenyClientFrame | ApprovalsListClientFrame"


ServerFrame: TypeAlias = "AuthReply | Response | ErrorResponse | ServerEvent"
