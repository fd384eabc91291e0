// Made by clients/generate.py from the daemon's own documents. Do not edit.

/** The body of every answer that is not a success. */
export interface ErrorBody {
  error: Failure;
}

/** What went wrong, and what to do about it. */
export interface Failure {
  /** A stable word for programs. */
  code: string;
  /** What happened. */
  message: string;
  /** What to do next. */
  hint?: string | null;
}

/** The daemon is there. */
export interface Health {
  /** Always `ok`. */
  status: string;
  /** The daemon's version. */
  version: string;
}

/** The agents that sessions can have. */
export interface Agents {
  agents: Array<AgentDescription>;
}

/** An agent that sessions can have. */
export interface AgentDescription {
  /** The name by which sessions choose it. */
  name: string;
  /** `native` for the daemon's own, `acp` for one that others wrote. */
  kind: string;
  /** What people call it. */
  title?: string | null;
  /** The program that it is, without its arguments. */
  program?: string | null;
  /** How it stands. */
  status: AgentLink;
  /** What to do where its program is missing. */
  install?: string | null;
  /** How to log in to it, or which key it takes. */
  login?: string | null;
  /** What new sessions choose of its settings. */
  settings: { [key: string]: string };
  /** Its processes, one for each workspace in which it was needed. */
  processes: Array<AgentProcess>;
}

/** How an agent of other people stands. */
export type AgentLink = 'starting' | 'connected' | 'reconnecting' | 'idle' | 'disconnected';

/** A process of an agent. */
export interface AgentProcess {
  /** The workspace that it works in. */
  workspace: string;
  /** How it stands. */
  status: AgentLink;
  /** What went wrong last. */
  error?: Failure | null;
  /** The end of what it printed on its error output. */
  stderr: string;
}

/** The sessions that an agent keeps itself. */
export interface AgentSessions {
  sessions: Array<AgentSession>;
}

/** A session that an agent keeps itself. */
export interface AgentSession {
  /** What the agent calls it; to be named as `adopt` where a session is made. */
  agent_session_id: string;
  /** Its title. */
  title?: string | null;
  /** When it was last used, as the agent writes it. */
  updated_at?: string | null;
  /** The session of this daemon that it is, if it is one. */
  session_id?: SessionId | null;
}

export type SessionId = string;

/** The models that sessions can have. */
export interface Models {
  /** The one that a session gets when it names none, and why; null when there is none to be had. */
  default?: Resolution | null;
  /** Why there is none to be had. */
  no_default?: string | null;
  models: Array<ModelInfo>;
}

/** The model that was found for a session, and why that one. */
export interface Resolution {
  /** The model, as `provider:model`. */
  model: string;
  /** A stable word for why. */
  reason: ResolvedBy;
  /** The same for people, in a sentence. */
  detail: string;
  /** The model that it takes the place of, after a failure. */
  instead_of?: string | null;
  /** How that one failed. */
  error?: Failure | null;
}

/** Why a session has its model. */
export type ResolvedBy = 'configured' | 'policy' | 'key_found' | 'local_server' | 'demo' | 'failover';

/** What is known of a model. */
export interface ModelInfo {
  /** Its full name, `provider:model`. */
  name: string;
  /** Tokens that a conversation and its answer may have together, if known. */
  context_window?: number | null;
  /** Tokens that one answer may have, if known. */
  max_output_tokens?: number | null;
  /** What it costs, if known. A model that runs at home costs nothing, which is known. */
  prices?: Prices | null;
  /** What it can do; absent when nobody has said. */
  abilities?: Array<Ability> | null;
  /** Where this knowledge comes from. */
  source: InfoSource;
  /** Why it cannot be used now, such as a missing key. */
  unavailable?: string | null;
}

/** Prices in US dollars per million tokens. */
export interface Prices {
  /** What is sent. */
  input: number;
  /** What the model writes, reasoning included. */
  output: number;
  /** What is read from the provider's cache; like other input when absent. */
  cached?: number | null;
  /** What is written to the provider's cache; like other input when absent. */
  cache_write?: number | null;
}

/** Something that a model may or may not be able to do. */
export type Ability = 'tools' | 'vision' | 'files' | 'reasoning' | 'caching';

/** Where knowledge of a model comes from; the later ones are stronger. */
export type InfoSource = 'unknown' | 'builtin' | 'discovered' | 'configured';

/** Whether a workspace is trusted. */
export interface Trusted {
  workspace_path: string;
  trusted: boolean;
  /** What its own files say, which counts only while it is trusted. */
  brings: Brought;
}

/** What a workspace brings in its own files, which counts once it is trusted. */
export interface Brought {
  /** The commands that check a turn's work. */
  verify_commands: Array<string>;
  /** The servers of tools. */
  servers: Array<BroughtServer>;
  /** The calls that are allowed without asking. */
  rules: Array<BroughtRule>;
  /** The kinds of calls and the tools that are asked about besides, in words. */
  asks: Array<string>;
  /** What cannot be used, and why. */
  problems: Array<string>;
}

/** A server that a workspace names. */
export interface BroughtServer {
  /** What the workspace calls it. */
  name: string;
  /** The command line that starts it, or its address. Without what may be secret. */
  runs: string;
  /** The file that names it. */
  file: string;
}

/** A rule that a workspace names. */
export interface BroughtRule {
  /** The rule. */
  rule: Rule;
  /** Whether it holds: the workspace is trusted, and had this very rule when that was said. */
  in_force: boolean;
}

/** Allows one exact call: the same tool with the same subject. For a command line it also allows its commands, word for word, wherever every command of a line is allowed; never a prefix of the line's text, because a shell would find a way around it. */
export interface Rule {
  /** The tool's name. */
  tool: string;
  /** What it acts on: the command, the path, or else the whole input as JSON. */
  subject: string;
  /** Whether the subject is the whole input. */
  whole?: boolean;
  /** The workspace in which it holds; in any, when absent. The same words mean something else elsewhere. */
  workspace?: string | null;
  /** The commands that it allows, as parts of any command line. */
  commands?: Array<CommandPattern>;
}

/** The words that a command must have. */
export interface CommandPattern {
  /** The program and its arguments, word for word. */
  argv: Array<string>;
  /** Whether other words may follow. */
  open?: boolean;
}

/** Whether to trust it. */
export interface TrustBody {
  /** An existing directory, as an absolute path. */
  workspace_path: string;
  /** Whether what lies in it may start processes and change what is asked. */
  trusted: boolean;
}

/** The tools of the native agent. */
export interface Tools {
  tools: Array<OneTool>;
  /** How the servers stand that offer tools. */
  servers: Array<{ [key: string]: unknown }>;
}

/** What a model is told of a tool. */
export interface OneTool {
  /** The tool's name. */
  name: string;
  /** What it does and when to use it. */
  description: string;
  /** The JSON schema of its input. */
  input_schema: unknown;
  kind: ToolKind;
}

/** What a tool touches; approvals are asked for by kind. */
export type ToolKind = 'read' | 'write' | 'exec' | 'network';

/** What was used. */
export interface UsageTable {
  by: By;
  /** At most 1,000 rows: the newest days first, of all else the dearest first. */
  rows: Array<Keyed>;
  /** How many more rows there would have been. */
  left_out: number;
  /** Everything that was asked for, with what was left out. */
  total: Sum;
}

/** What a row stands for. */
export type By = 'day' | 'model' | 'session' | 'workspace' | 'total';

/** What was used by one day, model, session or workspace. */
export interface Keyed {
  /** The date, the model's name, the session's id, the workspace's path, or `total`. */
  key: string;
  /** How many answers of a model. */
  steps: number;
  /** Tokens sent to the model, cached ones included. */
  input_tokens?: number;
  /** Tokens that the model wrote, reasoning included. */
  output_tokens?: number;
  /** How many of the input tokens came from the provider's cache. */
  cached_tokens?: number;
  /** How many of the input tokens were written to the provider's cache. */
  cache_write_tokens?: number;
  /** How many of the output tokens were reasoning. */
  reasoning_tokens?: number;
  /** What it cost in US dollars, as far as prices are known. */
  cost_usd?: Cost | null;
  /** How many of them have no price, so that the cost is at least what it says. */
  unpriced_steps: number;
}

/** US dollars. */
export type Cost = number;

