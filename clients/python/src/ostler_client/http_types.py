"""What the http door says and takes, and the events of a session.

Made by clients/generate.py from the daemon's own documents. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class ErrorBody(TypedDict):
    """The body of every answer that is not a success."""

    error: Failure


class Failure(TypedDict):
    """What went wrong, and what to do about it."""

    # A stable word for programs.
    code: str
    # What happened.
    message: str
    # What to do next.
    hint: NotRequired[str | None]


class Health(TypedDict):
    """The daemon is there."""

    # Always `ok`.
    status: str
    # The daemon's version.
    version: str


class Agents(TypedDict):
    """The agents that sessions can have."""

    agents: list[AgentDescription]


class AgentDescription(TypedDict):
    """An agent that sessions can have."""

    # The name by which sessions choose it.
    name: str
    # `native` for the daemon's own, `acp` for one that others wrote.
    kind: str
    # What people call it.
    title: NotRequired[str | None]
    # The program that it is, without its arguments.
    program: NotRequired[str | None]
    # How it stands.
    status: AgentLink
    # What to do where its program is missing.
    install: NotRequired[str | None]
    # How to log in to it, or which key it takes.
    login: NotRequired[str | None]
    # What new sessions choose of its settings.
    settings: dict[str, str]
    # Its processes, one for each workspace in which it was needed.
    processes: list[AgentProcess]


# How an agent of other people stands.
AgentLink: TypeAlias = 'Literal["starting"] | Literal["connected"] | Literal["reconnecting"] | Literal["idle"] | Literal["disconnected"]'


class AgentProcess(TypedDict):
    """A process of an agent."""

    # The workspace that it works in.
    workspace: str
    # How it stands.
    status: AgentLink
    # What went wrong last.
    error: NotRequired[Failure | None]
    # The end of what it printed on its error output.
    stderr: str


class AgentSessions(TypedDict):
    """The sessions that an agent keeps itself."""

    sessions: list[AgentSession]


class AgentSession(TypedDict):
    """A session that an agent keeps itself."""

    # What the agent calls it; to be named as `adopt` where a session is made.
    agent_session_id: str
    # Its title.
    title: NotRequired[str | None]
    # When it was last used, as the agent writes it.
    updated_at: NotRequired[str | None]
    # The session of this daemon that it is, if it is one.
    session_id: NotRequired[SessionId | None]


SessionId: TypeAlias = "str"


class Models(TypedDict):
    """The models that sessions can have."""

    # The one that a session gets when it names none, and why; null when there is none to be had.
    default: NotRequired[Resolution | None]
    # Why there is none to be had.
    no_default: NotRequired[str | None]
    models: list[ModelInfo]


class Resolution(TypedDict):
    """The model that was found for a session, and why that one."""

    # The model, as `provider:model`.
    model: str
    # A stable word for why.
    reason: ResolvedBy
    # The same for people, in a sentence.
    detail: str
    # The model that it takes the place of, after a failure.
    instead_of: NotRequired[str | None]
    # How that one failed.
    error: NotRequired[Failure | None]


# Why a session has its model.
ResolvedBy: TypeAlias = 'Literal["configured"] | Literal["policy"] | Literal["key_found"] | Literal["local_server"] | Literal["demo"] | Literal["failover"]'


class ModelInfo(TypedDict):
    """What is known of a model."""

    # Its full name, `provider:model`.
    name: str
    # Tokens that a conversation and its answer may have together, if known.
    context_window: NotRequired[int | None]
    # Tokens that one answer may have, if known.
    max_output_tokens: NotRequired[int | None]
    # What it costs, if known. A model that runs at home costs nothing, which is known.
    prices: NotRequired[Prices | None]
    # What it can do; absent when nobody has said.
    abilities: NotRequired[list[Ability] | None]
    # Where this knowledge comes from.
    source: InfoSource
    # Why it cannot be used now, such as a missing key.
    unavailable: NotRequired[str | None]


class Prices(TypedDict):
    """Prices in US dollars per million tokens."""

    # What is sent.
    input: float
    # What the model writes, reasoning included.
    output: float
    # What is read from the provider's cache; like other input when absent.
    cached: NotRequired[float | None]
    # What is written to the provider's cache; like other input when absent.
    cache_write: NotRequired[float | None]


# Something that a model may or may not be able to do.
Ability: TypeAlias = 'Literal["tools"] | Literal["vision"] | Literal["files"] | Literal["reasoning"] | Literal["caching"]'


# Where knowledge of a model comes from; the later ones are stronger.
InfoSource: TypeAlias = 'Literal["unknown"] | Literal["builtin"] | Literal["discovered"] | Literal["configured"]'


class Trusted(TypedDict):
    """Whether a workspace is trusted."""

    workspace_path: str
    trusted: bool
    # What its own files say, which counts only while it is trusted.
    brings: Brought


class Brought(TypedDict):
    """What a workspace brings in its own files, which counts once it is trusted."""

    # The commands that check a turn's work.
    verify_commands: list[str]
    # The servers of tools.
    servers: list[BroughtServer]
    # The calls that are allowed without asking.
    rules: list[BroughtRule]
    # The kinds of calls and the tools that are asked about besides, in words.
    asks: list[str]
    # What cannot be used, and why.
    problems: list[str]


class BroughtServer(TypedDict):
    """A server that a workspace names."""

    # What the workspace calls it.
    name: str
    # The command line that starts it, or its address. Without what may be secret.
    runs: str
    # The file that names it.
    file: str


class BroughtRule(TypedDict):
    """A rule that a workspace names."""

    # The rule.
    rule: Rule
    # Whether it holds: the workspace is trusted, and had this very rule when that was said.
    in_force: bool


class Rule(TypedDict):
    """Allows one exact call: the same tool with the same subject. For a command line it also allows its commands, word for word, wherever every command of a line is allowed; never a prefix of the line's text, because a shell would find a way around it."""

    # The tool's name.
    tool: str
    # What it acts on: the command, the path, or else the whole input as JSON.
    subject: str
    # Whether the subject is the whole input.
    whole: NotRequired[bool]
    # The workspace in which it holds; in any, when absent. The same words mean something else elsewhere.
    workspace: NotRequired[str | None]
    # The commands that it allows, as parts of any command line.
    commands: NotRequired[list[CommandPattern]]


class CommandPattern(TypedDict):
    """The words that a command must have."""

    # The program and its arguments, word for word.
    argv: list[str]
    # Whether other words may follow.
    open: NotRequired[bool]


class TrustBody(TypedDict):
    """Whether to trust it."""

    # An existing directory, as an absolute path.
    workspace_path: str
    # Whether what lies in it may start processes and change what is asked.
    trusted: bool


class Tools(TypedDict):
    """The tools of the native agent."""

    tools: list[OneTool]
    # How the servers stand that offer tools.
    servers: list[dict[str, Any]]


class OneTool(TypedDict):
    """What a model is told of a tool."""

    # The tool's name.
    name: str
    # What it does and when to use it.
    description: str
    # The JSON schema of its input.
    input_schema: Any
    kind: ToolKind


# What a tool touches; approvals are asked for by kind.
ToolKind: TypeAlias = 'Literal["read"] | Literal["write"] | Literal["exec"] | Literal["network"]'


class UsageTable(TypedDict):
    """What was used."""

    by: By
    # At most 1,000 rows: the newest days first, of all else the dearest first.
    rows: list[Keyed]
    # How many more rows there would have been.
    left_out: int
    # Everything that was asked for, with what was left out.
    total: Sum


# What a row stands for.
By: TypeAlias = 'Literal["day"] | Literal["model"] | Literal["session"] | Literal["workspace"] | Literal["total"]'


class Keyed(TypedDict):
    """What was used by one day, model, session or workspace."""

    # The date, the model's name, the session's id, the workspace's path, or `total`.
    key: str
    # How many answers of a model.
    steps: int
    # Tokens sent to the model, cached ones included.
    input_tokens: NotRequired[int]
    # Tokens that the model wrote, reasoning included.
    output_tokens: NotRequired[int]
    # How many of the input tokens came from the provider's cache.
    cached_tokens: NotRequired[int]
    # How many of the input tokens were written to the provider's cache.
    cache_write_tokens: NotRequired[int]
    # How many of the output tokens were reasoning.
    reasoning_tokens: NotRequired[int]
    # What it cost in US dollars, as far as prices are known.
    cost_usd: NotRequired[Cost | None]
    # How many of them have no price, so that the cost is at least what it says.
    unpriced_steps: int


# US dollars.
Cost: TypeAlias = "float"


