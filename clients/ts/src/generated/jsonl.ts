// Made by clients/generate.py from the daemon's own documents. Do not edit.

/** Say something. While a turn runs it waits, unless `delivery` says otherwise. */
export interface PromptClientFrame {
  type: 'prompt';
  /** What to say. */
  text: string;
  /** The session; the active one when absent. */
  session_id?: string | null;
  /** What to do when a turn runs; `queue` when absent. */
  delivery?: Delivery | null;
}

/** How does a session stand? */
export interface StatsClientFrame {
  /** The session; the active one when absent. */
  session_id?: string | null;
  type: 'stats';
}

/** Stop the running turn. There is no answer but the end of the turn. */
export interface AbortClientFrame {
  /** The session; the active one when absent. */
  session_id?: string | null;
  type: 'abort';
}

/** Stop the running turn and forget the conversation; the session keeps its id. */
export interface ResetClientFrame {
  /** The session; the active one when absent. */
  session_id?: string | null;
  type: 'reset';
}

/** Where is a session kept? It is on disk already. */
export interface SaveClientFrame {
  /** The session; the active one when absent. */
  session_id?: string | null;
  type: 'save';
}

/** Which sessions of this directory are on disk? */
export interface ListSessionsClientFrame {
  type: 'list_sessions';
}

/** Which sessions has this connection? */
export interface ListRunningSessionsClientFrame {
  type: 'list_running_sessions';
}

/** Make a session, or go on with one. */
export interface StartSessionClientFrame {
  /** The directory that it works in; that of the connection when absent. */
  cwd?: string | null;
  /** As `provider:model`; that of the active session when absent. */
  model?: string | null;
  /** Instructions for the model. */
  system_prompt?: string | null;
  /** A session to go on with, or where a new one is saved. */
  session_file?: string | null;
  /** The session that it comes from. */
  parent_session?: string | null;
  /** Whether it becomes the active one; false when absent. */
  set_active?: boolean;
  type: 'start_session';
}

/** Close a session. */
export interface CloseSessionClientFrame {
  /** The session; the active one when absent. */
  session_id?: string | null;
  type: 'close_session';
}

/** Say where commands go that name no session. */
export interface SetActiveSessionClientFrame {
  type: 'set_active_session';
  /** The session. */
  session_id: string;
}

/** Answer a question. */
export interface UiResponseClientFrame {
  /** The question. */
  id: string;
  /** What was answered, in the form that the question calls for. */
  result?: unknown;
  /** Why there is no answer. */
  error?: string | null;
  type: 'ui_response';
}

/** Which models are there? */
export interface ListModelsClientFrame {
  type: 'list_models';
}

/** Is anybody there? */
export interface PingClientFrame {
  type: 'ping';
}

/** How does this connection stand? */
export interface DebugClientFrame {
  type: 'debug';
}

/** End. */
export interface QuitClientFrame {
  type: 'quit';
}

/** One line of the client. */
export type ClientFrame = PromptClientFrame | StatsClientFrame | AbortClientFrame | ResetClientFrame | SaveClientFrame | ListSessionsClientFrame | ListRunningSessionsClientFrame | StartSessionClientFrame | CloseSessionClientFrame | SetActiveSessionClientFrame | UiResponseClientFrame | ListModelsClientFrame | PingClientFrame | DebugClientFrame | QuitClientFrame;

/** What to do with a message that comes while a turn runs. */
export type Delivery = 'queue' | 'steer' | 'interrupt';

/** A command to one session. */
export interface OfSession {
  /** The session; the active one when absent. */
  session_id?: string | null;
}

/** What a new session is to be. */
export interface StartSession {
  /** The directory that it works in; that of the connection when absent. */
  cwd?: string | null;
  /** As `provider:model`; that of the active session when absent. */
  model?: string | null;
  /** Instructions for the model. */
  system_prompt?: string | null;
  /** A session to go on with, or where a new one is saved. */
  session_file?: string | null;
  /** The session that it comes from. */
  parent_session?: string | null;
  /** Whether it becomes the active one; false when absent. */
  set_active?: boolean;
}

/** An answer. Null and null is none; an error beats a result. */
export interface UiResponse {
  /** The question. */
  id: string;
  /** What was answered, in the form that the question calls for. */
  result?: unknown;
  /** Why there is no answer. */
  error?: string | null;
}

/** The first line: the primary session is there. */
export interface ReadyServerFrame {
  type: 'ready';
  cwd: string;
  model: ModelName;
  debug: boolean;
  /** Whether questions are asked on this wire. */
  ui: boolean;
  primary_session_id: SessionId | null;
  active_session_id: SessionId | null;
}

/** Something happened in a session. */
export interface EventServerFrame {
  type: 'event';
  session_id: SessionId;
  /** Counts the events of this session on this wire, from 0. */
  event_seq: number;
  event: SessionEvent;
}

/** How a session stands. */
export interface StatsServerFrame {
  type: 'stats';
  session_id: SessionId;
  stats: Stats;
}

/** The answer to `ping`. */
export interface PongServerFrame {
  type: 'pong';
}

