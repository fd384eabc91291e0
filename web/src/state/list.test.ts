// All sessions in a line each, kept up to date by events alone.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import type { EventRecord } from '../api/types'
import { SessionList } from './list.svelte'

const ID = `sess_${'1'.repeat(32)}`
const TURN = `turn_${'2'.repeat(32)}`
let seq = 0

function record(type: string, data: object, turn: string | null = TURN, session = ID): EventRecord {
  seq += 1
  const ts = new Date(Date.UTC(2026, 2, 2, 9, 0, seq)).toISOString()
  return { seq, ts, session_id: session, turn_id: turn, type, data, chain: '' } as EventRecord
}

function created(session = ID, parent: string | null = null): EventRecord {
  const at = '2026-03-02T09:00:00Z'
  const it = {
    id: session,
    created_at: at,
    updated_at: at,
    status: 'active',
    workspace_path: '/home/me/shop',
    last_turn_id: null,
    agent: 'native',
    model: 'demo:demo',
    title: null,
    archived: false,
    parent_session_id: parent,
    policy: {},
    usage: {},
  }
  return record('session_created', { session: it }, null, session)
}

beforeEach(() => {
  seq = 0
  vi.useFakeTimers()
})
afterEach(() => vi.useRealTimers())

function told(list: SessionList, ...records: EventRecord[]): SessionList {
  records.forEach((each) => list.event(each))
  vi.runAllTimers()
  return list
}

describe('SessionList', () => {
  const message = {
    id: `msg_${'3'.repeat(32)}`,
    role: 'user',
    parts: [{ type: 'text', text: 'Round discounts' }],
    created_at: '2026-03-02T09:00:01Z',
  }
  const begun = (): EventRecord[] => [
    created(),
    record('message_added', { message }),
    record('turn_started', { message_ids: [message.id], model: 'demo:demo' }),
  ]

  it('shows a session that is made, with the title of its first message, as running', () => {
    const list = told(new SessionList(), ...begun())
    expect(list.rows.map((row) => [row.title, list.displayStatus(row)])).toEqual([['Round discounts', 'running']])
  })

  it('marks what ended unseen as unread, until it is seen', () => {
    const list = told(
      new SessionList(),
      ...begun(),
      record('turn_completed', { stop_reason: 'stop', usage: {}, verified: null }),
    )
    expect(list.displayStatus(list.rows[0]!)).toBe('unread')
    list.seen(ID)
    expect(list.displayStatus(list.rows[0]!)).toBe('idle')
  })

  it('does not mark what is on screen, and tells of it all the same', () => {
    const list = new SessionList()
    const heard: string[] = []
    list.isOnScreen = () => true
    list.onAttention = (_, { type }) => heard.push(type)
    told(
      list,
      ...begun(),
      record('turn_failed', { error: { code: 'x', message: 'no' }, reason: 'error' }),
      record('session_failed', { error: { code: 'x', message: 'no' } }, null),
    )
    expect(list.displayStatus(list.rows[0]!)).toBe('failed')
    expect(list.unread.size).toBe(0)
    expect(heard).toEqual(['turn_failed'])
  })

  it('collects what waits, and lets go of what was answered', () => {
    const call = { id: 'call_1', name: 'shell', input: { command: 'make' } }
    const asked = record('approval_requested', {
      tool_call: call,
      kind: 'exec',
      summary: 'make',
      rule: { tool: 'shell', subject: 'make' },
    })
    const list = told(new SessionList(), ...begun(), record('approval_requested', asked.data as object))
    expect(list.approvals.map((approval) => approval.summary)).toEqual(['make'])
    expect(list.displayStatus(list.rows[0]!)).toBe('waiting')
    told(
      list,
      record('approval_granted', { tool_call_id: 'call_1', tool: 'shell', by: 'http', scope: 'once', reason: null }),
    )
    expect(list.approvals).toEqual([])
    expect(list.displayStatus(list.rows[0]!)).toBe('running')
  })

  it('leaves out sessions that others have started, and records that it knows', () => {
    const list = told(new SessionList(), ...begun(), created(`sess_${'9'.repeat(32)}`, ID))
    const before = list.rows[0]
    told(list, { ...record('session_canceled', { by: 'http', reason: null }, null), seq: 2 } as EventRecord)
    expect(list.rows.length).toBe(1)
    expect(list.rows[0]!.status).toBe(before!.status)
  })
})

describe('a list that is loaded', () => {
  it('takes from the daemon which turns run, and the pinned sessions that are too old for the first page', async () => {
    const listed = (digit: string, more: object): object => ({
      ...(created(`sess_${digit.repeat(32)}`) as Extract<EventRecord, { type: 'session_created' }>).data.session,
      last_seq: 5,
      ...more,
    })
    const asked: string[] = []
    vi.stubGlobal('fetch', async (path: string) => {
      asked.push(path)
      if (path.includes('approvals')) return Response.json({ approvals: [] })
      const sessions = path.includes('pinned=true')
        ? [listed('4', { pinned: true })]
        : [listed('5', { running_turn_id: TURN }), listed('6', { running_turn_id: null })]
      return Response.json({ sessions, next_cursor: null })
    })
    const list = new SessionList()
    await list.load()
    expect(list.rows.map((row) => [row.id[5], list.displayStatus(row), row.pinned ?? false]).sort()).toEqual([
      ['4', 'idle', true],
      ['5', 'running', false],
      ['6', 'idle', false],
    ])
    expect(asked).toHaveLength(3)
    vi.unstubAllGlobals()
  })
})
