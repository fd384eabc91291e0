// Made by clients/generate.py from the daemon's own documents. Do not edit.

/** What a client calls its request: a text that is not empty, or a number that is not 0. */
export type Id = string | number;

/** The answer to an `auth` frame. */
export interface AuthReply {
  type: AuthKind;
  /** Whether the client is in. */
  ok: boolean;
  /** Why it is not. */
  error?: string | null;
}

export type AuthKind = 'auth';

/** The answer to a request that was carried out. */
export interface Response {
  /** The request's own. */
  id: Id;
  /** What came of it. */
  result: Outcome;
}

/** Of `agents.list`. */
export interface AgentsOutcome {
  /** The default one first. */
  agents: Array<AgentInfo>;
}

/** Of `sessions.create`. */
export interface SessionKeyOutcome {
  /** The new session. */
  sessionKey: string;
  /** The same session as `sessions.list` shows it. */
  meta: SessionMeta;
}

/** Of `sessions.list`. */
export interface SessionsOutcome {
  /** Newest first. */
  sessions: Array<SessionMeta>;
}

/** Of `chat.send`. */
export interface RunIdOutcome {
  /** The run that answers the message. */
  runId: string;
}

/** Of `chat.history`. */
export interface MessagesOutcome {
  /** Oldest first. */
  messages: Array<TranscriptMessage>;
}

/** Of `chat.abort`, `exec.approve` and `exec.deny`. */
export interface OkOutcome {
  /** Always true. */
  ok: boolean;
}

/** Of `approvals.list`. */
export interface ApprovalsOutcome {
  /** Oldest first. */
  approvals: Array<WaitingApproval>;
}

/** What comes of a request, by method. */
export type Outcome = Health | AgentsOutcome | SessionKeyOutcome | SessionsOutcome | SessionDetail | RunIdOutcome | MessagesOutcome | OkOutcome | ApprovalsOutcome;

/** That the daemon is there; also the answer to `GET /health`. */
export interface Health {
  /** Always `ok`. */
  status: string;
  /** Seconds since the daemon started. */
  uptime: number;
}

/** An agent that sessions can be made for. */
export interface AgentInfo {
  /** What `sessions.create` takes as `agentId`. */
  id: string;
  /** The same. */
  name: string;
  /** Its model. */
  model: string;
  /** What it is for. */
  description: string;
}

/** A session in a list. */
export interface SessionMeta {
  /** Its key. */
  key: string;
  /** The agent that it was made for. */
  agentId: string;
  /** When it was made, in milliseconds since 1970. */
  createdAt: number;
  /** When something last happened in it. */
  updatedAt: number;
  /** What people call it: its title, or the beginning of its first message. */
  label?: string | null;
}

/** A session with its conversation. */
export interface SessionDetail {
  /** The session. */
  session: SessionMeta;
  /** Its conversation, oldest first; without its beginning where it is very long. */
  messages: Array<TranscriptMessage>;
  /** How its newest run stands, so that a client which was away knows what it has missed. */
  lastRun?: RunInfo | null;
}

/** Something said in a session. */
export interface TranscriptMessage {
  /** Who said it. */
  role: TranscriptRole;
  /** What was said. */
  content: string;
  /** When, in milliseconds since 1970. */
  timestamp: number;
  /** The run that it belongs to. */
  runId?: string | null;
  /** The tool that answered. */
  toolName?: string | null;
}

export type TranscriptRole = 'user' | 'assistant' | 'tool_result';

/** How a run stands. */
export interface RunInfo {
  /** The run. */
  runId: string;
  /** `running`, `completed`, `failed` or `aborted`. */
  status: RunStatus;
  /** Why it failed. */
  message?: string | null;
}

export type RunStatus = 'running' | 'completed' | 'failed' | 'aborted';

/** A call that waits for an answer, in a list. */
export interface WaitingApproval {
  /** What `exec.approve` and `exec.deny` take. */
  approvalId: string;
  /** The tool. */
  toolName: string;
  /** What it is to do, in a line. */
  summary: string;
  /** The call's input. */
  details: unknown;
  /** The session that asks. */
  sessionKey: string;
  /** The run that asks. */
  runId: string;
  /** Since when, in milliseconds since 1970. */
  requestedAt: number;
}

/** The answer to a request that was not carried out, or to something that was no request. */
export interface ErrorResponse {
  /** The request's own; null when it had none that can be used. */
  id: Id | null;
  /** Why not. */
  error: RpcError;
}

/** Why a request was not carried out. */
export interface RpcError {
  /** -32700 no JSON, -32600 no request, -32601 no such method, -32602 wrong params, -32603 anything else. */
  code: number;
  /** What happened, and what was expected. */
  message: string;
}

/** More text of an answer; to be appended. */
export interface ChatDeltaServerEvent {
  event: 'chat.delta';
  data: ChatDeltaServerEventData;
}

export interface ChatDeltaServerEventData {
  /** The run. */
  runId: string;
  /** The text. */
  text: string;
}

/** A run is over: as it should be, or because somebody stopped it. */
export interface ChatFinalServerEvent {
  event: 'chat.final';
  data: ChatFinalServerEventData;
}

export interface ChatFinalServerEventData {
  /** The run. */
  runId: string;
  /** What it took, over all its steps. */
  usage: RunUsage;
  /** True when it was stopped; what it had written is in the history. */
  aborted?: boolean | null;
}

