// How each record changes what is known of a session: the same rules as the daemon's own, on the view that it shows.
// Pure. The transcript is folded elsewhere (entries.ts); golden logs prove that both sides come to the same view.

import type { Child, EventRecord, PendingApproval, Rule, Session, Shown, TurnSummary, Usage } from '../api/types'
import { applyToChildren, dropEndNotice, isOfInterest } from './apply-children'

/** The part of a session's view that follows from its records. */
export type View = Omit<Shown, 'context' | 'log_dir' | 'trusted'>

/** A view, and what a running turn has used so far, which is shown only when it ends. */
export interface Folded<V extends View = View> {
  view: V
  turnUsage: Usage
}

const LIMITS = { turns: 50, rules: 1000, label: 1000, title: 80 }
const PATCH_REVIEW = 'patch_review'
export const NO_USAGE: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: null,
  reasoning_tokens: 0,
}

/** Folds a whole log, which begins with `session_created`. */
export function fold(records: readonly EventRecord[]): View | null {
  const [first, ...rest] = records
  if (first?.type !== 'session_created') return null
  const begun = { view: begin(first.data.session, first.seq), turnUsage: NO_USAGE }
  return rest.reduce<Folded>((folded, record) => apply(folded, record), begun).view
}

/** The view of a session of which nothing else is known. */
export function begin(session: Session, seq: number): View {
  return {
    ...session,
    running_turn_id: null,
    turns: [],
    pending_approvals: [],
    queue: [],
    children: [],
    context_tokens: null,
    last_seq: seq,
  }
}

/** Folds one more record. A record of a type that is not known changes nothing but the cursor. */
export function apply<V extends View>({ view: before, turnUsage }: Folded<V>, record: EventRecord): Folded<V> {
  const draft: ViewDraft = {
    // A new title or a pin does not make a session newer.
    view: {
      ...before,
      last_seq: record.seq,
      updated_at: record.type === 'session_updated' ? before.updated_at : record.ts,
    },
    own: before.pending_approvals.filter((approval) => approval.session_id === before.id),
    usage: turnUsage,
  }
  change(draft, record)
  const { view, own } = draft
  view.pending_approvals = [...own, ...(view.children ?? []).flatMap((child) => child.approvals)]
  settleStatus(view)
  return { view: view as V, turnUsage: draft.usage }
}

/** What a record works on: a copy of the view, its own approvals, the usage of the open turn. */
export interface ViewDraft {
  view: View
  own: PendingApproval[]
  usage: Usage
}

function change(draft: ViewDraft, record: EventRecord): void {
  const { view } = draft
  switch (record.type) {
    case 'session_created':
    case 'session_updated':
      return replaceSession(view, record.data.session)
    case 'session_completed':
      view.status = 'completed'
      return
    case 'session_failed':
      view.status = 'failed'
      return
    case 'session_canceled':
      view.status = 'canceled'
      return
    case 'message_added':
      return addMessage(draft, record)
    case 'message_queued':
      return enqueue(view, record)
    case 'message_withdrawn':
      view.queue = view.queue.filter((queued) => queued.message.id !== record.data.message_id)
      return
    case 'turn_started':
      return startTurn(draft, record)
    case 'turn_completed':
      return endTurn(draft, record.ts, { status: 'completed', verified: record.data.verified, error: null })
    case 'turn_failed':
      return endTurn(draft, record.ts, { status: 'failed', verified: null, error: short(record.data.error.message) })
    case 'turn_canceled':
      return endTurn(draft, record.ts, { status: 'canceled', verified: null, error: null })
    case 'checkpoint_created':
    case 'checkpoint_failed':
      return checkpoint(view, record)
    case 'usage_recorded':
      // What a message took stands with the message too.
      if (record.data.message_id == null) spend(draft, record.turn_id, record.data.usage)
      return
    case 'context_compacted':
      view.context_tokens = record.data.tokens_after
      return
    case 'agent_updated':
      if (record.data.agent_session_id) view.agent_session_id = record.data.agent_session_id
      view.context_tokens = record.data.context_tokens ?? view.context_tokens ?? null
      view.agent_state = record.data
      return
    case 'subagent_started':
    case 'subagent_completed':
      return applyToChildren(view, record)
    case 'approval_requested':
    case 'approval_granted':
    case 'approval_denied':
      if (record.data.child) return applyToChildren(view, record)
      return applyToTurn(draft, record)
    case 'model_output_completed':
    case 'tool_batch_completed':
    case 'tool_call_started':
    case 'tool_call_completed':
    case 'patch_review_requested':
      return applyToTurn(draft, record)
    case 'turn_retried':
    case 'model_resolved':
    case 'model_waiting':
    case 'reasoning_completed':
    case 'tool_batch_started':
    case 'tool_batch_halted':
    case 'verification_started':
    case 'verification_completed':
      return
    default:
      return ignoreUnknown(record)
  }
}