/** What some answers took together. */
export interface Sum {
  /** How many answers of a model. */
  steps: number;
  /** Tokens sent to the model, cached ones included. */
  input_tokens?: number;
  /** Tokens that the model wrote, reasoning included. */
  output_tokens?: number;
  /** How many of the input tokens came from the provider's cache. */
  cached_tokens?: number;
  /** How many of the input tokens were written to the provider's cache. */
  cache_write_tokens?: number;
  /** How many of the output tokens were reasoning. */
  reasoning_tokens?: number;
  /** What it cost in US dollars, as far as prices are known. */
  cost_usd?: Cost | null;
  /** How many of them have no price, so that the cost is at least what it says. */
  unpriced_steps: number;
}

/** A code from the daemon's terminal. */
export interface LoginBody {
  /** The code. It is good for one login. */
  code: string;
}

/** A way in for a browser. */
export interface LoginCode {
  /** What to open: the page, with a one-time code behind the `#`. */
  address: string;
  /** Until when the code can be used. */
  expires_at: string;
}

/** How the daemon is set up. */
export interface SettingsView {
  providers: Array<ConfiguredProvider>;
  /** The agents that sessions can have, by name; `/v1/agents` says more. */
  agents: Array<string>;
  /** The policy of a session that brings none. */
  policy: Policy;
  /** The workspaces whose own settings, checks and servers are used. */
  trusted_workspaces: Array<string>;
  /** Where everything is kept. */
  data_dir: string;
  /** Where the configuration is read from; null where there is no place for one. */
  config_path?: string | null;
  /** The daemon's version. */
  version: string;
}

/** A provider of models. */
export interface ConfiguredProvider {
  /** What comes before the `:` in the names of its models. */
  name: string;
  /** The protocol that it speaks. */
  kind: string;
  /** Where its endpoints lie; empty where it has none. */
  base_url: string;
  /** Whether it has a key; some need none. */
  has_key: boolean;
  /** What it lacks, and what to do about that; null when it can be used. */
  problem?: string | null;
}

/** The policies of one session. */
export interface Policy {
  /** Which calls wait for an answer. */
  approval?: ApprovalPolicy;
  /** What is checked after a turn that changed the workspace. */
  verify?: VerifyPolicy;
  /** Whether a person reviews the turn's diff. */
  patch_review?: PatchReview;
  /** How the session comes by a model when nobody names one. */
  model?: ModelPolicy;
}

/** Which tool calls wait for an answer. */
export interface ApprovalPolicy {
  /** Kinds that always ask. */
  require_for_kinds?: Array<ToolKind>;
  /** Tools that always ask, whatever their kind. */
  require_for_tools?: Array<string>;
  /** Calls that are allowed without asking. */
  rules?: Array<Rule>;
  /** Whether commands that are known to only read run without asking, unless their tool is named above. */
  safe_commands?: boolean;
}

/** What runs after a turn that changed the workspace. */
export interface VerifyPolicy {
  /** Whether verification runs by itself. */
  auto?: boolean;
  /** The commands, run in order in the workspace. None means that there is nothing to verify with. */
  commands?: Array<string>;
  /** Whether a turn only counts as verified when it leaves no uncommitted change behind. */
  require_clean?: boolean;
  /** How often a failure goes back to the model. */
  max_rounds?: number;
}

/** Whether a person reviews a turn's diff. */
export interface PatchReview {
  /** The mode. */
  mode?: PatchReviewMode;
}

/** The modes of patch review. */
export type PatchReviewMode = 'off' | 'request' | 'auto';

/** How a session that names no model comes by one. */
export interface ModelPolicy {
  /** What the model must be able to do. */
  require?: Array<Ability>;
  /** The most that a million input tokens may cost, in US dollars. */
  max_input_price?: number | null;
  /** The most that a million output tokens may cost, in US dollars. */
  max_output_price?: number | null;
  /** Models to be taken before all others, the first that can be used. */
  prefer?: Array<string>;
}

/** The projects, in the order in which they were added. */
export interface ProjectList {
  projects: Array<Project>;
}

/** A registered workspace. */
export interface Project {
  /** Its id, a UUID with hyphens. */
  id: string;
  /** The directory, as it really is. */
  path: string;
  /** The last part of the path. */
  name: string;
  /** When it was registered. */
  added_at: string;
}

/** The directory to register. */
export interface ProjectBody {
  /** An existing directory, as an absolute path. */
  path: string;
}

/** What a directory holds of directories, by name. */
export interface DirectoryList {
  /** The directory, as it really is. */
  path: string;
  /** The one above it; null at the root. */
  parent?: string | null;
  directories: Array<OneDirectory>;
  /** Whether there are more. */
  truncated: boolean;
}

export interface OneDirectory {
  name: string;
  path: string;
  /** Whether it is a git repository. */
  git: boolean;
}

/** The project is off the list. */
export interface ProjectRemoved {
  project_id: string;
}

/** The new session's id. */
export interface Created {
  session_id: SessionId;
}

/** What a new session is to be. */
export interface NewSessionBody {
  /** An existing directory, as an absolute path. */
  workspace_path: string;
  /** Instructions for the model. */
  system_prompt?: string | null;
  /** Whether a message starts a turn unless it says otherwise; true when absent. */
  auto_run?: boolean | null;
  /** Who runs its turns; `native` when absent. */
  agent?: string | null;
  /** Which model, as `provider:model`; found by the model policy when absent. */
  model?: string | null;
  /** Models that take its place, in this order, when it cannot begin to answer. */
  fallback_models?: Array<string> | null;
  /** How much the model thinks; as its maker thinks best when absent. */
  effort?: Effort | null;
  /** Whether the traffic with providers is kept in `raw.jsonl`. */
  raw_log?: boolean | null;
  /** Whether thinking, times and tokens are kept in `verbose.md`. */
  verbose_log?: boolean | null;
  /** The directory in which its readable files are kept, each session in a folder of its own, instead of beside its log. An absolute path; made if it is not there. */
  log_dir?: string | null;
  /** What people call it. */
  title?: string | null;
  /** What programs call it, unique among the open sessions. */
  name?: string | null;
  /** The session that starts it. */
  parent_session_id?: SessionId | null;
  /** What it may spend. */
  budget?: Budget | null;
  /** `repl`, `serve` or `agent`; `chat` is another name of the default, `serve`. */
  mode?: Mode | null;
  /** Always empty or absent: there are no sessions that follow a specification file. */
  spec_path?: string | null;
  /** What it may do by itself. */
  policy?: PolicyBody | null;
  /** Asking twice with one key makes one session. */
  idempotency_key?: string | null;
  /** What is chosen of the settings of someone else's agent, by the agent's own names. */
  agent_settings?: { [key: string]: string } | null;
  /** The session of someone else's agent to take over, as the agent calls it. One that was taken over before is found, and not made again. */
  adopt?: string | null;
}

/** How much a model thinks before it answers. */
export type Effort = 'none' | 'low' | 'medium' | 'high' | 'max';

/** What a session may spend in all. What is absent has no limit of its own. */
export interface Budget {
  /** Steps of each of its turns. */
  max_steps?: number | null;
  /** Tokens sent and received, over all its turns. */
  max_tokens?: number | null;
  /** Seconds that a parent waits for it. */
  max_seconds?: number | null;
}

/** How a session is used. */
export type Mode = 'repl' | 'serve' | 'agent';

/** Changes to a policy. */
export interface PolicyBody {
  /** Which calls wait for an answer. */
  approval?: ApprovalBody | null;
  /** What is checked after a turn that changed the workspace. */
  verify?: VerifyBody | null;
  /** Whether a person reviews the turn's diff. */
  patch_review?: PatchReviewBody | null;
  /** How the session comes by a model when nobody names one. */
  model?: ModelBody | null;
}

export interface ApprovalBody {
  /** Kinds that always ask. */
  require_for_kinds?: Array<ToolKind> | null;
  /** Tools that always ask, whatever their kind. */
  require_for_tools?: Array<string> | null;
  /** Calls that are allowed without asking. */
  rules?: Array<RuleBody> | null;
  /** Whether commands that are known to only read run without asking. */
  safe_commands?: boolean | null;
}

/** A rule, from an object only. */
export type RuleBody = Rule;