class Sum(TypedDict):
    """What some answers took together."""

    # How many answers of a model.
    steps: int
    # Tokens sent to the model, cached ones included.
    input_tokens: NotRequired[int]
    # Tokens that the model wrote, reasoning included.
    output_tokens: NotRequired[int]
    # How many of the input tokens came from the provider's cache.
    cached_tokens: NotRequired[int]
    # How many of the input tokens were written to the provider's cache.
    cache_write_tokens: NotRequired[int]
    # How many of the output tokens were reasoning.
    reasoning_tokens: NotRequired[int]
    # What it cost in US dollars, as far as prices are known.
    cost_usd: NotRequired[Cost | None]
    # How many of them have no price, so that the cost is at least what it says.
    unpriced_steps: int


class LoginBody(TypedDict):
    """A code from the daemon's terminal."""

    # The code. It is good for one login.
    code: str


class LoginCode(TypedDict):
    """A way in for a browser."""

    # What to open: the page, with a one-time code behind the `#`.
    address: str
    # Until when the code can be used.
    expires_at: str


class SettingsView(TypedDict):
    """How the daemon is set up."""

    providers: list[ConfiguredProvider]
    # The agents that sessions can have, by name; `/v1/agents` says more.
    agents: list[str]
    # The policy of a session that brings none.
    policy: Policy
    # The workspaces whose own settings, checks and servers are used.
    trusted_workspaces: list[str]
    # Where everything is kept.
    data_dir: str
    # Where the configuration is read from; null where there is no place for one.
    config_path: NotRequired[str | None]
    # The daemon's version.
    version: str


class ConfiguredProvider(TypedDict):
    """A provider of models."""

    # What comes before the `:` in the names of its models.
    name: str
    # The protocol that it speaks.
    kind: str
    # Where its endpoints lie; empty where it has none.
    base_url: str
    # Whether it has a key; some need none.
    has_key: bool
    # What it lacks, and what to do about that; null when it can be used.
    problem: NotRequired[str | None]


class Policy(TypedDict):
    """The policies of one session."""

    # Which calls wait for an answer.
    approval: NotRequired[ApprovalPolicy]
    # What is checked after a turn that changed the workspace.
    verify: NotRequired[VerifyPolicy]
    # Whether a person reviews the turn's diff.
    patch_review: NotRequired[PatchReview]
    # How the session comes by a model when nobody names one.
    model: NotRequired[ModelPolicy]


class ApprovalPolicy(TypedDict):
    """Which tool calls wait for an answer."""

    # Kinds that always ask.
    require_for_kinds: NotRequired[list[ToolKind]]
    # Tools that always ask, whatever their kind.
    require_for_tools: NotRequired[list[str]]
    # Calls that are allowed without asking.
    rules: NotRequired[list[Rule]]
    # Whether commands that are known to only read run without asking, unless their tool is named above.
    safe_commands: NotRequired[bool]


class VerifyPolicy(TypedDict):
    """What runs after a turn that changed the workspace."""

    # Whether verification runs by itself.
    auto: NotRequired[bool]
    # The commands, run in order in the workspace. None means that there is nothing to verify with.
    commands: NotRequired[list[str]]
    # Whether a turn only counts as verified when it leaves no uncommitted change behind.
    require_clean: NotRequired[bool]
    # How often a failure goes back to the model.
    max_rounds: NotRequired[int]


class PatchReview(TypedDict):
    """Whether a person reviews a turn's diff."""

    # The mode.
    mode: NotRequired[PatchReviewMode]


# The modes of patch review.
PatchReviewMode: TypeAlias = 'Literal["off"] | Literal["request"] | Literal["auto"]'


class ModelPolicy(TypedDict):
    """How a session that names no model comes by one."""

    # What the model must be able to do.
    require: NotRequired[list[Ability]]
    # The most that a million input tokens may cost, in US dollars.
    max_input_price: NotRequired[float | None]
    # The most that a million output tokens may cost, in US dollars.
    max_output_price: NotRequired[float | None]
    # Models to be taken before all others, the first that can be used.
    prefer: NotRequired[list[str]]


class ProjectList(TypedDict):
    """The projects, in the order in which they were added."""

    projects: list[Project]


class Project(TypedDict):
    """A registered workspace."""

    # Its id, a UUID with hyphens.
    id: str
    # The directory, as it really is.
    path: str
    # The last part of the path.
    name: str
    # When it was registered.
    added_at: str


class ProjectBody(TypedDict):
    """The directory to register."""

    # An existing directory, as an absolute path.
    path: str


class DirectoryList(TypedDict):
    """What a directory holds of directories, by name."""

    # The directory, as it really is.
    path: str
    # The one above it; null at the root.
    parent: NotRequired[str | None]
    directories: list[OneDirectory]
    # Whether there are more.
    truncated: bool


class OneDirectory(TypedDict):
    """An object."""

    name: str
    path: str
    # Whether it is a git repository.
    git: bool


class ProjectRemoved(TypedDict):
    """The project is off the list."""

    project_id: str


class Created(TypedDict):
    """The new session's id."""

    session_id: SessionId


class NewSessionBody(TypedDict):
    """What a new session is to be."""

    # An existing directory, as an absolute path.
    workspace_path: str
    # Instructions for the model.
    system_prompt: NotRequired[str | None]
    # Whether a message starts a turn unless it says otherwise; true when absent.
    auto_run: NotRequired[bool | None]
    # Who runs its turns; `native` when absent.
    agent: NotRequired[str | None]
    # Which model, as `provider:model`; found by the model policy when absent.
    model: NotRequired[str | None]
    # Models that take its place, in this order, when it cannot begin to answer.
    fallback_models: NotRequired[list[str] | None]
    # How much the model thinks; as its maker thinks best when absent.
    effort: NotRequired[Effort | None]
    # Whether the traffic with providers is kept in `raw.jsonl`.
    raw_log: NotRequired[bool | None]
    # Whether thinking, times and tokens are kept in `verbose.md`.
    verbose_log: NotRequired[bool | None]
    # The directory in which its readable files are kept, each session in a folder of its own, instead of beside its log. An absolute path; made if it is not there.
    log_dir: NotRequired[str | None]
    # What people call it.
    title: NotRequired[str | None]
    # What programs call it, unique among the open sessions.
    name: NotRequired[str | None]
    # The session that starts it.
    parent_session_id: NotRequired[SessionId | None]
    # What it may spend.
    budget: NotRequired[Budget | None]
    # `repl`, `serve` or `agent`; `chat` is another name of the default, `serve`.
    mode: NotRequired[Mode | None]
    # Always empty or absent: there are no sessions that follow a specification file.
    spec_path: NotRequired[str | None]
    # What it may do by itself.
    policy: NotRequired[PolicyBody | None]
    # Asking twice with one key makes one session.
    idempotency_key: NotRequired[str | None]
    # What is chosen of the settings of someone else's agent, by the agent's own names.
    agent_settings: NotRequired[dict[str, str] | None]
    # The session of someone else's agent to take over, as the agent calls it. One that was taken over before is found, and not made again.
    adopt: NotRequired[str | None]


# How much a model thinks before it answers.
Effort: TypeAlias = 'Literal["none"] | Literal["low"] | Literal["medium"] | Literal["high"] | Literal["max"]'


class Budget(TypedDict):
    """What a session may spend in all. What is absent has no limit of its own."""

    # Steps of each of its turns.
    max_steps: NotRequired[int | None]
    # Tokens sent and received, over all its turns.
    max_tokens: NotRequired[int | None]
    # Seconds that a parent waits for it.
    max_seconds: NotRequired[int | None]


# How a session is used.
Mode: TypeAlias = 'Literal["repl"] | Literal["serve"] | Literal["agent"]'


class PolicyBody(TypedDict):
    """Changes to a policy."""

    # Which calls wait for an answer.
    approval: NotRequired[ApprovalBody | None]
    # What is checked after a turn that changed the workspace.
    verify: NotRequired[VerifyBody | None]
    # Whether a person reviews the turn's diff.
    patch_review: NotRequired[PatchReviewBody | None]
    # How the session comes by a model when nobody names one.
    model: NotRequired[ModelBody | None]


class ApprovalBody(TypedDict):
    """An object."""

    # Kinds that always ask.
    require_for_kinds: NotRequired[list[ToolKind] | None]
    # Tools that always ask, whatever their kind.
    require_for_tools: NotRequired[list[str] | None]
    # Calls that are allowed without asking.
    rules: NotRequired[list[RuleBody] | None]
    # Whether commands that are known to only read run without asking.
    safe_commands: NotRequired[bool | None]


