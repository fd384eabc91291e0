// Makes the rows of the transcript from its entries: what shows nothing is left out, and calls in a row that only look at
// things are folded into one. Pure, and an unchanged row stays the same object.

import type { Entry, ThinkingEntry, ToolEntry } from '../state/model'
import { cardKindOf, type CardKind } from './tools/tool-kind'
import { count } from './text'

export type TranscriptRow =
  | { readonly kind: 'entry'; readonly key: string; readonly entry: Entry }
  | { readonly kind: 'run'; readonly key: string; readonly entries: readonly RunEntry[] }

/** What a folded run holds: calls, and what was thought between them. */
export type RunEntry = ToolEntry | ThinkingEntry

/** The rows for some entries; `before` are the rows of the last time. */
export function rowsOf(entries: readonly Entry[], before: readonly TranscriptRow[] = []): TranscriptRow[] {
  const rows: TranscriptRow[] = []
  let run: RunEntry[] = []
  const known = lookup(entries, before)
  const put = (row: TranscriptRow) => {
    const earlier = known(row.key, rows.length)
    rows.push(earlier && isSame(earlier, row) ? earlier : row)
  }
  const flush = () => {
    const calls = run.filter((entry) => entry.kind === 'tool').length
    if (calls >= 2) {
      const tail = trailingThoughts(run)
      put({ kind: 'run', key: run[0]!.key, entries: tail === 0 ? run : run.slice(0, -tail) })
      for (const entry of tail === 0 ? [] : run.slice(-tail)) put({ kind: 'entry', key: entry.key, entry })
    } else {
      for (const entry of run) put({ kind: 'entry', key: entry.key, entry })
    }
    run = []
  }
  for (const entry of entries) {
    if (isEmpty(entry)) continue
    if (entry.kind === 'tool' && isFolded(entry)) run.push(entry)
    else if (entry.kind === 'thinking' && run.length > 0 && !entry.streaming) run.push(entry)
    else {
      flush()
      put({ kind: 'entry', key: entry.key, entry })
    }
  }
  flush()
  return rows
}

/** What a run did, in a line: `Read 3 files, ran 2 searches`. */
export function runSummary(entries: readonly RunEntry[]): string {
  const counts = new Map<CardKind, number>()
  for (const entry of entries) {
    if (entry.kind === 'tool') counts.set(cardKindOf(entry), (counts.get(cardKindOf(entry)) ?? 0) + 1)
  }
  const said: string[] = []
  const say = (kind: CardKind, words: (number: number) => string) => {
    const number = counts.get(kind)
    if (number) said.push(words(number))
  }
  say('read', (number) => `read ${count(number, 'file')}`)
  say('search', (number) => `ran ${count(number, 'search', 'searches')}`)
  say('look', (number) => (number === 1 ? 'inspected the workspace' : `inspected the workspace ${number} times`))
  say('fetch', (number) => `fetched ${count(number, 'page')}`)
  const text = said.join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Whether a call only looks at something, so that it may be folded away. */
function isFolded(entry: ToolEntry): boolean {
  const kind = cardKindOf(entry)
  const isLook = kind === 'read' || kind === 'search' || kind === 'look' || kind === 'fetch'
  const hasPicture = entry.result?.parts.some((part) => part.type === 'image') ?? false
  return isLook && !hasPicture && entry.status !== 'waiting' && entry.status !== 'denied'
}

function isEmpty(entry: Entry): boolean {
  if (entry.kind === 'thinking') return entry.text.trim() === '' && !entry.streaming
  if (entry.kind !== 'message' || entry.streaming) return false
  return entry.parts.every(
    (part) => part.type === 'tool_call' || part.type === 'tool_result' || ('text' in part && part.text.trim() === ''),
  )
}

function trailingThoughts(run: RunEntry[]): number {
  let at = run.length
  while (at > 0 && run[at - 1]!.kind === 'thinking') at -= 1
  return run.length - at
}

/** Finds a row of the last time. Most are where they were, unless a page of history was put before them. */
function lookup(
  entries: readonly Entry[],
  before: readonly TranscriptRow[],
): (key: string, at: number) => TranscriptRow | undefined {
  if (before.length === 0 || before[0]!.key === entries[0]?.key) {
    return (key, at) => (before[at]?.key === key ? before[at] : undefined)
  }
  const byKey = new Map(before.map((row) => [row.key, row]))
  return (key) => byKey.get(key)
}

function isSame(known: TranscriptRow, row: TranscriptRow): boolean {
  if (known.kind === 'entry' && row.kind === 'entry') return known.entry === row.entry
  if (known.kind !== 'run' || row.kind !== 'run' || known.entries.length !== row.entries.length) return false
  return known.entries.every((entry, at) => entry === row.entries[at])
}
