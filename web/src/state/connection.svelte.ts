// The page's connection to what happens in every session. It comes back by itself, from the cursor that it had, so that nothing is
// missed; what the events mean is left to those who listen. A browser has six connections for each host, and this one is never idle:
// so of all tabs of a browser one connects, and tells the others (tab-sharing.ts).

import { ApiError } from '../api/http'
import { follow, type Frame } from '../api/stream'
import type { SessionEvent } from '../api/types'
import type { Connection } from './model'
import { TabSharing, type TabMessage } from './tab-sharing'

const FIRST_WAIT = 800
const LONGEST_WAIT = 15_000
/** The daemon shows a sign of life every 15 seconds. */
const SILENCE = 40_000

export interface Listener {
  /** Connected for the first time, or to a daemon that does not know the cursor: everything is to be loaded. */
  fresh(): void
  /** Connected again, and what was missed comes as events. */
  resumed(): void
  event(event: SessionEvent): void
  /** Whether deltas of this session are of interest. */
  wantsDeltas(sessionId: string): boolean
}

/** Follows all sessions for as long as the page lives. */
export class EventConnection {
  connection = $state<Connection>('connecting')
  /** When the next try is made, in milliseconds since 1970; null while connected or trying. */
  nextTry = $state<number | null>(null)
  #cursor: string | null = null
  #isLoaded = false
  #attempt = 0
  #abort = new AbortController()
  #wake: () => void = () => {}
  #heard = 0
  #stopped = false
  readonly #tabs = new TabSharing((news) => this.#hear(news))

  constructor(readonly listener: Listener) {}

  start(): void {
    void this.#tabs.lead(() => this.#run())
    addEventListener('online', () => this.retryNow())
    addEventListener('offline', () => void this.#probe())
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible' && this.connection === 'lost') this.retryNow()
    })
    setInterval(() => {
      if (this.connection === 'live' && this.#heard > 0 && Date.now() - this.#heard > SILENCE) this.#abort.abort()
    }, 5_000)
  }

  /** Ends it: nobody is let in any more. */
  stop(): void {
    this.#stopped = true
    this.#abort.abort()
    this.#wake()
  }

  /** Does not wait any longer for the next try. */
  retryNow(): void {
    this.#attempt = 0
    this.#wake()
    if (!this.#tabs.leads) this.#tabs.tell({ kind: 'retry' })
  }

  /** A machine without a network still reaches its own daemon: asks before it gives up a connection that may be good. */
  async #probe(): Promise<void> {
    const answer = await fetch('/healthz', { cache: 'no-store' }).catch(() => null)
    if (!answer?.ok) this.#abort.abort()
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#abort = new AbortController()
      try {
        await this.#read()
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return
        const isForeign = error instanceof ApiError && (error.code === 'cursor_ahead' || error.code === 'bad_cursor')
        if (isForeign) this.#cursor = null
      }
      if (this.#stopped) return
      this.#stand('lost')
      await this.#pause()
    }
  }

  async #read(): Promise<void> {
    const from = this.#cursor
    const path = `/v1/events${from === null ? '' : `?after=${encodeURIComponent(from)}`}`
    let isFirst = true
    for await (const frames of follow(path, this.#abort.signal, (event, text) => this.#wants(event, text))) {
      this.#heard = Date.now()
      this.#take(frames)
      if (this.#tabs.any) this.#tabs.tell({ kind: 'frames', frames })
      if (!isFirst) continue
      isFirst = false
      this.#attempt = 0
      this.#stand('live', from === null)
    }
  }

  /** How it stands now, to this tab and the others. */
  #stand(connection: Connection, isFresh = false): void {
    this.#tabs.tell({ kind: 'state', connection, nextTry: this.nextTry, isFresh })
    this.#set(connection, isFresh)
  }

  #set(connection: Connection, isFresh: boolean): void {
    this.connection = connection
    if (connection !== 'live') return
    if (isFresh || !this.#isLoaded) this.listener.fresh()
    else this.listener.resumed()
    this.#isLoaded = true
  }

  /** Takes what another tab tells. */
  #hear(news: TabMessage): void {
    switch (news.kind) {
      case 'hello':
        if (this.#tabs.leads)
          this.#tabs.tell({ kind: 'state', connection: this.connection, nextTry: this.nextTry, isFresh: false })
        return
      case 'retry':
        if (this.#tabs.leads) this.retryNow()
        return
      case 'frames':
        if (!this.#tabs.leads) this.#take(news.frames)
        return
      case 'state':
        if (this.#tabs.leads || (news.connection === this.connection && !news.isFresh)) return
        this.nextTry = news.nextTry
        this.#set(news.connection, news.isFresh)
    }
  }

  #take(frames: readonly Frame[]): void {
    for (const frame of frames) {
      if (frame.kind === 'heartbeat') this.#cursor = frame.cursor ?? this.#cursor
      else {
        this.#cursor = frame.id ?? this.#cursor
        this.listener.event(frame.event)
      }
    }
  }

  #wants(event: string, text: string): boolean {
    if (!event.endsWith('_delta') || this.#tabs.any) return true
    const at = text.indexOf('"session_id":"')
    return at < 0 || this.listener.wantsDeltas(text.slice(at + 14, text.indexOf('"', at + 14)))
  }

  async #pause(): Promise<void> {
    const wait = Math.min(FIRST_WAIT * 2 ** this.#attempt, LONGEST_WAIT) * (0.8 + Math.random() * 0.4)
    this.#attempt += 1
    this.nextTry = Date.now() + wait
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, wait)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.nextTry = null
  }
}
