/**
 * The menu that opens at `/` and `@`: what is in it, and which row is meant. Files are asked for while somebody
 * types, a little after the last letter; meanwhile what is known already is narrowed. The view is another file.
 */

import { searchFiles } from '../api/actions'
import type { AgentCommand } from '../api/types'
import { allCommands, findCommands, type Command } from './commands'
import { match, rank } from './fuzzy'
import { triggerAt, type Trigger } from './trigger'

export type MenuRow =
  | { kind: 'command'; command: Command; positions: number[] }
  | { kind: 'file'; path: string; positions: number[] }

/** How long after a letter files are asked for. */
const ASK_AFTER_MS = 80
const MAX_ROWS = 30

export class Menu {
  trigger = $state.raw<Trigger | null>(null)
  rows = $state.raw<readonly MenuRow[]>([])
  active = $state(0)
  /** Whether files are being asked for. */
  asking = $state(false)
  /** Why files could not be found. */
  problem = $state<string | null>(null)

  /** The place at which somebody closed the menu; it stays closed for that word. */
  #dismissed: number | null = null
  #known: readonly string[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #abort: AbortController | null = null

  constructor(readonly sessionId: string) {}

  get isOpen(): boolean {
    return this.trigger !== null && (this.rows.length > 0 || this.trigger.kind === 'file')
  }

  /** The text or the caret has changed. */
  follow(text: string, caret: number, agentCommands: readonly AgentCommand[] | undefined): void {
    const trigger = triggerAt(text, caret)
    if (!trigger) {
      this.#dismissed = null
      this.close()
      return
    }
    if (this.#dismissed === trigger.start) return
    const isSame = this.trigger?.start === trigger.start && this.trigger.query === trigger.query
    this.trigger = trigger
    if (isSame) return
    this.active = 0
    if (trigger.kind === 'command') {
      const found = findCommands(trigger.query, allCommands(agentCommands))
      this.rows = found.map(({ item, positions }) => ({ kind: 'command', command: item, positions }))
    } else {
      this.#narrow(trigger.query)
      this.#askSoon(trigger.query)
    }
  }

  move(by: number): void {
    if (this.rows.length > 0) this.active = (this.active + by + this.rows.length) % this.rows.length
  }

  get chosen(): MenuRow | null {
    return this.rows[this.active] ?? null
  }

  /** Closes it until another word is begun. */
  dismiss(): void {
    this.#dismissed = this.trigger?.start ?? null
    this.close()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#abort?.abort()
    this.trigger = null
    this.rows = []
    this.active = 0
    this.asking = false
    this.problem = null
  }

  #narrow(query: string): void {
    const found = rank(query, this.#known, (path) => path, MAX_ROWS)
    this.rows = found.map(({ item, positions }) => ({ kind: 'file', path: item, positions }))
  }

  #askSoon(query: string): void {
    clearTimeout(this.#timer)
    this.#abort?.abort()
    this.asking = true
    this.#timer = setTimeout(() => void this.#ask(query), ASK_AFTER_MS)
  }

  async #ask(query: string): Promise<void> {
    const abort = new AbortController()
    this.#abort = abort
    try {
      const { files } = await searchFiles(this.sessionId, query, MAX_ROWS, abort.signal)
      if (abort.signal.aborted) return
      this.#known = files.map(({ path }) => path)
      // The daemon's order counts: it has seen all files.
      this.rows = this.#known.map((path) => ({ kind: 'file', path, positions: match(query, path)?.positions ?? [] }))
      this.active = Math.min(this.active, Math.max(0, this.rows.length - 1))
      this.asking = false
      this.problem = null
    } catch (error) {
      if (abort.signal.aborted) return
      this.asking = false
      this.problem = error instanceof Error ? error.message : String(error)
    }
  }
}
