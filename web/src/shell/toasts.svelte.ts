// Short notices at the edge of the page: what went wrong, or what can be taken back.

import { ApiError } from '../api/http'

const SHOWN_FOR = 8_000

export interface Toast {
  id: number
  text: string
  hint: string | null
  tone: 'plain' | 'error'
  action: { label: string; run: () => void } | null
}

class Toasts {
  list = $state.raw<readonly Toast[]>([])
  #next = 1

  add(toast: Omit<Toast, 'id'>): number {
    const id = this.#next++
    this.list = [...this.list.slice(-4), { ...toast, id }]
    setTimeout(() => this.drop(id), SHOWN_FOR)
    return id
  }

  drop(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id)
  }
}

export const toasts = new Toasts()

/** Says something, with what can be done about it. */
export function say(text: string, action: Toast['action'] = null): void {
  toasts.add({ text, hint: null, tone: 'plain', action })
}

/** Shows what went wrong. Use it in `catch`. */
export function tell(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return
  const isKnown = error instanceof ApiError
  // The page that asks for a code says it already.
  if (isKnown && error.status === 401) return
  toasts.add({
    text: isKnown ? error.message : String(error),
    hint: isKnown ? error.hint : null,
    tone: 'error',
    action: null,
  })
}
