// Text that comes in pieces: seen twice, late, with a gap, and with characters of several bytes.

import { describe, expect, it } from 'vitest'

import { byteLength, NOTHING, splice } from './splice'

describe('splice', () => {
  it('appends, and ignores what it has already', () => {
    let known = splice(NOTHING, 0, 'grün')
    known = splice(known, 5, ' ist')
    expect(known.text).toBe('grün ist')
    expect(splice(known, 5, ' ist').text).toBe('grün ist')
    expect(splice(known, 0, 'grün ist alles').text).toBe('grün ist alles')
  })

  it('writes over what is there from an offset on', () => {
    const known = splice(NOTHING, 0, 'a😀bc')
    expect(splice(known, 5, 'X').text).toBe('a😀X')
  })

  it('begins anew after a gap, and remembers where', () => {
    const known = splice(splice(NOTHING, 0, 'abc'), 10, 'xyz')
    expect(known).toEqual({ text: 'xyz', start: 10, end: 13 })
    expect(splice(known, 13, '!').text).toBe('xyz!')
  })

  it('keeps no more than the limit', () => {
    let known = NOTHING
    for (let index = 0; index < 100; index += 1) known = splice(known, known.end, '0123456789', 200)
    expect(known.text.length).toBeLessThanOrEqual(200)
    expect(known.end).toBe(1000)
    expect(known.start + byteLength(known.text)).toBe(1000)
  })
})
