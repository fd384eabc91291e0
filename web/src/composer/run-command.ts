/** What each `/` command does. Throws what the daemon refuses; the composer says so. */

import { cancel, compact, fork, rename, retry, setModel, setPolicy } from '../api/actions'
import type { Delivery } from '../api/types'
import { lastChangedTurn } from '../review/changes'
import { askUndo, showReview } from '../review/review-state.svelte'
import { archiveWithUndo } from '../shell/session-actions'
import type { OpenSession } from '../state/model'
import type { Command } from './commands'
import { MODES, policyFor } from './modes'

/** What a command can context. */
export interface CommandContext {
  open: OpenSession
  say: (text: string, delivery: Delivery) => void
  pickModel: () => void
  pickMode: () => void
  showContext: () => void
  showHelp: () => void
  show: (sessionId: string) => void
}

/** Runs a command of ours; those of the agent are messages, and never come here. */
export async function runCommand(command: Command, argument: string, context: CommandContext): Promise<void> {
  const { open } = context
  switch (command.own) {
    case null:
      return
    case 'archive':
      await archiveWithUndo(open.id)
      return
    case 'compact':
      await compact(open.id)
      return
    case 'context':
      context.showContext()
      return
    case 'fork':
      context.show(await fork(open.id))
      return
    case 'help':
      context.showHelp()
      return
    case 'mode':
      await chooseMode(argument, context)
      return
    case 'model':
      if (argument === '') context.pickModel()
      else await setModel(open.id, argument)
      return
    case 'rename':
      await rename(open.id, argument)
      return
    case 'retry':
      await retry(open.id, lastTurn(open))
      return
    case 'review':
      showReview(open.id, changedTurn(open))
      return
    case 'steer':
      if (argument === '') throw new Error('Write the message after /steer.')
      context.say(argument, 'steer')
      return
    case 'stop':
      if (open.running) await cancel(open.id, open.running.id)
      return
    case 'undo':
      askUndo(open.id, changedTurn(open))
  }
}

async function chooseMode(argument: string, context: CommandContext): Promise<void> {
  const mode = MODES.find(
    ({ id, name }) => id === argument.toLowerCase() || name.toLowerCase() === argument.toLowerCase(),
  )
  if (argument === '') context.pickMode()
  else if (mode) await setPolicy(context.open.id, policyFor(mode))
  else throw new Error(`Unknown mode "${argument}". Modes: ${MODES.map(({ id }) => id).join(', ')}.`)
}

function lastTurn(open: OpenSession): string {
  const turn = open.session?.last_turn_id
  if (!turn) throw new Error('This session has no turns yet.')
  return turn
}

/** The newest turn that changed the workspace, as far as is known here. */
function changedTurn(open: OpenSession): string {
  const captured = open.session?.turns.findLast((turn) => turn.checkpoint_before)
  const turn = open.review?.turnId ?? lastChangedTurn(open.entries) ?? captured?.id
  if (!turn) throw new Error('No turn of this session has changed files yet.')
  return turn
}
