// What people read of who did something, and of what to do next: no names of programs, and no routes.

import { describe, expect, it } from 'vitest'

import { hintForPeople } from '../api/http'
import { byWhom } from './text'

describe('byWhom', () => {
  it.each([
    ['page', ' by you'],
    ['http Mozilla/5.0 (X11)', ' by you'],
    ['http ostler-cli/0.1.0', ' by you, on the command line'],
    ['tui', ' by you, in the terminal'],
    ['http docs-bot/1.2', ' by docs-bot'],
  ])('%s is%s', (by, shown) => expect(byWhom(by)).toBe(shown))
})

describe('hintForPeople', () => {
  it('replaces routes and keeps everything else', () => {
    expect(hintForPeople('session_not_found', 'GET /v1/sessions lists those that there are')).toMatch(/sidebar/)
    expect(hintForPeople('other', 'List sessions with GET /v1/sessions')).toBeNull()
    expect(hintForPeople('other', 'start it with: `ostler serve`')).toBe('start it with: `ostler serve`')
    expect(hintForPeople('other', null)).toBeNull()
  })
})