# A rule, from an object only.
RuleBody: TypeAlias = "Rule"


class VerifyBody(TypedDict):
    """An object."""

    # Whether verification runs by itself.
    auto: NotRequired[bool | None]
    # The commands, run in order in the workspace.
    commands: NotRequired[list[str] | None]
    # Whether a turn only counts as verified when it leaves no uncommitted change behind.
    require_clean: NotRequired[bool | None]
    # How often a failure goes back to the model.
    max_rounds: NotRequired[int | None]


class PatchReviewBody(TypedDict):
    """An object."""

    # Off, asked for, or shown and accepted by itself.
    mode: NotRequired[PatchReviewMode | None]


class ModelBody(TypedDict):
    """An object."""

    # What the model must be able to do.
    require: NotRequired[list[Ability] | None]
    # The most that a million input tokens may cost, in US dollars.
    max_input_price: NotRequired[float | None]
    # The most that a million output tokens may cost, in US dollars.
    max_output_price: NotRequired[float | None]
    # Models to be taken before all others.
    prefer: NotRequired[list[str] | None]


class SessionList(TypedDict):
    """A page of sessions."""

    sessions: list[Entry]
    # Where the next page begins; null on the last one.
    next_cursor: NotRequired[str | None]


class Entry(TypedDict):
    """What a session is."""

    # Its id.
    id: SessionId
    # When it was made.
    created_at: str
    # When its last event was recorded.
    updated_at: str
    # How it stands.
    status: SessionStatus
    # The directory that it works in.
    workspace_path: str
    # The runner whose machine that directory lies on; left out for the daemon's own.
    runner: NotRequired[str | None]
    # Instructions for the model, if any were given.
    system_prompt: NotRequired[str | None]
    # The newest turn.
    last_turn_id: NotRequired[TurnId | None]
    # Which agent runs its turns.
    agent: str
    # Which model the agent uses, as `provider:model`.
    model: str
    # Models that take its place, in this order, when it cannot begin to answer.
    fallback_models: NotRequired[list[str]]
    # How much the model thinks; as its maker thinks best when absent.
    effort: NotRequired[Effort | None]
    # Whether the traffic with providers is kept in `raw.jsonl`.
    raw_log: NotRequired[bool]
    # Whether thinking, times and tokens are kept in `verbose.md`.
    verbose_log: NotRequired[bool]
    # The directory in which its readable files are kept, instead of beside its log.
    log_root: NotRequired[str | None]
    # What people call it.
    title: NotRequired[str | None]
    # Whether it is put away.
    archived: bool
    # Whether it is kept at the head of lists.
    pinned: NotRequired[bool]
    # The session that started it, if one did.
    parent_session_id: NotRequired[SessionId | None]
    # How many sessions are above it.
    depth: NotRequired[int]
    # What a program calls it, unique among the open ones.
    name: NotRequired[str | None]
    # What its agent calls it, if that is someone else's.
    agent_session_id: NotRequired[str | None]
    # What was chosen of the agent's settings, such as its mode.
    agent_settings: NotRequired[dict[str, str]]
    # What it may spend.
    budget: NotRequired[Budget | None]
    # Where its workspace was taken from, when that is a git worktree of its own.
    worktree: NotRequired[Worktree | None]
    # The turn of another session that it goes on from.
    forked_from: NotRequired[ForkedFrom | None]
    # How it is used: `repl`, `serve` or `agent`.
    mode: str
    # Whether a message starts a turn unless it says otherwise.
    auto_run: bool
    # What it may do by itself.
    policy: Policy
    # Tokens spent so far.
    usage: Usage
    # The key under which its creation was asked for, so that asking twice makes one.
    idempotency_key: NotRequired[str | None]
    last_seq: int
    # The turn that runs or waits; null when there is none.
    running_turn_id: NotRequired[TurnId | None]
    # The place that matches the search.
    snippet: NotRequired[str | None]
    # The message that the snippet is from; absent when it is from the title.
    snippet_message_id: NotRequired[MessageId | None]


# How a session stands.
SessionStatus: TypeAlias = 'Literal["active"] | Literal["waiting_approval"] | Literal["failed"] | Literal["completed"] | Literal["canceled"]'


TurnId: TypeAlias = "str"


class Worktree(TypedDict):
    """Where a session's workspace was taken from, when it is a git worktree made for it."""

    # The workspace that it was made from.
    repository: str
    # The commit that it began with.
    base: str


class ForkedFrom(TypedDict):
    """The turn of another session after which a session goes its own way."""

    # The other session.
    session_id: SessionId
    # Its last turn that both share; none when they share nothing but the settings.
    turn_id: NotRequired[TurnId | None]


class Usage(TypedDict):
    """Tokens spent."""

    # Tokens sent to the model, cached ones included.
    input_tokens: NotRequired[int]
    # Tokens that the model wrote, reasoning included.
    output_tokens: NotRequired[int]
    # How many of the input tokens came from the provider's cache.
    cached_tokens: NotRequired[int]
    # How many of the input tokens were written to the provider's cache.
    cache_write_tokens: NotRequired[int]
    # How many of the output tokens were reasoning.
    reasoning_tokens: NotRequired[int]
    # What it cost in US dollars, as far as prices are known.
    cost_usd: NotRequired[Cost | None]


MessageId: TypeAlias = "str"


class Shown(TypedDict):
    """A session and its latest state."""

    # Its id.
    id: SessionId
    # When it was made.
    created_at: str
    # When its last event was recorded.
    updated_at: str
    # How it stands.
    status: SessionStatus
    # The directory that it works in.
    workspace_path: str
    # The runner whose machine that directory lies on; left out for the daemon's own.
    runner: NotRequired[str | None]
    # Instructions for the model, if any were given.
    system_prompt: NotRequired[str | None]
    # The newest turn.
    last_turn_id: NotRequired[TurnId | None]
    # Which agent runs its turns.
    agent: str
    # Which model the agent uses, as `provider:model`.
    model: str
    # Models that take its place, in this order, when it cannot begin to answer.
    fallback_models: NotRequired[list[str]]
    # How much the model thinks; as its maker thinks best when absent.
    effort: NotRequired[Effort | None]
    # Whether the traffic with providers is kept in `raw.jsonl`.
    raw_log: NotRequired[bool]
    # Whether thinking, times and tokens are kept in `verbose.md`.
    verbose_log: NotRequired[bool]
    # The directory in which its readable files are kept, instead of beside its log.
    log_root: NotRequired[str | None]
    # What people call it.
    title: NotRequired[str | None]
    # Whether it is put away.
    archived: bool
    # Whether it is kept at the head of lists.
    pinned: NotRequired[bool]
    # The session that started it, if one did.
    parent_session_id: NotRequired[SessionId | None]
    # How many sessions are above it.
    depth: NotRequired[int]
    # What a program calls it, unique among the open ones.
    name: NotRequired[str | None]
    # What its agent calls it, if that is someone else's.
    agent_session_id: NotRequired[str | None]
    # What was chosen of the agent's settings, such as its mode.
    agent_settings: NotRequired[dict[str, str]]
    # What it may spend.
    budget: NotRequired[Budget | None]
    # Where its workspace was taken from, when that is a git worktree of its own.
    worktree: NotRequired[Worktree | None]
    # The turn of another session that it goes on from.
    forked_from: NotRequired[ForkedFrom | None]
    # How it is used: `repl`, `serve` or `agent`.
    mode: str
    # Whether a message starts a turn unless it says otherwise.
    auto_run: bool
    # What it may do by itself.
    policy: Policy
    # Tokens spent so far.
    usage: Usage
    # The key under which its creation was asked for, so that asking twice makes one.
    idempotency_key: NotRequired[str | None]
    # Whether a turn runs or waits now.
    running_turn_id: NotRequired[TurnId | None]
    # Its newest turns, oldest first.
    turns: list[TurnSummary]
    # Calls that wait for an answer.
    pending_approvals: list[PendingApproval]
    # Messages that wait for their turn.
    queue: list[Queued]
    # Sessions that it has started and that are still of interest.
    children: NotRequired[list[Child]]
    # What the sessions that it has started have spent, those that they have started included. It counts against its budget, and is no part of its `usage`.
    children_usage: NotRequired[Usage]
    # Roughly how many tokens its conversation has.
    context_tokens: NotRequired[int | None]
    # What its agent says of itself, if it is someone else's.
    agent_state: NotRequired[AgentState | None]
    # The newest record.
    last_seq: int
    # How full the model's window is, as far as it is known.
    context: Context
    # Where its readable files lie.
    log_dir: str
    # Whether what lies in its workspace is trusted.
    trusted: bool
    # Its newest messages, oldest first, when they were asked for.
    messages: NotRequired[list[Message] | None]


