/** Long pastes and their marks. */

import { describe, expect, it } from 'vitest'

import { countLines, expand, isLong, mark, markAt, nextId, present, remove, resolve, type Paste } from './paste'

const long: Paste = { id: 1, text: `${'line\n'.repeat(20)}` }

describe('long pastes', () => {
  it('are those with many lines or many letters', () => {
    expect(isLong('short')).toBe(false)
    expect(isLong('a\n'.repeat(11))).toBe(false)
    expect(isLong('a\n'.repeat(12))).toBe(true)
    expect(isLong('x'.repeat(1500))).toBe(true)
    expect(countLines('a\nb\n')).toBe(2)
  })

  it('stand in the text by a mark, and come back when it is sent', () => {
    const text = `see ${mark(long)} please`
    expect(mark(long)).toBe('[Pasted text 1: 20 lines]')
    expect(resolve(text, [long])).toBe(`see ${long.text} please`)
    expect(resolve(text, [])).toBe(text)
  })

  it('does not look for marks inside what was pasted', () => {
    const second: Paste = { id: 2, text: `x${mark(long)}`.padEnd(1600, 'y') }
    const text = `${mark(second)} ${mark(long)}`
    expect(resolve(text, [long, second])).toBe(`${second.text} ${long.text}`)
  })

  it('keeps dollar signs as they are', () => {
    const money: Paste = { id: 3, text: "$& $1 $$ $'".padEnd(1600, '.') }
    expect(resolve(mark(money), [money])).toBe(money.text)
  })

  it('can be put in place of the mark, or taken out', () => {
    const text = `a ${mark(long)} b`
    expect(expand(text, long)).toEqual({ text: `a ${long.text} b`, caret: 2 + long.text.length })
    expect(remove(text, long)).toEqual({ text: 'a  b', caret: 2 })
  })

  it('forgets a paste whose mark was edited, and never gives its number again while it is there', () => {
    expect(present(`a ${mark(long)}`, [long])).toEqual([long])
    expect(present('a [Pasted text 1: 20 lin', [long])).toEqual([])
    expect(nextId([long, { id: 7, text: '' }])).toBe(8)
  })

  it('is deleted as a whole from either side', () => {
    const text = `a${mark(long)}b`
    expect(markAt(text, text.length - 1, [long], 'before')).toBe(long)
    expect(markAt(text, 1, [long], 'after')).toBe(long)
    expect(markAt(text, 3, [long], 'before')).toBeNull()
  })
})
