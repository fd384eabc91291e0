/** What opens a menu, and the commands in it. */

import { describe, expect, it } from 'vitest'

import { allCommands, findCommands, readCommand } from './commands'
import { complete, edges, fileWord, triggerAt } from './trigger'

describe('what the word at the caret asks for', () => {
  it('is a command at the beginning only', () => {
    expect(triggerAt('/com', 4)).toEqual({ kind: 'command', query: 'com', start: 0, end: 4 })
    expect(triggerAt('/compact now', 8)?.query).toBe('compact')
    expect(triggerAt('/compact now', 10)).toBeNull()
    expect(triggerAt('see /com', 8)).toBeNull()
    expect(triggerAt('/usr/bin', 4)).toBeNull()
    expect(triggerAt('/', 0)).toBeNull()
  })

  it('is a file after an at sign that begins a word', () => {
    expect(triggerAt('look at @src/ma', 15)).toEqual({ kind: 'file', query: 'src/ma', start: 8, end: 15 })
    expect(triggerAt('(@a', 3)?.query).toBe('a')
    expect(triggerAt('me@example.org', 14)).toBeNull()
    expect(triggerAt('@a b', 4)).toBeNull()
    expect(triggerAt('@', 1)).toEqual({ kind: 'file', query: '', start: 0, end: 1 })
  })

  it('takes the rest of the word with it', () => {
    const trigger = triggerAt('see @maXXX now', 7)!
    expect(trigger).toEqual({ kind: 'file', query: 'ma', start: 4, end: 10 })
    expect(complete('see @maXXX now', trigger, '@src/main.rs')).toEqual({ text: 'see @src/main.rs now', caret: 17 })
    expect(complete('@ma', triggerAt('@ma', 3)!, '@a.rs')).toEqual({ text: '@a.rs ', caret: 6 })
  })

  it('quotes names that would end early', () => {
    expect(fileWord('a/b.rs')).toBe('@a/b.rs')
    expect(fileWord('my file.md')).toBe('@"my file.md"')
  })

  it('knows the first and the last line', () => {
    expect(edges('a\nb', 0)).toEqual({ first: true, last: false })
    expect(edges('a\nb', 3)).toEqual({ first: false, last: true })
    expect(edges('', 0)).toEqual({ first: true, last: true })
  })
})

describe('commands', () => {
  const commands = allCommands([
    { name: 'plan', description: 'plan first', hint: null },
    { name: 'compact', description: 'theirs', hint: null },
  ])

  it("are ours, then the agent's, without doubles", () => {
    expect(commands.filter(({ name }) => name === 'compact')).toHaveLength(1)
    expect(commands.find(({ name }) => name === 'compact')?.own).toBe('compact')
    expect(commands.find(({ name }) => name === 'plan')?.own).toBeNull()
    expect(findCommands('rev', commands)[0]?.item.name).toBe('review')
  })

  it('are read with what follows', () => {
    expect(readCommand('/rename A new title', commands)).toMatchObject({
      command: { name: 'rename' },
      argument: 'A new title',
    })
    expect(readCommand('/compact', commands)).toMatchObject({ argument: '' })
    expect(readCommand('/unknown thing', commands)).toBeNull()
    expect(readCommand('hello /compact', commands)).toBeNull()
  })
})