class TurnSummary(TypedDict):
    """A turn in a line."""

    # Its id.
    id: TurnId
    # How it stands or ended.
    status: TurnStatus
    # The messages that it answers.
    message_ids: list[MessageId]
    # When it began.
    started_at: str
    # When it ended.
    ended_at: NotRequired[str | None]
    # Whether the workspace was checked at its end, and held.
    verified: NotRequired[bool | None]
    # Why it failed.
    error: NotRequired[str | None]
    # What it has cost.
    usage: NotRequired[Usage]
    # The workspace as it was before the turn's first change, if there was one.
    checkpoint_before: NotRequired[str | None]
    # The workspace as the turn left it.
    checkpoint_after: NotRequired[str | None]
    # Why the workspace could not be captured, if it could not: the turn cannot be undone, or not safely.
    checkpoint_error: NotRequired[str | None]


# How a turn stands or ended.
TurnStatus: TypeAlias = 'Literal["running"] | Literal["completed"] | Literal["failed"] | Literal["canceled"]'


class PendingApproval(TypedDict):
    """An approval that waits for an answer."""

    # The session.
    session_id: SessionId
    # The turn.
    turn_id: TurnId
    # The call, which names the approval.
    tool_call_id: ToolCallId
    # The tool.
    tool: str
    # What it is to do.
    input: Any
    # What it touches.
    kind: ToolKind
    # The same for people, in a line.
    summary: str
    # The rule that `session` or `always` would add.
    rule: Rule
    # The answers that its agent offers; a plain yes or no stands for the nearest of them.
    options: NotRequired[list[ApprovalOption]]
    # Since when it waits.
    requested_at: str


# Names a tool call within its turn: the model's own id where it gave one, else `call_…`.
ToolCallId: TypeAlias = "str"


class ApprovalOption(TypedDict):
    """An answer that an agent offers for one of its questions."""

    # Its name on the wire.
    id: str
    # Its name for people.
    name: str
    # What it amounts to.
    kind: OptionKind


# What an offered answer amounts to.
OptionKind: TypeAlias = 'Literal["allow_once"] | Literal["allow_always"] | Literal["reject_once"] | Literal["reject_always"]'


class Queued(TypedDict):
    """A message that waits."""

    # The message.
    message: Message
    # The turn that will answer it, unless it steers one.
    turn_id: TurnId
    # How it is to be delivered.
    delivery: Delivery


class Message(TypedDict):
    """Something said in a session."""

    # Its id.
    id: MessageId
    # Who said it.
    role: Role
    # What was said, in order.
    parts: list[Part]
    # When it was accepted or finished.
    created_at: str


# Who speaks in a message.
Role: TypeAlias = 'Literal["system"] | Literal["user"] | Literal["assistant"] | Literal["tool"]'


class TextPart(TypedDict):
    """Plain text or markdown."""

    type: Literal["text"]
    # The text itself.
    text: str


class ImagePart(TypedDict):
    """A picture beside the log."""

    type: Literal["image"]
    # Where it lies, relative to the session's folder.
    ref: str
    # Its type, as sniffed from the bytes.
    mime_type: str


class AudioPart(TypedDict):
    """A sound beside the log."""

    type: Literal["audio"]
    # Where it lies, relative to the session's folder.
    ref: str
    # Its type, as sniffed from the bytes.
    mime_type: str


class FilePart(TypedDict):
    """Any other file beside the log."""

    type: Literal["file"]
    # Where it lies, relative to the session's folder.
    ref: str
    # Its type, as sniffed from the bytes.
    mime_type: str


class ReasoningPart(TypedDict):
    """What the model thought aloud."""

    type: Literal["reasoning"]
    # The text itself.
    text: str
    # What the provider wants back with it, verbatim.
    opaque: NotRequired[Any]


class ToolCallPart(TypedDict):
    """A call that the model asked for."""

    type: Literal["tool_call"]
    # Its id, unique within the turn.
    id: ToolCallId
    # The tool's name.
    name: str
    # The arguments, as the model gave them.
    input: Any


class ToolResultPart(TypedDict):
    """What a tool answered; only in messages of role `tool`."""

    type: Literal["tool_result"]
    # The call that it answers.
    tool_call_id: ToolCallId
    # The tool's name.
    name: str
    # Whether the tool did what was asked.
    ok: bool
    # The answer as the model reads it.
    text: str
    # Pictures that belong to the answer.
    images: NotRequired[list[Picture]]


# One piece of a message.
Part: TypeAlias = "TextPart | ImagePart | AudioPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart"


class Picture(TypedDict):
    """A picture beside the log."""

    # Where it lies, relative to the session's folder.
    ref: str
    # Its type, as sniffed from the bytes.
    mime_type: str


# What to do with a message that comes while a turn runs.
Delivery: TypeAlias = 'Literal["queue"] | Literal["steer"] | Literal["interrupt"]'


class Child(TypedDict):
    """A session that a session has started, as its parent sees it."""

    # The session.
    session_id: SessionId
    # The parent's turn that started it.
    turn_id: TurnId
    # The call that started it, unless a plan did.
    tool_call_id: NotRequired[ToolCallId | None]
    # The subtask of the plan that it works on, if a plan started it.
    subtask: NotRequired[str | None]
    # What it is for, in a line.
    description: str
    # Whether the parent goes on without waiting for it.
    background: bool
    # How it ended, if it has.
    outcome: NotRequired[ChildOutcome | None]
    # Its calls that wait for an answer.
    approvals: list[PendingApproval]


class ChildOutcome(TypedDict):
    """What came of a session that another one started."""

    # How it ended.
    status: ChildStatus
    # Its last answer, or what it had written of it.
    text: str
    # Why it failed.
    error: NotRequired[str | None]
    # What it has spent, with what those have that it has started itself.
    usage: Usage
    # How many files it has changed in its own git worktree, if it has one.
    changed_files: NotRequired[int | None]


# How a session that another one started ended.
ChildStatus: TypeAlias = 'Literal["completed"] | Literal["failed"] | Literal["canceled"]'


class AgentState(TypedDict):
    """What someone else's agent says of itself in a session."""

    # What the agent calls the session.
    agent_session_id: NotRequired[str | None]
    # What can be chosen, such as its mode and its model.
    settings: NotRequired[list[AgentSetting]]
    # The commands that it understands at the beginning of a message.
    commands: NotRequired[list[AgentCommand]]
    # What it means to do.
    plan: NotRequired[list[PlanEntry]]
    # How a person can log in to it, when it wants that.
    login: NotRequired[list[LoginMethod]]
    # How many tokens its conversation has, if it says so.
    context_tokens: NotRequired[int | None]
    # How many tokens its model can take, if it says so.
    context_window: NotRequired[int | None]


class AgentSetting(TypedDict):
    """Something that can be chosen."""

    # Its name on the wire; `mode` and `model` are the common ones.
    id: str
    # Its name for people.
    name: str
    # What is chosen now.
    current: NotRequired[str | None]
    # What there is to choose from.
    choices: list[AgentChoice]


class AgentChoice(TypedDict):
    """One of the things to choose from."""

    # Its name on the wire.
    id: str
    # Its name for people.
    name: str
    # What it means.
    description: NotRequired[str | None]


class AgentCommand(TypedDict):
    """A command that an agent understands."""

    # Its name, without the slash.
    name: str
    # What it does.
    description: str
    # What may follow it.
    hint: NotRequired[str | None]


class PlanEntry(TypedDict):
    """One thing that an agent means to do."""

    # What.
    content: str
    # `high`, `medium` or `low`.
    priority: str
    # `pending`, `in_progress` or `completed`.
    status: str


class LoginMethod(TypedDict):
    """A way to log in to an agent."""

    # Its name on the wire.
    id: str
    # Its name for people.
    name: str
    # What to do.
    description: NotRequired[str | None]


class Context(TypedDict):
    """How full the model's window is."""

    # Roughly how many tokens the conversation has; null before the first answer.
    tokens: NotRequired[int | None]
    # How many the model takes; null where that is not known.
    window: NotRequired[int | None]


