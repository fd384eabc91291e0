/**
 * What is being written, kept for each session in the browser, so that a reload, another tab of the page or a
 * lost connection takes nothing away. Bounded in number and size; what no longer fits is the oldest.
 */

import type { Paste } from './paste'

/** A file that the daemon has already taken. */
export interface KeptAttachment {
  ref: string
  name: string
  mimeType: string
  size: number
}

/** What is being written in one session. */
export interface StoredDraft {
  text: string
  pastes: Paste[]
  attachments: KeptAttachment[]
}

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>

const PREFIX = 'ostler.draft.'
const MAX_DRAFTS = 50
const MAX_LENGTH = 512 * 1024

export function emptyDraft(): StoredDraft {
  return { text: '', pastes: [], attachments: [] }
}

export function isEmpty(draft: StoredDraft): boolean {
  return draft.text.trim() === '' && draft.attachments.length === 0
}

/** What was being written in this session. */
export function loadDraft(storage: Store, sessionId: string): StoredDraft {
  try {
    const kept = JSON.parse(storage.getItem(PREFIX + sessionId) ?? 'null') as Partial<StoredDraft> | null
    if (!kept || typeof kept.text !== 'string') return emptyDraft()
    return {
      text: kept.text,
      pastes: Array.isArray(kept.pastes) ? kept.pastes : [],
      attachments: Array.isArray(kept.attachments) ? kept.attachments : [],
    }
  } catch {
    return emptyDraft()
  }
}

/** Keeps it, or forgets it when it is empty. */
export function saveDraft(storage: Store, sessionId: string, draft: StoredDraft, now: number): void {
  try {
    if (isEmpty(draft)) {
      storage.removeItem(PREFIX + sessionId)
      return
    }
    const kept = JSON.stringify({ ...draft, at: now })
    if (kept.length > MAX_LENGTH) return
    storage.setItem(PREFIX + sessionId, kept)
    dropOldest(storage)
  } catch {
    // Storage is full or forbidden: the draft then lives as long as the page.
  }
}

function dropOldest(storage: Store): void {
  const drafts: { key: string; at: number }[] = []
  for (let place = 0; place < storage.length; place += 1) {
    const key = storage.key(place)
    if (!key?.startsWith(PREFIX)) continue
    drafts.push({ key, at: writtenAt(storage.getItem(key)) })
  }
  drafts.sort((a, b) => b.at - a.at)
  for (const { key } of drafts.slice(MAX_DRAFTS)) storage.removeItem(key)
}

function writtenAt(kept: string | null): number {
  try {
    const at = (JSON.parse(kept ?? '{}') as { at?: unknown }).at
    return typeof at === 'number' ? at : 0
  } catch {
    return 0
  }
}
