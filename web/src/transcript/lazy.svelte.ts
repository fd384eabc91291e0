// Components that are fetched when they are first needed. Once one is here, it is drawn at once.

import type { Component } from 'svelte'

/** A component that comes later. */
export class Lazy<Props extends Record<string, unknown>> {
  #component = $state.raw<Component<Props> | null>(null)
  #asked: Promise<void> | null = null

  constructor(readonly fetch: () => Promise<{ default: Component<Props> }>) {}

  /** The component, or null until it is here. Asking for it fetches it. */
  get component(): Component<Props> | null {
    this.#asked ??= this.#load()
    return this.#component
  }

  async #load(): Promise<void> {
    try {
      this.#component = (await this.fetch()).default
    } catch {
      // The daemon may be restarting: the next one who asks tries again.
      this.#asked = null
    }
  }
}
