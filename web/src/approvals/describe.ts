/**
 * What an approval asks, in the form in which a person can judge it: the exact command, the change as a diff,
 * the address, or else the whole input. And the exact rule that a lasting answer would add. Pure: the card
 * draws what comes out. Nothing here shortens what is asked about.
 */

import type { ApprovalDiff, PendingApproval, Rule } from '../api/types'
import { makeDiff, withoutNumbers } from '../diff/make'
import { parseDiff, type DiffFile } from '../diff/parse'
import { readPatch } from './patch'

/** What is asked. */
export type Question =
  | { shape: 'command'; command: string; where: string | null; notes: string[] }
  | { shape: 'diff'; files: DiffFile[] }
  | { shape: 'address'; address: string }
  | { shape: 'input'; text: string }

/** The question of an approval. */
export function questionOf(approval: PendingApproval): Question {
  const input = fields(approval.input)
  const change = changeOf(approval.tool, input)
  if (change) return { shape: 'diff', files: change }
  const command = commandOf(input)
  if (command !== null) {
    return { shape: 'command', command, where: text(input, 'cwd'), notes: commandNotes(input) }
  }
  const address = text(input, 'url') ?? text(input, 'uri')
  if (approval.kind === 'network' && address !== null) return { shape: 'address', address }
  return { shape: 'input', text: JSON.stringify(approval.input, null, 2) ?? '' }
}

/** Which tools have which change in their input. An edit knows the lines but not where they stand. */
function changeOf(tool: string, input: Fields): DiffFile[] | null {
  const path = text(input, 'path')
  if (tool === 'write_file' && path !== null) {
    const content = text(input, 'content')
    return content === null ? null : [makeDiff(path, null, content)]
  }
  if (tool === 'edit_file' && path !== null) {
    const [before, after] = [text(input, 'old'), text(input, 'new')]
    return before === null || after === null ? null : [withoutNumbers(makeDiff(path, before, after))]
  }
  if (tool === 'apply_patch') return patchOf(text(input, 'patch'))
  // Only the daemon knows what a merge changes.
  if (tool === 'task_control' && input['action'] === 'merge') return []
  return null
}

/**
 * The files that the daemon has compared; null where it could not, or not whole. Where the input names none (a merge),
 * those that cannot be shown are listed as binary.
 */
export function comparedFiles({ files }: ApprovalDiff, listsAll = false): DiffFile[] | null {
  if (!files || files.length === 0) return null
  const read = files.map(({ path, from, kind, diff }): DiffFile | null => {
    if ((diff === null || diff === undefined) && !listsAll) return null
    const names = { from: kind === 'added' ? null : (from ?? path), to: kind === 'deleted' ? null : path }
    const shown = diff ? parseDiff(diff)[0] : { binary: true }
    return { hunks: [], added: 0, removed: 0, binary: false, ...shown, ...names }
  })
  return read.includes(null) ? null : read.filter((file) => file !== null)
}

function patchOf(patch: string | null): DiffFile[] | null {
  if (patch === null) return null
  const files = patch.includes('*** Begin Patch') ? readPatch(patch) : parseDiff(patch)
  const shown = files && files.length > 0 && files.every((file) => file.from !== null || file.to !== null)
  // A patch that cannot be read is shown as it is, because it may still be applied.
  return shown ? files : null
}

function commandOf(input: Fields): string | null {
  const { command } = input
  if (typeof command === 'string') return command
  if (!Array.isArray(command) || !command.every((word) => typeof word === 'string')) return null
  return command.map(quoted).join(' ')
}

function commandNotes(input: Fields): string[] {
  const notes: string[] = []
  if (input['background'] === true) notes.push('keeps running in the background')
  if (input['pty'] === true) notes.push('at a terminal')
  if (typeof input['timeout_seconds'] === 'number') notes.push(`killed after ${input['timeout_seconds']} s`)
  return notes
}

/** The rule in words, and the commands that it would allow as parts of other lines. */
export interface RuleWords {
  /** What it allows: the tool and exactly this. */
  sentence: string
  tool: string
  subject: string
  /** Command lines, one for each pattern; `…` where other words may follow. */
  commands: string[]
  /** Where it holds, when that is not everywhere. */
  workspace: string | null
}

export function ruleWords(rule: Rule): RuleWords {
  const commands = (rule.commands ?? []).map(({ argv, open }) => argv.map(quoted).join(' ') + (open ? ' …' : ''))
  const sentence = rule.whole
    ? `${rule.tool}, this exact input`
    : commands.length > 0
      ? `${rule.tool}, this exact line, and each of these commands wherever the whole line is allowed`
      : `${rule.tool}, this exact ${rule.tool === 'shell' ? 'command' : 'target'}`
  return { sentence, tool: rule.tool, subject: rule.subject, commands, workspace: rule.workspace ?? null }
}

/** A word as a shell would need it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

type Fields = { [name: string]: unknown }

function fields(input: unknown): Fields {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as Fields) : {}
}

function text(input: Fields, name: string): string | null {
  const value = input[name]
  return typeof value === 'string' ? value : null
}