/** A record of a type that this page does not know comes from a newer daemon. A known type that is missed above does not compile. */
function ignoreUnknown(_record: never): void {}

/** The records that mean something only while a turn runs. */
type TurnRecord = Of<
  | 'model_output_completed'
  | 'tool_batch_completed'
  | 'tool_call_started'
  | 'tool_call_completed'
  | 'approval_requested'
  | 'approval_granted'
  | 'approval_denied'
  | 'patch_review_requested'
>

/** The events of a running turn. Without one they change nothing: a repair may follow a crash. */
function applyToTurn(draft: ViewDraft, record: TurnRecord): void {
  const { view } = draft
  const turnId = view.running_turn_id
  if (!turnId) return
  switch (record.type) {
    case 'model_output_completed': {
      const { usage } = record.data
      const tokens = (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0)
      if (tokens > 0) view.context_tokens = tokens
      draft.usage = plus(draft.usage, usage)
      view.usage = plus(view.usage, usage)
      draft.own = []
      return
    }
    case 'tool_batch_completed':
      draft.own = []
      return
    case 'tool_call_started':
    case 'tool_call_completed':
      draft.own = draft.own.filter((approval) => approval.tool_call_id !== record.data.tool_call.id)
      return
    case 'approval_requested': {
      const { tool_call: call, kind, summary, rule, options } = record.data
      draft.own = [
        ...draft.own,
        {
          session_id: record.session_id,
          turn_id: turnId,
          tool_call_id: call.id,
          tool: call.name,
          input: call.input,
          kind,
          summary,
          rule,
          ...(options?.length ? { options } : {}),
          requested_at: record.ts,
        },
      ]
      return
    }
    case 'patch_review_requested':
      if (record.data.waits) draft.own = [askForReview(record, turnId)]
      return
    case 'approval_granted':
    case 'approval_denied':
      return answer(draft, record)
    default:
      return ignoreUnknown(record)
  }
}

type Of<T extends EventRecord['type']> = Extract<EventRecord, { type: T }>

function answer(draft: ViewDraft, record: Of<'approval_granted'> | Of<'approval_denied'>): void {
  const { tool_call_id: id, tool } = record.data
  const asked = draft.own.find((approval) => approval.tool_call_id === id)
  draft.own = tool === PATCH_REVIEW ? [] : draft.own.filter((approval) => approval !== asked)
  const lasts = record.type === 'approval_granted' && record.data.scope !== 'once'
  if (asked && lasts && tool !== PATCH_REVIEW) rememberRule(draft.view, asked.rule)
}

/** Lets the whole change of the turn wait for an answer, like a call. */
function askForReview(record: Of<'patch_review_requested'>, turnId: string): PendingApproval {
  const { tool_call_id: id, files, checkpoint_id, note } = record.data
  const more = record.data.more ?? 0
  const input = { files, more, ...(checkpoint_id ? { checkpoint_id } : {}), ...(note ? { note } : {}) }
  return {
    session_id: record.session_id,
    turn_id: turnId,
    tool_call_id: id,
    tool: PATCH_REVIEW,
    input,
    kind: 'write',
    summary: reviewSummary(record),
    rule: { tool: PATCH_REVIEW, subject: id, whole: true } as Rule,
    requested_at: record.ts,
  }
}

function reviewSummary({ data: { files, more = 0, note } }: Of<'patch_review_requested'>): string {
  if (note) return `keep the change of this turn, which cannot be shown: ${short(note)}`
  const added = files.reduce((sum, file) => sum + file.added, 0)
  const removed = files.reduce((sum, file) => sum + file.removed, 0)
  const count = files.length + more
  const shown = more === 0 ? '' : ` in the ${files.length} that are shown`
  return `keep the change of this turn: ${count} ${count === 1 ? 'file' : 'files'}, +${added} −${removed} lines${shown}`
}

/** Takes over what can be changed from outside; what the log itself says stays. */
function replaceSession(view: View, session: Session): void {
  const { updated_at, status, last_turn_id, usage } = view
  // What is absent in the new description is gone, so the old members are removed first.
  const kept: Partial<View> = {}
  for (const name of [
    'running_turn_id',
    'turns',
    'pending_approvals',
    'queue',
    'children',
    'context_tokens',
    'agent_state',
    'children_usage',
    'last_seq',
    'context',
    'log_dir',
    'trusted',
  ] as const) {
    if (name in view) Object.assign(kept, { [name]: view[name as keyof View] })
  }
  for (const name of Object.keys(view)) delete (view as Record<string, unknown>)[name]
  Object.assign(view, session, kept, { updated_at, status, last_turn_id, usage })
}

function addMessage({ view }: ViewDraft, record: Of<'message_added'>): void {
  const { message } = record.data
  view.queue = view.queue.filter((queued) => queued.message.id !== message.id)
  dropEndNotice(view, message.id)
  const steers = record.turn_id !== null && view.running_turn_id === record.turn_id
  if (steers) return
  view.status = 'active'
  if (view.title == null && message.role === 'user') view.title = titleOf(message.parts)
}

