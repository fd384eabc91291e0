// What single records make of the entries of a transcript.

import { describe, expect, it } from 'vitest'

import type { EventRecord } from '../api/types'
import { Transcript } from './transcript'

const TURN = `turn_${'2'.repeat(32)}`

function folded(...records: [string, object][]): Transcript {
  const transcript = new Transcript()
  records.forEach(([type, data], at) => {
    const common = {
      seq: at + 1,
      ts: `2026-03-02T09:00:0${at}Z`,
      session_id: `sess_${'1'.repeat(32)}`,
      turn_id: TURN,
      chain: '',
    }
    transcript.push({ ...common, type, data } as EventRecord)
  })
  return transcript
}

describe('the end of a turn', () => {
  const before = ['checkpoint_created', { moment: 'before', checkpoint_id: 'a' }] as [string, object]
  const after = (id: string): [string, object] => ['checkpoint_created', { moment: 'after', checkpoint_id: id }]
  const end = ['turn_completed', { stop_reason: 'stop', usage: {}, verified: null }] as [string, object]
  const canUndo = (transcript: Transcript): boolean | undefined => {
    const entry = transcript.entries.find(({ kind }) => kind === 'turn_end')
    return entry?.kind === 'turn_end' ? entry.canUndo : undefined
  }

  it('offers changes and undo where the files are others than before, whenever that is told', () => {
    expect(canUndo(folded(before, after('b'), end))).toBe(true)
    expect(canUndo(folded(before, end, after('b')))).toBe(true)
    expect(canUndo(folded(before, end)), 'nobody knows').toBe(true)
  })

  it('offers neither where the files are as before', () => {
    expect(canUndo(folded(before, after('a'), end))).toBe(false)
    expect(canUndo(folded(before, end, after('a')))).toBe(false)
    expect(canUndo(folded(end))).toBe(false)
  })
})
