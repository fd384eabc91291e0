/**
 * Which files and hunks of a turn's change are rejected, and the answer that this makes. Nothing is rejected
 * until somebody says so. Pure; the panel draws it and sends the answer.
 */

import type { FileChange, RejectedFile, ReviewComment, Verdict } from '../api/types'

/** What is rejected: whole files, and single hunks of others. */
export interface Selection {
  readonly files: ReadonlySet<string>
  readonly hunks: ReadonlyMap<string, ReadonlySet<number>>
}

export type FileDecision = 'accepted' | 'rejected' | 'partly'

export const ACCEPT_ALL: Selection = { files: new Set(), hunks: new Map() }

/** How a file stands. */
export function fileDecision(selection: Selection, path: string): FileDecision {
  if (selection.files.has(path)) return 'rejected'
  return (selection.hunks.get(path)?.size ?? 0) > 0 ? 'partly' : 'accepted'
}

export function isHunkRejected(selection: Selection, path: string, hunk: number): boolean {
  return selection.files.has(path) || (selection.hunks.get(path)?.has(hunk) ?? false)
}

/** Accepts or rejects a file as a whole; what was said of its hunks is forgotten. */
export function setFile(selection: Selection, path: string, rejected: boolean): Selection {
  const files = new Set(selection.files)
  const hunks = new Map(selection.hunks)
  if (rejected) files.add(path)
  else files.delete(path)
  hunks.delete(path)
  return { files, hunks }
}

/** Accepts or rejects one of a file's `count` hunks. All hunks rejected are the file rejected. */
export function setHunk(selection: Selection, path: string, hunk: number, count: number, rejected: boolean): Selection {
  const rejectedBefore = selection.files.has(path)
    ? Array.from({ length: count }, (_, index) => index)
    : (selection.hunks.get(path) ?? [])
  const chosen = new Set(rejectedBefore)
  if (rejected) chosen.add(hunk)
  else chosen.delete(hunk)
  if (chosen.size >= count) return setFile(selection, path, true)
  const cleared = setFile(selection, path, false)
  const hunks = new Map(cleared.hunks)
  if (chosen.size > 0) hunks.set(path, chosen)
  return { files: cleared.files, hunks }
}

/** How many files are wholly and partly rejected. */
export function countRejected(selection: Selection): { files: number; partly: number } {
  return { files: selection.files.size, partly: [...selection.hunks.values()].filter((hunks) => hunks.size > 0).length }
}

export interface ReviewDecision {
  action: Verdict
  review: { reject: RejectedFile[]; comments: ReviewComment[] } | null
}

/** The answer: yes with what is put back, or no when nothing at all is to stay. */
export function decisionOf(
  shown: { files: readonly FileChange[]; more: number },
  selection: Selection,
  comments: readonly ReviewComment[],
): ReviewDecision {
  const reject: RejectedFile[] = []
  for (const { path } of shown.files) {
    const hunks = selection.hunks.get(path)
    if (selection.files.has(path)) reject.push({ path })
    else if (hunks && hunks.size > 0) reject.push({ path, hunks: [...hunks].sort((a, b) => a - b) })
  }
  const nothingStays =
    shown.more === 0 && shown.files.length > 0 && shown.files.every(({ path }) => selection.files.has(path))
  if (nothingStays)
    return { action: 'deny', review: comments.length > 0 ? { reject: [], comments: [...comments] } : null }
  const says = reject.length > 0 || comments.length > 0
  return { action: 'approve', review: says ? { reject, comments: [...comments] } : null }
}
