// Which card shows a tool call, and what it says in a line. Names and fields are those of Ostler's own tools; the tools of
// someone else's agent and of MCP servers are told by their kind and by what their input and result look like.

import type { ToolEntry } from '../../state/model'
import { revealLine } from '../text'

/** The kinds of cards. `look` is anything else that only looks at the workspace. */
export type CardKind = 'command' | 'change' | 'search' | 'read' | 'look' | 'fetch' | 'session' | 'drawing' | 'other'

const BY_NAME: { [name: string]: CardKind } = {
  shell: 'command',
  shell_process: 'command',
  verify: 'command',
  bash: 'command',
  execute: 'command',
  apply_patch: 'change',
  edit_file: 'change',
  write_file: 'change',
  edit: 'change',
  write: 'change',
  search: 'search',
  grep: 'search',
  glob: 'search',
  read_file: 'read',
  read: 'read',
  repo_tree: 'look',
  repo_map: 'look',
  git_status: 'look',
  skill: 'look',
  web_fetch: 'fetch',
  fetch: 'fetch',
  task: 'session',
  task_control: 'session',
  diagram: 'drawing',
}

/** What a call is to do, does, and has done. */
const VERBS: { [kind in CardKind]: [string, string, string] } = {
  command: ['Run', 'Running', 'Ran'],
  change: ['Edit', 'Editing', 'Edited'],
  search: ['Search for', 'Searching for', 'Searched for'],
  read: ['Read', 'Reading', 'Read'],
  look: ['Look at', 'Looking at', 'Looked at'],
  fetch: ['Fetch', 'Fetching', 'Fetched'],
  session: ['Task', 'Working on', 'Task'],
  drawing: ['Draw', 'Drawing', 'Drew'],
  other: ['Call', 'Calling', 'Called'],
}

/** A file that is written whole may be a new one. */
const WRITE: [string, string, string] = ['Write', 'Writing', 'Wrote']

/** Which card shows a call. */
export function cardKindOf(entry: Pick<ToolEntry, 'name' | 'toolKind' | 'input' | 'result' | 'child'>): CardKind {
  if (entry.child) return 'session'
  const named = BY_NAME[entry.name.toLowerCase()]
  if (named) return named
  if (Array.isArray(details(entry)['files'])) return 'change'
  if (entry.toolKind === 'exec' && text(entry.input, 'command')) return 'command'
  if (entry.toolKind === 'write' && text(entry.input, 'path', 'file_path')) return 'change'
  return 'other'
}

/** What the call does, in a word for people, and on what. */
export function titleOf(entry: ToolEntry): { verb: string; subject: string } {
  const kind = cardKindOf(entry)
  const [plain, now, past] = kind === 'change' && entry.name.startsWith('write') ? WRITE : VERBS[kind]
  // A call that did not come to its end has not done what its past tense would say.
  const verb = entry.status === 'running' ? now : entry.status !== 'done' ? plain : isNew(entry) ? 'Created' : past
  return { verb, subject: revealLine(subjectOf(entry, kind)) }
}

function subjectOf(entry: ToolEntry, kind: CardKind): string {
  const { input } = entry
  switch (kind) {
    case 'command':
      return (
        text(input, 'command', 'line') ??
        (entry.name === 'verify' ? 'the checks of the workspace' : entry.name.replaceAll('_', ' '))
      )
    case 'change': {
      const paths = changedPaths(entry)
      return paths.length > 1 ? `${paths[0]!} and ${paths.length - 1} more` : (paths[0] ?? 'files')
    }
    case 'search':
      return (
        [text(input, 'query', 'pattern'), text(input, 'path'), text(input, 'glob')].filter(Boolean).join('  in ') ||
        'something'
      )
    case 'read':
      return (text(input, 'path', 'file_path') ?? 'a file') + lineRange(entry)
    case 'look':
      return lookedAt(entry)
    case 'fetch':
      return text(input, 'url') ?? 'a page'
    case 'session':
      return (
        entry.child?.description ||
        text(input, 'description') ||
        (entry.name === 'task_control' ? `${text(input, 'action') ?? ''} a session` : 'another session')
      )
    case 'drawing':
      return `a diagram (${text(input, 'format') ?? 'dot'})`
    case 'other':
      return entry.name
  }
}

function lookedAt({ name, input }: ToolEntry): string {
  if (name === 'repo_tree') return `the files of ${text(input, 'path') ?? 'the workspace'}`
  if (name === 'repo_map') return 'the map of the code'
  if (name === 'git_status') return 'the state of git'
  return name === 'skill' ? `the skill ${text(input, 'name') ?? ''}` : name
}

function changedPaths(entry: ToolEntry): string[] {
  const files = details(entry)['files']
  if (Array.isArray(files) && files.length > 0) return files.map((file: { path?: unknown }) => String(file?.path ?? ''))
  const path = text(entry.input, 'path', 'file_path')
  if (path !== null) return [path]
  const patch = text(entry.input, 'patch') ?? ''
  return Array.from(
    patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/gm),
    (found) => found[1]!,
  )
}

/** How many lines a change came to, over all its files. */
export function countsOf(entry: ToolEntry): { added: number; removed: number } {
  const files = details(entry)['files']
  const sum = (name: 'added' | 'removed') =>
    Array.isArray(files)
      ? files.reduce<number>((all, file: { [name: string]: unknown }) => all + (Number(file?.[name]) || 0), 0)
      : 0
  return { added: sum('added'), removed: sum('removed') }
}

function isNew(entry: ToolEntry): boolean {
  const files = details(entry)['files']
  return Array.isArray(files) && files.length === 1 && (files[0] as { action?: unknown })?.action === 'add'
}

function lineRange(entry: ToolEntry): string {
  const known = details(entry)
  const [start, end, total] = [known['start_line'], known['end_line'], known['total_lines']]
  if (typeof start !== 'number' || typeof end !== 'number') return ''
  return start <= 1 && end === total ? '' : `:${start}–${end}`
}

/** What the result says in structure; empty where there is none. */
export function details(entry: Pick<ToolEntry, 'result'>): { [name: string]: unknown } {
  const known = entry.result?.details
  return known && typeof known === 'object' && !Array.isArray(known) ? (known as { [name: string]: unknown }) : {}
}

/** The first of these fields that is a text. */
export function text(value: unknown, ...names: string[]): string | null {
  if (!value || typeof value !== 'object') return null
  for (const name of names) {
    const field = (value as { [name: string]: unknown })[name]
    if (typeof field === 'string') return field
  }
  return null
}

/** What the result says in words. */
export function resultText(entry: Pick<ToolEntry, 'result'>): string {
  return (entry.result?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}
