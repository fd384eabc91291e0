/**
 * Remarks on lines of a change, collected until they are sent: with the answer where a review waits, else with
 * the next message. Kept in the browser for each session, so that a reload loses none.
 */

import type { ReviewComment } from '../api/types'

export interface LineComment {
  id: string
  path: string
  /** The line of the new file; of the old one where the line is gone. */
  line: number
  side: 'new' | 'old'
  text: string
}

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

const PREFIX = 'ostler.comments.'
const MAX_COMMENTS = 100
const MAX_LENGTH = 4_000

/** The list with one more, or with another text for one that is there; an empty text takes it away. */
export function putComment(comments: readonly LineComment[], comment: LineComment): LineComment[] {
  const text = comment.text.trim().slice(0, MAX_LENGTH)
  const others = comments.filter(({ id }) => id !== comment.id)
  if (text === '') return others
  if (others.length >= MAX_COMMENTS) return [...comments]
  const all = [...others, { ...comment, text }]
  return all.sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line)
}

/** As the daemon takes them with the answer to a review. It counts lines of the new file only. */
export function forReview(comments: readonly LineComment[]): ReviewComment[] {
  return comments.map(({ path, line, side, text }) =>
    side === 'new' ? { path, line, text } : { path, text: `(on removed line ${line}) ${text}` },
  )
}

/** As they stand in front of the next message. */
export function asText(comments: readonly LineComment[]): string {
  const lines = comments.map(({ path, line, side, text }) => {
    const place = side === 'new' ? `${path}:${line}` : `${path} (removed line ${line})`
    return `- ${place}: ${text.replaceAll('\n', '\n  ')}`
  })
  return ['Comments on your changes:', ...lines].join('\n')
}

export function loadComments(storage: Store, sessionId: string): LineComment[] {
  try {
    const kept: unknown = JSON.parse(storage.getItem(PREFIX + sessionId) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isComment) : []
  } catch {
    return []
  }
}

export function saveComments(storage: Store, sessionId: string, comments: readonly LineComment[]): void {
  try {
    if (comments.length === 0) storage.removeItem(PREFIX + sessionId)
    else storage.setItem(PREFIX + sessionId, JSON.stringify(comments))
  } catch {
    // Storage is full or forbidden: the comments then live as long as the page.
  }
}

function isComment(kept: unknown): kept is LineComment {
  if (typeof kept !== 'object' || kept === null) return false
  const { id, path, line, side, text } = kept as { [name: string]: unknown }
  const words = typeof id === 'string' && typeof path === 'string' && typeof text === 'string'
  return words && typeof line === 'number' && (side === 'new' || side === 'old')
}
