/** Walking through what was sent before. */

import { describe, expect, it } from 'vitest'

import { gather, HistoryWalk, loadHistory, remember, saveHistory } from './history'

describe('walking through what was sent', () => {
  it('goes back and comes forward to what was being written', () => {
    const walk = new HistoryWalk(['one', 'two'])
    expect(walk.older('unfinished')).toBe('two')
    expect(walk.older('two')).toBe('one')
    expect(walk.older('one')).toBeNull()
    expect(walk.newer('one')).toBe('two')
    expect(walk.newer('two')).toBe('unfinished')
    expect(walk.newer('unfinished')).toBeNull()
  })

  it('passes over what is shown already', () => {
    expect(new HistoryWalk(['one', 'two']).older('two')).toBe('one')
  })

  it('has nothing without history', () => {
    const walk = new HistoryWalk([])
    expect(walk.older('text')).toBeNull()
    expect(walk.newer('text')).toBeNull()
  })
})

describe('what is remembered', () => {
  it('keeps one copy, the newest, and no blanks', () => {
    expect(remember(['a', 'b'], 'a')).toEqual(['b', 'a'])
    expect(remember(['a'], '  \n')).toEqual(['a'])
    expect(remember([], '  a ')).toEqual(['a'])
  })

  it('is bounded', () => {
    let all: string[] = []
    for (let at = 0; at < 500; at += 1) all = remember(all, `message ${at}`)
    expect(all).toHaveLength(200)
    expect(all.at(-1)).toBe('message 499')
    expect(remember(all, 'x'.repeat(50_000))).toEqual(all)
  })

  it("puts the session's own messages nearest", () => {
    expect(gather(['elsewhere', 'shared'], ['shared', 'here'])).toEqual(['elsewhere', 'shared', 'here'])
  })

  it('survives a browser that keeps nothing, or nonsense', () => {
    const broken = {
      getItem: () => '{"no":"list"}',
      setItem: () => {
        throw new Error('full')
      },
    }
    expect(loadHistory(broken)).toEqual([])
    expect(() => saveHistory(broken, 'text')).not.toThrow()
    expect(loadHistory({ getItem: () => '[1,"a"]' })).toEqual(['a'])
  })
})
