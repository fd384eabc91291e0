/**
 * What a turn changed. The daemon tells it from the files; until it has, or where it cannot, it is gathered from the
 * review that was asked for, or from what the turn's tool calls say they did, which leaves out what commands did.
 */

import type { FileChange, TurnDiff } from '../api/types'
import type { Entry, PatchReview, VerificationEntry } from '../state/model'

/** A file's change, and whether its diff is cut off. */
export type ShownChange = FileChange & { truncated?: boolean }

/** What is known of a turn's change. */
export interface TurnChanges {
  turnId: string
  files: readonly ShownChange[]
  /** Files that changed and are not shown. */
  more: number
  /** Whether this is the workspace's whole change, or only what the tools said. */
  isWhole: boolean
  note: string | null
}

/**
 * The turn's change: as the review that waits shows it, as the daemon tells it, as it was shown before, or else as its calls tell it.
 * Null when nothing is known to have changed.
 */
export function changesOf(
  entries: readonly Entry[],
  turnId: string,
  shown: PatchReview | null,
  told: TurnDiff | null = null,
): TurnChanges | null {
  if (told?.turn_id === turnId && !(shown?.waits && shown.turnId === turnId)) {
    return { turnId, files: told.files, more: told.more, isWhole: true, note: told.note ?? null }
  }
  const review = shown?.turnId === turnId ? shown : reviewIn(entries, turnId)
  if (review) return { turnId, files: review.files, more: review.more, isWhole: true, note: review.note }
  const files = new Map<string, FileChange>()
  for (const entry of entries) {
    if (entry.kind !== 'tool' || entry.turnId !== turnId || !entry.result?.ok) continue
    for (const change of filesIn(entry.result.details)) merge(files, change)
  }
  return files.size > 0 ? { turnId, files: [...files.values()], more: 0, isWhole: false, note: null } : null
}

function reviewIn(entries: readonly Entry[], turnId: string): PatchReview | null {
  const found = entries.findLast((entry) => entry.kind === 'review' && entry.turnId === turnId)
  return found?.kind === 'review' ? found.review : null
}

/** The checks of a turn, in order. */
export function checksOf(entries: readonly Entry[], turnId: string): VerificationEntry[] {
  return entries.filter((entry): entry is VerificationEntry => entry.kind === 'verification' && entry.turnId === turnId)
}

/** The newest turn that changed something. */
export function lastChangedTurn(entries: readonly Entry[]): string | null {
  const found = entries.findLast((entry) => {
    if (entry.kind === 'review') return true
    return entry.kind === 'tool' && entry.result?.ok === true && filesIn(entry.result.details).length > 0
  })
  return found?.turnId ?? null
}

/** The `files` of a result's details, as the tools that change files give them. */
function filesIn(details: unknown): FileChange[] {
  if (typeof details !== 'object' || details === null) return []
  const { files } = details as { files?: unknown }
  return Array.isArray(files) ? files.flatMap((file) => fileIn(file) ?? []) : []
}

const KINDS: { [action: string]: FileChange['kind'] } = {
  add: 'added',
  update: 'modified',
  delete: 'deleted',
  move: 'renamed',
}

function fileIn(file: unknown): FileChange | null {
  if (typeof file !== 'object' || file === null) return null
  const { path, action, from, added, removed, diff } = file as { [name: string]: unknown }
  const kind = typeof action === 'string' ? KINDS[action] : undefined
  if (typeof path !== 'string' || !kind) return null
  return {
    path,
    kind,
    from: typeof from === 'string' ? from : null,
    added: typeof added === 'number' ? added : 0,
    removed: typeof removed === 'number' ? removed : 0,
    binary: false,
    diff: typeof diff === 'string' ? diff : null,
  }
}

/** Several changes of one file stand one after the other, as they were made. */
function merge(files: Map<string, FileChange>, change: FileChange): void {
  const before = files.get(change.path)
  if (!before) {
    files.set(change.path, change)
    return
  }
  const kind = before.kind === 'added' && change.kind === 'modified' ? 'added' : change.kind
  files.set(change.path, {
    ...change,
    kind,
    from: change.from ?? before.from ?? null,
    added: before.added + change.added,
    removed: before.removed + change.removed,
    diff: [before.diff, change.diff].filter((diff) => diff).join('\n'),
  })
}
