// What a call changes, as diffs: from its result where there is one, else from what it asks for. Pure.

import { readPatch } from '../../approvals/patch'
import { makeDiff, withoutNumbers } from '../../diff/make'
import { parseDiff, type DiffFile } from '../../diff/parse'
import type { ToolEntry } from '../../state/model'
import { details, text } from './tool-kind'

/** The files that a call changes, as diffs: from its result where there is one, else from what it asks for. */
export function changesOf(entry: ToolEntry): DiffFile[] {
  const files = details(entry)['files']
  if (Array.isArray(files)) {
    const found = files.flatMap((file: { [name: string]: unknown }) => {
      const path = typeof file['path'] === 'string' ? file['path'] : ''
      const parsed = typeof file['diff'] === 'string' ? parseDiff(file['diff']) : []
      if (parsed.length > 0) return parsed
      const isNumber = (value: unknown): value is number => typeof value === 'number'
      const [added, removed] = [file['added'], file['removed']].map((value) => (isNumber(value) ? value : 0)) as [
        number,
        number,
      ]
      const from = typeof file['from'] === 'string' ? file['from'] : file['action'] === 'add' ? null : path
      return [{ from, to: file['action'] === 'delete' ? null : path, hunks: [], added, removed, binary: false }]
    })
    if (found.length > 0) return found
  }
  return wantedChanges(entry.name, entry.input)
}

/** What a call would change, as far as its input says so. */
export function wantedChanges(name: string, input: unknown): DiffFile[] {
  const path = text(input, 'path', 'file_path') ?? ''
  const patch = text(input, 'patch')
  if (patch !== null) return patch.includes('*** Begin Patch') ? (readPatch(patch) ?? []) : parseDiff(patch)
  const [old, fresh] = [text(input, 'old', 'old_string', 'old_text'), text(input, 'new', 'new_string', 'new_text')]
  if (old !== null && fresh !== null) return [withoutNumbers(makeDiff(path, old, fresh))]
  const content = text(input, 'content')
  return content !== null && /write/i.test(name) ? [makeDiff(path, null, content)] : []
}