export interface VerifyBody {
  /** Whether verification runs by itself. */
  auto?: boolean | null;
  /** The commands, run in order in the workspace. */
  commands?: Array<string> | null;
  /** Whether a turn only counts as verified when it leaves no uncommitted change behind. */
  require_clean?: boolean | null;
  /** How often a failure goes back to the model. */
  max_rounds?: number | null;
}

export interface PatchReviewBody {
  /** Off, asked for, or shown and accepted by itself. */
  mode?: PatchReviewMode | null;
}

export interface ModelBody {
  /** What the model must be able to do. */
  require?: Array<Ability> | null;
  /** The most that a million input tokens may cost, in US dollars. */
  max_input_price?: number | null;
  /** The most that a million output tokens may cost, in US dollars. */
  max_output_price?: number | null;
  /** Models to be taken before all others. */
  prefer?: Array<string> | null;
}

/** A page of sessions. */
export interface SessionList {
  sessions: Array<Entry>;
  /** Where the next page begins; null on the last one. */
  next_cursor?: string | null;
}

/** What a session is. */
export interface Entry {
  /** Its id. */
  id: SessionId;
  /** When it was made. */
  created_at: string;
  /** When its last event was recorded. */
  updated_at: string;
  /** How it stands. */
  status: SessionStatus;
  /** The directory that it works in. */
  workspace_path: string;
  /** The runner whose machine that directory lies on; left out for the daemon's own. */
  runner?: string | null;
  /** Instructions for the model, if any were given. */
  system_prompt?: string | null;
  /** The newest turn. */
  last_turn_id?: TurnId | null;
  /** Which agent runs its turns. */
  agent: string;
  /** Which model the agent uses, as `provider:model`. */
  model: string;
  /** Models that take its place, in this order, when it cannot begin to answer. */
  fallback_models?: Array<string>;
  /** How much the model thinks; as its maker thinks best when absent. */
  effort?: Effort | null;
  /** Whether the traffic with providers is kept in `raw.jsonl`. */
  raw_log?: boolean;
  /** Whether thinking, times and tokens are kept in `verbose.md`. */
  verbose_log?: boolean;
  /** The directory in which its readable files are kept, instead of beside its log. */
  log_root?: string | null;
  /** What people call it. */
  title?: string | null;
  /** Whether it is put away. */
  archived: boolean;
  /** Whether it is kept at the head of lists. */
  pinned?: boolean;
  /** The session that started it, if one did. */
  parent_session_id?: SessionId | null;
  /** How many sessions are above it. */
  depth?: number;
  /** What a program calls it, unique among the open ones. */
  name?: string | null;
  /** What its agent calls it, if that is someone else's. */
  agent_session_id?: string | null;
  /** What was chosen of the agent's settings, such as its mode. */
  agent_settings?: { [key: string]: string };
  /** What it may spend. */
  budget?: Budget | null;
  /** Where its workspace was taken from, when that is a git worktree of its own. */
  worktree?: Worktree | null;
  /** The turn of another session that it goes on from. */
  forked_from?: ForkedFrom | null;
  /** How it is used: `repl`, `serve` or `agent`. */
  mode: string;
  /** Whether a message starts a turn unless it says otherwise. */
  auto_run: boolean;
  /** What it may do by itself. */
  policy: Policy;
  /** Tokens spent so far. */
  usage: Usage;
  /** The key under which its creation was asked for, so that asking twice makes one. */
  idempotency_key?: string | null;
  last_seq: number;
  /** The turn that runs or waits; null when there is none. */
  running_turn_id?: TurnId | null;
  /** The place that matches the search. */
  snippet?: string | null;
  /** The message that the snippet is from; absent when it is from the title. */
  snippet_message_id?: MessageId | null;
}

/** How a session stands. */
export type SessionStatus = 'active' | 'waiting_approval' | 'failed' | 'completed' | 'canceled';

export type TurnId = string;

/** Where a session's workspace was taken from, when it is a git worktree made for it. */
export interface Worktree {
  /** The workspace that it was made from. */
  repository: string;
  /** The commit that it began with. */
  base: string;
}

/** The turn of another session after which a session goes its own way. */
export interface ForkedFrom {
  /** The other session. */
  session_id: SessionId;
  /** Its last turn that both share; none when they share nothing but the settings. */
  turn_id?: TurnId | null;
}

/** Tokens spent. */
export interface Usage {
  /** Tokens sent to the model, cached ones included. */
  input_tokens?: number;
  /** Tokens that the model wrote, reasoning included. */
  output_tokens?: number;
  /** How many of the input tokens came from the provider's cache. */
  cached_tokens?: number;
  /** How many of the input tokens were written to the provider's cache. */
  cache_write_tokens?: number;
  /** How many of the output tokens were reasoning. */
  reasoning_tokens?: number;
  /** What it cost in US dollars, as far as prices are known. */
  cost_usd?: Cost | null;
}

export type MessageId = string;

/** A session and its latest state. */
export interface Shown {
  /** Its id. */
  id: SessionId;
  /** When it was made. */
  created_at: string;
  /** When its last event was recorded. */
  updated_at: string;
  /** How it stands. */
  status: SessionStatus;
  /** The directory that it works in. */
  workspace_path: string;
  /** The runner whose machine that directory lies on; left out for the daemon's own. */
  runner?: string | null;
  /** Instructions for the model, if any were given. */
  system_prompt?: string | null;
  /** The newest turn. */
  last_turn_id?: TurnId | null;
  /** Which agent runs its turns. */
  agent: string;
  /** Which model the agent uses, as `provider:model`. */
  model: string;
  /** Models that take its place, in this order, when it cannot begin to answer. */
  fallback_models?: Array<string>;
  /** How much the model thinks; as its maker thinks best when absent. */
  effort?: Effort | null;
  /** Whether the traffic with providers is kept in `raw.jsonl`. */
  raw_log?: boolean;
  /** Whether thinking, times and tokens are kept in `verbose.md`. */
  verbose_log?: boolean;
  /** The directory in which its readable files are kept, instead of beside its log. */
  log_root?: string | null;
  /** What people call it. */
  title?: string | null;
  /** Whether it is put away. */
  archived: boolean;
  /** Whether it is kept at the head of lists. */
  pinned?: boolean;
  /** The session that started it, if one did. */
  parent_session_id?: SessionId | null;
  /** How many sessions are above it. */
  depth?: number;
  /** What a program calls it, unique among the open ones. */
  name?: string | null;
  /** What its agent calls it, if that is someone else's. */
  agent_session_id?: string | null;
  /** What was chosen of the agent's settings, such as its mode. */
  agent_settings?: { [key: string]: string };
  /** What it may spend. */
  budget?: Budget | null;
  /** Where its workspace was taken from, when that is a git worktree of its own. */
  worktree?: Worktree | null;
  /** The turn of another session that it goes on from. */
  forked_from?: ForkedFrom | null;
  /** How it is used: `repl`, `serve` or `agent`. */
  mode: string;
  /** Whether a message starts a turn unless it says otherwise. */
  auto_run: boolean;
  /** What it may do by itself. */
  policy: Policy;
  /** Tokens spent so far. */
  usage: Usage;
  /** The key under which its creation was asked for, so that asking twice makes one. */
  idempotency_key?: string | null;
  /** Whether a turn runs or waits now. */
  running_turn_id?: TurnId | null;
  /** Its newest turns, oldest first. */
  turns: Array<TurnSummary>;
  /** Calls that wait for an answer. */
  pending_approvals: Array<PendingApproval>;
  /** Messages that wait for their turn. */
  queue: Array<Queued>;
  /** Sessions that it has started and that are still of interest. */
  children?: Array<Child>;
  /** What the sessions that it has started have spent, those that they have started included. It counts against its budget, and is no part of its `usage`. */
  children_usage?: Usage;
  /** Roughly how many tokens its conversation has. */
  context_tokens?: number | null;
  /** What its agent says of itself, if it is someone else's. */
  agent_state?: AgentState | null;
  /** The newest record. */
  last_seq: number;
  /** How full the model's window is, as far as it is known. */
  context: Context;
  /** Where its readable files lie. */
  log_dir: string;
  /** Whether what lies in its workspace is trusted. */
  trusted: boolean;
  /** Its newest messages, oldest first, when they were asked for. */
  messages?: Array<Message> | null;
}

