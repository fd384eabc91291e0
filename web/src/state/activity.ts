// What a running turn does, in a few words for people.

import type { Entry, ToolEntry } from './model'

/** Told from the newest entries, and from how many approvals wait. */
export function activityOf(entries: readonly Entry[], waiting: number): string {
  if (waiting > 0) return waiting === 1 ? 'Needs approval' : `Needs ${waiting} approvals`
  const last = entries.at(-1)
  if (last?.kind === 'note' && last.key.startsWith('waiting:')) return 'Waiting for the model'
  const tools = entries
    .slice(-40)
    .filter((entry): entry is ToolEntry => entry.kind === 'tool' && entry.status === 'running')
  if (tools.length > 1) return `${describe(tools[0] as ToolEntry)} and ${tools.length - 1} more`
  if (tools[0]) return describe(tools[0])
  if (last?.kind === 'verification' && last.ok === null) return `Checking: ${last.commands[0] ?? ''}`
  if (last?.kind === 'thinking' && last.streaming) return 'Thinking'
  if (last?.kind === 'message' && last.streaming) return 'Writing'
  return 'Working'
}

/** A call in a few words: "Reading src/a.rs". */
export function describe(entry: Pick<ToolEntry, 'name' | 'input'>): string {
  const input = (entry.input ?? {}) as Record<string, unknown>
  const text = (name: string): string => (typeof input[name] === 'string' ? (input[name] as string) : '')
  const path = text('path') || text('file_path')
  switch (entry.name) {
    case 'read_file':
      return `Reading ${path || 'a file'}`
    case 'write_file':
      return `Writing ${path || 'a file'}`
    case 'edit_file':
      return `Editing ${path || 'a file'}`
    case 'apply_patch':
      return 'Applying a patch'
    case 'shell':
      return `Running ${firstLine(text('command')) || 'a command'}`
    case 'search':
      return `Searching for ${text('pattern') || text('query')}`
    case 'repo_tree':
      return `Listing ${path || 'files'}`
    case 'task':
      return `Delegating: ${text('description')}`
    case 'web_fetch':
      return `Fetching ${text('url')}`
    default:
      return `Calling ${entry.name}`
  }
}

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0] ?? ''
  return line.length > 60 ? `${line.slice(0, 60)}…` : line
}