/** Has a message wait, in the place of itself where it waits already. */
function enqueue(
  view: View,
  { data: { queued, before } }: Of<'message_queued'> & { data: { before?: string | null } },
): void {
  const rest = view.queue.filter((waiting) => waiting.message.id !== queued.message.id)
  const named = before ? rest.findIndex((waiting) => waiting.message.id === before) : -1
  const last = queued.delivery === 'interrupt' ? 0 : rest.length
  view.queue = rest.toSpliced(named >= 0 ? named : last, 0, queued)
}

function startTurn(draft: ViewDraft, record: Of<'turn_started'>): void {
  const { view } = draft
  if (!record.turn_id) return
  const begun: TurnSummary = {
    id: record.turn_id,
    status: 'running',
    message_ids: record.data.message_ids,
    started_at: record.ts,
    ended_at: null,
    verified: null,
    error: null,
    usage: NO_USAGE,
    checkpoint_before: null,
    checkpoint_after: null,
  }
  view.last_turn_id = record.turn_id
  view.status = 'active'
  view.running_turn_id = record.turn_id
  view.turns = [...view.turns, begun].slice(-LIMITS.turns)
  draft.usage = NO_USAGE
  draft.own = []
}

function endTurn(draft: ViewDraft, at: string, how: Pick<TurnSummary, 'status' | 'verified' | 'error'>): void {
  const { view } = draft
  const id = view.running_turn_id
  if (!id) return
  view.running_turn_id = null
  draft.own = []
  view.children = (view.children ?? []).filter((child) => isOfInterest(child, null))
  changeTurn(view, id, (turn) => ({ ...turn, ...how, ended_at: at, usage: draft.usage }))
}

function checkpoint(view: View, record: Of<'checkpoint_created'> | Of<'checkpoint_failed'>): void {
  changeTurn(view, record.turn_id, (turn) => {
    if (record.type === 'checkpoint_failed') return { ...turn, checkpoint_error: short(record.data.reason) }
    const id = record.data.checkpoint_id
    return record.data.moment === 'before' ? { ...turn, checkpoint_before: id } : { ...turn, checkpoint_after: id }
  })
}

/** What was used when no message came of it, perhaps of a turn that is over by now. */
function spend(draft: ViewDraft, turnId: string | null, usage: Usage): void {
  draft.view.usage = plus(draft.view.usage, usage)
  if (turnId && draft.view.running_turn_id === turnId) draft.usage = plus(draft.usage, usage)
  else changeTurn(draft.view, turnId, (turn) => ({ ...turn, usage: plus(turn.usage ?? NO_USAGE, usage) }))
}

function changeTurn(view: View, id: string | null, to: (turn: TurnSummary) => TurnSummary): void {
  view.turns = view.turns.map((turn) => (turn.id === id ? to(turn) : turn))
}

function rememberRule(view: View, rule: Rule): void {
  const rules = view.policy.approval?.rules ?? []
  const same = JSON.stringify(rule)
  if (rules.length >= LIMITS.rules || rules.some((known) => JSON.stringify(known) === same)) return
  view.policy = { ...view.policy, approval: { ...view.policy.approval, rules: [...rules, rule] } }
}

/** While a turn is open the session is active, or waits for an answer. */
function settleStatus(view: View): void {
  if (view.running_turn_id) view.status = view.pending_approvals.length > 0 ? 'waiting_approval' : 'active'
  else if (view.status === 'waiting_approval') view.status = 'active'
}

/** Both together. Money is added in billionths of a dollar, so that sums do not depend on their order. */
export function plus(one: Usage, other: Usage): Usage {
  const sum = (name: Exclude<keyof Usage, 'cost_usd'>): number => (one[name] ?? 0) + (other[name] ?? 0)
  const [a, b] = [one.cost_usd ?? null, other.cost_usd ?? null]
  return {
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    cached_tokens: sum('cached_tokens'),
    cache_write_tokens: sum('cache_write_tokens'),
    reasoning_tokens: sum('reasoning_tokens'),
    cost_usd: a !== null && b !== null ? (Math.round(a * 1e9) + Math.round(b * 1e9)) / 1e9 : (a ?? b),
  }
}

/** A title from the first line that says something. */
function titleOf(parts: readonly { type: string; text?: unknown }[]): string | null {
  const text = parts.flatMap((part) => (part.type === 'text' ? [String(part.text)] : [])).join('\n')
  const line = text
    .split('\n')
    .map((piece) => piece.trim())
    .find((piece) => piece !== '')
  if (line === undefined) return null
  const characters = [...line]
  return characters.length > LIMITS.title ? `${characters.slice(0, LIMITS.title).join('')}…` : line
}

/** An error in a line or two; the whole of it is in its record. */
function short(text: string): string {
  return text.length <= LIMITS.label ? text : [...text].slice(0, LIMITS.label).join('')
}

export type { Child }
