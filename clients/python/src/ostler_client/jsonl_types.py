"""The lines of `ostler rpc`.

Made by clients/generate.py from the daemon's own documents. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class PromptClientFrame(TypedDict):
    """Say something. While a turn runs it waits, unless `delivery` says otherwise."""

    type: Literal["prompt"]
    # What to say.
    text: str
    # The session; the active one when absent.
    session_id: NotRequired[str | None]
    # What to do when a turn runs; `queue` when absent.
    delivery: NotRequired[Delivery | None]


class StatsClientFrame(TypedDict):
    """How does a session stand?"""

    # The session; the active one when absent.
    session_id: NotRequired[str | None]
    type: Literal["stats"]


class AbortClientFrame(TypedDict):
    """Stop the running turn. There is no answer but the end of the turn."""

    # The session; the active one when absent.
    session_id: NotRequired[str | None]
    type: Literal["abort"]


class ResetClientFrame(TypedDict):
    """Stop the running turn and forget the conversation; the session keeps its id."""

    # The session; the active one when absent.
    session_id: NotRequired[str | None]
    type: Literal["reset"]


class SaveClientFrame(TypedDict):
    """Where is a session kept? It is on disk already."""

    # The session; the active one when absent.
    session_id: NotRequired[str | None]
    type: Literal["save"]


class ListSessionsClientFrame(TypedDict):
    """Which sessions of this directory are on disk?"""

    type: Literal["list_sessions"]


class ListRunningSessionsClientFrame(TypedDict):
    """Which sessions has this connection?"""

    type: Literal["list_running_sessions"]


class StartSessionClientFrame(TypedDict):
    """Make a session, or go on with one."""

    # The directory that it works in; that of the connection when absent.
    cwd: NotRequired[str | None]
    # As `provider:model`; that of the active session when absent.
    model: NotRequired[str | None]
    # Instructions for the model.
    system_prompt: NotRequired[str | None]
    # A session to go on with, or where a new one is saved.
    session_file: NotRequired[str | None]
    # The session that it comes from.
    parent_session: NotRequired[str | None]
    # Whether it becomes the active one; false when absent.
    set_active: NotRequired[bool]
    type: Literal["start_session"]


class CloseSessionClientFrame(TypedDict):
    """Close a session."""

    # The session; the active one when absent.
    session_id: NotRequired[str | None]
    type: Literal["close_session"]


class SetActiveSessionClientFrame(TypedDict):
    """Say where commands go that name no session."""

    type: Literal["set_active_session"]
    # The session.
    session_id: str


class UiResponseClientFrame(TypedDict):
    """Answer a question."""

    # The question.
    id: str
    # What was answered, in the form that the question calls for.
    result: NotRequired[Any]
    # Why there is no answer.
    error: NotRequired[str | None]
    type: Literal["ui_response"]


class ListModelsClientFrame(TypedDict):
    """Which models are there?"""

    type: Literal["list_models"]


class PingClientFrame(TypedDict):
    """Is anybody there?"""

    type: Literal["ping"]


class DebugClientFrame(TypedDict):
    """How does this connection stand?"""

    type: Literal["debug"]


class QuitClientFrame(TypedDict):
    """End."""

    type: Literal["quit"]


# One line of the client.
ClientFrame: TypeAlias = "PromptClientFrame | StatsClientFrame | AbortClientFrame | ResetClientFrame | SaveClientFrame | ListSessionsClientFrame | ListRunningSessionsClientFrame | StartSessionClientFrame | CloseSessionClientFrame | SetActiveSessionClientFrame | UiResponseClientFrame | ListModelsClientFrame | PingClientFrame | DebugClientFrame | QuitClientFrame"


# What to do with a message that comes while a turn runs.
Delivery: TypeAlias = 'Literal["queue"] | Literal["steer"] | Literal["interrupt"]'


class OfSession(TypedDict):
    """A command to one session."""

    # The session; the active one when absent.
    session_id: NotRequired[str | None]


class StartSession(TypedDict):
    """What a new session is to be."""

    # The directory that it works in; that of the connection when absent.
    cwd: NotRequired[str | None]
    # As `provider:model`; that of the active session when absent.
    model: NotRequired[str | None]
    # Instructions for the model.
    system_prompt: NotRequired[str | None]
    # A session to go on with, or where a new one is saved.
    session_file: NotRequired[str | None]
    # The session that it comes from.
    parent_session: NotRequired[str | None]
    # Whether it becomes the active one; false when absent.
    set_active: NotRequired[bool]


class UiResponse(TypedDict):
    """An answer. Null and null is none; an error beats a result."""

    # The question.
    id: str
    # What was answered, in the form that the question calls for.
    result: NotRequired[Any]
    # Why there is no answer.
    error: NotRequired[str | None]


class ReadyServerFrame(TypedDict):
    """The first line: the primary session is there."""

    type: Literal["ready"]
    cwd: str
    model: ModelName
    debug: bool
    # Whether questions are asked on this wire.
    ui: bool
    primary_session_id: SessionId | None
    active_session_id: SessionId | None


class EventServerFrame(TypedDict):
    """Something happened in a session."""

    type: Literal["event"]
    session_id: SessionId
    # Counts the events of this session on this wire, from 0.
    event_seq: int
    event: SessionEvent


class StatsServerFrame(TypedDict):
    """How a session stands."""

    type: Literal["stats"]
    session_id: SessionId
    stats: Stats


class PongServerFrame(TypedDict):
    """The answer to `ping`."""

    type: Literal["pong"]


class DebugServerFrame(TypedDict):
    """What is being done, for whoever looks for a mistake."""

    type: Literal["debug"]
    message: str
    argv: NotRequired[list[str] | None]


class ErrorServerFrame(TypedDict):
    """Something could not be done, and nothing was."""

    type: Literal["error"]
    message: str
    # What to do about it.
    hint: NotRequired[str | None]
    session_id: NotRequired[str | None]


class SaveResultServerFrame(TypedDict):
    """Where a session is kept."""

    type: Literal["save_result"]
    ok: bool
    path: str | None
    error: str | None
    session_id: SessionId


class SessionsListServerFrame(TypedDict):
    """The sessions on disk that work in this directory, the newest first."""

    type: Literal["sessions_list"]
    sessions: list[SavedSession]
    error: str | None


class RunningSessionsServerFrame(TypedDict):
    """The sessions of this connection."""

    type: Literal["running_sessions"]
    sessions: list[RunningSession]
    error: str | None


class ModelsListServerFrame(TypedDict):
    """The models that sessions can have."""

    type: Literal["models_list"]
    providers: list[ModelProvider]


class SessionStartedServerFrame(TypedDict):
    """A session is there."""

    type: Literal["session_started"]
    session_id: SessionId
    cwd: str
    model: ModelName


class SessionClosedServerFrame(TypedDict):
    """A session is no longer of this connection."""

    type: Literal["session_closed"]
    session_id: str
    reason: CloseReason


class ActiveSessionServerFrame(TypedDict):
    """Where commands go that name no session; null when there is none."""

    type: Literal["active_session"]
    session_id: SessionId | None


class SelectUiRequestServerFrame(TypedDict):
    """One of these; the answer is its value."""

    type: Literal["ui_request"]
    id: str
    session_id: SessionId
    method: Literal["select"]
    params: SelectUiRequestServerFrameParams


class SelectUiRequestServerFrameParams(TypedDict):
    """An object."""

    title: str
    options: list[Choice]
    opts: NoOptions


class ConfirmUiRequestServerFrame(TypedDict):
    """Yes or no; the answer is a boolean."""

    type: Literal["ui_request"]
    id: str
    session_id: SessionId
    method: Literal["confirm"]
    params: ConfirmUiRequestServerFrameParams


class ConfirmUiRequestServerFrameParams(TypedDict):
    """An object."""

    title: str
    message: str
    opts: NoOptions


class InputUiRequestServerFrame(TypedDict):
    """A line of text."""

    type: Literal["ui_request"]
    id: str
    session_id: SessionId
    method: Literal["input"]
    params: InputUiRequestServerFrameParams


class InputUiRequestServerFrameParams(TypedDict):
    """An object."""

    title: str
    placeholder: str | None
    opts: NoOptions


class EditorUiRequestServerFrame(TypedDict):
    """Some lines of text."""

    type: Literal["ui_request"]
    id: str
    session_id: SessionId
    method: Literal["editor"]
    params: EditorUiRequestServerFrameParams


class EditorUiRequestServerFrameParams(TypedDict):
    """An object."""

    title: str
    prefill: str | None
    opts: NoOptions


class UiSettledServerFrame(TypedDict):
    """A question that nobody here need answer any more."""

    type: Literal["ui_settled"]
    id: str
    session_id: SessionId
    outcome: Outcome
    # Who answered, if somebody did.
    by: str | None


# One line to the client.
ServerFrame: TypeAlias = "ReadyServerFrame | EventServerFrame | StatsServerFrame | PongServerFrame | DebugServerFrame | ErrorServerFrame | SaveResultServerFrame | SessionsListServerFrame | RunningSessionsServerFrame | ModelsListServerFrame | SessionStartedServerFrame | SessionClosedServerFrame | ActiveSessionServerFrame | SelectUiRequestServerFrame | ConfirmUiRequestServerFrame | InputUiRequestServerFrame | EditorUiRequestServerFrame | UiSettledServerFrame"


class ModelName(TypedDict):
    """A model, taken apart."""

    provider: str
    id: str


SessionId: TypeAlias = "str"


class AgentStartSessionEvent(TypedDict):
    """A turn began."""

    type: Literal["agent_start"]


class AgentEndSessionEvent(TypedDict):
    """A turn ended, however it ended. The messages that came of it."""

    type: Literal["agent_end"]
    data: list[list[WireMessage]]


class TurnStartSessionEvent(TypedDict):
    """A step began: one answer of the model, and the calls that it asks for."""

    type: Literal["turn_start"]


class TurnEndSessionEvent(TypedDict):
    """A step ended: the answer, and what the calls came to."""

    type: Literal["turn_end"]
    data: list[WireMessage | list[WireMessage]]


class MessageStartSessionEvent(TypedDict):
    """A message begins."""

    type: Literal["message_start"]
    data: list[WireMessage]


class MessageUpdateSessionEvent(TypedDict):
    """The message so far, which replaces what was shown of it, and what is new."""

    type: Literal["message_update"]
    data: list[WireMessage | TextDelta]


class MessageEndSessionEvent(TypedDict):
    """A message is whole."""

    type: Literal["message_end"]
    data: list[WireMessage]


class ToolExecutionStartSessionEvent(TypedDict):
    """A call takes effect: its id, its tool, its arguments."""

    type: Literal["tool_execution_start"]
    data: list[str | Any]


class ToolExecutionUpdateSessionEvent(TypedDict):
    """What a call has printed so far, which replaces what was shown of it."""

    type: Literal["tool_execution_update"]
    data: list[str | Any | WireResult]


class ToolExecutionEndSessionEvent(TypedDict):
    """A call has its result: its id, its tool, the result, whether it failed."""

    type: Literal["tool_execution_end"]
    data: list[str | WireResult | bool]


class ErrorSessionEvent(TypedDict):
    """A turn failed: why, and what the model had written. `agent_end` follows."""

    type: Literal["error"]
    data: list[str | WireMessage | None]


# What happened in a session. `data` is positional, and absent when there is nothing to say.
SessionEvent: TypeAlias = "AgentStartSessionEvent | AgentEndSessionEvent | TurnStartSessionEvent | TurnEndSessionEvent | MessageStartSessionEvent | MessageUpdateSessionEvent | MessageEndSessionEvent | ToolExecutionStartSessionEvent | ToolExecutionUpdateSessionEvent | ToolExecutionEndSessionEvent | ErrorSessionEvent"


class UserWireMessage(TypedDict):
    """By the person, or the program that speaks for one."""

    role: Literal["user"]
    id: MessageId
    content: list[Block]
    # Milliseconds since 1970.
    timestamp: int


class AssistantWireMessage(TypedDict):
    """By the model."""

    role: Literal["assistant"]
    id: MessageId
    content: list[Block]
    provider: str
    model: str
    # What runs the session's turns.
    api: str
    usage: WireUsage
    # Absent while the message is being written.
    stop_reason: NotRequired[StopReason | None]
    # Why it ended early.
    error_message: str | None
    # Milliseconds since 1970.
    timestamp: int


class ToolResultWireMessage(TypedDict):
    """By a tool, answering a call."""

    role: Literal["tool_result"]
    id: MessageId
    tool_call_id: str
    tool_name: str
    content: list[Block]
    # What the tool did, in structure.
    details: Any
    is_error: bool
    # Milliseconds since 1970.
    timestamp: int


# Something that was said.
WireMessage: TypeAlias = "UserWireMessage | AssistantWireMessage | ToolResultWireMessage"


MessageId: TypeAlias = "str"


class TextBlock(TypedDict):
    """Plain text or markdown."""

    type: Literal["text"]
    text: str


class ThinkingBlock(TypedDict):
    """What the model thought aloud."""

    type: Literal["thinking"]
    thinking: str


class ToolCallBlock(TypedDict):
    """A call that the model asks for."""

    type: Literal["tool_call"]
    id: str
    name: str
    arguments: Any


class ImageBlock(TypedDict):
    """A picture beside the session's log."""

    type: Literal["image"]
    # Where it lies in the session's folder.
    ref: str
    mime_type: str


