// Finds words in a session's entries, drawn or not. Pure: the bar shows what comes out, and the transcript leads there.

import type { Entry } from '../state/model'

/** An entry that has the words. */
export interface Found {
  readonly key: string
  /** Whether they stand in what its card shows only when it is open. */
  readonly isInside: boolean
}

/** The entries that have the words, oldest first; upper and lower case are the same. */
export function findEntries(entries: readonly Entry[], query: string): Found[] {
  const wanted = query.trim().toLowerCase()
  if (wanted === '') return []
  return entries.flatMap((entry): Found[] => {
    const { head, body } = textsOf(entry)
    if (head.toLowerCase().includes(wanted)) return [{ key: entry.key, isInside: false }]
    return body.toLowerCase().includes(wanted) ? [{ key: entry.key, isInside: true }] : []
  })
}

/** What of an entry is always in sight, and what only where it is unfolded. */
function textsOf(entry: Entry): { head: string; body: string } {
  switch (entry.kind) {
    case 'message':
      return entry.role === 'system'
        ? { head: '', body: partsText(entry.parts) }
        : { head: partsText(entry.parts), body: '' }
    case 'thinking':
      return { head: '', body: entry.text }
    case 'tool': {
      const input = entry.input === null ? '' : inputText(entry.input)
      const printed = entry.result ? partsText(entry.result.parts) : entry.output.stdout + entry.output.stderr
      return { head: '', body: [entry.name, input, printed, entry.answer?.reason ?? ''].join('\n') }
    }
    case 'verification':
      return { head: '', body: [...entry.commands, ...entry.results.map((result) => result.output)].join('\n') }
    case 'review':
      return { head: entry.answer?.reason ?? '', body: '' }
    case 'compaction':
      return { head: '', body: entry.summary ?? '' }
    case 'note':
      return { head: [entry.text, entry.child?.text ?? ''].join('\n'), body: '' }
    case 'turn_end':
      return { head: [entry.error?.message, entry.error?.hint, entry.reason].filter(Boolean).join('\n'), body: '' }
    default:
      return entry satisfies never
  }
}

function partsText(parts: readonly { type: string }[]): string {
  return parts.flatMap((part) => ('text' in part && typeof part.text === 'string' ? [part.text] : [])).join('\n')
}

/** The values of a call's input, so that no quotes or escapes stand between its words. */
function inputText(input: unknown): string {
  if (typeof input === 'string') return input
  if (Array.isArray(input)) return input.map(inputText).join('\n')
  if (input && typeof input === 'object') return Object.values(input).map(inputText).join('\n')
  return input === null || input === undefined ? '' : String(input)
}

/** The place to begin at: the first hit at or after what is on screen, else the last one. */
export function firstPlace(found: readonly Found[], order: ReadonlyMap<string, number>, from: number): number {
  const place = found.findIndex(({ key }) => (order.get(key) ?? -1) >= from)
  return place < 0 ? found.length - 1 : place
}
