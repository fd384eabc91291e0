// An open session: loaded newest page first, then kept up to date by the page's one connection. Entries and view are published at
// most once a frame, however fast events come.

import { getSession } from '../api/actions'
import { ApiError } from '../api/http'
import { follow } from '../api/stream'
import type { Delivery, EventRecord, Failure, InputPart, SessionEvent, Shown } from '../api/types'
import { activityOf } from './activity'
import { apply, NO_USAGE, type Folded } from './apply'
import type { Connection, Entry, OpenSession, Outgoing, PatchReview, RunningTurn } from './model'
import { Outbox } from './outbox.svelte'
import { Transcript } from './transcript'

/** Records that are loaded at once. */
const PAGE = 300
/** Records that a session keeps while nobody looks at it. */
const KEPT_IN_BACKGROUND = 600
/** Records that a session grows to while it is looked at, and what it is cut back to, unless its past is being read. */
const GROWS_TO = 6000
const CUT_TO = 3000
const READING = 300_000

/** A session that is open in a tab. */
export class SessionState implements OpenSession {
  session = $state.raw<Shown | null>(null)
  entries = $state.raw<readonly Entry[]>([])
  hasOlder = $state(false)
  loadingOlder = $state(false)
  problem = $state.raw<Failure | null>(null)
  readonly approvals = $derived(this.session?.pending_approvals ?? [])
  readonly queue = $derived(this.session?.queue ?? [])
  readonly running = $derived.by(() => this.#running())
  readonly lastReview = $derived.by(() => this.#newestReview())
  readonly review = $derived.by(() => this.#waitingReview())
  readonly #outbox: Outbox
  readonly #transcript = new Transcript()
  #folded: Folded<Shown> | null = null
  /** What came while it was being loaded. */
  #early: SessionEvent[] = []
  #loading: Promise<void> | null = null
  #isPublishing = false
  /** When something of its past was last asked for. */
  #readAt = 0
  readonly #source: { readonly connection: Connection }

  constructor(
    readonly id: string,
    source: { readonly connection: Connection },
  ) {
    this.#source = source
    this.#outbox = new Outbox(id)
  }

  get connection(): Connection {
    return this.#source.connection
  }

  get outbox(): readonly Outgoing[] {
    return this.#outbox.messages
  }

  /** Loads it, or what it has missed of a message that is being written. */
  load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => (this.#loading = null))
    return this.#loading
  }

  /** Takes an event of this session. */
  take(event: SessionEvent): void {
    if (this.#folded === null || this.#loading) this.#keepEarly(event)
    else this.#apply(event)
  }

  async loadOlder(): Promise<void> {
    const first = this.#transcript.firstSeq
    if (this.loadingOlder || first <= 1) return
    this.loadingOlder = true
    this.#readAt = Date.now()
    try {
      const older = await this.#records(Math.max(0, first - 1 - PAGE), first)
      // Each on its own, so that none holds up what the reader does.
      await nextTask()
      if (this.#transcript.firstSeq !== first) return
      this.#transcript.prepend(older)
      await nextTask()
      this.#publish()
    } finally {
      this.loadingOlder = false
    }
  }

  /** Nobody looks at it any more: what was loaded of its past is let go. */
  rest(): void {
    if (this.#transcript.trim(KEPT_IN_BACKGROUND)) this.#publish()
  }

  /** Sends what waits, now that the daemon can be reached. */
  flush(): void {
    this.#outbox.flush()
  }

  say(parts: InputPart[], delivery: Delivery = 'queue'): void {
    this.#outbox.add(parts, delivery)
  }

  resend(key: string): void {
    this.#outbox.resend(key)
  }

  unsay(key: string): InputPart[] {
    return this.#outbox.remove(key)
  }

  async #load(): Promise<void> {
    const abort = new AbortController()
    const isFirst = this.session === null
    try {
      const shown = await getSession(this.id, abort.signal)
      // What surrounds the transcript is drawn while that is on its way, and not in one go with it.
      if (isFirst) this.session = shown
      const known = this.#transcript.lastSeq
      const from = known > 0 && shown.last_seq - known <= PAGE ? known : Math.max(0, shown.last_seq - PAGE)
      if (from !== known) this.#transcript.trim(0)
      await this.#catchUp(from, abort.signal)
      // To draw it is a task of its own.
      await nextTask()
      this.#folded = this.#foldOn(shown)
      this.problem = null
      const early = this.#early.splice(0)
      early.forEach((event) => this.#apply(event))
      this.#publish()
      this.#outbox.flush()
    } catch (error) {
      if (isFirst) this.session = null
      this.problem = error instanceof ApiError ? error.failure : { code: 'unknown', message: String(error), hint: null }
    } finally {
      abort.abort()
    }
  }

  /** The view as the daemon told it, with what was recorded since. */
  #foldOn(shown: Shown): Folded<Shown> {
    const since = this.#transcript.records.filter((record) => record.seq > shown.last_seq)
    return since.reduce<Folded<Shown>>((folded, record) => apply(folded, record), { view: shown, turnUsage: NO_USAGE })
  }

  /** Takes all there is after a record, and the text of a message that is being written. */
  async #catchUp(from: number, signal: AbortSignal): Promise<void> {
    for await (const frames of follow(`/v1/sessions/${this.id}/events?after=${from}&follow=false`, signal)) {
      for (const frame of frames) if (frame.kind === 'event') this.#transcript.push(frame.event)
    }
  }

  /** The records after one and before another. */
  async #records(after: number, before: number): Promise<EventRecord[]> {
    const abort = new AbortController()
    const records: EventRecord[] = []
    try {
      for await (const frames of follow(`/v1/sessions/${this.id}/events?after=${after}&follow=false`, abort.signal)) {
        for (const frame of frames) {
          if (frame.kind !== 'event' || !('seq' in frame.event)) continue
          if (frame.event.seq >= before) return records
          records.push(frame.event)
        }
      }
      return records
    } finally {
      abort.abort()
    }
  }

  #keepEarly(event: SessionEvent): void {
    // Bounded: a session that is being loaded for so long is loaded again.
    if (this.#early.length < 20_000) this.#early.push(event)
  }

  #apply(event: SessionEvent): void {
    if (!this.#folded) return
    if ('seq' in event && event.seq > this.#folded.view.last_seq) this.#folded = apply(this.#folded, event)
    if (this.#transcript.push(event) || 'seq' in event) this.#publishSoon()
  }

  #publishSoon(): void {
    if (this.#isPublishing) return
    this.#isPublishing = true
    const now = (): void => {
      this.#isPublishing = false
      this.#publish()
    }
    // A hidden page has no frames.
    if (document.visibilityState === 'visible') requestAnimationFrame(now)
    else setTimeout(now, 200)
  }

  #publish(): void {
    if (this.#transcript.records.length > GROWS_TO && Date.now() - this.#readAt > READING) this.#transcript.trim(CUT_TO)
    this.entries = this.#transcript.entries.slice()
    this.hasOlder = this.#transcript.firstSeq > 1
    if (!this.#folded) return
    const { view } = this.#folded
    const window = view.agent_state?.context_window ?? view.context.window ?? null
    this.session = { ...view, context: { tokens: view.context_tokens ?? view.context.tokens ?? null, window } }
  }

  #running(): RunningTurn | null {
    const id = this.session?.running_turn_id
    if (!this.session || !id) return null
    const startedAt = this.session.turns.findLast((turn) => turn.id === id)?.started_at ?? this.session.updated_at
    return { id, startedAt, activity: activityOf(this.entries, this.session.pending_approvals.length) }
  }

  #newestReview(): PatchReview | null {
    const entry = this.entries.findLast((each) => each.kind === 'review')
    return entry?.kind === 'review' ? entry.review : null
  }

  #waitingReview(): PatchReview | null {
    const asked = this.approvals.find((approval) => approval.tool === 'patch_review' && approval.session_id === this.id)
    if (!asked) return null
    const input = asked.input as { files?: PatchReview['files']; more?: number; note?: string }
    return {
      turnId: asked.turn_id,
      toolCallId: asked.tool_call_id,
      files: input.files ?? [],
      more: input.more ?? 0,
      waits: true,
      note: input.note ?? null,
    }
  }
}

/** Lets the page do something else in between. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}
