// Rows: what is folded, what is left out, and what stays the same object. And where rows stand.
import { describe, expect, it } from 'vitest'

import type { Entry, MessageEntry, ThinkingEntry, ToolEntry } from '../state/model'
import { rowsOf, runSummary, type RunEntry } from './fold'
import { toPieces, fitting } from './highlight/pieces'
import { Layout } from './layout'
import { changesOf } from './tools/changes'
import { countsOf, cardKindOf, titleOf } from './tools/tool-kind'

const tool = (key: string, name: string, more: Partial<ToolEntry> = {}): ToolEntry => ({
  kind: 'tool',
  key,
  callId: key,
  turnId: 't',
  at: '',
  name,
  toolKind: 'read',
  input: { path: `${key}.rs`, query: key },
  status: 'done',
  output: { stdout: '', stderr: '', cut: false },
  result: null,
  durationMs: 1,
  startedAt: null,
  child: null,
  answer: null,
  ...more,
})
const message = (key: string, text: string): MessageEntry => ({
  kind: 'message',
  key,
  id: key,
  role: 'assistant',
  parts: [{ type: 'text', text }],
  turnId: 't',
  at: '',
  streaming: false,
})
const thinking = (key: string): ThinkingEntry => ({
  kind: 'thinking',
  key,
  id: key,
  turnId: 't',
  at: '',
  text: 'hm',
  streaming: false,
})
const keys = (entries: Entry[]) =>
  rowsOf(entries).map((row) => (row.kind === 'run' ? row.entries.map((entry) => entry.key).join('+') : row.key))

describe('rowsOf', () => {
  it('folds calls in a row that only look', () => {
    expect(
      keys([
        message('m', 'x'),
        tool('a', 'read_file'),
        tool('b', 'search'),
        tool('c', 'shell'),
        tool('d', 'read_file'),
      ]),
    ).toEqual(['m', 'a+b', 'c', 'd'])
  })

  it('folds over empty messages and thoughts between, not over a thought at the end', () => {
    expect(
      keys([
        tool('a', 'read_file'),
        message('m', ''),
        thinking('x'),
        tool('b', 'grep'),
        thinking('y'),
        message('n', 'done'),
      ]),
    ).toEqual(['a+x+b', 'y', 'n'])
  })

  it('leaves alone what waits, was denied, or has a picture', () => {
    const picture = {
      id: 'p',
      ok: true,
      parts: [{ type: 'image' as const, ref: 'attachments/p.png', mime_type: 'image/png' }],
    }
    expect(
      keys([
        tool('a', 'read_file'),
        tool('b', 'read_file', { status: 'waiting' }),
        tool('c', 'read_file', { result: picture }),
        tool('d', 'read_file'),
      ]),
    ).toEqual(['a', 'b', 'c', 'd'])
  })

  it('keeps rows that have not changed, also behind a page of history', () => {
    const entries = [message('m', 'x'), tool('a', 'read_file'), tool('b', 'search'), message('n', 'y')]
    const first = rowsOf(entries)
    const second = rowsOf([...entries, message('o', 'z')], first)
    expect(second.slice(0, 3)).toEqual(first)
    second.slice(0, 3).forEach((row, at) => expect(row).toBe(first[at]))
    const third = rowsOf([message('k', 'older'), ...entries], second)
    expect(third[1]).toBe(first[0])
    expect(third[2]).toBe(first[1])
    const fourth = rowsOf([message('m', 'changed'), ...entries.slice(1)], first)
    expect(fourth[0]).not.toBe(first[0])
  })

  it('says what a run did', () => {
    const run: RunEntry[] = [
      tool('a', 'read_file'),
      tool('b', 'read_file'),
      tool('c', 'search'),
      tool('d', 'git_status'),
      thinking('x'),
    ]
    expect(runSummary(run)).toBe('Read 2 files, ran 1 search, inspected the workspace')
  })
})