# A piece of a message.
Block: TypeAlias = "TextBlock | ThinkingBlock | ToolCallBlock | ImageBlock"


class WireUsage(TypedDict):
    """Tokens, and what they cost."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    total_tokens: int
    cost: WireCost


class WireCost(TypedDict):
    """US dollars."""

    # Null when no price is known.
    total: float | None


# Why a message ended.
StopReason: TypeAlias = 'Literal["stop"] | Literal["length"] | Literal["tool_use"] | Literal["error"] | Literal["aborted"]'


class TextDeltaTextDelta(TypedDict):
    """Of the answer."""

    type: Literal["text_delta"]
    content_index: int
    delta: str


class ThinkingDeltaTextDelta(TypedDict):
    """Of the reasoning."""

    type: Literal["thinking_delta"]
    content_index: int
    delta: str


# Text that has just come.
TextDelta: TypeAlias = "TextDeltaTextDelta | ThinkingDeltaTextDelta"


class WireResult(TypedDict):
    """What a tool came to."""

    content: list[Block]
    details: Any


class Stats(TypedDict):
    """How a session stands, in figures."""

    session_id: SessionId
    # What people, the model and tools have said.
    message_count: int
    turn_count: int
    # Whether a turn runs or waits.
    is_streaming: bool
    cwd: str
    model: ModelName
    # How much the model thinks; null when that is left to its maker.
    thinking_level: str | None
    usage: WireUsage
    # Messages that wait for their turn.
    queued: int
    # Calls that wait for an answer.
    pending_approvals: int


class SavedSession(TypedDict):
    """A session on disk."""

    # Its log, which `start_session` takes as `session_file`.
    path: str
    id: SessionId
    # Its last activity, in milliseconds since 1970.
    timestamp: int
    cwd: str
    title: str | None


class RunningSession(TypedDict):
    """A session of this connection."""

    session_id: SessionId
    cwd: str
    is_streaming: bool


class ModelProvider(TypedDict):
    """A provider and its models."""

    id: str
    models: list[ListedModel]


class ListedModel(TypedDict):
    """A model of a provider."""

    id: str
    # What `start_session` takes as `model`.
    name: str


# Why a session is no longer of this connection.
CloseReason: TypeAlias = 'Literal["normal"] | Literal["not_found"] | Literal["error"]'


class Choice(TypedDict):
    """One of the answers that can be chosen."""

    label: str
    value: str
    description: NotRequired[str | None]


# Nothing in particular.
NoOptions: TypeAlias = "dict[str, Any]"


# How a question was settled.
Outcome: TypeAlias = 'Literal["approved"] | Literal["denied"] | Literal["withdrawn"]'