/** What is being done, for whoever looks for a mistake. */
export interface DebugServerFrame {
  type: 'debug';
  message: string;
  argv?: Array<string> | null;
}

/** Something could not be done, and nothing was. */
export interface ErrorServerFrame {
  type: 'error';
  message: string;
  /** What to do about it. */
  hint?: string | null;
  session_id?: string | null;
}

/** Where a session is kept. */
export interface SaveResultServerFrame {
  type: 'save_result';
  ok: boolean;
  path: string | null;
  error: string | null;
  session_id: SessionId;
}

/** The sessions on disk that work in this directory, the newest first. */
export interface SessionsListServerFrame {
  type: 'sessions_list';
  sessions: Array<SavedSession>;
  error: string | null;
}

/** The sessions of this connection. */
export interface RunningSessionsServerFrame {
  type: 'running_sessions';
  sessions: Array<RunningSession>;
  error: string | null;
}

/** The models that sessions can have. */
export interface ModelsListServerFrame {
  type: 'models_list';
  providers: Array<ModelProvider>;
}

/** A session is there. */
export interface SessionStartedServerFrame {
  type: 'session_started';
  session_id: SessionId;
  cwd: string;
  model: ModelName;
}

/** A session is no longer of this connection. */
export interface SessionClosedServerFrame {
  type: 'session_closed';
  session_id: string;
  reason: CloseReason;
}

/** Where commands go that name no session; null when there is none. */
export interface ActiveSessionServerFrame {
  type: 'active_session';
  session_id: SessionId | null;
}

/** One of these; the answer is its value. */
export interface SelectUiRequestServerFrame {
  type: 'ui_request';
  id: string;
  session_id: SessionId;
  method: 'select';
  params: SelectUiRequestServerFrameParams;
}

export interface SelectUiRequestServerFrameParams {
  title: string;
  options: Array<Choice>;
  opts: NoOptions;
}

/** Yes or no; the answer is a boolean. */
export interface ConfirmUiRequestServerFrame {
  type: 'ui_request';
  id: string;
  session_id: SessionId;
  method: 'confirm';
  params: ConfirmUiRequestServerFrameParams;
}

export interface ConfirmUiRequestServerFrameParams {
  title: string;
  message: string;
  opts: NoOptions;
}

/** A line of text. */
export interface InputUiRequestServerFrame {
  type: 'ui_request';
  id: string;
  session_id: SessionId;
  method: 'input';
  params: InputUiRequestServerFrameParams;
}

export interface InputUiRequestServerFrameParams {
  title: string;
  placeholder: string | null;
  opts: NoOptions;
}

/** Some lines of text. */
export interface EditorUiRequestServerFrame {
  type: 'ui_request';
  id: string;
  session_id: SessionId;
  method: 'editor';
  params: EditorUiRequestServerFrameParams;
}

export interface EditorUiRequestServerFrameParams {
  title: string;
  prefill: string | null;
  opts: NoOptions;
}

/** A question that nobody here need answer any more. */
export interface UiSettledServerFrame {
  type: 'ui_settled';
  id: string;
  session_id: SessionId;
  outcome: Outcome;
  /** Who answered, if somebody did. */
  by: string | null;
}

/** One line to the client. */
export type ServerFrame = ReadyServerFrame | EventServerFrame | StatsServerFrame | PongServerFrame | DebugServerFrame | ErrorServerFrame | SaveResultServerFrame | SessionsListServerFrame | RunningSessionsServerFrame | ModelsListServerFrame | SessionStartedServerFrame | SessionClosedServerFrame | ActiveSessionServerFrame | SelectUiRequestServerFrame | ConfirmUiRequestServerFrame | InputUiRequestServerFrame | EditorUiRequestServerFrame | UiSettledServerFrame;

/** A model, taken apart. */
export interface ModelName {
  provider: string;
  id: string;
}

export type SessionId = string;

/** A turn began. */
export interface AgentStartSessionEvent {
  type: 'agent_start';
}

/** A turn ended, however it ended. The messages that came of it. */
export interface AgentEndSessionEvent {
  type: 'agent_end';
  data: [Array<WireMessage>];
}

/** A step began: one answer of the model, and the calls that it asks for. */
export interface TurnStartSessionEvent {
  type: 'turn_start';
}

/** A step ended: the answer, and what the calls came to. */
export interface TurnEndSessionEvent {
  type: 'turn_end';
  data: [WireMessage, Array<WireMessage>];
}

/** A message begins. */
export interface MessageStartSessionEvent {
  type: 'message_start';
  data: [WireMessage];
}

/** The message so far, which replaces what was shown of it, and what is new. */
export interface MessageUpdateSessionEvent {
  type: 'message_update';
  data: [WireMessage, TextDelta];
}

/** A message is whole. */
export interface MessageEndSessionEvent {
  type: 'message_end';
  data: [WireMessage];
}

/** A call takes effect: its id, its tool, its arguments. */
export interface ToolExecutionStartSessionEvent {
  type: 'tool_execution_start';
  data: [string, string, unknown];
}

/** What a call has printed so far, which replaces what was shown of it. */
export interface ToolExecutionUpdateSessionEvent {
  type: 'tool_execution_update';
  data: [string, string, unknown, WireResult];
}

