/** What is rejected of a change, remarks on it, and where it comes from. */

import { describe, expect, it } from 'vitest'

import type { FileChange } from '../api/types'
import type { Entry, PatchReview } from '../state/model'
import { changesOf, lastChangedTurn } from './changes'
import { asText, forReview, loadComments, putComment, type LineComment } from './comments'
import { ACCEPT_ALL, decisionOf, isHunkRejected, setFile, setHunk, fileDecision, countRejected } from './selection'

const file = (path: string): FileChange => ({ path, kind: 'modified', added: 1, removed: 1, binary: false, diff: '' })
const shown = { files: [file('a.rs'), file('b.rs')], more: 0 }

describe('what is rejected', () => {
  it('is nothing at first: a plain yes', () => {
    expect(decisionOf(shown, ACCEPT_ALL, [])).toEqual({ action: 'approve', review: null })
    expect(fileDecision(ACCEPT_ALL, 'a.rs')).toBe('accepted')
  })

  it('is a file, or a hunk of one', () => {
    const some = setHunk(setFile(ACCEPT_ALL, 'a.rs', true), 'b.rs', 2, 3, true)
    expect(fileDecision(some, 'a.rs')).toBe('rejected')
    expect(fileDecision(some, 'b.rs')).toBe('partly')
    expect(countRejected(some)).toEqual({ files: 1, partly: 1 })
    expect(decisionOf(shown, some, [])).toEqual({
      action: 'approve',
      review: { reject: [{ path: 'a.rs' }, { path: 'b.rs', hunks: [2] }], comments: [] },
    })
  })

  it('becomes the file when all hunks are, and its other hunks when one is accepted again', () => {
    const all = setHunk(setHunk(ACCEPT_ALL, 'a.rs', 0, 2, true), 'a.rs', 1, 2, true)
    expect(fileDecision(all, 'a.rs')).toBe('rejected')
    const again = setHunk(all, 'a.rs', 0, 2, false)
    expect(fileDecision(again, 'a.rs')).toBe('partly')
    expect(isHunkRejected(again, 'a.rs', 0)).toBe(false)
    expect(isHunkRejected(again, 'a.rs', 1)).toBe(true)
    expect(fileDecision(setHunk(again, 'a.rs', 1, 2, false), 'a.rs')).toBe('accepted')
  })

  it('is a no only when nothing at all stays', () => {
    const all = setFile(setFile(ACCEPT_ALL, 'a.rs', true), 'b.rs', true)
    expect(decisionOf(shown, all, [])).toEqual({ action: 'deny', review: null })
    // Files that are not shown follow the answer, so a no would take them along.
    expect(decisionOf({ ...shown, more: 3 }, all, [])).toMatchObject({
      action: 'approve',
      review: { reject: [{ path: 'a.rs' }, { path: 'b.rs' }] },
    })
    expect(decisionOf({ files: [], more: 0 }, ACCEPT_ALL, [])).toEqual({ action: 'approve', review: null })
  })

  it('does not change what it was made from', () => {
    const before = setFile(ACCEPT_ALL, 'a.rs', true)
    setHunk(before, 'b.rs', 0, 2, true)
    expect(countRejected(before)).toEqual({ files: 1, partly: 0 })
    expect(countRejected(ACCEPT_ALL)).toEqual({ files: 0, partly: 0 })
  })
})

describe('comments', () => {
  const comment = (id: string, line: number, text: string): LineComment => ({
    id,
    path: 'a.rs',
    line,
    side: 'new',
    text,
  })

  it('are kept in the order of the lines, and go when emptied', () => {
    const two = putComment(putComment([], comment('1', 9, 'late')), comment('2', 3, 'early'))
    expect(two.map(({ id }) => id)).toEqual(['2', '1'])
    expect(putComment(two, comment('1', 9, ' '))).toHaveLength(1)
    expect(putComment(two, comment('1', 9, 'other')).find(({ id }) => id === '1')?.text).toBe('other')
  })

  it('go with the answer, or with the next message', () => {
    const all = [comment('1', 7, 'name it\nwell'), { ...comment('2', 2, 'why?'), side: 'old' as const }]
    expect(forReview(all)).toEqual([
      { path: 'a.rs', line: 7, text: 'name it\nwell' },
      { path: 'a.rs', text: '(on removed line 2) why?' },
    ])
    expect(asText(all)).toBe('Comments on your changes:\n- a.rs:7: name it\n  well\n- a.rs (removed line 2): why?')
  })

  it('survive nonsense', () => {
    expect(loadComments({ getItem: () => '[{"id":1}]', setItem: () => {}, removeItem: () => {} }, 's')).toEqual([])
  })
})

describe("a turn's change", () => {
  const call = (turnId: string, files: object[]) =>
    ({
      kind: 'tool',
      key: '',
      turnId,
      result: { id: 'c', ok: true, parts: [], details: { files } },
    }) as unknown as Entry

  it('is gathered from its calls, file by file', () => {
    const entries = [
      call('t1', [{ path: 'a', action: 'add', added: 1, removed: 0, diff: 'one' }]),
      call('t1', [{ path: 'a', action: 'update', added: 2, removed: 1, diff: 'two' }]),
      call('t2', [{ path: 'b', action: 'delete', added: 0, removed: 4, diff: 'three' }]),
    ]
    expect(changesOf(entries, 't1', null)).toMatchObject({
      isWhole: false,
      files: [{ path: 'a', kind: 'added', added: 3, removed: 1, diff: 'one\ntwo' }],
    })
    expect(changesOf(entries, 't3', null)).toBeNull()
    expect(lastChangedTurn(entries)).toBe('t2')
  })

  it('is what was shown, where it was', () => {
    const review = {
      turnId: 't1',
      toolCallId: 'r',
      files: [file('z')],
      more: 2,
      waits: true,
      note: null,
    } as PatchReview
    expect(changesOf([], 't1', review)).toMatchObject({ isWhole: true, more: 2, files: [{ path: 'z' }] })
    expect(changesOf([], 't2', review)).toBeNull()
  })

  it('is what the daemon tells, but while a review waits it is what that shows', () => {
    const told = { turn_id: 't1', files: [{ ...file('told'), truncated: false }], more: 0, running: false, note: null }
    const review = {
      turnId: 't1',
      toolCallId: 'r',
      files: [file('z')],
      more: 2,
      waits: true,
      note: null,
    } as PatchReview
    expect(changesOf([], 't1', null, told)).toMatchObject({ isWhole: true, files: [{ path: 'told' }] })
    expect(changesOf([], 't1', { ...review, waits: false }, told)).toMatchObject({ files: [{ path: 'told' }] })
    expect(changesOf([], 't1', review, told)).toMatchObject({ files: [{ path: 'z' }] })
    expect(changesOf([], 't2', null, told)).toBeNull()
  })
})
