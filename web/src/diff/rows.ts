// Lays the lines of a hunk out side by side, and marks what differs within a line that was changed. Pure; the view
// draws what comes out.

import type { DiffHunk, DiffLine } from './parse'

/** A row of the split view: the old line on the left, the new one on the right. */
export interface SplitRow {
  left: DiffLine | null
  right: DiffLine | null
}

/** A piece of a line; `changed` where it differs from its counterpart. */
export interface Piece {
  text: string
  changed: boolean
}

/** Lines that are longer are not compared word by word. */
const MAX_COMPARED = 500
/** More words than this are not compared: it takes their product. */
const MAX_WORDS = 120

/** The rows of a hunk side by side: removed lines stand beside the added ones that follow them. */
export function splitRows(hunk: DiffHunk): SplitRow[] {
  const rows: SplitRow[] = []
  let removed: DiffLine[] = []
  let added: DiffLine[] = []
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      rows.push({ left: removed[at] ?? null, right: added[at] ?? null })
    }
    ;[removed, added] = [[], []]
  }
  for (const line of hunk.lines) {
    if (line.kind === 'removed') {
      if (added.length > 0) flush()
      removed.push(line)
    } else if (line.kind === 'added') {
      added.push(line)
    } else if (line.kind === 'context') {
      flush()
      rows.push({ left: line, right: line })
    }
  }
  flush()
  return rows
}

/** What changed within the lines of a hunk, for each removed line that has an added counterpart. */
export function changedPieces(hunk: DiffHunk): Map<DiffLine, Piece[]> {
  const pieces = new Map<DiffLine, Piece[]>()
  for (const { left, right } of splitRows(hunk)) {
    if (!left || !right || left === right) continue
    const compared = compareWords(left.text, right.text)
    if (!compared) continue
    pieces.set(left, compared.old)
    pieces.set(right, compared.new)
  }
  return pieces
}

/** Compares two lines by words; null when they are too long or have too little in common for it to help. */
export function compareWords(before: string, after: string): { old: Piece[]; new: Piece[] } | null {
  if (before.length > MAX_COMPARED || after.length > MAX_COMPARED) return null
  const [old, fresh] = [words(before), words(after)]
  if (old.length > MAX_WORDS || fresh.length > MAX_WORDS) return null
  const { inOld, inNew, common } = shared(old, fresh)
  if (common * 3 < Math.max(before.trim().length, after.trim().length)) return null
  return { old: joined(old, inOld), new: joined(fresh, inNew) }
}

function words(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|./gu) ?? []
}

/** The longest common subsequence, as flags on both sides. */
function shared(old: string[], fresh: string[]): { inOld: boolean[]; inNew: boolean[]; common: number } {
  const width = fresh.length + 1
  const lengths = new Uint16Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        old[i] === fresh[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
    }
  }
  const inOld = old.map(() => false)
  const inNew = fresh.map(() => false)
  let common = 0
  for (let i = 0, j = 0; i < old.length && j < fresh.length; ) {
    if (old[i] === fresh[j]) {
      common += old[i]!.trim().length
      inOld[i++] = inNew[j++] = true
    } else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i += 1
    else j += 1
  }
  return { inOld, inNew, common }
}

function joined(parts: string[], same: boolean[]): Piece[] {
  const pieces: Piece[] = []
  parts.forEach((text, at) => {
    const changed = !same[at]
    const last = pieces.at(-1)
    if (last && last.changed === changed) last.text += text
    else pieces.push({ text, changed })
  })
  return pieces
}
