// All sessions at a glance, kept up to date by events: what the sidebar, the dashboard and the list of approvals show. It knows of
// each session what a line needs, and nothing of its transcript.

import { getSession, listApprovals, listSessions } from '../api/actions'
import type { EventRecord, Listed, PendingApproval, SessionEvent, Shown } from '../api/types'
import { apply, begin, NO_USAGE, type Folded, type View } from './apply'
import { keep, recall } from './local-storage'
import { compareTimes } from './times'

const PAGE = 200
/** Sessions that a list holds. Older ones are found by searching. */
const LIMIT = 2000
const UNREAD_LIMIT = 500

/** A session in a line. */
export type SessionSummary = View

/** How a session stands, in the one word that its dot shows. */
export type DisplayStatus = 'running' | 'waiting' | 'failed' | 'unread' | 'idle' | 'closed'

/** What only a row that knows its running turn can take. */
const TELLS_OF_A_TURN = new Set<SessionEvent['type']>([
  'approval_requested',
  'patch_review_requested',
  'tool_call_started',
])

/** The sessions that nobody else has started, newest activity first. */
export class SessionList {
  rows = $state.raw<readonly SessionSummary[]>([])
  isLoaded = $state(false)
  hasMore = $state(false)
  unread = $state.raw<ReadonlySet<string>>(new Set(recall<string[]>('unread', [])))
  /** What waits for an answer, over all sessions, oldest first. */
  readonly approvals = $derived.by(() => oldestFirst(this.rows.flatMap((row) => row.pending_approvals)))
  #folds = new Map<string, Folded<SessionSummary>>()
  #children = new Set<string>()
  #asked = new Set<string>()
  /** The newest event of each session that its row could not take. */
  #missed = new Map<string, number>()
  #next: string | null = null
  #isPublishing = false
  /** What happened while everything was being loaded, and may be newer than what comes of that. */
  #meanwhile: SessionEvent[] | null = null
  /** Whether somebody looks at a session now. */
  isOnScreen: (id: string) => boolean = () => false
  /** Called with each record that a person may want to hear of. */
  onAttention: (row: SessionSummary, record: EventRecord) => void = () => {}