/** A turn in a line. */
export interface TurnSummary {
  /** Its id. */
  id: TurnId;
  /** How it stands or ended. */
  status: TurnStatus;
  /** The messages that it answers. */
  message_ids: Array<MessageId>;
  /** When it began. */
  started_at: string;
  /** When it ended. */
  ended_at?: string | null;
  /** Whether the workspace was checked at its end, and held. */
  verified?: boolean | null;
  /** Why it failed. */
  error?: string | null;
  /** What it has cost. */
  usage?: Usage;
  /** The workspace as it was before the turn's first change, if there was one. */
  checkpoint_before?: string | null;
  /** The workspace as the turn left it. */
  checkpoint_after?: string | null;
  /** Why the workspace could not be captured, if it could not: the turn cannot be undone, or not safely. */
  checkpoint_error?: string | null;
}

/** How a turn stands or ended. */
export type TurnStatus = 'running' | 'completed' | 'failed' | 'canceled';

/** An approval that waits for an answer. */
export interface PendingApproval {
  /** The session. */
  session_id: SessionId;
  /** The turn. */
  turn_id: TurnId;
  /** The call, which names the approval. */
  tool_call_id: ToolCallId;
  /** The tool. */
  tool: string;
  /** What it is to do. */
  input: unknown;
  /** What it touches. */
  kind: ToolKind;
  /** The same for people, in a line. */
  summary: string;
  /** The rule that `session` or `always` would add. */
  rule: Rule;
  /** The answers that its agent offers; a plain yes or no stands for the nearest of them. */
  options?: Array<ApprovalOption>;
  /** Since when it waits. */
  requested_at: string;
}

/** Names a tool call within its turn: the model's own id where it gave one, else `call_…`. */
export type ToolCallId = string;

/** An answer that an agent offers for one of its questions. */
export interface ApprovalOption {
  /** Its name on the wire. */
  id: string;
  /** Its name for people. */
  name: string;
  /** What it amounts to. */
  kind: OptionKind;
}

/** What an offered answer amounts to. */
export type OptionKind = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always';

/** A message that waits. */
export interface Queued {
  /** The message. */
  message: Message;
  /** The turn that will answer it, unless it steers one. */
  turn_id: TurnId;
  /** How it is to be delivered. */
  delivery: Delivery;
}

/** Something said in a session. */
export interface Message {
  /** Its id. */
  id: MessageId;
  /** Who said it. */
  role: Role;
  /** What was said, in order. */
  parts: Array<Part>;
  /** When it was accepted or finished. */
  created_at: string;
}

/** Who speaks in a message. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** Plain text or markdown. */
export interface TextPart {
  type: 'text';
  /** The text itself. */
  text: string;
}

/** A picture beside the log. */
export interface ImagePart {
  type: 'image';
  /** Where it lies, relative to the session's folder. */
  ref: string;
  /** Its type, as sniffed from the bytes. */
  mime_type: string;
}

/** A sound beside the log. */
export interface AudioPart {
  type: 'audio';
  /** Where it lies, relative to the session's folder. */
  ref: string;
  /** Its type, as sniffed from the bytes. */
  mime_type: string;
}

/** Any other file beside the log. */
export interface FilePart {
  type: 'file';
  /** Where it lies, relative to the session's folder. */
  ref: string;
  /** Its type, as sniffed from the bytes. */
  mime_type: string;
}

/** What the model thought aloud. */
export interface ReasoningPart {
  type: 'reasoning';
  /** The text itself. */
  text: string;
  /** What the provider wants back with it, verbatim. */
  opaque?: unknown;
}

/** A call that the model asked for. */
export interface ToolCallPart {
  type: 'tool_call';
  /** Its id, unique within the turn. */
  id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** The arguments, as the model gave them. */
  input: unknown;
}

/** What a tool answered; only in messages of role `tool`. */
export interface ToolResultPart {
  type: 'tool_result';
  /** The call that it answers. */
  tool_call_id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** Whether the tool did what was asked. */
  ok: boolean;
  /** The answer as the model reads it. */
  text: string;
  /** Pictures that belong to the answer. */
  images?: Array<Picture>;
}

/** One piece of a message. */
export type Part = TextPart | ImagePart | AudioPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart;

/** A picture beside the log. */
export interface Picture {
  /** Where it lies, relative to the session's folder. */
  ref: string;
  /** Its type, as sniffed from the bytes. */
  mime_type: string;
}

/** What to do with a message that comes while a turn runs. */
export type Delivery = 'queue' | 'steer' | 'interrupt';

/** A session that a session has started, as its parent sees it. */
export interface Child {
  /** The session. */
  session_id: SessionId;
  /** The parent's turn that started it. */
  turn_id: TurnId;
  /** The call that started it, unless a plan did. */
  tool_call_id?: ToolCallId | null;
  /** The subtask of the plan that it works on, if a plan started it. */
  subtask?: string | null;
  /** What it is for, in a line. */
  description: string;
  /** Whether the parent goes on without waiting for it. */
  background: boolean;
  /** How it ended, if it has. */
  outcome?: ChildOutcome | null;
  /** Its calls that wait for an answer. */
  approvals: Array<PendingApproval>;
}

/** What came of a session that another one started. */
export interface ChildOutcome {
  /** How it ended. */
  status: ChildStatus;
  /** Its last answer, or what it had written of it. */
  text: string;
  /** Why it failed. */
  error?: string | null;
  /** What it has spent, with what those have that it has started itself. */
  usage: Usage;
  /** How many files it has changed in its own git worktree, if it has one. */
  changed_files?: number | null;
}

/** How a session that another one started ended. */
export type ChildStatus = 'completed' | 'failed' | 'canceled';

/** What someone else's agent says of itself in a session. */
export interface AgentState {
  /** What the agent calls the session. */
  agent_session_id?: string | null;
  /** What can be chosen, such as its mode and its model. */
  settings?: Array<AgentSetting>;
  /** The commands that it understands at the beginning of a message. */
  commands?: Array<AgentCommand>;
  /** What it means to do. */
  plan?: Array<PlanEntry>;
  /** How a person can log in to it, when it wants that. */
  login?: Array<LoginMethod>;
  /** How many tokens its conversation has, if it says so. */
  context_tokens?: number | null;
  /** How many tokens its model can take, if it says so. */
  context_window?: number | null;
}

/** Something that can be chosen. */
export interface AgentSetting {
  /** Its name on the wire; `mode` and `model` are the common ones. */
  id: string;
  /** Its name for people. */
  name: string;
  /** What is chosen now. */
  current?: string | null;
  /** What there is to choose from. */
  choices: Array<AgentChoice>;
}

/** One of the things to choose from. */
export interface AgentChoice {
  /** Its name on the wire. */
  id: string;
  /** Its name for people. */
  name: string;
  /** What it means. */
  description?: string | null;
}

/** A command that an agent understands. */
export interface AgentCommand {
  /** Its name, without the slash. */
  name: string;
  /** What it does. */
  description: string;
  /** What may follow it. */
  hint?: string | null;
}

/** One thing that an agent means to do. */
export interface PlanEntry {
  /** What. */
  content: string;
  /** `high`, `medium` or `low`. */
  priority: string;
  /** `pending`, `in_progress` or `completed`. */
  status: string;
}

/** A way to log in to an agent. */
export interface LoginMethod {
  /** Its name on the wire. */
  id: string;
  /** Its name for people. */
  name: string;
  /** What to do. */
  description?: string | null;
}

/** How full the model's window is. */
export interface Context {
  /** Roughly how many tokens the conversation has; null before the first answer. */
  tokens?: number | null;
  /** How many the model takes; null where that is not known. */
  window?: number | null;
}

/** What is to change; what is absent stays. */
export interface UpdateBody {
  /** A new title; an empty one removes it. */
  title?: string | null;
  /** Put it away, or back. */
  archived?: boolean | null;
  /** Keep it at the head of lists, or no longer. */
  pinned?: boolean | null;
  /** Another model, from the next turn on. */
  model?: string | null;
  /** Other models to take its place. */
  fallback_models?: Array<string> | null;
  /** Another effort, from the next turn on; null leaves it to the model's maker again. */
  effort?: Effort | null;
  /** Begin or stop to keep the traffic with providers, from the next turn on. */
  raw_log?: boolean | null;
  /** Begin or stop to keep thinking, times and tokens in `verbose.md`, from now on. */
  verbose_log?: boolean | null;
  /** Another policy, from now on. */
  policy?: PolicyBody | null;
  /** Other choices among the settings of someone else's agent, from the next turn on; those that are not named stay. */
  agent_settings?: { [key: string]: string } | null;
}

