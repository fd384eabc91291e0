// Times and figures in few characters.

import { describe, expect, it } from 'vitest'

import { compactNumber, dollars, relativeTime } from './time'

describe('relativeTime', () => {
  const now = Date.parse('2026-03-02T12:00:00Z')
  it.each([
    ['2026-03-02T12:00:00Z', 'now'],
    ['2026-03-02T11:59:01Z', 'now'],
    ['2026-03-02T11:58:00Z', '2m'],
    ['2026-03-02T11:00:00Z', '1h'],
    ['2026-02-28T12:00:00Z', '2d'],
    ['2026-02-23T12:00:00Z', '1w'],
    ['2026-03-02T12:05:00Z', 'now'],
  ])('%s is %s', (at, shown) => expect(relativeTime(at, now)).toBe(shown))
})

it('shortens numbers and money', () => {
  expect([950, 12_300, 1_234_567].map(compactNumber)).toEqual(['950', '12.3k', '1.2M'])
  expect([0, 0.001, 1.5].map(dollars)).toEqual(['$0', '<$0.01', '$1.50'])
})
