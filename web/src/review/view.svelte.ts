/** How changes are laid out: the same in every session, and remembered. */

const KEY = 'ostler.review'

class View {
  #mode = $state<'unified' | 'split'>('unified')
  #wrap = $state(true)

  constructor() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as { mode?: unknown; wrap?: unknown }
      if (kept.mode === 'split') this.#mode = 'split'
      if (kept.wrap === false) this.#wrap = false
    } catch {
      // What cannot be read is as if nothing had been chosen.
    }
  }

  get mode(): 'unified' | 'split' {
    return this.#mode
  }
  set mode(mode: 'unified' | 'split') {
    this.#mode = mode
    this.#keep()
  }

  get wrap(): boolean {
    return this.#wrap
  }
  set wrap(wrap: boolean) {
    this.#wrap = wrap
    this.#keep()
  }

  #keep(): void {
    try {
      localStorage.setItem(KEY, JSON.stringify({ mode: this.#mode, wrap: this.#wrap }))
    } catch {
      // Storage is full or forbidden: the choice then lasts as long as the page.
    }
  }
}

export const view = new View()