/** The session is closed. */
export interface Closed {
  session_id: SessionId;
  /** Whether its files are gone too. */
  purged: boolean;
}

/** The message is in. */
export interface Sent {
  message_id: MessageId;
  /** The turn that answers it; null when none was asked for. */
  turn_id?: TurnId | null;
}

/** Something to say. */
export interface MessageBody {
  /** Who says it. */
  role: Speaker;
  /** What is said. */
  parts: Array<InputPart>;
  /** Whether to answer it now; the session's own setting when absent. */
  auto_run?: boolean | null;
  /** What to do when a turn is running. */
  delivery?: Delivery | null;
  /** Asking twice with one key adds one message. */
  idempotency_key?: string | null;
}

/** Who a client can speak as. */
export type Speaker = 'user' | 'system';

export interface TextInputPart {
  type: 'text';
  text: string;
}

/** A file that was attached before. */
export interface ImageInputPart {
  type: 'image';
  /** Where it lies: `attachments/NAME`. */
  ref: string;
  /** Not looked at: the type is told from the content. */
  mime_type?: string | null;
}

/** A file that was attached before. */
export interface AudioInputPart {
  type: 'audio';
  /** Where it lies: `attachments/NAME`. */
  ref: string;
  /** Not looked at: the type is told from the content. */
  mime_type?: string | null;
}

/** A file that was attached before. */
export interface FileInputPart {
  type: 'file';
  /** Where it lies: `attachments/NAME`. */
  ref: string;
  /** Not looked at: the type is told from the content. */
  mime_type?: string | null;
}

/** A piece of a message, as a client sends it. */
export type InputPart = TextInputPart | ImageInputPart | AudioInputPart | FileInputPart;

/** Some messages, oldest first. */
export interface Page {
  messages: Array<Message>;
  /** Pass this as `before` for the page before; null on the first one. */
  before?: number | null;
}

/** What waits for its turn. */
export interface Queue {
  queue: Array<Queued>;
}

/** The message is taken back. */
export interface Withdrawn {
  message_id: MessageId;
}

/** What is to change of a message that waits; what is absent stays. */
export interface QueuedBody {
  /** What it says now. */
  parts?: Array<InputPart> | null;
  /** Whether it waits for a turn of its own or goes to the running one. */
  delivery?: Waits | null;
  /** The waiting message that it is to stand before; null puts it last. */
  before?: MessageId | null;
}

/** How a message that waits can be delivered. */
export type Waits = 'queue' | 'steer';

/** The turn begins. */
export interface Started {
  turn_id: TurnId;
}

/** What a turn changed in the workspace. */
export interface TurnDiff {
  turn_id: TurnId;
  /** The files, in the order of their paths; none when nothing changed. */
  files: Array<TurnFile>;
  /** How many more have changed that are not listed. */
  more: number;
  /** Whether the turn still runs, so that this may change. */
  running: boolean;
  /** What is to be known about it, in words; null when it is exactly what the turn did. */
  note?: string | null;
}

/** A file that a turn changed. */
export interface TurnFile {
  /** Its path in the workspace; the new one when it was moved. */
  path: string;
  /** What happened to it. */
  kind: ChangeKind;
  /** Where it was before, when it was moved. */
  from?: string | null;
  /** Lines that were added. */
  added: number;
  /** Lines that were removed. */
  removed: number;
  /** Whether it is no text, so that there is no diff to show. */
  binary: boolean;
  /** A unified diff, as far as there is room for it. */
  diff?: string | null;
  /** Whether the diff lacks its end, or is missing because there is too much of it. */
  truncated: boolean;
}

/** What can happen to a file. */
export type ChangeKind = 'added' | 'modified' | 'deleted' | 'renamed' | 'mode_changed' | 'type_changed';

/** What was done, or would be. */
export interface Undone {
  /** Whether nothing was done yet. */
  preview: boolean;
  /** Files that have their old content again. */
  restored: Array<string>;
  /** Files that are there again. */
  recreated: Array<string>;
  /** Files that are gone again. */
  deleted: Array<string>;
  /** Files that were left alone, because somebody else changed them. */
  conflicts: Array<NotUndone>;
  /** Files that have changed and cannot be brought back, because no checkpoint holds them. */
  left_out: Array<NotUndone>;
  /** What no undo covers, in words. */
  note: string;
}

export interface NotUndone {
  path: string;
  /** Why it is not as it was. */
  why: string;
}

/** What to undo. */
export interface UndoBody {
  /** The turn before which the workspace is to stand. */
  turn_id: TurnId;
  /** Only say what would be done. */
  preview?: boolean | null;
  /** Also put back what somebody else has changed since. */
  force?: boolean | null;
}

/** Whether there was anything to stop. */
export interface Canceled {
  canceled: boolean;
}

/** What to stop, and why. */
export interface CancelBody {
  /** The turn that is meant. Only this one is stopped; whichever runs when absent. */
  turn_id?: TurnId | null;
  /** Shown to everybody who looks on. */
  reason?: string | null;
}

/** The answer was taken. */
export interface Answered {
  tool_call_id: ToolCallId;
  action: Verdict;
}

/** Yes or no. */
export type Verdict = 'approve' | 'deny';

/** An answer. */
export interface AnswerBody {
  /** The turn that the call belongs to. Absent or empty: the pending call of that id, which must be the only one. */
  turn_id?: TurnId | null;
  /** The call. */
  tool_call_id: ToolCallId;
  /** Yes or no. */
  action: Verdict;
  /** For how long; `once` when absent. */
  scope?: Scope | null;
  /** Why; the model sees it when the answer is no. */
  reason?: string | null;
  /** What to put back and what to say, when a patch review is answered. */
  review?: ReviewAnswer | null;
  /** Which of the offered answers, when the approval lists some. */
  option?: string | null;
}

/** How long an answer to an approval holds. */
export type Scope = 'once' | 'session' | 'always';

/** What a person says to a review, beside yes or no. What is not named follows the answer as a whole. */
export interface ReviewAnswer {
  /** Files that are to be put back as they were, wholly or in part. */
  reject?: Array<RejectedFile>;
  /** What the model is to hear. */
  comments?: Array<ReviewComment>;
}

/** A file whose change is not wanted. */
export interface RejectedFile {
  /** Its path, as in the review. */
  path: string;
  /** Which hunks of its diff, from 0; all when absent. */
  hunks?: Array<number> | null;
}

/** A remark on a change. */
export interface ReviewComment {
  /** The file that it is about, if one. */
  path?: string | null;
  /** The line of the new file that it is about, if one. */
  line?: number | null;
  /** The remark. */
  text: string;
}

/** What a call would change that waits for an answer. */
export interface ApprovalDiff {
  tool_call_id: ToolCallId;
  /** The files as they would become of what they are now; null when that cannot be told, as of a command. */
  files?: Array<FileChange> | null;
}

/** What happened to one file of the workspace. */
export interface FileChange {
  /** Its path in the workspace; the new one when it was moved. */
  path: string;
  /** What happened to it. */
  kind: ChangeKind;
  /** Where it was before, when it was moved. */
  from?: string | null;
  /** Lines that were added. */
  added: number;
  /** Lines that were removed. */
  removed: number;
  /** Whether it is no text, so that there is no diff to show. */
  binary: boolean;
  /** A unified diff, as far as there is room for it. */
  diff?: string | null;
}

/** Everything that waits. */
export interface Approvals {
  approvals: Array<PendingApproval>;
}

/** Where to branch off. */
export interface ForkBody {
  /** The last turn that both are to share; the last finished one when absent. */
  turn_id?: TurnId | null;
}

/** Work to be divided among sessions. */
export interface PlanBody {
  /** The pieces. */
  subtasks: Array<PieceBody>;
  /** How many may be worked on at once; as many as the daemon allows when absent. */
  concurrency?: number | null;
}