class UpdateBody(TypedDict):
    """What is to change; what is absent stays."""

    # A new title; an empty one removes it.
    title: NotRequired[str | None]
    # Put it away, or back.
    archived: NotRequired[bool | None]
    # Keep it at the head of lists, or no longer.
    pinned: NotRequired[bool | None]
    # Another model, from the next turn on.
    model: NotRequired[str | None]
    # Other models to take its place.
    fallback_models: NotRequired[list[str] | None]
    # Another effort, from the next turn on; null leaves it to the model's maker again.
    effort: NotRequired[Effort | None]
    # Begin or stop to keep the traffic with providers, from the next turn on.
    raw_log: NotRequired[bool | None]
    # Begin or stop to keep thinking, times and tokens in `verbose.md`, from now on.
    verbose_log: NotRequired[bool | None]
    # Another policy, from now on.
    policy: NotRequired[PolicyBody | None]
    # Other choices among the settings of someone else's agent, from the next turn on; those that are not named stay.
    agent_settings: NotRequired[dict[str, str] | None]


class Closed(TypedDict):
    """The session is closed."""

    session_id: SessionId
    # Whether its files are gone too.
    purged: bool


class Sent(TypedDict):
    """The message is in."""

    message_id: MessageId
    # The turn that answers it; null when none was asked for.
    turn_id: NotRequired[TurnId | None]


class MessageBody(TypedDict):
    """Something to say."""

    # Who says it.
    role: Speaker
    # What is said.
    parts: list[InputPart]
    # Whether to answer it now; the session's own setting when absent.
    auto_run: NotRequired[bool | None]
    # What to do when a turn is running.
    delivery: NotRequired[Delivery | None]
    # Asking twice with one key adds one message.
    idempotency_key: NotRequired[str | None]


# Who a client can speak as.
Speaker: TypeAlias = 'Literal["user"] | Literal["system"]'


class TextInputPart(TypedDict):
    """An object."""

    type: Literal["text"]
    text: str


class ImageInputPart(TypedDict):
    """A file that was attached before."""

    type: Literal["image"]
    # Where it lies: `attachments/NAME`.
    ref: str
    # Not looked at: the type is told from the content.
    mime_type: NotRequired[str | None]


class AudioInputPart(TypedDict):
    """A file that was attached before."""

    type: Literal["audio"]
    # Where it lies: `attachments/NAME`.
    ref: str
    # Not looked at: the type is told from the content.
    mime_type: NotRequired[str | None]


class FileInputPart(TypedDict):
    """A file that was attached before."""

    type: Literal["file"]
    # Where it lies: `attachments/NAME`.
    ref: str
    # Not looked at: the type is told from the content.
    mime_type: NotRequired[str | None]


# A piece of a message, as a client sends it.
InputPart: TypeAlias = "TextInputPart | ImageInputPart | AudioInputPart | FileInputPart"


class Page(TypedDict):
    """Some messages, oldest first."""

    messages: list[Message]
    # Pass this as `before` for the page before; null on the first one.
    before: NotRequired[int | None]


class Queue(TypedDict):
    """What waits for its turn."""

    queue: list[Queued]


class Withdrawn(TypedDict):
    """The message is taken back."""

    message_id: MessageId


class QueuedBody(TypedDict):
    """What is to change of a message that waits; what is absent stays."""

    # What it says now.
    parts: NotRequired[list[InputPart] | None]
    # Whether it waits for a turn of its own or goes to the running one.
    delivery: NotRequired[Waits | None]
    # The waiting message that it is to stand before; null puts it last.
    before: NotRequired[MessageId | None]


# How a message that waits can be delivered.
Waits: TypeAlias = 'Literal["queue"] | Literal["steer"]'


class Started(TypedDict):
    """The turn begins."""

    turn_id: TurnId


class TurnDiff(TypedDict):
    """What a turn changed in the workspace."""

    turn_id: TurnId
    # The files, in the order of their paths; none when nothing changed.
    files: list[TurnFile]
    # How many more have changed that are not listed.
    more: int
    # Whether the turn still runs, so that this may change.
    running: bool
    # What is to be known about it, in words; null when it is exactly what the turn did.
    note: NotRequired[str | None]


# A file that a turn changed.
TurnFile = TypedDict("TurnFile", {"path": "str", "kind": "ChangeKind", "from": "NotRequired[str | None]", "added": "int", "removed": "int", "binary": "bool", "diff": "NotRequired[str | None]", "truncated": "bool"})


# What can happen to a file.
ChangeKind: TypeAlias = 'Literal["added"] | Literal["modified"] | Literal["deleted"] | Literal["renamed"] | Literal["mode_changed"] | Literal["type_changed"]'


class Undone(TypedDict):
    """What was done, or would be."""

    # Whether nothing was done yet.
    preview: bool
    # Files that have their old content again.
    restored: list[str]
    # Files that are there again.
    recreated: list[str]
    # Files that are gone again.
    deleted: list[str]
    # Files that were left alone, because somebody else changed them.
    conflicts: list[NotUndone]
    # Files that have changed and cannot be brought back, because no checkpoint holds them.
    left_out: list[NotUndone]
    # What no undo covers, in words.
    note: str


class NotUndone(TypedDict):
    """An object."""

    path: str
    # Why it is not as it was.
    why: str


class UndoBody(TypedDict):
    """What to undo."""

    # The turn before which the workspace is to stand.
    turn_id: TurnId
    # Only say what would be done.
    preview: NotRequired[bool | None]
    # Also put back what somebody else has changed since.
    force: NotRequired[bool | None]


class Canceled(TypedDict):
    """Whether there was anything to stop."""

    canceled: bool


class CancelBody(TypedDict):
    """What to stop, and why."""

    # The turn that is meant. Only this one is stopped; whichever runs when absent.
    turn_id: NotRequired[TurnId | None]
    # Shown to everybody who looks on.
    reason: NotRequired[str | None]


class Answered(TypedDict):
    """The answer was taken."""

    tool_call_id: ToolCallId
    action: Verdict


# Yes or no.
Verdict: TypeAlias = 'Literal["approve"] | Literal["deny"]'


class AnswerBody(TypedDict):
    """An answer."""

    # The turn that the call belongs to. Absent or empty: the pending call of that id, which must be the only one.
    turn_id: NotRequired[TurnId | None]
    # The call.
    tool_call_id: ToolCallId
    # Yes or no.
    action: Verdict
    # For how long; `once` when absent.
    scope: NotRequired[Scope | None]
    # Why; the model sees it when the answer is no.
    reason: NotRequired[str | None]
    # What to put back and what to say, when a patch review is answered.
    review: NotRequired[ReviewAnswer | None]
    # Which of the offered answers, when the approval lists some.
    option: NotRequired[str | None]


# How long an answer to an approval holds.
Scope: TypeAlias = 'Literal["once"] | Literal["session"] | Literal["always"]'


class ReviewAnswer(TypedDict):
    """What a person says to a review, beside yes or no. What is not named follows the answer as a whole."""

    # Files that are to be put back as they were, wholly or in part.
    reject: NotRequired[list[RejectedFile]]
    # What the model is to hear.
    comments: NotRequired[list[ReviewComment]]


class RejectedFile(TypedDict):
    """A file whose change is not wanted."""

    # Its path, as in the review.
    path: str
    # Which hunks of its diff, from 0; all when absent.
    hunks: NotRequired[list[int] | None]


class ReviewComment(TypedDict):
    """A remark on a change."""

    # The file that it is about, if one.
    path: NotRequired[str | None]
    # The line of the new file that it is about, if one.
    line: NotRequired[int | None]
    # The remark.
    text: str


class ApprovalDiff(TypedDict):
    """What a call would change that waits for an answer."""

    tool_call_id: ToolCallId
    # The files as they would become of what they are now; null when that cannot be told, as of a command.
    files: NotRequired[list[FileChange] | None]


# What happened to one file of the workspace.
FileChange = TypedDict("FileChange", {"path": "str", "kind": "ChangeKind", "from": "NotRequired[str | None]", "added": "int", "removed": "int", "binary": "bool", "diff": "NotRequired[str | None]"})


class Approvals(TypedDict):
    """Everything that waits."""

    approvals: list[PendingApproval]


class ForkBody(TypedDict):
    """Where to branch off."""

    # The last turn that both are to share; the last finished one when absent.
    turn_id: NotRequired[TurnId | None]


class PlanBody(TypedDict):
    """Work to be divided among sessions."""

    # The pieces.
    subtasks: list[PieceBody]
    # How many may be worked on at once; as many as the daemon allows when absent.
    concurrency: NotRequired[int | None]


# A piece, from an object only.
PieceBody: TypeAlias = "SubtaskBody"


