// Joins a page of older history to the transcript that follows it: what the newer records say of entries that began in the page, and
// what the page says of entries that came after it. Nothing else of the newer records is folded again.

import type { EventDelta, EventRecord } from '../api/types'
import { applyRecord, forgetWaiting, type Streams } from './entries'
import { applyToCall, canceledCalls } from './entries-tools'
import type { Entry } from './model'
import type { Book } from './transcript'

/** Puts a page before a book that was folded from these records, as if all had been folded together. */
export function joinPage(page: Book, book: Book, records: readonly EventRecord[], open: Iterable<EventDelta>): void {
  const turns = new Set(page.entries.map((entry) => entry.turnId))
  for (const record of records) {
    // A child may end long after the turn that started it.
    const reaches =
      turns.has(record.turn_id) || record.type === 'subagent_completed' || record.type === 'subagent_started'
    if (reaches) applyToOlderPage(page, record)
  }
  const first = records.find((record) => record.type === 'turn_started' || isEnd(record))
  if (first?.type === 'turn_started') applyRecord(page, NO_STREAMS, first)
  for (const delta of open) if (delta.type !== 'tool_output_delta') forgetWaiting(page, delta.turn_id)
  keepOutput(page, book)
  completeEnds(page, book)
  book.prepend(page)
}

const NO_STREAMS: Streams = new Map()

/** Folds a newer record into the page as far as it speaks of what is there. It adds nothing. */
function applyToOlderPage(page: Book, record: EventRecord): void {
  switch (record.type) {
    case 'model_output_completed':
      forgetWaiting(page, record.turn_id)
      for (const part of record.data.message.parts) {
        const isKnown = part.type === 'tool_call' && page.find(`${record.turn_id}/${part.id}`)
        if (isKnown) applyToCall(page, NO_STREAMS, { ...record, call: part })
      }
      return
    case 'turn_completed':
    case 'turn_failed':
    case 'turn_canceled':
      forgetWaiting(page, record.turn_id)
      return canceledCalls(page, record.turn_id ?? '', record.type === 'turn_failed' ? 'interrupted' : 'canceled')
    case 'subagent_completed':
      return applyRecord(page, NO_STREAMS, record)
    case 'subagent_started':
      // A child that was started again is shown where that happened.
      if (!page.find(keyOf(record) ?? '')) page.children.delete(record.data.session_id)
      else applyRecord(page, NO_STREAMS, record)
      return
    default:
      if (page.find(keyOf(record) ?? '')) applyRecord(page, NO_STREAMS, record)
  }
}

/** The entry that a record speaks of, where it is one and may have begun before. */
function keyOf(record: EventRecord): string | null {
  switch (record.type) {
    case 'model_waiting':
      return `waiting:${record.turn_id}`
    case 'verification_started':
    case 'verification_completed':
      return `verify:${record.turn_id}:${record.data.round}`
    case 'patch_review_requested':
      return `review:${record.data.tool_call_id}`
    case 'approval_granted':
    case 'approval_denied':
      return record.data.tool === 'patch_review'
        ? `review:${record.data.tool_call_id}`
        : `${record.turn_id}/${record.data.tool_call_id}`
    case 'approval_requested':
    case 'tool_call_started':
    case 'tool_call_completed':
      return `${record.turn_id}/${record.data.tool_call.id}`
    case 'subagent_started':
      return record.data.tool_call_id
        ? `${record.turn_id}/${record.data.tool_call_id}`
        : `child:${record.data.session_id}`
    default:
      return null
  }
}

/** What a call has printed is in no record: it stays with a call that turns out to have begun in the page. */
function keepOutput(page: Book, book: Book): void {
  for (const entry of page.entries) {
    const newer = entry.kind === 'tool' ? book.find(entry.key) : undefined
    if (entry.kind === 'tool' && newer?.kind === 'tool') page.put({ ...entry, output: newer.output })
  }
}

/** The ends of turns that began in the page: now it is known when, and whether they can be undone. */
function completeEnds(page: Book, book: Book): void {
  for (const turnId of new Set([...page.startedAt.keys(), ...page.captured.keys()])) {
    const end = book.find(`end:${turnId}`)
    if (end?.kind !== 'turn_end') continue
    const started = page.startedAt.get(turnId)
    const durationMs = end.durationMs ?? (started ? Math.max(0, Date.parse(end.at) - Date.parse(started)) : null)
    const canUndo = end.canUndo || page.captured.has(turnId)
    if (durationMs !== end.durationMs || canUndo !== end.canUndo)
      book.put({ ...end, durationMs, canUndo } satisfies Entry)
  }
}

function isEnd(record: EventRecord): boolean {
  return record.type === 'turn_completed' || record.type === 'turn_failed' || record.type === 'turn_canceled'
}