describe('tool calls', () => {
  it('knows the card by name, child, kind or result', () => {
    expect(cardKindOf(tool('a', 'Bash'))).toBe('command')
    expect(cardKindOf(tool('a', 'mcp__x', { input: {} }))).toBe('other')
    expect(cardKindOf(tool('a', 'run', { toolKind: 'exec', input: { command: 'ls' } }))).toBe('command')
    expect(cardKindOf(tool('a', 'x', { result: { id: 'a', ok: true, parts: [], details: { files: [] } } }))).toBe(
      'change',
    )
  })

  it('says what was done only when it was', () => {
    expect(titleOf(tool('a', 'read_file'))).toEqual({ verb: 'Read', subject: 'a.rs' })
    expect(titleOf(tool('a', 'shell', { input: { command: 'ls\u202e' }, status: 'denied' }))).toEqual({
      verb: 'Run',
      subject: 'ls‹U+202E›',
    })
    expect(titleOf(tool('a', 'shell', { input: { command: 'a\nb' }, status: 'running' })).verb).toBe('Running')
    expect(titleOf(tool('a', 'shell', { input: null })).subject).toBe('shell')
  })

  it('finds the change in the result, else in what was asked for', () => {
    const details = {
      files: [
        { path: 'a', action: 'update', diff: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n' },
        { path: 'b', action: 'delete', diff: '', added: 0, removed: 3 },
      ],
    }
    const done = changesOf(tool('a', 'apply_patch', { result: { id: 'a', ok: true, parts: [], details } }))
    expect(done.map((file) => [file.from, file.to, file.added, file.removed])).toEqual([
      ['a', 'a', 1, 1],
      ['b', null, 0, 3],
    ])
    expect(
      countsOf(
        tool('a', 'apply_patch', {
          result: {
            id: 'a',
            ok: true,
            parts: [],
            details: { files: [{ added: 2, removed: 1 }, { added: null, removed: 3 }, null] },
          },
        }),
      ),
    ).toEqual({ added: 2, removed: 4 })
    expect(
      titleOf(
        tool('a', 'apply_patch', {
          input: { patch: '*** Begin Patch\n*** Update File: x/y.rs\n@@\n-a\n+b\n*** End Patch' },
        }),
      ).subject,
    ).toBe('x/y.rs')
    const wanted = changesOf(tool('a', 'edit_file', { input: { path: 'f', old: 'x', new: 'y' } }))[0]
    expect(wanted).toMatchObject({ from: 'f', added: 1, removed: 1 })
    // Where in the file the lines stand is not known before it is done.
    expect(wanted?.hunks[0]?.lines.map((line) => [line.old, line.new])).toEqual([
      [null, null],
      [null, null],
    ])
    expect(changesOf(tool('a', 'write_file', { input: { path: 'f', content: 'x\n' } }))[0]).toMatchObject({
      from: null,
      to: 'f',
      added: 1,
    })
  })
})

describe('Layout', () => {
  const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => ({ key: `r${from + at}` }))

  it('guesses, measures, and finds rows by their place', () => {
    const layout = new Layout(() => 10)
    layout.set(rows(0, 100))
    expect(layout.total).toBe(1000)
    expect(layout.measure(3, 50)).toBe(true)
    expect(layout.measure(3, 50)).toBe(false)
    expect([layout.total, layout.top(3), layout.top(4)]).toEqual([1040, 30, 80])
    expect([layout.at(-5), layout.at(29), layout.at(30), layout.at(79), layout.at(80), layout.at(1e9)]).toEqual([
      0, 2, 3, 3, 4, 99,
    ])
    expect(layout.range(80, 20, 10)).toEqual({ start: 3, end: 8 })
  })

  it('keeps what was measured when rows are put before', () => {
    const layout = new Layout(() => 10)
    const first = rows(10, 20)
    layout.set(first)
    layout.measure(0, 100)
    layout.set([...rows(0, 10), ...first])
    expect([layout.total, layout.height(10)]).toEqual([290, 100])
    layout.set([])
    expect([layout.total, layout.range(0, 10, 10)]).toEqual([0, { start: 0, end: 0 }])
  })
})

describe('highlighting', () => {
  it('takes text and known class names from the markup, and nothing else', () => {
    const html =
      '<span class="hljs-keyword">let</span> x = <span class="hljs-string">&quot;&lt;b&gt;<span class="hljs-subst">${y}</span>&quot;</span>'
    expect(toPieces(html)).toEqual([
      { text: 'let', style: 'hl-keyword' },
      { text: ' x = ', style: '' },
      { text: '"<b>', style: 'hl-string' },
      { text: '${y}', style: '' },
      { text: '"', style: 'hl-string' },
    ])
  })

  it('keeps the colours of what has not changed while code comes in', () => {
    const pieces = [
      { text: 'let', style: 'k' },
      { text: ' x', style: '' },
    ]
    expect(fitting(pieces, 'let x = 1')).toEqual([...pieces, { text: ' = 1', style: '' }])
    expect(fitting(pieces, 'let y')).toEqual([
      { text: 'let', style: 'k' },
      { text: ' y', style: '' },
    ])
  })
})