class SubtaskBody(TypedDict):
    """One piece of a plan."""

    # Its name in the plan.
    id: str
    # What it is for, in a line; its name when absent.
    description: NotRequired[str | None]
    # What the session is told to do.
    prompt: str
    # Which agent does it; the parent's when absent.
    agent: NotRequired[str | None]
    # Which model is used; the parent's when absent.
    model: NotRequired[str | None]
    # Whether it works in a git worktree of its own.
    worktree: NotRequired[bool]
    # The pieces that must have been completed before.
    depends_on: NotRequired[list[str]]
    # What it may spend.
    budget: NotRequired[Budget | None]


class ContextView(TypedDict):
    """What a model is shown of a session."""

    # Which model it is shown to.
    model: str
    # Roughly how many tokens it takes: as the provider counted them last, or else as the sections add up.
    tokens: int
    # How many the model takes; null where that is not known.
    window: NotRequired[int | None]
    # How much of the window is taken, from 0 to 100.
    percent: NotRequired[float | None]
    # How many messages the model is shown.
    messages: int
    # The pieces, in the order in which the model is shown them.
    sections: list[Share]


class Share(TypedDict):
    """A piece, and how much of the whole it is."""

    # What it is.
    kind: ContextKind
    # What it is called.
    name: str
    # Of how many messages it is made; none for what is no message.
    messages: int
    # Roughly how many tokens it takes.
    tokens: int
    # How much of all the pieces it is, from 0 to 100.
    percent: float


# What a piece of what a model is shown is.
ContextKind: TypeAlias = 'Literal["system_prompt"] | Literal["tools"] | Literal["workspace"] | Literal["summary"] | Literal["system"] | Literal["user"] | Literal["assistant"] | Literal["tool_results"]'


class FoundFiles(TypedDict):
    """Files, the best match first."""

    files: list[FoundFile]
    # Whether there are more.
    truncated: bool


class FoundFile(TypedDict):
    """An object."""

    # Relative to the workspace.
    path: str


class Stored(TypedDict):
    """A file beside the log."""

    # Where it lies, for the `ref` of a part.
    ref: str
    name: str
    # What it is, told from its content.
    mime_type: str
    # Its length in bytes.
    size: int


class AttachmentBody(TypedDict):
    """A file to attach, as JSON."""

    # What it is called; only the last part of a path is looked at.
    name: str
    # Its content, in base64; `content_base64` is another name of this field.
    data: str
    # Not looked at: the type is told from the content.
    mime_type: NotRequired[str | None]


class Files(TypedDict):
    """Files beside the log, by name."""

    files: list[Stored]
    # Whether there are more than these.
    more: bool


class SessionCreated(TypedDict):
    """The session exists."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["session_created"]
    data: SessionCreatedData


class SessionCreatedData(TypedDict):
    """An object."""

    session: Session


class SessionUpdated(TypedDict):
    """Its title, model, policy or archive flag changed."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["session_updated"]
    data: SessionUpdatedData


class SessionUpdatedData(TypedDict):
    """An object."""

    session: Session


class SessionCompleted(TypedDict):
    """It was closed."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["session_completed"]
    data: SessionCompletedData


class SessionCompletedData(TypedDict):
    """An object."""

    by: str


class SessionFailed(TypedDict):
    """Its last turn failed."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["session_failed"]
    data: SessionFailedData


class SessionFailedData(TypedDict):
    """An object."""

    error: Failure


class SessionCanceled(TypedDict):
    """Its last turn was canceled."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["session_canceled"]
    data: SessionCanceledData


class SessionCanceledData(TypedDict):
    """An object."""

    by: str
    reason: str | None


class MessageAdded(TypedDict):
    """A message became part of the conversation."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["message_added"]
    data: MessageAddedData


class MessageAddedData(TypedDict):
    """An object."""

    message: Message
    idempotency_key: NotRequired[str | None]


class MessageQueued(TypedDict):
    """A message waits for its turn."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["message_queued"]
    data: MessageQueuedData


class MessageQueuedData(TypedDict):
    """An object."""

    queued: Queued
    idempotency_key: NotRequired[str | None]


class MessageWithdrawn(TypedDict):
    """A waiting message was taken back."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["message_withdrawn"]
    data: MessageWithdrawnData


class MessageWithdrawnData(TypedDict):
    """An object."""

    message_id: MessageId
    by: str


class TurnStarted(TypedDict):
    """A turn began."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["turn_started"]
    data: TurnStartedData


class TurnStartedData(TypedDict):
    """An object."""

    message_ids: list[MessageId]
    model: str
    purpose: NotRequired[Purpose]


class TurnRetried(TypedDict):
    """The turn about to begin repeats an earlier one."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["turn_retried"]
    data: TurnRetriedData


class TurnRetriedData(TypedDict):
    """An object."""

    retry_of: TurnId


class TurnCompleted(TypedDict):
    """The turn ended as it should."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["turn_completed"]
    data: TurnCompletedData


class TurnCompletedData(TypedDict):
    """An object."""

    stop_reason: str
    usage: Usage
    verified: bool | None
    verification: NotRequired[str | None]


class TurnFailed(TypedDict):
    """The turn ended in an error."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["turn_failed"]
    data: TurnFailedData


class TurnFailedData(TypedDict):
    """An object."""

    error: Failure
    reason: str


class TurnCanceled(TypedDict):
    """The turn was stopped."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["turn_canceled"]
    data: TurnCanceledData


class TurnCanceledData(TypedDict):
    """An object."""

    by: str
    reason: str | None


class ModelResolved(TypedDict):
    """A model was found for the session, or took the place of one that failed."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["model_resolved"]
    # The model that was found for a session, and why that one.
    data: ModelResolvedData


class ModelResolvedData(TypedDict):
    """The model that was found for a session, and why that one."""

    # The model, as `provider:model`.
    model: str
    # A stable word for why.
    reason: ResolvedBy
    # The same for people, in a sentence.
    detail: str
    # The model that it takes the place of, after a failure.
    instead_of: NotRequired[str | None]
    # How that one failed.
    error: NotRequired[Failure | None]


class ModelWaiting(TypedDict):
    """The model could not answer yet, and is asked again after a while."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["model_waiting"]
    data: ModelWaitingData


class ModelWaitingData(TypedDict):
    """An object."""

    model: str
    attempt: int
    attempts: int
    wait_ms: int
    error: Failure


class UsageRecorded(TypedDict):
    """A model was used, and this is what it took."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["usage_recorded"]
    data: UsageRecordedData


class UsageRecordedData(TypedDict):
    """An object."""

    model: str
    message_id: MessageId | None
    usage: Usage


class ReasoningCompleted(TypedDict):
    """The model stopped reasoning."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["reasoning_completed"]
    data: ReasoningCompletedData


class ReasoningCompletedData(TypedDict):
    """An object."""

    message_id: MessageId
    part: int
    bytes: int


class ModelOutputCompleted(TypedDict):
    """The model finished a message, or was stopped in it."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["model_output_completed"]
    data: ModelOutputCompletedData


class ModelOutputCompletedData(TypedDict):
    """An object."""

    message: Message
    stop_reason: str
    usage: Usage


class ToolBatchStarted(TypedDict):
    """The calls of one message are about to run."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["tool_batch_started"]
    data: ToolBatchStartedData


class ToolBatchStartedData(TypedDict):
    """An object."""

    tool_calls: list[ToolCallId]
    parallel: bool


class ToolBatchHalted(TypedDict):
    """The rest of the batch will not run."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["tool_batch_halted"]
    data: ToolBatchHaltedData


class ToolBatchHaltedData(TypedDict):
    """An object."""

    tool_call_id: ToolCallId


class ToolBatchCompleted(TypedDict):
    """Every call of the batch has its result."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["tool_batch_completed"]
    data: dict[str, Any]


class ToolCallStarted(TypedDict):
    """A call is about to take effect."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["tool_call_started"]
    data: ToolCallStartedData


class ToolCallStartedData(TypedDict):
    """An object."""

    tool_call: ToolCall
    kind: ToolKind


class ToolCallCompleted(TypedDict):
    """A call has its result."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["tool_call_completed"]
    data: ToolCallCompletedData


class ToolCallCompletedData(TypedDict):
    """An object."""

    tool_call: CallName
    tool_result: ToolResult
    duration_ms: int
    message_id: MessageId


class ApprovalRequested(TypedDict):
    """A call waits for an answer."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["approval_requested"]
    data: ApprovalRequestedData


