// What the parts of a transcript share: whose it is, what was opened and closed by hand, and where a click may lead. Rows come
// and go while somebody scrolls; what they must remember is kept here.

import { createContext } from 'svelte'
import type { SvelteMap } from 'svelte/reactivity'

export interface TranscriptContext {
  readonly sessionId: string
  /** What the reader has opened or closed, by key; what is absent is as its card thinks best. */
  readonly toggled: SvelteMap<string, boolean>
  /** Shows another session, such as a child. */
  openSession(id: string): void
  /** Shows what a turn changed, or how it would be undone. Absent where nobody can. */
  readonly review: ((turnId: string) => void) | undefined
  readonly undo: ((turnId: string) => void) | undefined
  /** Whether the session is closed for good, so that only a fork of it goes on. */
  readonly closed: boolean
  /** Whether traffic with the provider is kept. */
  readonly rawLog: boolean
  /** Lets another model be chosen. Absent where nobody can. */
  readonly pickModel: (() => void) | undefined
  /** Lets a message be written anew, and what was said before it stand. Absent where nobody can. */
  readonly again: ((turnId: string, text: string) => void) | undefined
}

export const [getTranscript, setTranscript] = createContext<TranscriptContext>()
