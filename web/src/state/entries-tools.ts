// What records make of the entry of a tool call: asked for, waiting, running, done; and of the sessions that it starts.

import type { EventRecord, ToolCall, ToolResult } from '../api/types'
import { note, type Streams } from './entries'
import type { ChildRun, ToolEntry, ToolStatus } from './model'
import type { Book } from './transcript'

type Of<T extends EventRecord['type']> = Extract<EventRecord, { type: T }>
/** A call in a message that was finished. */
type Asked = Of<'model_output_completed'> & { call: ToolCall }

type CallRecord =
  | Asked
  | Of<'approval_requested'>
  | Of<'approval_granted'>
  | Of<'approval_denied'>
  | Of<'tool_call_started'>
  | Of<'tool_call_completed'>
  | Of<'subagent_started'>
  | Of<'subagent_completed'>

/** Folds a record that speaks of a call. */
export function applyToCall(book: Book, streams: Streams, record: CallRecord): void {
  switch (record.type) {
    case 'model_output_completed':
      return change(book, record, record.call.id, record.call.name, (entry) => ({ ...entry, input: record.call.input }))
    case 'approval_requested': {
      const { tool_call: call, kind, child } = record.data
      // A child's question stands with the child.
      if (child) return
      return change(book, record, call.id, call.name, (entry) => ({
        ...entry,
        input: call.input,
        toolKind: kind,
        status: 'waiting',
      }))
    }
    case 'approval_granted':
    case 'approval_denied':
      if (record.data.child) return
      return answered(book, record)
    case 'tool_call_started': {
      const { tool_call: call, kind } = record.data
      return change(book, record, call.id, call.name, (entry) => ({
        ...entry,
        input: call.input,
        toolKind: kind,
        status: 'running',
        startedAt: record.ts,
      }))
    }
    case 'tool_call_completed': {
      const { tool_call: call, tool_result: result, duration_ms: durationMs } = record.data
      for (const name of streams.keys()) if (name.startsWith(`${record.turn_id}/${call.id}/`)) streams.delete(name)
      return change(book, record, call.id, call.name, (entry) => ({
        ...entry,
        status: statusOf(entry, result),
        result,
        durationMs,
      }))
    }
    case 'subagent_started':
      return childStarted(book, record)
    case 'subagent_completed':
      return childEnded(book, record)
  }
}

/** Ends the calls of a turn that have no result; a log has one for each, so this is for what was cut off. */
export function canceledCalls(book: Book, turnId: string, status: ToolStatus): void {
  for (const entry of book.entries.slice(-500)) {
    const isOpen =
      entry.kind === 'tool' && entry.turnId === turnId && ['proposed', 'waiting', 'running'].includes(entry.status)
    if (isOpen) book.put({ ...entry, status })
  }
}

function change(
  book: Book,
  record: EventRecord,
  callId: string,
  name: string,
  to: (entry: ToolEntry) => ToolEntry,
): void {
  const key = `${record.turn_id}/${callId}`
  const known = book.find(key)
  const fresh: ToolEntry = {
    kind: 'tool',
    key,
    callId,
    turnId: record.turn_id ?? '',
    at: record.ts,
    name,
    toolKind: null,
    input: null,
    status: 'proposed',
    output: { stdout: '', stderr: '', cut: false },
    result: null,
    durationMs: null,
    startedAt: null,
    child: null,
    answer: null,
  }
  book.put(to(known?.kind === 'tool' ? known : fresh))
}

function answered(book: Book, record: Of<'approval_granted'> | Of<'approval_denied'>): void {
  const { tool_call_id: id, tool, by, reason, scope } = record.data as Of<'approval_granted'>['data']
  const granted = record.type === 'approval_granted'
  change(book, record, id, tool, (entry) => ({
    ...entry,
    status: granted ? (entry.status === 'waiting' ? 'proposed' : entry.status) : 'denied',
    answer: { granted, by, reason: reason ?? null, scope: scope ?? null },
  }))
}

/** How a call ended. Where no tool answered, its text says why. */
function statusOf(entry: ToolEntry, result: ToolResult): ToolStatus {
  if (result.ok) return 'done'
  if (entry.status === 'denied') return 'denied'
  if (result.error?.startsWith('Cancelled by user:')) return 'canceled'
  if (result.error === 'interrupted: outcome unknown') return 'interrupted'
  if (result.error?.startsWith('Did not execute:')) return 'canceled'
  return 'failed'
}

function childStarted(book: Book, record: Of<'subagent_started'>): void {
  const { session_id: sessionId, tool_call_id: callId, subtask, description, background } = record.data
  const child: ChildRun = { sessionId, description, background, status: 'running', text: '', usage: null }
  const key = callId ? `${record.turn_id}/${callId}` : `child:${sessionId}`
  book.children.set(sessionId, key)
  if (callId) return change(book, record, callId, 'task', (entry) => ({ ...entry, child }))
  book.put({ ...note(record, key, subtask ? `${subtask}: ${description}` : description, 'info'), child })
}

function childEnded(book: Book, record: Of<'subagent_completed'>): void {
  const { session_id: sessionId, status, text, usage } = record.data
  const known = book.find(book.children.get(sessionId) ?? '')
  if (known?.kind !== 'tool' && known?.kind !== 'note') return
  if (known.child) book.put({ ...known, child: { ...known.child, status, text, usage } })
}