class ApprovalRequestedData(TypedDict):
    """An object."""

    tool_call: ToolCall
    kind: ToolKind
    summary: str
    rule: Rule
    options: NotRequired[list[ApprovalOption]]
    child: NotRequired[ChildCall | None]


class ApprovalGranted(TypedDict):
    """The answer was yes."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["approval_granted"]
    data: ApprovalGrantedData


class ApprovalGrantedData(TypedDict):
    """An object."""

    tool_call_id: ToolCallId
    tool: str
    by: str
    scope: Scope
    reason: str | None
    review: NotRequired[ReviewAnswer | None]
    option: NotRequired[str | None]
    child: NotRequired[ChildCall | None]


class ApprovalDenied(TypedDict):
    """The answer was no."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["approval_denied"]
    data: ApprovalDeniedData


class ApprovalDeniedData(TypedDict):
    """An object."""

    tool_call_id: ToolCallId
    tool: str
    by: str
    scope: Scope
    reason: str | None
    review: NotRequired[ReviewAnswer | None]
    option: NotRequired[str | None]
    child: NotRequired[ChildCall | None]


class CheckpointCreated(TypedDict):
    """The workspace was captured, so that it can be brought back."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["checkpoint_created"]
    data: CheckpointCreatedData


class CheckpointCreatedData(TypedDict):
    """An object."""

    checkpoint_id: str
    moment: Moment
    files: int
    bytes: int
    left_out: int


class CheckpointFailed(TypedDict):
    """The workspace could not be captured, so the turn cannot be undone."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["checkpoint_failed"]
    data: CheckpointFailedData


class CheckpointFailedData(TypedDict):
    """An object."""

    moment: Moment
    reason: str


class PatchReviewRequested(TypedDict):
    """What the turn changed waits for a person, or is shown to one."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["patch_review_requested"]
    data: PatchReviewRequestedData


class PatchReviewRequestedData(TypedDict):
    """An object."""

    tool_call_id: ToolCallId
    files: list[FileChange]
    waits: bool
    more: NotRequired[int]
    checkpoint_id: NotRequired[str | None]
    note: NotRequired[str | None]


class VerificationStarted(TypedDict):
    """The workspace is being checked."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["verification_started"]
    data: VerificationStartedData


class VerificationStartedData(TypedDict):
    """An object."""

    round: int
    commands: list[str]


class VerificationCompleted(TypedDict):
    """The check is over."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["verification_completed"]
    data: VerificationCompletedData


class VerificationCompletedData(TypedDict):
    """An object."""

    round: int
    ok: bool
    results: list[CommandResult]


class ContextCompacted(TypedDict):
    """The conversation was made shorter for the model."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["context_compacted"]
    # How a conversation was made shorter. Nothing leaves the log.
    data: ContextCompactedData


class ContextCompactedData(TypedDict):
    """How a conversation was made shorter. Nothing leaves the log."""

    # The first message that it touches.
    from_message_id: MessageId
    # The last message that it touches. With a summary, this and all before it are no longer shown.
    to_message_id: MessageId
    # The message that takes the place of the range; none when only output was left out.
    summary_message_id: MessageId | None
    # Roughly how many tokens the conversation had.
    tokens_before: int
    # Roughly how many it has now.
    tokens_after: int
    # Why it was done.
    trigger: CompactionTrigger
    # The message itself.
    summary: NotRequired[Message | None]
    # The calls whose output is left out from now on.
    pruned: NotRequired[list[ToolCallId]]
    # The record from which on the log holds all that is still shown beside the summary.
    first_kept_seq: int


class AgentUpdated(TypedDict):
    """Someone else's agent said something of itself: what can be chosen, what it plans."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["agent_updated"]
    # What someone else's agent says of itself in a session.
    data: AgentUpdatedData


class AgentUpdatedData(TypedDict):
    """What someone else's agent says of itself in a session."""

    # What the agent calls the session.
    agent_session_id: str | None
    # What can be chosen, such as its mode and its model.
    settings: NotRequired[list[AgentSetting]]
    # The commands that it understands at the beginning of a message.
    commands: NotRequired[list[AgentCommand]]
    # What it means to do.
    plan: NotRequired[list[PlanEntry]]
    # How a person can log in to it, when it wants that.
    login: NotRequired[list[LoginMethod]]
    # How many tokens its conversation has, if it says so.
    context_tokens: NotRequired[int | None]
    # How many tokens its model can take, if it says so.
    context_window: NotRequired[int | None]


class SubagentStarted(TypedDict):
    """The session started another one."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["subagent_started"]
    data: SubagentStartedData


class SubagentStartedData(TypedDict):
    """An object."""

    session_id: SessionId
    tool_call_id: ToolCallId | None
    subtask: NotRequired[str | None]
    description: str
    background: bool


class SubagentCompleted(TypedDict):
    """That one has ended."""

    # Its place in the session, from 1, without holes: the cursor.
    seq: int
    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    # Stands for this record and all before it.
    chain: str
    type: Literal["subagent_completed"]
    # What came of a session that another one started.
    data: SubagentCompletedData


class SubagentCompletedData(TypedDict):
    """What came of a session that another one started."""

    session_id: SessionId
    # How it ended.
    status: ChildStatus
    # Its last answer, or what it had written of it.
    text: str
    # Why it failed.
    error: str | None
    # What it has spent.
    usage: Usage


# Something that has happened to a session, for ever.
EventRecord: TypeAlias = "SessionCreated | SessionUpdated | SessionCompleted | SessionFailed | SessionCanceled | MessageAdded | MessageQueued | MessageWithdrawn | TurnStarted | TurnRetried | TurnCompleted | TurnFailed | TurnCanceled | ModelResolved | ModelWaiting | UsageRecorded | ReasoningCompleted | ModelOutputCompleted | ToolBatchStarted | ToolBatchHalted | ToolBatchCompleted | ToolCallStarted | ToolCallCompleted | ApprovalRequested | ApprovalGranted | ApprovalDenied | CheckpointCreated | CheckpointFailed | PatchReviewRequested | VerificationStarted | VerificationCompleted | ContextCompacted | AgentUpdated | SubagentStarted | SubagentCompleted"


class ModelOutputDelta(TypedDict):
    """More of the model's answer."""

    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    type: Literal["model_output_delta"]
    data: ModelOutputDeltaData


class ModelOutputDeltaData(TypedDict):
    """An object."""

    # The message that is being written.
    message_id: MessageId
    # Which of its parts.
    part: int
    # Bytes of UTF-8 before this text in its stream.
    offset: int
    # The text.
    text: str


class ReasoningDelta(TypedDict):
    """More of its reasoning."""

    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    type: Literal["reasoning_delta"]
    data: ReasoningDeltaData


class ReasoningDeltaData(TypedDict):
    """An object."""

    # The message that is being written.
    message_id: MessageId
    # Which of its parts.
    part: int
    # Bytes of UTF-8 before this text in its stream.
    offset: int
    # The text.
    text: str


class ToolOutputDelta(TypedDict):
    """More of what a running tool prints."""

    # When, in UTC.
    ts: str
    # The session.
    session_id: SessionId
    # The turn that it belongs to, if any.
    turn_id: TurnId | None
    type: Literal["tool_output_delta"]
    data: ToolOutputDeltaData


class ToolOutputDeltaData(TypedDict):
    """An object."""

    # The call.
    tool_call_id: ToolCallId
    # `stdout` or `stderr`.
    stream: str
    # Bytes of UTF-8 before this text in its stream.
    offset: int
    # The text.
    text: str


# Text as it streams: shown, not recorded.
EventDelta: TypeAlias = "ModelOutputDelta | ReasoningDelta | ToolOutputDelta"


