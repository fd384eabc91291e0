// Things that are done from several places of the shell.

import { addProject, archive, createSession, pin, rename, send } from '../api/actions'
import type { NewSessionBody } from '../api/types'
import { app } from '../state/app.svelte'
import { say, tell } from './toasts.svelte'

/** Archives a session, closes its tab, and offers to undo that. */
export async function archiveWithUndo(id: string): Promise<void> {
  app.archiving.add(id)
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
  } finally {
    // Its event may come after the answer.
    setTimeout(() => app.archiving.delete(id), 5_000)
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

/** Makes a session and shows it; with a first message, it starts to answer at once. Whether it was made. */
export async function startSession(body: NewSessionBody, firstMessage?: string): Promise<boolean> {
  try {
    const id = await createSession(body)
    app.showSession(id)
    if (firstMessage) await send(id, [{ type: 'text', text: firstMessage }])
    return true
  } catch (error) {
    tell(error)
    return false
  }
}

/** What was chosen for the last new session. */
export interface LastChoice {
  agent?: string
  model?: string
  workspace?: string
}

/** The folder that a new session is for, unless another one is chosen: that of the session on screen, else the last one. */
export function likelyWorkspace(last: LastChoice): string | null {
  const current = app.current ? (app.opened(app.current)?.session ?? app.list.row(app.current)) : null
  return current?.worktree?.repository ?? current?.workspace_path ?? last.workspace ?? null
}

/** Makes a folder a project, unless it is one. */
export async function ensureProject(path: string): Promise<void> {
  if (app.projects.some((project) => project.path === path)) return
  await addProject(path).catch((error) => {
    if (error?.code !== 'project_exists') throw error
  })
  await app.loadProjects()
}

/** Shows the next session that waits for an answer, has failed, or has something new. */
export function focusNextNeedingAttention(): void {
  const wants = app.list.rows.filter(
    (row) => !row.archived && ['waiting', 'failed', 'unread'].includes(app.list.displayStatus(row)),
  )
  const place = wants.findIndex((row) => row.id === app.current)
  const next = wants[(place + 1) % Math.max(1, wants.length)]
  if (next) app.showSession(next.id)
  else say('No session needs attention.')
}