/** A run has failed, and is over. */
export interface ChatErrorServerEvent {
  event: 'chat.error';
  data: ChatErrorServerEventData;
}

export interface ChatErrorServerEventData {
  /** The run. */
  runId: string;
  /** Why. */
  message: string;
}

/** A tool has answered. */
export interface ChatToolResultServerEvent {
  event: 'chat.tool_result';
  data: ChatToolResultServerEventData;
}

export interface ChatToolResultServerEventData {
  /** The run. */
  runId: string;
  /** The tool. */
  tool: string;
  /** How its program ended, where it ran one. */
  exitCode?: number | null;
  /** What it said; the first 8,000 characters. */
  output: string;
}

/** A call waits for an answer. */
export interface ExecApprovalRequestServerEvent {
  event: 'exec.approval_request';
  data: ApprovalRequest;
}

/** Somebody has answered, here or elsewhere. */
export interface ExecApprovalResolvedServerEvent {
  event: 'exec.approval_resolved';
  data: ExecApprovalResolvedServerEventData;
}

export interface ExecApprovalResolvedServerEventData {
  /** The question. */
  approvalId: string;
  /** The answer. */
  approved: boolean;
  /** Who answered. */
  by: string;
  /** Why. */
  reason?: string | null;
}

/** A tool has begun, or a run waits for its model. */
export interface ToolProgressServerEvent {
  event: 'tool.progress';
  data: ToolProgressServerEventData;
}

export interface ToolProgressServerEventData {
  /** The run. */
  runId: string;
  /** What goes on. */
  message: string;
}

/** The socket follows too many sessions, and no longer this one. */
export interface SessionsReleasedServerEvent {
  event: 'sessions.released';
  data: SessionsReleasedServerEventData;
}

export interface SessionsReleasedServerEventData {
  /** The session; name it again to follow it again. */
  sessionKey: string;
}

/** What happens in a session, to everybody on a socket that has named it. */
export type ServerEvent = ChatDeltaServerEvent | ChatFinalServerEvent | ChatErrorServerEvent | ChatToolResultServerEvent | ExecApprovalRequestServerEvent | ExecApprovalResolvedServerEvent | ToolProgressServerEvent | SessionsReleasedServerEvent;

/** What a run took. */
export interface RunUsage {
  inputTokens: number;
  outputTokens: number;
}

/** A call that waits for an answer. */
export interface ApprovalRequest {
  /** What `exec.approve` and `exec.deny` take. */
  approvalId: string;
  /** The tool. */
  toolName: string;
  /** What it is to do, in a line. */
  summary: string;
  /** The call's input. */
  details: unknown;
}

/** The first frame of every connection. */
export interface AuthClientFrame {
  type: 'auth';
  token: string;
}

export interface HealthCheckClientFrame {
  id: Id;
  method: 'health.check';
  params?: HealthCheckClientFrameParams;
}

export interface HealthCheckClientFrameParams {
}

export interface AgentsListClientFrame {
  id: Id;
  method: 'agents.list';
  params?: AgentsListClientFrameParams;
}

export interface AgentsListClientFrameParams {
}

export interface SessionsCreateClientFrame {
  id: Id;
  method: 'sessions.create';
  params?: SessionsCreateClientFrameParams;
}

export interface SessionsCreateClientFrameParams {
  agentId?: string | null;
}

export interface SessionsListClientFrame {
  id: Id;
  method: 'sessions.list';
  params?: SessionsListClientFrameParams;
}

export interface SessionsListClientFrameParams {
}

export interface SessionsGetClientFrame {
  id: Id;
  method: 'sessions.get';
  params: SessionsGetClientFrameParams;
}

export interface SessionsGetClientFrameParams {
  sessionKey: string;
}

export interface ChatSendClientFrame {
  id: Id;
  method: 'chat.send';
  params: ChatSendClientFrameParams;
}

export interface ChatSendClientFrameParams {
  sessionKey: string;
  message: string;
}

export interface ChatHistoryClientFrame {
  id: Id;
  method: 'chat.history';
  params: ChatHistoryClientFrameParams;
}

export interface ChatHistoryClientFrameParams {
  sessionKey: string;
  limit?: number;
}

export interface ChatAbortClientFrame {
  id: Id;
  method: 'chat.abort';
  params: ChatAbortClientFrameParams;
}

export interface ChatAbortClientFrameParams {
  runId: string;
}

export interface ExecApproveClientFrame {
  id: Id;
  method: 'exec.approve';
  params: ExecApproveClientFrameParams;
}

export interface ExecApproveClientFrameParams {
  approvalId: string;
  reason?: string | null;
}

export interface ExecDenyClientFrame {
  id: Id;
  method: 'exec.deny';
  params: ExecDenyClientFrameParams;
}

export interface ExecDenyClientFrameParams {
  approvalId: string;
  reason?: string | null;
}

export interface ApprovalsListClientFrame {
  id: Id;
  method: 'approvals.list';
  params?: ApprovalsListClientFrameParams;
}

export interface ApprovalsListClientFrameParams {
}

export type ClientFrame = AuthClientFrame | HealthCheckClientFrame | AgentsListClientFrame | SessionsCreateClientFrame | SessionsListClientFrame | SessionsGetClientFrame | ChatSendClientFrame | ChatHistoryClientFrame | ChatAbortClientFrame | ExecApproveClientFrame | ExecDenyClientFrame | ApprovalsListClientFrame;

export type ServerFrame = AuthReply | Response | ErrorResponse | ServerEvent;