/** A piece, from an object only. */
export type PieceBody = SubtaskBody;

/** One piece of a plan. */
export interface SubtaskBody {
  /** Its name in the plan. */
  id: string;
  /** What it is for, in a line; its name when absent. */
  description?: string | null;
  /** What the session is told to do. */
  prompt: string;
  /** Which agent does it; the parent's when absent. */
  agent?: string | null;
  /** Which model is used; the parent's when absent. */
  model?: string | null;
  /** Whether it works in a git worktree of its own. */
  worktree?: boolean;
  /** The pieces that must have been completed before. */
  depends_on?: Array<string>;
  /** What it may spend. */
  budget?: Budget | null;
}

/** What a model is shown of a session. */
export interface ContextView {
  /** Which model it is shown to. */
  model: string;
  /** Roughly how many tokens it takes: as the provider counted them last, or else as the sections add up. */
  tokens: number;
  /** How many the model takes; null where that is not known. */
  window?: number | null;
  /** How much of the window is taken, from 0 to 100. */
  percent?: number | null;
  /** How many messages the model is shown. */
  messages: number;
  /** The pieces, in the order in which the model is shown them. */
  sections: Array<Share>;
}

/** A piece, and how much of the whole it is. */
export interface Share {
  /** What it is. */
  kind: ContextKind;
  /** What it is called. */
  name: string;
  /** Of how many messages it is made; none for what is no message. */
  messages: number;
  /** Roughly how many tokens it takes. */
  tokens: number;
  /** How much of all the pieces it is, from 0 to 100. */
  percent: number;
}

/** What a piece of what a model is shown is. */
export type ContextKind = 'system_prompt' | 'tools' | 'workspace' | 'summary' | 'system' | 'user' | 'assistant' | 'tool_results';

/** Files, the best match first. */
export interface FoundFiles {
  files: Array<FoundFile>;
  /** Whether there are more. */
  truncated: boolean;
}

export interface FoundFile {
  /** Relative to the workspace. */
  path: string;
}

/** A file beside the log. */
export interface Stored {
  /** Where it lies, for the `ref` of a part. */
  ref: string;
  name: string;
  /** What it is, told from its content. */
  mime_type: string;
  /** Its length in bytes. */
  size: number;
}

/** A file to attach, as JSON. */
export interface AttachmentBody {
  /** What it is called; only the last part of a path is looked at. */
  name: string;
  /** Its content, in base64; `content_base64` is another name of this field. */
  data: string;
  /** Not looked at: the type is told from the content. */
  mime_type?: string | null;
}

/** Files beside the log, by name. */
export interface Files {
  files: Array<Stored>;
  /** Whether there are more than these. */
  more: boolean;
}

/** The session exists. */
export interface SessionCreated {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'session_created';
  data: SessionCreatedData;
}

export interface SessionCreatedData {
  session: Session;
}

/** Its title, model, policy or archive flag changed. */
export interface SessionUpdated {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'session_updated';
  data: SessionUpdatedData;
}

export interface SessionUpdatedData {
  session: Session;
}

/** It was closed. */
export interface SessionCompleted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'session_completed';
  data: SessionCompletedData;
}

export interface SessionCompletedData {
  by: string;
}

/** Its last turn failed. */
export interface SessionFailed {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'session_failed';
  data: SessionFailedData;
}

export interface SessionFailedData {
  error: Failure;
}

/** Its last turn was canceled. */
export interface SessionCanceled {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'session_canceled';
  data: SessionCanceledData;
}

export interface SessionCanceledData {
  by: string;
  reason: string | null;
}

/** A message became part of the conversation. */
export interface MessageAdded {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'message_added';
  data: MessageAddedData;
}

export interface MessageAddedData {
  message: Message;
  idempotency_key?: string | null;
}

/** A message waits for its turn. */
export interface MessageQueued {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'message_queued';
  data: MessageQueuedData;
}

export interface MessageQueuedData {
  queued: Queued;
  idempotency_key?: string | null;
}

/** A waiting message was taken back. */
export interface MessageWithdrawn {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'message_withdrawn';
  data: MessageWithdrawnData;
}

export interface MessageWithdrawnData {
  message_id: MessageId;
  by: string;
}

/** A turn began. */
export interface TurnStarted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'turn_started';
  data: TurnStartedData;
}

export interface TurnStartedData {
  message_ids: Array<MessageId>;
  model: string;
  purpose?: Purpose;
}

/** The turn about to begin repeats an earlier one. */
export interface TurnRetried {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'turn_retried';
  data: TurnRetriedData;
}

export interface TurnRetriedData {
  retry_of: TurnId;
}

/** The turn ended as it should. */
export interface TurnCompleted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'turn_completed';
  data: TurnCompletedData;
}

export interface TurnCompletedData {
  stop_reason: string;
  usage: Usage;
  verified: boolean | null;
  verification?: string | null;
}

/** The turn ended in an error. */
export interface TurnFailed {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'turn_failed';
  data: TurnFailedData;
}

export interface TurnFailedData {
  error: Failure;
  reason: string;
}

/** The turn was stopped. */
export interface TurnCanceled {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'turn_canceled';
  data: TurnCanceledData;
}

export interface TurnCanceledData {
  by: string;
  reason: string | null;
}

/** A model was found for the session, or took the place of one that failed. */
export interface ModelResolved {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'model_resolved';
  /** The model that was found for a session, and why that one. */
  data: ModelResolvedData;
}

/** The model that was found for a session, and why that one. */
export interface ModelResolvedData {
  /** The model, as `provider:model`. */
  model: string;
  /** A stable word for why. */
  reason: ResolvedBy;
  /** The same for people, in a sentence. */
  detail: string;
  /** The model that it takes the place of, after a failure. */
  instead_of?: string | null;
  /** How that one failed. */
  error?: Failure | null;
}

/** The model could not answer yet, and is asked again after a while. */
export interface ModelWaiting {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'model_waiting';
  data: ModelWaitingData;
}

export interface ModelWaitingData {
  model: string;
  attempt: number;
  attempts: number;
  wait_ms: number;
  error: Failure;
}

/** A model was used, and this is what it took. */
export interface UsageRecorded {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'usage_recorded';
  data: UsageRecordedData;
}

export interface UsageRecordedData {
  model: string;
  message_id: MessageId | null;
  usage: Usage;
}

/** The model stopped reasoning. */
export interface ReasoningCompleted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'reasoning_completed';
  data: ReasoningCompletedData;
}

export interface ReasoningCompletedData {
  message_id: MessageId;
  part: number;
  bytes: number;
}

/** The model finished a message, or was stopped in it. */
export interface ModelOutputCompleted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'model_output_completed';
  data: ModelOutputCompletedData;
}

export interface ModelOutputCompletedData {
  message: Message;
  stop_reason: string;
  usage: Usage;
}

/** The calls of one message are about to run. */
export interface ToolBatchStarted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'tool_batch_started';
  data: ToolBatchStartedData;
}

export interface ToolBatchStartedData {
  tool_calls: Array<ToolCallId>;
  parallel: boolean;
}

/** The rest of the batch will not run. */
export interface ToolBatchHalted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'tool_batch_halted';
  data: ToolBatchHaltedData;
}

export interface ToolBatchHaltedData {
  tool_call_id: ToolCallId;
}

/** Every call of the batch has its result. */
export interface ToolBatchCompleted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'tool_batch_completed';
  data: { [key: string]: unknown };
}

/** A call is about to take effect. */
export interface ToolCallStarted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'tool_call_started';
  data: ToolCallStartedData;
}

export interface ToolCallStartedData {
  tool_call: ToolCall;
  kind: ToolKind;
}

/** A call has its result. */
export interface ToolCallCompleted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'tool_call_completed';
  data: ToolCallCompletedData;
}

export interface ToolCallCompletedData {
  tool_call: CallName;
  tool_result: ToolResult;
  duration_ms: number;
  message_id: MessageId;
}

/** A call waits for an answer. */
export interface ApprovalRequested {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'approval_requested';
  data: ApprovalRequestedData;
}

export interface ApprovalRequestedData {
  tool_call: ToolCall;
  kind: ToolKind;
  summary: string;
  rule: Rule;
  options?: Array<ApprovalOption>;
  child?: ChildCall | null;
}