class Session(TypedDict):
    """What a session is."""

    # Its id.
    id: SessionId
    # When it was made.
    created_at: str
    # When its last event was recorded.
    updated_at: str
    # How it stands.
    status: SessionStatus
    # The directory that it works in.
    workspace_path: str
    # The runner whose machine that directory lies on; left out for the daemon's own.
    runner: NotRequired[str | None]
    # Instructions for the model, if any were given.
    system_prompt: str | None
    # The newest turn.
    last_turn_id: TurnId | None
    # Which agent runs its turns.
    agent: str
    # Which model the agent uses, as `provider:model`.
    model: str
    # Models that take its place, in this order, when it cannot begin to answer.
    fallback_models: list[str]
    # How much the model thinks; as its maker thinks best when absent.
    effort: Effort | None
    # Whether the traffic with providers is kept in `raw.jsonl`.
    raw_log: bool
    # Whether thinking, times and tokens are kept in `verbose.md`.
    verbose_log: NotRequired[bool]
    # The directory in which its readable files are kept, instead of beside its log.
    log_root: NotRequired[str | None]
    # What people call it.
    title: str | None
    # Whether it is put away.
    archived: bool
    # The session that started it, if one did.
    parent_session_id: SessionId | None
    # How many sessions are above it.
    depth: NotRequired[int]
    # What a program calls it, unique among the open ones.
    name: NotRequired[str | None]
    # What its agent calls it, if that is someone else's.
    agent_session_id: NotRequired[str | None]
    # What was chosen of the agent's settings, such as its mode.
    agent_settings: NotRequired[dict[str, str]]
    # What it may spend.
    budget: NotRequired[Budget | None]
    # Where its workspace was taken from, when that is a git worktree of its own.
    worktree: NotRequired[Worktree | None]
    # The turn of another session that it goes on from.
    forked_from: NotRequired[ForkedFrom | None]
    # How it is used: `repl`, `serve` or `agent`.
    mode: str
    # Whether a message starts a turn unless it says otherwise.
    auto_run: bool
    # What it may do by itself.
    policy: Policy
    # Tokens spent so far.
    usage: Usage
    # The key under which its creation was asked for, so that asking twice makes one.
    idempotency_key: NotRequired[str | None]


class AnswerPurpose(TypedDict):
    """To answer what was said."""

    kind: Literal["answer"]


class CompactPurpose(TypedDict):
    """To make the conversation shorter."""

    kind: Literal["compact"]


class SubtasksPurpose(TypedDict):
    """To have other sessions work on a plan."""

    kind: Literal["subtasks"]
    # The plan.
    plan: Plan


# What a turn is for.
Purpose: TypeAlias = "AnswerPurpose | CompactPurpose | SubtasksPurpose"


class Plan(TypedDict):
    """Work that is divided among sessions."""

    # The pieces.
    subtasks: list[Subtask]
    # How many may be worked on at once; as many as the daemon allows when absent.
    concurrency: NotRequired[int | None]


class Subtask(TypedDict):
    """One piece of a plan."""

    # Its name in the plan.
    id: str
    # What it is for, in a line; its name when absent.
    description: NotRequired[str | None]
    # What the session is told to do.
    prompt: str
    # Which agent does it; the parent's when absent.
    agent: NotRequired[str | None]
    # Which model is used; the parent's when absent.
    model: NotRequired[str | None]
    # Whether it works in a git worktree of its own.
    worktree: NotRequired[bool]
    # The pieces that must have been completed before.
    depends_on: NotRequired[list[str]]
    # What it may spend.
    budget: NotRequired[Budget | None]


class ToolCall(TypedDict):
    """A call that a model asked for."""

    # Its id, unique within the turn.
    id: ToolCallId
    # The tool's name.
    name: str
    # The arguments, as the model gave them.
    input: Any


class CallName(TypedDict):
    """A call without its input."""

    # The call's id.
    id: ToolCallId
    # The tool's name.
    name: str


class ToolResult(TypedDict):
    """What became of a call."""

    # The call's id.
    id: ToolCallId
    # Whether the tool did what was asked.
    ok: bool
    # What it said, for the model and for people.
    parts: list[Part]
    # Why not, when it is not `ok`.
    error: NotRequired[str | None]
    # Files that it left beside the log, relative to the session's folder.
    artifacts: NotRequired[list[str]]
    # What it did, in structure, for clients (an exit code, a diff).
    details: NotRequired[Any]


class ChildCall(TypedDict):
    """Which call of which session a parent's record speaks of."""

    # The session whose call it is.
    session_id: SessionId
    # Its turn.
    turn_id: TurnId
    # The child through which it came up: that session itself, or one above it.
    via: SessionId


# When a checkpoint of the workspace was made.
Moment: TypeAlias = 'Literal["before"] | Literal["after"]'


class CommandResult(TypedDict):
    """How one verification command went."""

    # The command line.
    command: str
    # Its exit code; none when it was killed or could not start.
    exit_code: int | None
    # How long it took.
    duration_ms: int
    # What it printed, head and tail.
    output: str


# Why a conversation was made shorter.
CompactionTrigger: TypeAlias = 'Literal["threshold"] | Literal["overflow"] | Literal["asked"]'


# What `GET /v1/sessions/{session_id}/events` shows beside heartbeats.
SessionEvent: TypeAlias = "EventRecord | EventDelta"


class ListAgentSessionsQuery(TypedDict):
    """What `list_agent_sessions` can be asked with."""

    # The directory that they work in.
    workspace_path: str


class ListModelsQuery(TypedDict):
    """What `list_models` can be asked with."""

    # Ask the servers anew, rather than tell what they said last.
    refresh: NotRequired[bool]


class GetTrustQuery(TypedDict):
    """What `get_trust` can be asked with."""

    # An existing directory, as an absolute path.
    workspace_path: str


class ListToolsQuery(TypedDict):
    """What `list_tools` can be asked with."""

    # Also those that sessions of this directory get from servers.
    workspace_path: NotRequired[str]


# What `usage` can be asked with.
UsageQuery = TypedDict("UsageQuery", {"by": 'NotRequired[Literal["day"] | Literal["model"] | Literal["session"] | Literal["workspace"] | Literal["total"]]', "from": "NotRequired[str]", "to": "NotRequired[str]", "session": "NotRequired[str]", "workspace": "NotRequired[str]", "model": "NotRequired[str]", "utc_offset_minutes": "NotRequired[int]"})


class ListDirectoriesQuery(TypedDict):
    """What `list_directories` can be asked with."""

    # An existing directory, as an absolute path; where the daemon works when absent.
    path: NotRequired[str]


class ListSessionsQuery(TypedDict):
    """What `list_sessions` can be asked with."""

    # Only those that stand like this.
    status: NotRequired[Literal["active"] | Literal["waiting_approval"] | Literal["failed"] | Literal["completed"] | Literal["canceled"]]
    # Only those of this directory.
    workspace: NotRequired[str]
    # Only those put away, or only the others.
    archived: NotRequired[bool]
    # Only those kept at the head of lists, or only the others.
    pinned: NotRequired[bool]
    # Only those that this session has started.
    parent: NotRequired[str]
    # Those that other sessions have started, too; false when absent.
    children: NotRequired[bool]
    # Only those in which this was said.
    q: NotRequired[str]
    # How many at most.
    limit: NotRequired[int]
    # Where the page before ended.
    cursor: NotRequired[str]


class GetSessionQuery(TypedDict):
    """What `get_session` can be asked with."""

    # `messages` adds the newest messages.
    include: NotRequired[Literal["messages"]]


class CloseSessionQuery(TypedDict):
    """What `close_session` can be asked with."""

    # Remove its files as well.
    purge: NotRequired[bool]


class SessionEventsQuery(TypedDict):
    """What `session_events` can be asked with."""

    # Go on after this seq.
    after: NotRequired[int]
    # Whether to stay for what is to come; true when absent.
    follow: NotRequired[bool]
    # Only events of these names, separated by commas.
    types: NotRequired[str]
    # Whether server-sent events have their name in an `event:` line too; false when absent.
    named: NotRequired[bool]


class AllEventsQuery(TypedDict):
    """What `all_events` can be asked with."""

    # Go on after this cursor; `start` is the very beginning. Without it, only what is to come.
    after: NotRequired[str]
    # Only events of these names, separated by commas.
    types: NotRequired[str]
    # Whether server-sent events have their name in an `event:` line too; false when absent.
    named: NotRequired[bool]


class ListMessagesQuery(TypedDict):
    """What `list_messages` can be asked with."""

    # Messages before this place, as given in the page after it.
    before: NotRequired[int]
    # How many at most.
    limit: NotRequired[int]


class ExportSessionQuery(TypedDict):
    """What `export_session` can be asked with."""

    # The form of the file; `md` when absent.
    format: NotRequired[Literal["ndjson"] | Literal["md"] | Literal["html"] | Literal["sqlite"] | Literal["zip"]]


class ImportSessionQuery(TypedDict):
    """What `import_session` can be asked with."""

    # What it is; told from its content when absent.
    format: NotRequired[Literal["zip"] | Literal["ndjson"] | Literal["transcript"]]
    # The directory that the session works in from now on; the one that it worked in when absent.
    workspace_path: NotRequired[str]


class FindFilesQuery(TypedDict):
    """What `find_files` can be asked with."""

    # Letters of the path, in this order.
    q: NotRequired[str]
    # How many at most.
    limit: NotRequired[int]
