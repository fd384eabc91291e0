// The other tabs of this browser that show the same daemon. One of them leads: it has the connection and tells the others what comes.
// When it is closed, the next one leads. A browser that cannot do this has a connection for each tab.

import type { Frame } from '../api/stream'
import type { Connection } from './model'

const NAME = 'ostler-link'

/** What tabs tell each other. */
export type TabMessage =
  /** Somebody new asks how things stand. */
  | { kind: 'hello' }
  /** Somebody does not want to wait for the next try. */
  | { kind: 'retry' }
  | { kind: 'frames'; frames: readonly Frame[] }
  | { kind: 'state'; connection: Connection; nextTry: number | null; isFresh: boolean }

export class TabSharing {
  /** Whether this tab has the connection. */
  leads = false
  /** Whether there have been others since this tab was opened. */
  any = false
  readonly #channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(NAME) : null

  constructor(hear: (news: TabMessage) => void) {
    this.#channel?.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
      this.any = true
      hear(data)
    })
  }

  /** Runs something while this tab leads; until then, asks the one that does how things stand. */
  async lead(run: () => Promise<void>): Promise<void> {
    const begin = async (): Promise<void> => {
      this.leads = true
      await run()
      this.leads = false
    }
    if (!this.#channel || !navigator.locks) return begin()
    this.tell({ kind: 'hello' })
    await navigator.locks.request(NAME, begin)
  }

  tell(news: TabMessage): void {
    this.#channel?.postMessage(news)
  }
}
