// A transcript that was loaded page by page is the same as one that was folded in one piece, wherever it was cut.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'

import type { EventRecord, SessionEvent } from '../api/types'
import { Transcript } from './transcript'

const AT = '2026-01-01T00:00:00Z'
const TESTDATA = join(__dirname, '../../../testdata')
const linesOf = (file: string): unknown[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown)

/** The kept logs, those of which the views are kept, and one with all that can lie on both sides of a seam. */
const LOGS: [string, EventRecord[]][] = [
  ...readdirSync(join(TESTDATA, 'logs')).map((name): [string, EventRecord[]] => [
    name,
    linesOf(join(TESTDATA, 'logs', name, 'events.ndjson')) as EventRecord[],
  ]),
  ...readdirSync(join(TESTDATA, 'views'))
    .filter((name) => !name.startsWith('v1-'))
    .map((name): [string, EventRecord[]] => [
      name,
      (linesOf(join(TESTDATA, 'views', name)) as { record: EventRecord }[]).map(({ record }) => record),
    ]),
  ['made', made()],
]

describe.each(LOGS)('%s', (_, records) => {
  const wholes = [...records.keys(), records.length].map((end) => whole(records.slice(0, end)).entries)
  /** Compares with what the first records make in one piece; `expect`, which says what differs, is slow. */
  const compare = (paged: Transcript, end: number, what: string): void => {
    if (!isDeepStrictEqual(paged.entries, wholes[end])) expect(paged.entries, what).toEqual(wholes[end])
  }

  it('has each entry once', () => {
    const { entries } = whole(records)
    expect(new Set(entries.map((entry) => entry.key)).size).toBe(entries.length)
  })

  it('is the same when it is cut at any place, and goes on the same from there', { timeout: 60_000 }, () => {
    for (let cut = 0; cut <= records.length; cut += 1) {
      for (let end = records.length; end >= cut; end -= 3) {
        const paged = whole(records.slice(cut, end))
        paged.prepend(records.slice(0, cut))
        compare(paged, end, `${cut} of ${end}`)
        records.slice(end).forEach((record) => paged.push(record))
        compare(paged, records.length, `${cut} of ${end}, then the rest`)
      }
    }
  })

  it('is the same in pages of any size', () => {
    for (let page = 1; page <= records.length; page += 1) {
      const paged = whole(records.slice(-page))
      for (let end = records.length - page; end > 0; end -= page)
        paged.prepend(records.slice(Math.max(0, end - page), end))
      compare(paged, records.length, `pages of ${page}`)
    }
  })
})

describe('the seam', () => {
  it('leaves alone what lies beyond it', () => {
    const records = made()
    const paged = whole(records.slice(20))
    const before = new Map(paged.entries.map((entry) => [entry.key, entry]))
    paged.prepend(records.slice(0, 20))
    const other = paged.entries.filter((entry) => before.has(entry.key) && before.get(entry.key) !== entry)
    expect(before.size).toBeGreaterThan(8)
    expect(other.length).toBeLessThan(4)
  })

  it('keeps what a call has printed, and what is being written', () => {
    const [turn, call] = ['t', 'c']
    const older = numbered([
      ['turn_started', turn, { message_ids: [], model: 'm' }],
      [
        'model_output_completed',
        turn,
        { message: message('a', [{ type: 'tool_call', id: call, name: 'shell', input: {} }]) },
      ],
      ['model_waiting', turn, { model: 'm', wait_ms: 1000, attempt: 1, attempts: 3, error: { message: 'busy' } }],
    ])
    const newer = numbered(
      [['tool_call_started', turn, { tool_call: { id: call, name: 'shell', input: {} }, kind: 'execute' }]],
      4,
    )
    const deltas = [
      {
        type: 'tool_output_delta',
        turn_id: turn,
        ts: AT,
        data: { tool_call_id: call, stream: 'stdout', offset: 0, text: 'one' },
      },
      { type: 'text_delta', turn_id: turn, ts: AT, data: { message_id: 'b', part: 0, offset: 0, text: 'And' } },
    ] as unknown as SessionEvent[]
    const more = {
      ...deltas[0]!,
      data: { tool_call_id: call, stream: 'stdout', offset: 3, text: ' two' },
    } as SessionEvent
    const paged = whole([...newer, ...deltas])
    paged.prepend(older)
    expect(paged.entries).toEqual(whole([...older, ...newer, ...deltas]).entries)
    paged.push(more)
    expect(paged.entries).toEqual(whole([...older, ...newer, ...deltas, more]).entries)
    expect(paged.entries.map((entry) => entry.kind)).toEqual(['tool', 'message'])
    const late = { ...deltas[1]!, data: { message_id: 'a', part: 0, offset: 0, text: 'late' } } as SessionEvent
    expect(paged.push(late)).toBe(false)
  })
})

function whole(events: readonly SessionEvent[]): Transcript {
  const transcript = new Transcript()
  for (const event of events) transcript.push(event)
  return transcript
}

