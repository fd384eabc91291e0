// The nouns of the http door, made from the daemon's Rust types, under the names by which the page knows them.

import type { AgentDescription, DirectoryList, Entry, SettingsView } from '../../../clients/ts/src/generated/http'

export type {
  AgentCommand,
  AgentSession,
  AgentSetting,
  AgentState,
  AnswerBody,
  ApprovalDiff,
  ApprovalOption,
  Child,
  ChildOutcome,
  CommandResult,
  Context,
  ContextView,
  Delivery,
  Effort,
  EventDelta,
  EventRecord,
  Failure,
  FileChange,
  FoundFile,
  InputPart,
  Keyed,
  Message,
  MessageId,
  ModelInfo,
  Models,
  NewSessionBody,
  Part,
  PendingApproval,
  Picture,
  PlanEntry,
  Policy,
  PolicyBody,
  Project,
  Queued,
  RejectedFile,
  ReviewAnswer,
  ReviewComment,
  Rule,
  Scope,
  Session,
  SessionEvent,
  SessionId,
  SessionStatus,
  Shown,
  Stored,
  ToolCall,
  ToolKind,
  ToolResult,
  Trusted,
  TurnDiff,
  TurnId,
  TurnStatus,
  TurnSummary,
  Undone,
  UpdateBody,
  Usage,
  UsageTable,
  Verdict,
} from '../../../clients/ts/src/generated/http'

/** A session in a list. */
export type Listed = Entry

/** An agent that sessions can have. What is empty is left out. */
export type AgentInfo = Omit<AgentDescription, 'settings' | 'processes'> &
  Partial<Pick<AgentDescription, 'settings' | 'processes'>>

/** What lies in a directory, for the picker. */
export type Directories = DirectoryList

/** How the daemon is set up. Keys are never part of it. */
export type Settings = SettingsView
