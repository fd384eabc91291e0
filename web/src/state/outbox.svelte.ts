// What was said in a session and has not reached the daemon yet. It is kept in the browser, sent when the daemon can be reached,
// in order, and added once only, because each message carries a key of its own.

import { send } from '../api/actions'
import { ApiError } from '../api/http'
import type { Delivery, InputPart } from '../api/types'
import type { Outgoing } from './model'
import { keep, recall } from './local-storage'

const LIMIT = 50

/** The outbox of a session. */
export class Outbox {
  messages = $state.raw<readonly Outgoing[]>([])
  #isSending = false

  constructor(readonly sessionId: string) {
    const kept = recall<Outgoing[]>(`outbox:${sessionId}`, [])
    this.messages = kept.map((message) => (message.state === 'failed' ? message : { ...message, state: 'waiting' }))
  }

  add(parts: InputPart[], delivery: Delivery): void {
    const message: Outgoing = { key: crypto.randomUUID(), parts, delivery, state: 'sending', error: null }
    this.#set([...this.messages, message].slice(-LIMIT))
    this.flush()
  }

  resend(key: string): void {
    this.#change(key, { state: 'waiting', error: null })
    this.flush()
  }

  /** Takes a message out, and gives back what it says. */
  remove(key: string): InputPart[] {
    const parts = this.messages.find((message) => message.key === key)?.parts ?? []
    this.#set(this.messages.filter((message) => message.key !== key))
    return parts
  }

  /** Sends what waits, first one first. */
  flush(): void {
    if (!this.#isSending) void this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true
    try {
      for (;;) {
        const next = this.messages.find((message) => message.state !== 'failed')
        if (!next || !(await this.#sendOne(next))) return
      }
    } finally {
      this.#isSending = false
    }
  }

  /** Whether to go on with the next one. */
  async #sendOne(message: Outgoing): Promise<boolean> {
    this.#change(message.key, { state: 'sending' })
    try {
      await send(this.sessionId, message.parts, message.delivery, message.key)
      this.remove(message.key)
      return true
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError('unknown', String(error), null, 1)
      if (known.isPassing) {
        this.#change(message.key, { state: 'waiting' })
        return false
      }
      this.#change(message.key, { state: 'failed', error: known.failure })
      return true
    }
  }

  #change(key: string, to: Partial<Outgoing>): void {
    this.#set(this.messages.map((message) => (message.key === key ? { ...message, ...to } : message)))
  }

  #set(messages: readonly Outgoing[]): void {
    this.messages = messages
    keep(`outbox:${this.sessionId}`, messages.length > 0 ? messages : undefined)
  }
}
