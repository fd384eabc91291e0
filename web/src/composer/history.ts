/**
 * Walking through what was sent before, as a shell does: up goes back, down comes forward again, and what was
 * being written is there at the end. Keys and the text field are left to the composer.
 */

/** How much is remembered, and how long a text may be that is. */
const MAX_ENTRIES = 200
const MAX_LENGTH = 20_000
const KEY = 'ostler.history'

/** One walk: begins at what is being written, ends when something else is typed or sent. */
export class HistoryWalk {
  readonly #entries: readonly string[]
  #at: number
  #unfinished = ''

  /** `entries` are oldest first. */
  constructor(entries: readonly string[]) {
    this.#entries = entries
    this.#at = entries.length
  }

  /** The text that is shown now, unless the walk has not begun. */
  get shown(): string | null {
    return this.#entries[this.#at] ?? null
  }

  /** One further back; null at the oldest. Texts that equal what is shown are passed over. */
  older(current: string): string | null {
    if (this.#at === this.#entries.length) this.#unfinished = current
    for (let at = this.#at - 1; at >= 0; at -= 1) {
      const entry = this.#entries[at]
      if (entry !== undefined && entry !== current) {
        this.#at = at
        return entry
      }
    }
    return null
  }

  /** One forward; what was being written after the newest; null when there is nothing to come back from. */
  newer(current: string): string | null {
    for (let at = this.#at + 1; at < this.#entries.length; at += 1) {
      const entry = this.#entries[at]
      if (entry !== undefined && entry !== current) {
        this.#at = at
        return entry
      }
    }
    if (this.#at >= this.#entries.length) return null
    this.#at = this.#entries.length
    return this.#unfinished
  }
}

/** The list with `text` as its newest; an older copy gives way. */
export function remember(entries: readonly string[], text: string): string[] {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed.length > MAX_LENGTH) return [...entries]
  return [...entries.filter((entry) => entry !== trimmed), trimmed].slice(-MAX_ENTRIES)
}

/** What was sent from this browser, then what was said in the session, so that the session's own come first. */
export function gather(everywhere: readonly string[], session: readonly string[]): string[] {
  let all: string[] = []
  for (const text of [...everywhere, ...session]) all = remember(all, text)
  return all
}

/** What was sent from this browser, oldest first. */
export function loadHistory(storage: Pick<Storage, 'getItem'>): string[] {
  try {
    const kept: unknown = JSON.parse(storage.getItem(KEY) ?? '[]')
    return Array.isArray(kept) ? kept.filter((entry): entry is string => typeof entry === 'string') : []
  } catch {
    return []
  }
}

/** Adds what was sent. A browser that keeps nothing is no reason to fail. */
export function saveHistory(storage: Pick<Storage, 'getItem' | 'setItem'>, text: string): void {
  try {
    storage.setItem(KEY, JSON.stringify(remember(loadHistory(storage), text)))
  } catch {
    // Storage is full or forbidden: the walk then has the session's own messages.
  }
}
