// What each record and each delta makes of the transcript's entries. The order and the window are kept by transcript.ts.

import type { EventDelta, EventRecord, Message } from '../api/types'
import { applyToCall, canceledCalls } from './entries-tools'
import type { Entry, MessageEntry, NoteEntry, ReviewEntry, ThinkingEntry, TurnEndEntry } from './model'
import type { Spliced } from './splice'
import type { Book } from './transcript'

/** A stream that has not been completed by a record. */
export interface Stream {
  /** Its newest delta, without the text. */
  delta: EventDelta
  spliced: Spliced
}
export type Streams = Map<string, Stream>

type Of<T extends EventRecord['type']> = Extract<EventRecord, { type: T }>

/** Folds a record into the book. */
export function applyRecord(book: Book, streams: Streams, record: EventRecord): void {
  switch (record.type) {
    case 'message_added':
      return book.put(said(record))
    case 'turn_started':
      return startTurn(book, record)
    case 'model_output_completed':
      return completeMessage(book, streams, record)
    case 'model_resolved':
      if (record.data.instead_of) book.put(note(record, `model:${record.seq}`, record.data.detail, 'warning'))
      return
    case 'model_waiting':
      return book.put(note(record, `waiting:${record.turn_id}`, waitingText(record), 'warning'))
    case 'checkpoint_created':
      return captured(book, record)
    case 'verification_started':
    case 'verification_completed':
      return verify(book, record)
    case 'patch_review_requested':
      return book.put(review(record))
    case 'context_compacted':
      return compacted(book, record)
    case 'turn_completed':
    case 'turn_failed':
    case 'turn_canceled':
      return endTurn(book, streams, record)
    case 'approval_granted':
    case 'approval_denied':
      if (record.data.tool === 'patch_review') return answerReview(book, record)
      return applyToCall(book, streams, record)
    case 'approval_requested':
    case 'tool_call_started':
    case 'tool_call_completed':
    case 'subagent_started':
    case 'subagent_completed':
      return applyToCall(book, streams, record)
    default:
      return
  }
}

/** Whether a delta still has something to say: what it belongs to is not whole yet. */
export function isOpenStream(book: Book, delta: EventDelta): boolean {
  if (delta.type !== 'tool_output_delta') return !book.finished.has(delta.data.message_id)
  const entry = book.find(`${delta.turn_id}/${delta.data.tool_call_id}`)
  return entry?.kind === 'tool' && entry.result === null
}

/** Shows a stream as far as it has come. */
export function streamEntry(book: Book, { delta, spliced }: Stream): void {
  const common = { turnId: delta.turn_id, streaming: true, at: delta.ts }
  if (delta.type === 'tool_output_delta') {
    const entry = book.find(`${delta.turn_id}/${delta.data.tool_call_id}`)
    if (entry?.kind !== 'tool') return
    const cut = entry.output.cut || spliced.start > 0
    return book.put({ ...entry, output: { ...entry.output, [delta.data.stream]: spliced.text, cut } })
  }
  const key = `${delta.data.message_id}:${delta.data.part}`
  const known = book.find(key)
  const at = known && known.kind !== 'turn_end' ? known.at : delta.ts
  if (!known) forgetWaiting(book, delta.turn_id)
  if (delta.type === 'reasoning_delta') {
    book.put({ kind: 'thinking', key, id: delta.data.message_id, ...common, at, text: spliced.text })
  } else {
    const parts = [{ type: 'text' as const, text: spliced.text }]
    book.put({ kind: 'message', key, id: delta.data.message_id, role: 'assistant', parts, ...common, at })
  }
}

function said(record: Of<'message_added'>): MessageEntry {
  const { message } = record.data
  const role = message.role === 'tool' ? 'system' : message.role
  return {
    kind: 'message',
    key: message.id,
    id: message.id,
    role,
    parts: message.parts,
    turnId: record.turn_id,
    at: message.created_at,
    streaming: false,
  }
}

function startTurn(book: Book, record: Of<'turn_started'>): void {
  if (record.turn_id) book.startedAt.set(record.turn_id, record.ts)
  // Only the last turn can be repeated.
  const last = book.lastEnd ? book.find(book.lastEnd) : undefined
  if (last?.kind === 'turn_end' && last.canRetry) book.put({ ...last, canRetry: false })
}

function captured(book: Book, record: Of<'checkpoint_created'>): void {
  const { turn_id: turnId, data } = record
  if (!turnId) return
  if (data.moment === 'before') book.captured.set(turnId, data.checkpoint_id)
  // The files are as they were: there is nothing to look at, and nothing to take back.
  else if (data.checkpoint_id && book.captured.get(turnId) === data.checkpoint_id) {
    book.captured.delete(turnId)
    const end = book.find(`end:${turnId}`)
    if (end?.kind === 'turn_end') book.put({ ...end, canUndo: false })
  }
}

/** Puts a finished message in the place of what was streamed of it: each part is an entry. */
function completeMessage(book: Book, streams: Streams, record: Of<'model_output_completed'>): void {
  const { message } = record.data
  book.finished.add(message.id)
  for (const name of streams.keys()) if (name.startsWith(`${message.id}:`)) streams.delete(name)
  forgetWaiting(book, record.turn_id)
  book.swap(
    (entry) => (entry.kind === 'message' || entry.kind === 'thinking') && entry.id === message.id,
    partsOf(message, record),
  )
  message.parts.forEach((part) => {
    if (part.type === 'tool_call') applyToCall(book, streams, { ...record, call: part })
  })
}

