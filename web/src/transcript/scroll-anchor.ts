// Where the reader is in a transcript: at its end, and carried along by what is new; or somewhere above, and held there whatever
// is loaded or measured around it. Also remembers this over tabs. It touches no element.

import { SvelteMap } from 'svelte/reactivity'

import type { TranscriptRow } from './fold'
import type { Layout } from './layout'

/** A row, and how far the window's upper edge is below that row's. */
export interface Anchor {
  key: string
  offset: number
}

/** What is kept of a transcript while its tab is not shown. */
export interface Memory {
  /** Null at the end. */
  anchor: Anchor | null
  readonly toggled: SvelteMap<string, boolean>
}

const MAX_REMEMBERED = 50
const memories = new Map<string, Memory>()

/** What is remembered of a session's transcript. */
export function memoryOf(sessionId: string): Memory {
  const memory = memories.get(sessionId) ?? { anchor: null, toggled: new SvelteMap<string, boolean>() }
  memories.delete(sessionId)
  memories.set(sessionId, memory)
  if (memories.size > MAX_REMEMBERED) memories.delete(memories.keys().next().value!)
  return memory
}

/** The anchor for a window that begins at a height. */
export function anchorAt(layout: Layout<TranscriptRow>, top: number): Anchor | null {
  const index = layout.at(top)
  const row = layout.rows[index]
  return row ? { key: row.key, offset: top - layout.top(index) } : null
}

/** Where the window has to begin for its anchor to stay where it was; null when that row is gone. */
export function topOf(layout: Layout<TranscriptRow>, anchor: Anchor): number | null {
  const index = layout.rows.findIndex(
    (row) => row.key === anchor.key || (row.kind === 'run' && row.entries.some((entry) => entry.key === anchor.key)),
  )
  return index < 0 ? null : layout.top(index) + Math.min(anchor.offset, Math.max(0, layout.height(index) - 1))
}

/** Whether a reader who follows the end has let go of it, or one who had is back; null when nothing has changed. */
export function follows(isFollowing: boolean, before: number, now: number, left: number): boolean {
  if (isFollowing) return !(now < before - 1 && left > 4)
  return now > before && left <= 8
}

/** How high a row will be, roughly. */
export function guess(row: TranscriptRow): number {
  if (row.kind === 'run') return 40
  const { entry } = row
  if (entry.kind === 'tool') return 42
  if (entry.kind === 'turn_end') return entry.error ? 110 : 50
  if (entry.kind !== 'message') return 40
  const length = entry.parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 300), 0)
  return 60 + Math.min(length, entry.role === 'user' ? 1600 : 100_000) * 0.26
}
