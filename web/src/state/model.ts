// What the parts of the page know of each other: an open session, the entries of its transcript, and what waits.
// Only types. `session.svelte.ts` fills them from events; transcript, composer, approvals and review read them.
//
// The pane of a session (shell/SessionPane.svelte) puts together `transcript/Transcript.svelte`, `review/ReviewPanel.svelte`,
// `approvals/ApprovalDock.svelte` and `composer/Composer.svelte`, each with the one property `session: OpenSession`; its header has
// `composer/ContextRing.svelte`. `approvals/ApprovalList.svelte` (no properties) lists what waits over all sessions, from `app.list`.
// Errors are shown with `tell(error)` and notices with `say(text, action?)` of `shell/toasts.svelte.ts`; a session is shown with
// `app.showSession(id)` of `state/app.svelte.ts`, which also has `app.models` and `app.agents`; the colours are in `app.css`.
// A turn's changes are shown with `showReview(id, turnId)` and its undoing is asked for with `askUndo(id, turnId)` of
// `review/review-state.svelte.ts`; `reviewStateOf(id).reviewing` is the turn that the review panel shows, or null while it is closed.

import type {
  Child,
  CommandResult,
  Delivery,
  Failure,
  FileChange,
  InputPart,
  Part,
  PendingApproval,
  Queued,
  Shown,
  ToolKind,
  ToolResult,
  TurnSummary,
  Usage,
} from '../api/types'

/**
 * A session that is open in a tab. The fields are reactive when read in a component. `entries`, `approvals` and `queue` are
 * replaced, never changed in place, and an entry that has not changed stays the same object: compare with `===`.
 */
export interface OpenSession {
  readonly id: string
  /**
   * The session as the daemon describes it (title, status, agent, model, usage, context, turns, policy, children …), kept up
   * to date; null until it is loaded.
   */
  readonly session: Shown | null
  /** The transcript in order, as far as it is loaded. */
  readonly entries: readonly Entry[]
  /** Whether there is more before the first entry. */
  readonly hasOlder: boolean
  readonly loadingOlder: boolean
  /** Loads the page before the first entry. Does nothing while one is being loaded. */
  loadOlder(): Promise<void>
  /** What waits for an answer, that of children included; patch reviews are among them, with tool `patch_review`. */
  readonly approvals: readonly PendingApproval[]
  /** Messages that wait for their turn, first one first. */
  readonly queue: readonly Queued[]
  /** Messages that have not reached the daemon yet: they are sent when it can be reached. */
  readonly outbox: readonly Outgoing[]
  readonly running: RunningTurn | null
  readonly connection: Connection
  /** Why it could not be loaded. */
  readonly problem: Failure | null
  /** The patch review that waits for an answer, if there is one. */
  readonly review: PatchReview | null
  /** The newest change of a turn that was shown, whether it waited or not. */
  readonly lastReview: PatchReview | null
  /**
   * Says something: puts it into the outbox, sends it, and takes it out again when the daemon has it. Resolves as soon as it is
   * in the outbox; what the daemon refuses stays there as `failed`, with the reason.
   */
  say(parts: InputPart[], delivery?: Delivery): void
  /** Tries again to send what was refused. */
  resend(key: string): void
  /** Takes something out of the outbox, and gives its parts back. */
  unsay(key: string): InputPart[]
}

/** How the page hears of the daemon. */
export type Connection = 'connecting' | 'live' | 'lost'

/** The turn that runs or waits. */
export interface RunningTurn {
  readonly id: string
  readonly startedAt: string
  /** What goes on, for people: "Reading src/a.rs", "Waiting for an answer", "Thinking". */
  readonly activity: string
}

/** A message that has not reached the daemon yet. */
export interface Outgoing {
  readonly key: string
  readonly parts: InputPart[]
  readonly delivery: Delivery
  readonly state: 'sending' | 'waiting' | 'failed'
  readonly error: Failure | null
}

/** A turn's whole change, as a question or only to be seen. */
export interface PatchReview {
  readonly turnId: string
  /** Names it in `approve`. */
  readonly toolCallId: string
  readonly files: readonly FileChange[]
  /** Files that are not shown, and follow the answer as a whole. */
  readonly more: number
  readonly waits: boolean
  /** Why the change cannot be shown, if it cannot. */
  readonly note: string | null
}