  /** Loads everything anew. */
  async load(): Promise<void> {
    const meanwhile: SessionEvent[] = []
    this.#meanwhile = meanwhile
    // One after the other: what the sessions' last records say of approvals is then among these.
    const [page, pinned] = await Promise.all([
      listSessions({ limit: PAGE, archived: false }),
      listSessions({ limit: PAGE, archived: false, pinned: true }),
    ])
    const approvals = await listApprovals()
    this.#folds = new Map()
    this.#take([...pinned.sessions, ...page.sessions], approvals)
    if (this.#meanwhile === meanwhile) this.#meanwhile = null
    for (const event of meanwhile) this.event(event)
    this.#next = page.next_cursor ?? null
    this.hasMore = this.#next !== null
    this.isLoaded = true
    this.#publish()
  }

  async loadMore(): Promise<void> {
    if (this.#next === null || this.#folds.size >= LIMIT) return
    const page = await listSessions({ limit: PAGE, archived: false, cursor: this.#next })
    this.#next = page.next_cursor ?? null
    this.hasMore = this.#next !== null
    this.#take(page.sessions, [])
    this.#publish()
  }

  row(id: string): SessionSummary | undefined {
    return this.rows.find((row) => row.id === id)
  }

  displayStatus(row: SessionSummary): DisplayStatus {
    if (row.pending_approvals.length > 0 || row.status === 'waiting_approval') return 'waiting'
    if (row.running_turn_id) return 'running'
    if (row.status === 'failed') return 'failed'
    if (this.unread.has(row.id)) return 'unread'
    return row.status === 'completed' ? 'closed' : 'idle'
  }

  /** Takes an event of any session. */
  event(event: SessionEvent): void {
    if (!('seq' in event)) return
    this.#meanwhile?.push(event)
    const id = event.session_id
    if (this.#children.has(id)) return
    if (event.type === 'session_created') return this.#created(event)
    const known = this.#folds.get(id)
    if (!known) return this.#askFor(id)
    if (event.seq <= known.view.last_seq) return
    // The list was read before the turn began, and without that such an event means nothing.
    if (TELLS_OF_A_TURN.has(event.type) && !known.view.running_turn_id) return this.#catchUp(id, event)
    const next = isKnownApproval(known.view, event)
      ? { ...known, view: { ...known.view, last_seq: event.seq } }
      : apply(known, event)
    this.#folds.set(id, next)
    this.#attend(next.view, event)
    this.#publishSoon()
  }

  /** Takes over what the daemon answered of a session, such as after a change that the page asked for. */
  tell(shown: Shown): void {
    const known = this.#folds.get(shown.id)
    if (shown.parent_session_id || (known && known.view.last_seq > shown.last_seq)) return
    this.#folds.set(shown.id, { view: { ...shown }, turnUsage: known?.turnUsage ?? NO_USAGE })
    this.#publishSoon()
  }

  seen(id: string): void {
    if (!this.unread.has(id)) return
    this.unread = new Set([...this.unread].filter((each) => each !== id))
    keep('unread', [...this.unread])
  }

  #take(sessions: readonly Listed[], waiting: readonly PendingApproval[]): void {
    for (const { last_seq, running_turn_id, snippet: _, ...session } of sessions) {
      const approvals = waiting.filter((approval) => approval.session_id === session.id)
      const begun: SessionSummary = { ...begin(session as never, last_seq), ...session, pending_approvals: approvals }
      const turn = running_turn_id ?? approvals[0]?.turn_id ?? null
      this.#folds.set(session.id, { view: { ...begun, running_turn_id: turn }, turnUsage: NO_USAGE })
    }
  }

  #created(record: Extract<EventRecord, { type: 'session_created' }>): void {
    const { session } = record.data
    if (session.parent_session_id) {
      if (this.#children.size > 10_000) this.#children.clear()
      this.#children.add(session.id)
    } else if (!this.#folds.has(session.id)) {
      this.#folds.set(session.id, { view: begin(session, record.seq), turnUsage: NO_USAGE })
      this.#publishSoon()
    }
  }

  /** Asks for a session whose row knows too little to take an event; once more if the answer is older than that. */
  #catchUp(id: string, event: EventRecord): void {
    const isNew = (this.#missed.get(id) ?? 0) < event.seq
    if (isNew) this.#missed.set(id, event.seq)
    this.#askFor(id)
    const row = this.row(id)
    if (isNew && row) this.#attend(row, event)
  }

  /** A session that is not in the list has come to life, or back from the archive. */
  #askFor(id: string): void {
    if (this.#asked.has(id)) return
    this.#asked.add(id)
    const put = (shown: Shown): boolean => {
      if (shown.parent_session_id) this.#children.add(id)
      else this.tell(shown)
      if ((this.#missed.get(id) ?? 0) > shown.last_seq) return true
      this.#missed.delete(id)
      return false
    }
    const ask = async (): Promise<void> => {
      while (put(await getSession(id)));
    }
    ask()
      .catch(() => this.#missed.delete(id))
      .finally(() => this.#asked.delete(id))
  }

  #attend(row: SessionSummary, record: EventRecord): void {
    const kinds = ['approval_requested', 'patch_review_requested', 'turn_completed', 'turn_failed']
    if (!kinds.includes(record.type)) return
    if (record.type === 'patch_review_requested' && !record.data.waits) return
    if (!this.isOnScreen(row.id)) {
      this.unread = new Set([...this.unread, row.id].slice(-UNREAD_LIMIT))
      keep('unread', [...this.unread])
    }
    this.onAttention(row, record)
  }

  #publishSoon(): void {
    if (this.#isPublishing) return
    this.#isPublishing = true
    setTimeout(() => {
      this.#isPublishing = false
      this.#publish()
    }, 50)
  }

  #publish(): void {
    const rows = [...this.#folds.values()].map((fold) => fold.view)
    this.rows = rows.sort(
      (one, other) => compareTimes(other.updated_at, one.updated_at) || (one.id < other.id ? 1 : -1),
    )
  }
}

function oldestFirst(approvals: PendingApproval[]): PendingApproval[] {
  return approvals.sort((one, other) => compareTimes(one.requested_at, other.requested_at))
}

/** Whether an approval was in the list already, which was asked for a moment after the sessions. */
function isKnownApproval(row: SessionSummary, event: EventRecord): boolean {
  return (
    event.type === 'approval_requested' &&
    row.pending_approvals.some((each) => each.tool_call_id === event.data.tool_call.id)
  )
}
