/** What an approval asks, its rule, and the keys that answer it. */

import { describe, expect, it } from 'vitest'

import type { PendingApproval } from '../api/types'
import { comparedFiles, questionOf, ruleWords } from './describe'
import { answerFor, isCardKey } from './keys'
import { readPatch } from './patch'

function approval(tool: string, input: unknown, kind: PendingApproval['kind'] = 'write'): PendingApproval {
  return {
    session_id: 'sess_1',
    turn_id: 'turn_1',
    tool_call_id: 'call_1',
    tool,
    input,
    kind,
    summary: '',
    rule: { tool, subject: '' },
    requested_at: '2026-03-02T09:15:04Z',
  }
}

describe('what an approval asks', () => {
  it('is the exact command, with where it runs', () => {
    const asked = approval('shell', { command: 'rm -rf build', cwd: 'sub', background: true }, 'exec')
    expect(questionOf(asked)).toEqual({
      shape: 'command',
      command: 'rm -rf build',
      where: 'sub',
      notes: ['keeps running in the background'],
    })
    expect(questionOf(approval('acp:shell', { command: ['git', 'commit', '-m', "it's"] }, 'exec'))).toMatchObject({
      command: "git commit -m 'it'\\''s'",
    })
  })

  it('is a diff where files are written, edited or patched', () => {
    const written = questionOf(approval('write_file', { path: 'a.txt', content: 'one\ntwo\n' }))
    expect(written).toMatchObject({ shape: 'diff', files: [{ from: null, to: 'a.txt', added: 2, removed: 0 }] })
    const edited = questionOf(approval('edit_file', { path: 'a.txt', old: 'one', new: 'two' }))
    expect(edited).toMatchObject({ shape: 'diff', files: [{ added: 1, removed: 1 }] })
    const patched = questionOf(approval('apply_patch', { patch: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n' }))
    expect(patched).toMatchObject({ shape: 'diff', files: [{ to: 'x', added: 1, removed: 1 }] })
  })

  it('is the whole input where nothing better is known, or where a patch cannot be read', () => {
    expect(questionOf(approval('mcp__db__query', { sql: 'drop table a' }, 'exec'))).toMatchObject({
      shape: 'input',
      text: '{\n  "sql": "drop table a"\n}',
    })
    expect(questionOf(approval('apply_patch', { patch: '*** Begin Patch\nnonsense\n*** End Patch' }))).toMatchObject({
      shape: 'input',
    })
    expect(questionOf(approval('web_fetch', { url: 'https://example.org' }, 'network'))).toEqual({
      shape: 'address',
      address: 'https://example.org',
    })
    expect(questionOf(approval('odd', null))).toEqual({ shape: 'input', text: 'null' })
  })

  it("reads a model's patch", () => {
    const files = readPatch(
      '*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@ def f():\n keep\n-old\n+new\n' +
        '*** Add File: n.txt\n+hi\n*** Delete File: d.txt\n*** End Patch\n',
    )
    expect(files?.map(({ from, to, added, removed }) => [from, to, added, removed])).toEqual([
      ['a.py', 'b.py', 1, 1],
      [null, 'n.txt', 1, 0],
      ['d.txt', null, 0, 0],
    ])
    expect(files?.[0]?.hunks[0]?.heading).toBe('def f():')
  })
})

describe('what the daemon has compared', () => {
  const diff = '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n'
  const told = (files: object[]) => comparedFiles({ tool_call_id: 'c', files: files as never })

  it('is shown under the names that it has', () => {
    const [file] = told([{ path: 'a.txt', kind: 'modified', added: 1, removed: 1, binary: false, diff }]) ?? []
    expect([file?.from, file?.to, file?.added, file?.removed, file?.hunks.length]).toEqual(['a.txt', 'a.txt', 1, 1, 1])
    const [fresh] = told([{ path: 'n', kind: 'added', added: 0, removed: 0, binary: false, diff: '' }]) ?? []
    expect([fresh?.from, fresh?.to, fresh?.hunks]).toEqual([null, 'n', []])
  })

  it('is all that tells of a merge, so what cannot be shown is named', () => {
    const asked = approval('task_control', { task_id: 'sess_2', action: 'merge' })
    expect(questionOf(asked)).toEqual({ shape: 'diff', files: [] })
    expect(questionOf(approval('task_control', { task_id: 'sess_2', action: 'drop' }))).toMatchObject({
      shape: 'input',
    })
    const files = [
      { path: 'a.txt', kind: 'modified', added: 1, removed: 1, binary: false, diff },
      { path: 'b.bin', kind: 'added', added: 0, removed: 0, binary: true },
    ]
    const shown = comparedFiles({ tool_call_id: 'c', files: files as never }, true) ?? []
    expect(shown.map((file) => [file.to, file.binary, file.hunks.length])).toEqual([
      ['a.txt', false, 1],
      ['b.bin', true, 0],
    ])
  })

  it('is left where it is not whole', () => {
    expect(told([{ path: 'a.txt', kind: 'modified', added: 1, removed: 1, binary: false }])).toBeNull()
    expect(told([])).toBeNull()
    expect(comparedFiles({ tool_call_id: 'c', files: null })).toBeNull()
  })
})

describe('the rule', () => {
  it('is told exactly', () => {
    const words = ruleWords({
      tool: 'shell',
      subject: 'cargo test && ls',
      workspace: '/w',
      commands: [{ argv: ['cargo', 'test'] }, { argv: ['ls', 'my dir'], open: true }],
    })
    expect(words.commands).toEqual(['cargo test', "ls 'my dir' …"])
    expect(words.subject).toBe('cargo test && ls')
    expect(words.workspace).toBe('/w')
    expect(ruleWords({ tool: 'x', subject: '{}', whole: true }).sentence).toContain('this exact input')
  })
})

describe('keys', () => {
  const key = (key: string, more: object = {}) => ({
    key,
    code: '',
    altKey: false,
    ctrlKey: false,
    metaKey: false,
    repeat: false,
    isComposing: false,
    ...more,
  })

  it('answer by a letter where nobody types and the card has been seen', () => {
    expect(answerFor(key('y'), { typing: false, settled: true })).toBe('once')
    expect(answerFor(key('Y'), { typing: false, settled: true })).toBe('once')
    expect(answerFor(key('y'), { typing: true, settled: true })).toBeNull()
    expect(answerFor(key('y'), { typing: false, settled: false })).toBeNull()
    expect(answerFor(key('x'), { typing: false, settled: true })).toBeNull()
  })

  it('bring the focus to the card with Alt, also where Alt writes another sign', () => {
    expect(isCardKey(key('y', { altKey: true }))).toBe(true)
    expect(isCardKey(key('¥', { altKey: true, code: 'KeyY' }))).toBe(true)
    // On a German keyboard the place of Y has a Z.
    expect(isCardKey(key('z', { altKey: true, code: 'KeyY' }))).toBe(false)
    expect(isCardKey(key('y'))).toBe(false)
  })

  it('do not answer when held down, or with other modifiers', () => {
    expect(answerFor(key('y', { repeat: true }), { typing: false, settled: true })).toBeNull()
    expect(answerFor(key('n', { altKey: true }), { typing: false, settled: true })).toBeNull()
    expect(answerFor(key('a', { ctrlKey: true }), { typing: false, settled: true })).toBeNull()
  })
})