/** The answer was yes. */
export interface ApprovalGranted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'approval_granted';
  data: ApprovalGrantedData;
}

export interface ApprovalGrantedData {
  tool_call_id: ToolCallId;
  tool: string;
  by: string;
  scope: Scope;
  reason: string | null;
  review?: ReviewAnswer | null;
  option?: string | null;
  child?: ChildCall | null;
}

/** The answer was no. */
export interface ApprovalDenied {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'approval_denied';
  data: ApprovalDeniedData;
}

export interface ApprovalDeniedData {
  tool_call_id: ToolCallId;
  tool: string;
  by: string;
  scope: Scope;
  reason: string | null;
  review?: ReviewAnswer | null;
  option?: string | null;
  child?: ChildCall | null;
}

/** The workspace was captured, so that it can be brought back. */
export interface CheckpointCreated {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'checkpoint_created';
  data: CheckpointCreatedData;
}

export interface CheckpointCreatedData {
  checkpoint_id: string;
  moment: Moment;
  files: number;
  bytes: number;
  left_out: number;
}

/** The workspace could not be captured, so the turn cannot be undone. */
export interface CheckpointFailed {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'checkpoint_failed';
  data: CheckpointFailedData;
}

export interface CheckpointFailedData {
  moment: Moment;
  reason: string;
}

/** What the turn changed waits for a person, or is shown to one. */
export interface PatchReviewRequested {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'patch_review_requested';
  data: PatchReviewRequestedData;
}

export interface PatchReviewRequestedData {
  tool_call_id: ToolCallId;
  files: Array<FileChange>;
  waits: boolean;
  more?: number;
  checkpoint_id?: string | null;
  note?: string | null;
}

/** The workspace is being checked. */
export interface VerificationStarted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'verification_started';
  data: VerificationStartedData;
}

export interface VerificationStartedData {
  round: number;
  commands: Array<string>;
}

/** The check is over. */
export interface VerificationCompleted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'verification_completed';
  data: VerificationCompletedData;
}

export interface VerificationCompletedData {
  round: number;
  ok: boolean;
  results: Array<CommandResult>;
}

/** The conversation was made shorter for the model. */
export interface ContextCompacted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'context_compacted';
  /** How a conversation was made shorter. Nothing leaves the log. */
  data: ContextCompactedData;
}

/** How a conversation was made shorter. Nothing leaves the log. */
export interface ContextCompactedData {
  /** The first message that it touches. */
  from_message_id: MessageId;
  /** The last message that it touches. With a summary, this and all before it are no longer shown. */
  to_message_id: MessageId;
  /** The message that takes the place of the range; none when only output was left out. */
  summary_message_id: MessageId | null;
  /** Roughly how many tokens the conversation had. */
  tokens_before: number;
  /** Roughly how many it has now. */
  tokens_after: number;
  /** Why it was done. */
  trigger: CompactionTrigger;
  /** The message itself. */
  summary?: Message | null;
  /** The calls whose output is left out from now on. */
  pruned?: Array<ToolCallId>;
  /** The record from which on the log holds all that is still shown beside the summary. */
  first_kept_seq: number;
}

/** Someone else's agent said something of itself: what can be chosen, what it plans. */
export interface AgentUpdated {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'agent_updated';
  /** What someone else's agent says of itself in a session. */
  data: AgentUpdatedData;
}

/** What someone else's agent says of itself in a session. */
export interface AgentUpdatedData {
  /** What the agent calls the session. */
  agent_session_id: string | null;
  /** What can be chosen, such as its mode and its model. */
  settings?: Array<AgentSetting>;
  /** The commands that it understands at the beginning of a message. */
  commands?: Array<AgentCommand>;
  /** What it means to do. */
  plan?: Array<PlanEntry>;
  /** How a person can log in to it, when it wants that. */
  login?: Array<LoginMethod>;
  /** How many tokens its conversation has, if it says so. */
  context_tokens?: number | null;
  /** How many tokens its model can take, if it says so. */
  context_window?: number | null;
}

/** The session started another one. */
export interface SubagentStarted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'subagent_started';
  data: SubagentStartedData;
}

export interface SubagentStartedData {
  session_id: SessionId;
  tool_call_id: ToolCallId | null;
  subtask?: string | null;
  description: string;
  background: boolean;
}

/** That one has ended. */
export interface SubagentCompleted {
  /** Its place in the session, from 1, without holes: the cursor. */
  seq: number;
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  /** Stands for this record and all before it. */
  chain: string;
  type: 'subagent_completed';
  /** What came of a session that another one started. */
  data: SubagentCompletedData;
}

/** What came of a session that another one started. */
export interface SubagentCompletedData {
  session_id: SessionId;
  /** How it ended. */
  status: ChildStatus;
  /** Its last answer, or what it had written of it. */
  text: string;
  /** Why it failed. */
  error: string | null;
  /** What it has spent. */
  usage: Usage;
}

/** Something that has happened to a session, for ever. */
export type EventRecord = SessionCreated | SessionUpdated | SessionCompleted | SessionFailed | SessionCanceled | MessageAdded | MessageQueued | MessageWithdrawn | TurnStarted | TurnRetried | TurnCompleted | TurnFailed | TurnCanceled | ModelResolved | ModelWaiting | UsageRecorded | ReasoningCompleted | ModelOutputCompleted | ToolBatchStarted | ToolBatchHalted | ToolBatchCompleted | ToolCallStarted | ToolCallCompleted | ApprovalRequested | ApprovalGranted | ApprovalDenied | CheckpointCreated | CheckpointFailed | PatchReviewRequested | VerificationStarted | VerificationCompleted | ContextCompacted | AgentUpdated | SubagentStarted | SubagentCompleted;

/** More of the model's answer. */
export interface ModelOutputDelta {
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  type: 'model_output_delta';
  data: ModelOutputDeltaData;
}

export interface ModelOutputDeltaData {
  /** The message that is being written. */
  message_id: MessageId;
  /** Which of its parts. */
  part: number;
  /** Bytes of UTF-8 before this text in its stream. */
  offset: number;
  /** The text. */
  text: string;
}

/** More of its reasoning. */
export interface ReasoningDelta {
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  type: 'reasoning_delta';
  data: ReasoningDeltaData;
}

export interface ReasoningDeltaData {
  /** The message that is being written. */
  message_id: MessageId;
  /** Which of its parts. */
  part: number;
  /** Bytes of UTF-8 before this text in its stream. */
  offset: number;
  /** The text. */
  text: string;
}

/** More of what a running tool prints. */
export interface ToolOutputDelta {
  /** When, in UTC. */
  ts: string;
  /** The session. */
  session_id: SessionId;
  /** The turn that it belongs to, if any. */
  turn_id: TurnId | null;
  type: 'tool_output_delta';
  data: ToolOutputDeltaData;
}

export interface ToolOutputDeltaData {
  /** The call. */
  tool_call_id: ToolCallId;
  /** `stdout` or `stderr`. */
  stream: string;
  /** Bytes of UTF-8 before this text in its stream. */
  offset: number;
  /** The text. */
  text: string;
}

/** Text as it streams: shown, not recorded. */
export type EventDelta = ModelOutputDelta | ReasoningDelta | ToolOutputDelta;

