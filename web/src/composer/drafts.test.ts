/** Drafts, modes and the queue's rows. */

import { describe, expect, it } from 'vitest'

import type { Queued, ToolKind } from '../api/types'
import { emptyDraft, loadDraft, saveDraft } from './drafts'
import { MODES, modeOf, policyFor } from './modes'
import { beforeFor, editableText, textOf, withText } from './queue'

class Kept {
  #kept = new Map<string, string>()
  getItem = (key: string) => this.#kept.get(key) ?? null
  setItem = (key: string, value: string) => void this.#kept.set(key, value)
  removeItem = (key: string) => void this.#kept.delete(key)
  key = (place: number) => [...this.#kept.keys()][place] ?? null
  get length() {
    return this.#kept.size
  }
}

const draft = (text: string) => ({ ...emptyDraft(), text })

describe('drafts', () => {
  it('are kept for each session, and forgotten when empty', () => {
    const kept = new Kept()
    saveDraft(kept, 'a', draft('of a'), 1)
    saveDraft(kept, 'b', draft('of b'), 2)
    expect(loadDraft(kept, 'a').text).toBe('of a')
    expect(loadDraft(kept, 'b').text).toBe('of b')
    saveDraft(kept, 'a', draft('  '), 3)
    expect(loadDraft(kept, 'a')).toEqual(emptyDraft())
    expect(kept.length).toBe(1)
  })

  it('gives up the oldest beyond its bound, and nothing of others', () => {
    const kept = new Kept()
    kept.setItem('other', 'stays')
    for (let at = 0; at < 60; at += 1) saveDraft(kept, `s${at}`, draft(`text ${at}`), at)
    expect(kept.length).toBe(51)
    expect(loadDraft(kept, 's0').text).toBe('')
    expect(loadDraft(kept, 's59').text).toBe('text 59')
    expect(kept.getItem('other')).toBe('stays')
  })

  it('survives nonsense', () => {
    const kept = new Kept()
    kept.setItem('ostler.draft.a', '{"text":1}')
    kept.setItem('ostler.draft.b', 'not json')
    expect(loadDraft(kept, 'a')).toEqual(emptyDraft())
    expect(loadDraft(kept, 'b')).toEqual(emptyDraft())
  })
})

describe('modes', () => {
  it('are told from the policy, in any order', () => {
    const idOf = (kinds: ToolKind[], mode: 'off' | 'request' = 'off') =>
      modeOf({ approval: { require_for_kinds: kinds }, patch_review: { mode } })?.id
    expect(idOf(['network', 'write', 'exec'])).toBe('ask')
    expect(idOf(['network', 'write', 'exec'], 'request')).toBe('ask')
    // A policy that asks for nothing but a review is not “Never ask”.
    expect(idOf([], 'request')).toBeUndefined()
    expect(idOf(['exec', 'network'])).toBe('edits')
    expect(idOf(['exec', 'network'], 'request')).toBe('review')
    expect(idOf([])).toBe('free')
    expect(idOf(['read'])).toBeUndefined()
  })

  it('are what they lead to', () => {
    for (const mode of MODES) expect(modeOf(policyFor(mode))?.id).toBe(mode.id)
  })
})

describe('the queue', () => {
  const queue = ['a', 'b', 'c'].map(
    (id) => ({ message: { id, role: 'user', parts: [], created_at: '' }, turn_id: id, delivery: 'queue' }) as Queued,
  )

  it('says before which message one has to stand', () => {
    expect(beforeFor(queue, 2, 0)).toBe('a')
    expect(beforeFor(queue, 0, 1)).toBe('c')
    expect(beforeFor(queue, 0, 2)).toBeNull()
    expect(beforeFor(queue, 1, 1)).toBeUndefined()
    expect(beforeFor(queue, 0, -1)).toBeUndefined()
    expect(beforeFor(queue, 2, 3)).toBeUndefined()
  })

  it('edits the text and keeps the files', () => {
    const parts = [
      { type: 'text' as const, text: 'one' },
      { type: 'image' as const, ref: 'attachments/a.png', mime_type: 'image/png' },
    ]
    expect(textOf(parts)).toBe('one\n[a.png]')
    expect(editableText(parts)).toBe('one')
    expect(withText(parts, 'two')).toEqual([
      { type: 'text', text: 'two' },
      { type: 'image', ref: 'attachments/a.png' },
    ])
    expect(withText(parts, ' ')).toEqual([{ type: 'image', ref: 'attachments/a.png' }])
  })
})