/** A piece of the transcript. `key` stays the same from its first delta to the finished record, and over a reload. */
export type Entry =
  | MessageEntry
  | ThinkingEntry
  | ToolEntry
  | VerificationEntry
  | ReviewEntry
  | CompactionEntry
  | NoteEntry
  | TurnEndEntry

/** Something said. A user's message is one entry; of an assistant's, each text part is one. */
export interface MessageEntry {
  readonly kind: 'message'
  readonly key: string
  /** The message's id. */
  readonly id: string
  readonly role: 'user' | 'assistant' | 'system'
  readonly parts: readonly Part[]
  readonly turnId: string | null
  readonly at: string
  /** Whether more of it is coming. */
  readonly streaming: boolean
}

/** What the model thought aloud. */
export interface ThinkingEntry {
  readonly kind: 'thinking'
  readonly key: string
  readonly id: string
  readonly turnId: string | null
  readonly at: string
  readonly text: string
  readonly streaming: boolean
}

/** A tool call, from the model's asking to its result. */
export interface ToolEntry {
  readonly kind: 'tool'
  readonly key: string
  readonly callId: string
  readonly turnId: string
  readonly at: string
  readonly name: string
  /** Null until the call has started or was asked about. */
  readonly toolKind: ToolKind | null
  readonly input: unknown
  readonly status: ToolStatus
  /** What it has printed so far, as far as it is kept: the newest 256 KiB of each stream. */
  readonly output: { readonly stdout: string; readonly stderr: string; readonly cut: boolean }
  /** Its result: parts for people, `details` (exit code, diff …) and artifacts. */
  readonly result: ToolResult | null
  readonly durationMs: number | null
  readonly startedAt: string | null
  /** The session that it has started, and how that one fares. */
  readonly child: ChildRun | null
  /** Who answered the approval, where one was needed. */
  readonly answer: { granted: boolean; by: string; reason: string | null; scope: string | null } | null
}

export type ToolStatus = 'proposed' | 'waiting' | 'running' | 'done' | 'failed' | 'denied' | 'canceled' | 'interrupted'

/** A session that a call or a plan has started. */
export interface ChildRun {
  readonly sessionId: string
  readonly description: string
  readonly background: boolean
  readonly status: 'running' | 'completed' | 'failed' | 'canceled'
  readonly text: string
  readonly usage: Usage | null
}

/** A check of the workspace. */
export interface VerificationEntry {
  readonly kind: 'verification'
  readonly key: string
  readonly turnId: string | null
  readonly at: string
  readonly round: number
  readonly commands: readonly string[]
  /** Null while it runs. */
  readonly ok: boolean | null
  readonly results: readonly CommandResult[]
}

/** The turn's change was shown, or asked about. */
export interface ReviewEntry {
  readonly kind: 'review'
  readonly key: string
  readonly turnId: string
  readonly at: string
  readonly review: PatchReview
  readonly answer: { granted: boolean; by: string; reason: string | null } | null
}

/** The conversation was made shorter for the model. */
export interface CompactionEntry {
  readonly kind: 'compaction'
  readonly key: string
  readonly turnId: string | null
  readonly at: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly trigger: string
  readonly summary: string | null
}

/** A line about the session itself: another model took over, the model is waited for, a child was started by a plan. */
export interface NoteEntry {
  readonly kind: 'note'
  readonly key: string
  readonly turnId: string | null
  readonly at: string
  readonly text: string
  readonly level: 'info' | 'warning'
  readonly child: ChildRun | null
}

/** The end of a turn. */
export interface TurnEndEntry {
  readonly kind: 'turn_end'
  readonly key: string
  readonly turnId: string
  readonly at: string
  readonly outcome: 'completed' | 'failed' | 'canceled'
  readonly verified: boolean | null
  readonly error: Failure | null
  /** Why it failed in a word (`interrupted` after a crash), or why somebody stopped it. */
  readonly reason: string | null
  readonly by: string | null
  readonly usage: Usage | null
  readonly durationMs: number | null
  /** Whether it changed the workspace, as far as is known, so that its changes can be seen and undone. */
  readonly canUndo: boolean
  /** Whether it is the session's last turn and can be repeated. */
  readonly canRetry: boolean
}

export type { Child, TurnSummary }
