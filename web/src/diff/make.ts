// Makes a diff of two texts, for calls whose result carries none: one that waits for an answer, or one from a page of
// history. Line by line, with the same shape as a diff that was read. The daemon's own diff is preferred wherever it
// is there.

import type { DiffFile, DiffHunk, DiffLine } from './parse'

/** Lines around a change that are shown. */
const AROUND = 3
/** More changed lines than this on both sides are shown as replaced in whole. */
const MAX_COMPARED_LINES = 600

/** The diff from one text to another. A null text is a file that is not there. */
export function makeDiff(path: string, before: string | null, after: string | null): DiffFile {
  const [old, fresh] = [linesOf(before), linesOf(after)]
  const lines = compareLines(old, fresh)
  const file: DiffFile = {
    from: before === null ? null : path,
    to: after === null ? null : path,
    hunks: [],
    added: lines.filter((line) => line.kind === 'added').length,
    removed: lines.filter((line) => line.kind === 'removed').length,
    binary: false,
  }
  file.hunks = hunks(lines)
  return file
}

/** The diff without line numbers, for texts that are pieces of a file: nobody knows yet where they stand in it. */
export function withoutNumbers(file: DiffFile): DiffFile {
  const hunks = file.hunks.map((hunk) => ({
    ...hunk,
    lines: hunk.lines.map((line) => ({ ...line, old: null, new: null })),
  }))
  return { ...file, hunks }
}

function linesOf(text: string | null): string[] {
  if (!text) return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function compareLines(old: string[], fresh: string[]): DiffLine[] {
  let head = 0
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1
  let tail = 0
  while (
    tail < old.length - head &&
    tail < fresh.length - head &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  ) {
    tail += 1
  }
  const lines: DiffLine[] = []
  const same = (at: number, by: number) =>
    lines.push({ kind: 'context', text: old[at]!, old: at + 1, new: at + 1 + by })
  for (let at = 0; at < head; at += 1) same(at, 0)
  middle(lines, old, fresh, head, tail)
  for (let at = old.length - tail; at < old.length; at += 1) same(at, fresh.length - old.length)
  return lines
}

/** The lines between the common head and tail, by their longest common subsequence. */
function middle(lines: DiffLine[], old: string[], fresh: string[], head: number, tail: number): void {
  const [rows, columns] = [old.length - head - tail, fresh.length - head - tail]
  const isSmall = rows <= MAX_COMPARED_LINES && columns <= MAX_COMPARED_LINES
  const width = columns + 1
  const lengths = isSmall ? new Uint16Array((rows + 1) * width) : null
  for (let i = rows - 1; lengths && i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        old[head + i] === fresh[head + j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
    }
  }
  let [i, j] = [0, 0]
  while (i < rows || j < columns) {
    const [oldAt, newAt] = [head + i, head + j]
    if (lengths && i < rows && j < columns && old[oldAt] === fresh[newAt]) {
      lines.push({ kind: 'context', text: old[oldAt]!, old: oldAt + 1, new: newAt + 1 })
      i += 1
      j += 1
    } else if (i < rows && (!lengths || j >= columns || lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      lines.push({ kind: 'removed', text: old[oldAt]!, old: oldAt + 1, new: null })
      i += 1
    } else {
      lines.push({ kind: 'added', text: fresh[newAt]!, old: null, new: newAt + 1 })
      j += 1
    }
  }
}

/** Cuts the unchanged lines away that are far from any change. */
function hunks(lines: DiffLine[]): DiffHunk[] {
  const hunks: DiffHunk[] = []
  let shownTo = 0
  lines.forEach((line, at) => {
    if (line.kind === 'context') return
    const start = Math.max(at - AROUND, 0)
    const end = Math.min(at + AROUND + 1, lines.length)
    const last = hunks.at(-1)
    if (last && start <= shownTo) {
      last.lines.push(...lines.slice(shownTo, end))
    } else {
      const part = lines.slice(start, end)
      const oldStart = part.find((line) => line.old !== null)?.old ?? 0
      const newStart = part.find((line) => line.new !== null)?.new ?? 0
      hunks.push({ index: hunks.length, oldStart, newStart, heading: '', lines: part })
    }
    shownTo = Math.max(shownTo, end)
  })
  return hunks
}