/** What a session is. */
export interface Session {
  /** Its id. */
  id: SessionId;
  /** When it was made. */
  created_at: string;
  /** When its last event was recorded. */
  updated_at: string;
  /** How it stands. */
  status: SessionStatus;
  /** The directory that it works in. */
  workspace_path: string;
  /** The runner whose machine that directory lies on; left out for the daemon's own. */
  runner?: string | null;
  /** Instructions for the model, if any were given. */
  system_prompt: string | null;
  /** The newest turn. */
  last_turn_id: TurnId | null;
  /** Which agent runs its turns. */
  agent: string;
  /** Which model the agent uses, as `provider:model`. */
  model: string;
  /** Models that take its place, in this order, when it cannot begin to answer. */
  fallback_models: Array<string>;
  /** How much the model thinks; as its maker thinks best when absent. */
  effort: Effort | null;
  /** Whether the traffic with providers is kept in `raw.jsonl`. */
  raw_log: boolean;
  /** Whether thinking, times and tokens are kept in `verbose.md`. */
  verbose_log?: boolean;
  /** The directory in which its readable files are kept, instead of beside its log. */
  log_root?: string | null;
  /** What people call it. */
  title: string | null;
  /** Whether it is put away. */
  archived: boolean;
  /** The session that started it, if one did. */
  parent_session_id: SessionId | null;
  /** How many sessions are above it. */
  depth?: number;
  /** What a program calls it, unique among the open ones. */
  name?: string | null;
  /** What its agent calls it, if that is someone else's. */
  agent_session_id?: string | null;
  /** What was chosen of the agent's settings, such as its mode. */
  agent_settings?: { [key: string]: string };
  /** What it may spend. */
  budget?: Budget | null;
  /** Where its workspace was taken from, when that is a git worktree of its own. */
  worktree?: Worktree | null;
  /** The turn of another session that it goes on from. */
  forked_from?: ForkedFrom | null;
  /** How it is used: `repl`, `serve` or `agent`. */
  mode: string;
  /** Whether a message starts a turn unless it says otherwise. */
  auto_run: boolean;
  /** What it may do by itself. */
  policy: Policy;
  /** Tokens spent so far. */
  usage: Usage;
  /** The key under which its creation was asked for, so that asking twice makes one. */
  idempotency_key?: string | null;
}

/** To answer what was said. */
export interface AnswerPurpose {
  kind: 'answer';
}

/** To make the conversation shorter. */
export interface CompactPurpose {
  kind: 'compact';
}

/** To have other sessions work on a plan. */
export interface SubtasksPurpose {
  kind: 'subtasks';
  /** The plan. */
  plan: Plan;
}

/** What a turn is for. */
export type Purpose = AnswerPurpose | CompactPurpose | SubtasksPurpose;

/** Work that is divided among sessions. */
export interface Plan {
  /** The pieces. */
  subtasks: Array<Subtask>;
  /** How many may be worked on at once; as many as the daemon allows when absent. */
  concurrency?: number | null;
}

/** One piece of a plan. */
export interface Subtask {
  /** Its name in the plan. */
  id: string;
  /** What it is for, in a line; its name when absent. */
  description?: string | null;
  /** What the session is told to do. */
  prompt: string;
  /** Which agent does it; the parent's when absent. */
  agent?: string | null;
  /** Which model is used; the parent's when absent. */
  model?: string | null;
  /** Whether it works in a git worktree of its own. */
  worktree?: boolean;
  /** The pieces that must have been completed before. */
  depends_on?: Array<string>;
  /** What it may spend. */
  budget?: Budget | null;
}

/** A call that a model asked for. */
export interface ToolCall {
  /** Its id, unique within the turn. */
  id: ToolCallId;
  /** The tool's name. */
  name: string;
  /** The arguments, as the model gave them. */
  input: unknown;
}

/** A call without its input. */
export interface CallName {
  /** The call's id. */
  id: ToolCallId;
  /** The tool's name. */
  name: string;
}

/** What became of a call. */
export interface ToolResult {
  /** The call's id. */
  id: ToolCallId;
  /** Whether the tool did what was asked. */
  ok: boolean;
  /** What it said, for the model and for people. */
  parts: Array<Part>;
  /** Why not, when it is not `ok`. */
  error?: string | null;
  /** Files that it left beside the log, relative to the session's folder. */
  artifacts?: Array<string>;
  /** What it did, in structure, for clients (an exit code, a diff). */
  details?: unknown;
}

/** Which call of which session a parent's record speaks of. */
export interface ChildCall {
  /** The session whose call it is. */
  session_id: SessionId;
  /** Its turn. */
  turn_id: TurnId;
  /** The child through which it came up: that session itself, or one above it. */
  via: SessionId;
}

/** When a checkpoint of the workspace was made. */
export type Moment = 'before' | 'after';

/** How one verification command went. */
export interface CommandResult {
  /** The command line. */
  command: string;
  /** Its exit code; none when it was killed or could not start. */
  exit_code: number | null;
  /** How long it took. */
  duration_ms: number;
  /** What it printed, head and tail. */
  output: string;
}

/** Why a conversation was made shorter. */
export type CompactionTrigger = 'threshold' | 'overflow' | 'asked';

/** What `GET /v1/sessions/{session_id}/events` shows beside heartbeats. */
export type SessionEvent = EventRecord | EventDelta;

/** What `list_agent_sessions` can be asked with. */
export interface ListAgentSessionsQuery {
  /** The directory that they work in. */
  workspace_path: string;
}

/** What `list_models` can be asked with. */
export interface ListModelsQuery {
  /** Ask the servers anew, rather than tell what they said last. */
  refresh?: boolean;
}

/** What `get_trust` can be asked with. */
export interface GetTrustQuery {
  /** An existing directory, as an absolute path. */
  workspace_path: string;
}

/** What `list_tools` can be asked with. */
export interface ListToolsQuery {
  /** Also those that sessions of this directory get from servers. */
  workspace_path?: string;
}

/** What `usage` can be asked with. */
export interface UsageQuery {
  /** What a row stands for; `day` when absent. */
  by?: 'day' | 'model' | 'session' | 'workspace' | 'total';
  /** Only what was used at this time or later: an RFC 3339 time, or a date for its beginning. */
  from?: string;
  /** Only what was used before this time: an RFC 3339 time, or a date for its beginning. */
  to?: string;
  /** Only what this session used. */
  session?: string;
  /** Only what was used in this directory. */
  workspace?: string;
  /** Only what this model did, as `provider:model`. */
  model?: string;
  /** How many minutes ahead of UTC days and dates begin; 0 when absent. */
  utc_offset_minutes?: number;
}

/** What `list_directories` can be asked with. */
export interface ListDirectoriesQuery {
  /** An existing directory, as an absolute path; where the daemon works when absent. */
  path?: string;
}

/** What `list_sessions` can be asked with. */
export interface ListSessionsQuery {
  /** Only those that stand like this. */
  status?: 'active' | 'waiting_approval' | 'failed' | 'completed' | 'canceled';
  /** Only those of this directory. */
  workspace?: string;
  /** Only those put away, or only the others. */
  archived?: boolean;
  /** Only those kept at the head of lists, or only the others. */
  pinned?: boolean;
  /** Only those that this session has started. */
  parent?: string;
  /** Those that other sessions have started, too; false when absent. */
  children?: boolean;
  /** Only those in which this was said. */
  q?: string;
  /** How many at most. */
  limit?: number;
  /** Where the page before ended. */
  cursor?: string;
}

/** What `get_session` can be asked with. */
export interface GetSessionQuery {
  /** `messages` adds the newest messages. */
  include?: 'messages';
}

/** What `close_session` can be asked with. */
export interface CloseSessionQuery {
  /** Remove its files as well. */
  purge?: boolean;
}

/** What `session_events` can be asked with. */
export interface SessionEventsQuery {
  /** Go on after this seq. */
  after?: number;
  /** Whether to stay for what is to come; true when absent. */
  follow?: boolean;
  /** Only events of these names, separated by commas. */
  types?: string;
  /** Whether server-sent events have their name in an `event:` line too; false when absent. */
  named?: boolean;
}

/** What `all_events` can be asked with. */
export interface AllEventsQuery {
  /** Go on after this cursor; `start` is the very beginning. Without it, only what is to come. */
  after?: string;
  /** Only events of these names, separated by commas. */
  types?: string;
  /** Whether server-sent events have their name in an `event:` line too; false when absent. */
  named?: boolean;
}

/** What `list_messages` can be asked with. */
export interface ListMessagesQuery {
  /** Messages before this place, as given in the page after it. */
  before?: number;
  /** How many at most. */
  limit?: number;
}

/** What `export_session` can be asked with. */
export interface ExportSessionQuery {
  /** The form of the file; `md` when absent. */
  format?: 'ndjson' | 'md' | 'html' | 'sqlite' | 'zip';
}

/** What `import_session` can be asked with. */
export interface ImportSessionQuery {
  /** What it is; told from its content when absent. */
  format?: 'zip' | 'ndjson' | 'transcript';
  /** The directory that the session works in from now on; the one that it worked in when absent. */
  workspace_path?: string;
}

/** What `find_files` can be asked with. */
export interface FindFilesQuery {
  /** Letters of the path, in this order. */
  q?: string;
  /** How many at most. */
  limit?: number;
}
