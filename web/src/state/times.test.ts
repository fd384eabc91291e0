import { expect, it } from 'vitest'

import { compareTimes } from './times'

it('puts moments in order, however many digits they have', () => {
  const inOrder = [
    '2026-03-02T09:15:04Z',
    '2026-03-02T09:15:04.1Z',
    '2026-03-02T09:15:04.135Z',
    '2026-03-02T09:15:04.135001Z',
    '2026-03-02T09:15:05Z',
  ]
  expect([...inOrder].reverse().sort(compareTimes)).toEqual(inOrder)
  expect(compareTimes('2026-03-02T09:15:04.1Z', '2026-03-02T09:15:04.100Z')).toBe(0)
})
