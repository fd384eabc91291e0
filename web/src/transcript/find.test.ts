// Words are found in entries that are not drawn, and in what cards show only when they are open.

import { describe, expect, it } from 'vitest'

import type { Entry } from '../state/model'
import { findEntries, firstPlace } from './find'

const message = (key: string, text: string): Entry => ({
  kind: 'message',
  key,
  id: key,
  role: 'assistant',
  parts: [{ type: 'text', text }],
  turnId: null,
  at: '',
  streaming: false,
})
const call = (key: string, input: unknown): Entry =>
  ({
    kind: 'tool',
    key,
    name: 'shell',
    input,
    output: { stdout: '', stderr: '', cut: false },
    result: { ok: true, parts: [{ type: 'text', text: 'It says "pangolin"' }] },
    answer: null,
  }) as unknown as Entry

describe('findEntries', () => {
  it('finds what was said, asked and printed, whatever the case', () => {
    const entries = [message('a', 'A Pangolin.'), message('b', 'nothing'), call('c', { command: 'ls "x y"' })]
    expect(findEntries(entries, 'pangolin')).toEqual([
      { key: 'a', isInside: false },
      { key: 'c', isInside: true },
    ])
    expect(findEntries(entries, 'ls "x y"')).toEqual([{ key: 'c', isInside: true }])
    expect(findEntries(entries, '  ')).toEqual([])
  })

  it('begins at what is on screen', () => {
    const found = ['a', 'c', 'e'].map((key) => ({ key, isInside: false }))
    const order = new Map(['a', 'b', 'c', 'd', 'e'].map((key, place) => [key, place]))
    expect(firstPlace(found, order, 3)).toBe(2)
    expect(firstPlace(found, order, 0)).toBe(0)
    expect(firstPlace(found, order, 9)).toBe(2)
  })
})
