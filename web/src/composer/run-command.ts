/** What each `/` command does. Throws what the daemon refuses; the composer says so. */

import { cancel, compact, fork, rename, retry, setModel, setPolicy } from '../api/actions'
import type { Delivery } from '../api/types'
import { lastChangedTurn } from '../review/changes'
import { askUndo, showReview } from '../review/desk.svelte'
import { archiveWithUndo } from '../shell/doing'
import type { OpenSession } from '../state/model'
import type { Command } from './commands'
import { MODES, policyFor } from './modes'

/** What a command can reach. */
export interface Reach {
  open: OpenSession
  say: (text: string, delivery: Delivery) => void
  pickModel: () => void
  pickMode: () => void
  showContext: () => void
  showHelp: () => void
  show: (sessionId: string) => void
}

/** Runs a command of ours; those of the agent are messages, and never come here. */
export async function runCommand(command: Command, argument: string, reach: Reach): Promise<void> {
  const { open } = reach
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
      reach.showContext()
      return
    case 'fork':
      reach.show(await fork(open.id))
      return
    case 'help':
      reach.showHelp()
      return
    case 'mode':
      await chooseMode(argument, reach)
      return
    case 'model':
      if (argument === '') reach.pickModel()
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
      if (argument === '') throw new Error('Write after /steer what the turn is to be told.')
      reach.say(argument, 'steer')
      return
    case 'stop':
      if (open.running) await cancel(open.id, open.running.id)
      return
    case 'undo':
      askUndo(open.id, changedTurn(open))
  }
}

async function chooseMode(argument: string, reach: Reach): Promise<void> {
  const mode = MODES.find(
    ({ id, name }) => id === argument.toLowerCase() || name.toLowerCase() === argument.toLowerCase(),
  )
  if (argument === '') reach.pickMode()
  else if (mode) await setPolicy(reach.open.id, policyFor(mode))
  else throw new Error(`There is no mode "${argument}". There are ${MODES.map(({ id }) => id).join(', ')}.`)
}

function lastTurn(open: OpenSession): string {
  const turn = open.session?.last_turn_id
  if (!turn) throw new Error('Nothing has been asked in this session yet.')
  return turn
}

/** The newest turn that changed the workspace, as far as is known here. */
function changedTurn(open: OpenSession): string {
  const captured = open.session?.turns.findLast((turn) => turn.checkpoint_before)
  const turn = open.review?.turnId ?? lastChangedTurn(open.entries) ?? captured?.id
  if (!turn) throw new Error('No turn of this session has changed anything yet.')
  return turn
}
