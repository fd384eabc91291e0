/**
 * What can be asked for by a word after `/`: names, what they do and when they make sense. What each of them
 * does is for the composer, which has the session at hand.
 */

import type { AgentCommand } from '../api/types'
import { rank, type Ranked } from './fuzzy'

export type CommandName =
  | 'archive'
  | 'compact'
  | 'context'
  | 'fork'
  | 'help'
  | 'mode'
  | 'model'
  | 'rename'
  | 'retry'
  | 'review'
  | 'steer'
  | 'stop'
  | 'undo'

export interface Command {
  name: string
  description: string
  /** What may follow it. */
  hint: string | null
  /** Whether it makes sense only with what follows it; the others can be run from the menu. */
  needsWords: boolean
  /** Whether it is ours; the others go to the agent as text. */
  own: CommandName | null
}

const OWN: readonly (Command & { own: CommandName })[] = [
  own('compact', 'Compact the conversation'),
  own('undo', 'Revert the workspace to before the last turn'),
  own('review', "Review the last turn's changes"),
  own('model', 'Use another model from the next turn', 'name'),
  own('mode', 'Choose what needs your approval', 'ask | review | edits | free'),
  own('steer', 'Send a message to the running turn before its next step', 'message', true),
  own('stop', 'Stop the running turn'),
  own('retry', 'Retry the last turn if it failed or was stopped'),
  own('context', 'Show what fills the context window, and the cost'),
  own('fork', 'Fork this session'),
  own('rename', 'Rename the session', 'title', true),
  own('archive', 'Archive the session'),
  own('help', 'Show keyboard shortcuts'),
]

function own(
  name: CommandName,
  description: string,
  hint: string | null = null,
  needsWords = false,
): Command & { own: CommandName } {
  return { name, description, hint, needsWords, own: name }
}

/** Ours, then those of the session's agent; where both have a name, ours counts. */
export function allCommands(agent: readonly AgentCommand[] | undefined): Command[] {
  const names = new Set<string>(OWN.map((command) => command.name))
  const theirs = (agent ?? []).filter((command) => !names.has(command.name))
  return [
    ...OWN,
    ...theirs.map(({ name, description, hint }) => ({
      name,
      description,
      hint: hint ?? null,
      needsWords: true,
      own: null,
    })),
  ]
}

/** Those that fit what was typed, best first. */
export function findCommands(query: string, commands: readonly Command[]): Ranked<Command>[] {
  return rank(query, commands, (command) => command.name, 20)
}

/** The command that a message is, with what follows it; null when it is a message like any other. */
export function readCommand(text: string, commands: readonly Command[]): { command: Command; argument: string } | null {
  const read = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim())
  const command = read && commands.find(({ name }) => name === read[1])
  return command ? { command, argument: (read[2] ?? '').trim() } : null
}