/** A call has its result: its id, its tool, the result, whether it failed. */
export interface ToolExecutionEndSessionEvent {
  type: 'tool_execution_end';
  data: [string, string, WireResult, boolean];
}

/** A turn failed: why, and what the model had written. `agent_end` follows. */
export interface ErrorSessionEvent {
  type: 'error';
  data: [string, WireMessage | null];
}

/** What happened in a session. `data` is positional, and absent when there is nothing to say. */
export type SessionEvent = AgentStartSessionEvent | AgentEndSessionEvent | TurnStartSessionEvent | TurnEndSessionEvent | MessageStartSessionEvent | MessageUpdateSessionEvent | MessageEndSessionEvent | ToolExecutionStartSessionEvent | ToolExecutionUpdateSessionEvent | ToolExecutionEndSessionEvent | ErrorSessionEvent;

/** By the person, or the program that speaks for one. */
export interface UserWireMessage {
  role: 'user';
  id: MessageId;
  content: Array<Block>;
  /** Milliseconds since 1970. */
  timestamp: number;
}

/** By the model. */
export interface AssistantWireMessage {
  role: 'assistant';
  id: MessageId;
  content: Array<Block>;
  provider: string;
  model: string;
  /** What runs the session's turns. */
  api: string;
  usage: WireUsage;
  /** Absent while the message is being written. */
  stop_reason?: StopReason | null;
  /** Why it ended early. */
  error_message: string | null;
  /** Milliseconds since 1970. */
  timestamp: number;
}

/** By a tool, answering a call. */
export interface ToolResultWireMessage {
  role: 'tool_result';
  id: MessageId;
  tool_call_id: string;
  tool_name: string;
  content: Array<Block>;
  /** What the tool did, in structure. */
  details: unknown;
  is_error: boolean;
  /** Milliseconds since 1970. */
  timestamp: number;
}

/** Something that was said. */
export type WireMessage = UserWireMessage | AssistantWireMessage | ToolResultWireMessage;

export type MessageId = string;

/** Plain text or markdown. */
export interface TextBlock {
  type: 'text';
  text: string;
}

/** What the model thought aloud. */
export interface ThinkingBlock {
  type: 'thinking';
  thinking: string;
}

/** A call that the model asks for. */
export interface ToolCallBlock {
  type: 'tool_call';
  id: string;
  name: string;
  arguments: unknown;
}

/** A picture beside the session's log. */
export interface ImageBlock {
  type: 'image';
  /** Where it lies in the session's folder. */
  ref: string;
  mime_type: string;
}

/** A piece of a message. */
export type Block = TextBlock | ThinkingBlock | ToolCallBlock | ImageBlock;

/** Tokens, and what they cost. */
export interface WireUsage {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  total_tokens: number;
  cost: WireCost;
}

/** US dollars. */
export interface WireCost {
  /** Null when no price is known. */
  total: number | null;
}

/** Why a message ended. */
export type StopReason = 'stop' | 'length' | 'tool_use' | 'error' | 'aborted';

/** Of the answer. */
export interface TextDeltaTextDelta {
  type: 'text_delta';
  content_index: number;
  delta: string;
}

/** Of the reasoning. */
export interface ThinkingDeltaTextDelta {
  type: 'thinking_delta';
  content_index: number;
  delta: string;
}

/** Text that has just come. */
export type TextDelta = TextDeltaTextDelta | ThinkingDeltaTextDelta;

/** What a tool came to. */
export interface WireResult {
  content: Array<Block>;
  details: unknown;
}

/** How a session stands, in figures. */
export interface Stats {
  session_id: SessionId;
  /** What people, the model and tools have said. */
  message_count: number;
  turn_count: number;
  /** Whether a turn runs or waits. */
  is_streaming: boolean;
  cwd: string;
  model: ModelName;
  /** How much the model thinks; null when that is left to its maker. */
  thinking_level: string | null;
  usage: WireUsage;
  /** Messages that wait for their turn. */
  queued: number;
  /** Calls that wait for an answer. */
  pending_approvals: number;
}

/** A session on disk. */
export interface SavedSession {
  /** Its log, which `start_session` takes as `session_file`. */
  path: string;
  id: SessionId;
  /** Its last activity, in milliseconds since 1970. */
  timestamp: number;
  cwd: string;
  title: string | null;
}

/** A session of this connection. */
export interface RunningSession {
  session_id: SessionId;
  cwd: string;
  is_streaming: boolean;
}

/** A provider and its models. */
export interface ModelProvider {
  id: string;
  models: Array<ListedModel>;
}

/** A model of a provider. */
export interface ListedModel {
  id: string;
  /** What `start_session` takes as `model`. */
  name: string;
}

/** Why a session is no longer of this connection. */
export type CloseReason = 'normal' | 'not_found' | 'error';

/** One of the answers that can be chosen. */
export interface Choice {
  label: string;
  value: string;
  description?: string | null;
}

/** Nothing in particular. */
export type NoOptions = { [key: string]: unknown };

/** How a question was settled. */
export type Outcome = 'approved' | 'denied' | 'withdrawn';