function numbered(records: [type: string, turn: string | null, data: unknown][], from = 1): EventRecord[] {
  return records.map(([type, turn_id, data], at) => {
    const ts = new Date(Date.parse(AT) + (from + at) * 1000).toISOString()
    return { seq: from + at, ts, session_id: 's', turn_id, type, data } as unknown as EventRecord
  })
}

function message(id: string, parts: unknown[], role = 'assistant'): unknown {
  return { id, role, parts, created_at: AT }
}

function made(): EventRecord[] {
  const said = (id: string, turn: string, ...parts: unknown[]): [string, string, unknown] => [
    'model_output_completed',
    turn,
    { message: message(id, parts) },
  ]
  const call = (id: string): { id: string; name: string; input: unknown } => ({ id, name: 'tool', input: { of: id } })
  const asked = (id: string, input: unknown = call(id).input): unknown => ({ type: 'tool_call', ...call(id), input })
  const result = (id: string, ok = true): unknown => ({
    tool_call: { id, name: 'tool' },
    tool_result: { id, ok, parts: [], error: ok ? undefined : 'refused' },
    duration_ms: 5,
  })
  const waiting = (attempt: number): unknown => ({
    model: 'm',
    wait_ms: 1000,
    attempt,
    attempts: 3,
    error: { message: 'busy' },
  })
  const child = (session_id: string, tool_call_id: string | null, background = false): unknown => ({
    session_id,
    tool_call_id,
    subtask: tool_call_id ? null : 'plan',
    description: session_id,
    background,
  })
  const childEnd = (session_id: string, text: string): unknown => ({
    session_id,
    status: 'completed',
    text,
    usage: null,
  })
  const checked = (round: number): unknown => ({
    round,
    ok: round > 1,
    results: [{ command: 'another', exit_code: 0, output: '' }],
  })
  return numbered([
    ['session_created', null, {}],
    ['message_added', 't1', { message: message('u1', [{ type: 'text', text: 'go' }], 'user') }],
    ['turn_started', 't1', { message_ids: ['u1'], model: 'm' }],
    ['checkpoint_created', 't1', { moment: 'before' }],
    ['model_waiting', 't1', waiting(1)],
    ['model_waiting', 't1', waiting(2)],
    said(
      'a1',
      't1',
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'I see' },
      asked('c1'),
      asked('c2'),
      asked('c3'),
    ),
    ['approval_requested', 't1', { tool_call: call('c1'), kind: 'execute' }],
    ['approval_denied', 't1', { tool_call_id: 'c1', tool: 'tool', by: 'me', reason: 'no' }],
    ['tool_call_completed', 't1', result('c1', false)],
    ['tool_call_started', 't1', { tool_call: call('c2'), kind: 'task' }],
    ['subagent_started', 't1', child('s2', 'c2', true)],
    ['tool_call_completed', 't1', result('c2')],
    // A call that no message asked for, as other agents have them.
    ['tool_call_started', 't1', { tool_call: call('c4'), kind: 'execute' }],
    ['verification_started', 't1', { round: 1, commands: ['check'] }],
    ['verification_completed', 't1', checked(1)],
    ['model_waiting', 't1', waiting(1)],
    said('a2', 't1', { type: 'text', text: 'again' }, asked('c4', 'in full')),
    ['tool_call_completed', 't1', result('c4')],
    ['verification_started', 't1', { round: 2, commands: ['check'] }],
    ['verification_completed', 't1', checked(2)],
    ['patch_review_requested', 't1', { tool_call_id: 'r1', files: [], waits: true }],
    ['patch_review_requested', 't1', { tool_call_id: 'r1', files: [], waits: true, note: 'shown again' }],
    ['approval_granted', 't1', { tool_call_id: 'r1', tool: 'patch_review', by: 'me' }],
    ['model_waiting', 't1', waiting(1)],
    // c3 has no result: it was cut off.
    ['turn_failed', 't1', { error: { code: 'x', message: 'y' }, reason: 'interrupted' }],
    ['subagent_started', null, child('s3', null)],
    ['turn_retried', 't2', { retry_of: 't1' }],
    ['turn_started', 't2', { message_ids: ['u1'], model: 'm' }],
    ['subagent_completed', 't2', childEnd('s2', 'late')],
    ['subagent_started', 't2', child('s2', 'c5')],
    ['subagent_completed', 't2', childEnd('s2', 'second')],
    ['context_compacted', 't2', { tokens_before: 9, tokens_after: 3, trigger: 'auto' }],
    ['turn_canceled', 't2', { by: 'me' }],
    ['message_added', 't3', { message: message('u3', [{ type: 'text', text: 'more' }], 'user') }],
    ['turn_started', 't3', { message_ids: ['u3'], model: 'm' }],
    ['subagent_completed', null, childEnd('s3', 'planned')],
    ['model_waiting', 't3', waiting(1)],
    ['model_resolved', 't3', { instead_of: 'x', detail: 'another model' }],
    ['model_waiting', 't3', waiting(2)],
  ])
}
