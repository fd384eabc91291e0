/**
 * Reads a patch in the form that models write (`*** Begin Patch`), which says what changes but not on which
 * lines. The daemon alone decides what such a patch does; this is only how it is shown.
 */

import type { DiffFile, DiffHunk } from '../diff/parse'

const ACTION = /^\*\*\* (Add|Update|Delete) File: (.+)$/

/** The files of a patch; null when a line is not understood, so that it is shown as it is instead. */
export function readPatch(patch: string): DiffFile[] | null {
  const files: DiffFile[] = []
  let file: DiffFile | null = null
  let hunk: DiffHunk | null = null
  for (const line of patch.replace(/\r\n/g, '\n').split('\n')) {
    if (line === '*** Begin Patch' || line === '*** End Patch' || line === '*** End of File') continue
    const action = ACTION.exec(line)
    if (action) {
      file = begin(action[1]!, action[2]!.trim())
      files.push(file)
      hunk = null
    } else if (file && line.startsWith('*** Move to: ')) {
      file.to = line.slice('*** Move to: '.length).trim()
    } else if (file && line.startsWith('@@')) {
      hunk = open(file, line.slice(2).trim())
    } else if (file && /^[-+ ]/.test(line)) {
      hunk ??= open(file, '')
      take(file, hunk, line)
    } else if (line.trim() !== '') {
      return null
    } else if (hunk) {
      hunk.lines.push({ kind: 'context', text: '', old: null, new: null })
    }
  }
  return files
}

function begin(action: string, path: string): DiffFile {
  const from = action === 'Add' ? null : path
  const to = action === 'Delete' ? null : path
  return { from, to, hunks: [], added: 0, removed: 0, binary: false }
}

function open(file: DiffFile, heading: string): DiffHunk {
  const hunk: DiffHunk = { index: file.hunks.length, oldStart: 0, newStart: 0, heading, lines: [] }
  file.hunks.push(hunk)
  return hunk
}

function take(file: DiffFile, hunk: DiffHunk, line: string): void {
  const text = line.slice(1)
  if (line[0] === '+') {
    file.added += 1
    // Only a new file has numbers that are known.
    hunk.lines.push({ kind: 'added', text, old: null, new: file.from === null ? file.added : null })
  } else if (line[0] === '-') {
    file.removed += 1
    hunk.lines.push({ kind: 'removed', text, old: null, new: null })
  } else {
    hunk.lines.push({ kind: 'context', text, old: null, new: null })
  }
}
