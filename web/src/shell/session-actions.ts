// Things that are done from several places of the shell.

import { archive, createSession, pin, rename, send } from '../api/actions'
import type { NewSessionBody } from '../api/types'
import { app } from '../state/app.svelte'
import { say, tell } from './toasts.svelte'

/** Puts a session away, closes its tab, and offers to take it back. */
export async function archiveWithUndo(id: string): Promise<void> {
  try {
    const hadTab = app.tabs.includes(id)
    app.list.tell(await archive(id, true))
    app.closeTab(id)
    const undo = async (): Promise<void> => {
      app.list.tell(await archive(id, false))
      if (hadTab) app.showSession(id)
    }
    const title = app.list.row(id)?.title ?? 'New session'
    say(`Archived “${title}”.`, { label: 'Undo', run: () => void undo().catch(tell) })
  } catch (error) {
    tell(error)
  }
}

export async function renameSession(id: string, title: string): Promise<void> {
  try {
    app.list.tell(await rename(id, title.trim()))
  } catch (error) {
    tell(error)
  }
}

export async function pinSession(id: string, pinned: boolean): Promise<void> {
  try {
    app.list.tell(await pin(id, pinned))
  } catch (error) {
    tell(error)
  }
}

/** Makes a session and shows it; with a first message, it starts to answer at once. */
export async function startSession(body: NewSessionBody, firstMessage?: string): Promise<void> {
  try {
    const id = await createSession(body)
    app.showSession(id)
    if (firstMessage) await send(id, [{ type: 'text', text: firstMessage }])
  } catch (error) {
    tell(error)
  }
}

/** Shows the next session that waits for an answer, has failed, or has something new. */
export function focusNextNeedingAttention(): void {
  const wants = app.list.rows.filter(
    (row) => !row.archived && ['waiting', 'failed', 'unread'].includes(app.list.displayStatus(row)),
  )
  const place = wants.findIndex((row) => row.id === app.current)
  const next = wants[(place + 1) % Math.max(1, wants.length)]
  if (next) app.showSession(next.id)
  else say('Nothing wants attention.')
}