function partsOf(message: Message, record: Of<'model_output_completed'>): Entry[] {
  const common = { id: message.id, turnId: record.turn_id, at: message.created_at, streaming: false }
  return message.parts.flatMap((part, index): (MessageEntry | ThinkingEntry)[] => {
    const key = `${message.id}:${index}`
    if (part.type === 'reasoning') return part.text ? [{ kind: 'thinking', key, ...common, text: part.text }] : []
    if (part.type === 'tool_call' || part.type === 'tool_result') return []
    if (part.type === 'text' && part.text === '') return []
    return [{ kind: 'message', key, role: 'assistant', parts: [part], ...common }]
  })
}

function waitingText({ data }: Of<'model_waiting'>): string {
  const seconds = Math.max(1, Math.round(data.wait_ms / 1000))
  return `${data.model} is not available (${data.error.message}). Retrying in ${seconds} s, attempt ${data.attempt} of ${data.attempts}.`
}

function verify(book: Book, record: Of<'verification_started'> | Of<'verification_completed'>): void {
  const key = `verify:${record.turn_id}:${record.data.round}`
  const common = { kind: 'verification' as const, key, turnId: record.turn_id, round: record.data.round }
  if (record.type === 'verification_started') {
    return book.put({ ...common, at: record.ts, commands: record.data.commands, ok: null, results: [] })
  }
  const known = book.find(key)
  const commands = known?.kind === 'verification' ? known.commands : record.data.results.map((result) => result.command)
  book.put({ ...common, at: known?.at ?? record.ts, commands, ok: record.data.ok, results: record.data.results })
}

function review(record: Of<'patch_review_requested'>): ReviewEntry {
  const { tool_call_id: toolCallId, files, waits, more = 0, note: why = null } = record.data
  const turnId = record.turn_id ?? ''
  const shown = { turnId, toolCallId, files, more, waits, note: why }
  return { kind: 'review', key: `review:${toolCallId}`, turnId, at: record.ts, review: shown, answer: null }
}

function answerReview(book: Book, record: Of<'approval_granted'> | Of<'approval_denied'>): void {
  const known = book.find(`review:${record.data.tool_call_id}`)
  if (known?.kind !== 'review') return
  const { by, reason } = record.data
  book.put({ ...known, answer: { granted: record.type === 'approval_granted', by, reason: reason ?? null } })
}

function compacted(book: Book, record: Of<'context_compacted'>): void {
  const { tokens_before, tokens_after, trigger, summary } = record.data
  const text = summary?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n') ?? null
  book.put({
    kind: 'compaction',
    key: `compaction:${record.seq}`,
    turnId: record.turn_id,
    at: record.ts,
    tokensBefore: tokens_before,
    tokensAfter: tokens_after,
    trigger,
    summary: text,
  })
}

function endTurn(
  book: Book,
  streams: Streams,
  record: Of<'turn_completed'> | Of<'turn_failed'> | Of<'turn_canceled'>,
): void {
  const turnId = record.turn_id ?? ''
  // What was streamed and never completed is not part of the log.
  const isLeft = (entry: Entry): boolean =>
    (entry.kind === 'message' || entry.kind === 'thinking') && entry.streaming && entry.turnId === turnId
  book.swap(isLeft, [])
  for (const [name, stream] of streams) if (stream.delta.turn_id === turnId) streams.delete(name)
  forgetWaiting(book, turnId)
  canceledCalls(book, turnId, record.type === 'turn_failed' ? 'interrupted' : 'canceled')
  const started = book.startedAt.get(turnId)
  const end: TurnEndEntry = {
    kind: 'turn_end',
    key: `end:${turnId}`,
    turnId,
    at: record.ts,
    outcome: 'completed',
    verified: null,
    error: null,
    reason: null,
    by: null,
    usage: null,
    durationMs: started ? Math.max(0, Date.parse(record.ts) - Date.parse(started)) : null,
    canUndo: book.captured.has(turnId),
    canRetry: false,
  }
  book.lastEnd = end.key
  if (record.type === 'turn_completed')
    return book.put({ ...end, verified: record.data.verified, usage: record.data.usage })
  if (record.type === 'turn_failed') {
    return book.put({ ...end, outcome: 'failed', error: record.data.error, reason: record.data.reason, canRetry: true })
  }
  book.put({ ...end, outcome: 'canceled', by: record.data.by, reason: record.data.reason ?? null, canRetry: true })
}

/** A line about the session itself. */
export function note(record: EventRecord, key: string, text: string, level: 'info' | 'warning'): NoteEntry {
  return { kind: 'note', key, turnId: record.turn_id, at: record.ts, text, level, child: null }
}

/** Takes the line away that says that the turn waits for the model. */
export function forgetWaiting(book: Book, turnId: string | null): void {
  const key = `waiting:${turnId}`
  if (book.find(key)) book.swap((entry) => entry.key === key, [])
}
