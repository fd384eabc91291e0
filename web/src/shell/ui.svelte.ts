// What of the shell is open: dialogs, the sidebar, the question which project a new session is for.

import type { CommandName } from '../composer/commands'
import { keep, recall } from '../state/local-storage'

export type DialogName = 'palette' | 'help' | 'new' | 'close'

/** What the palette or a button asks of the session on screen: a command of its composer, a new title, or to find something. */
export type SessionRequest = CommandName | 'find'

class Ui {
  dialog = $state<DialogName | null>(null)
  /** The session that may be closed for good. */
  closing = $state<string | null>(null)
  /** What a session is asked to do next; it takes it by setting this to null. */
  requested = $state.raw<{ session: string; what: SessionRequest } | null>(null)
  /** The session in which something is being looked for. */
  finding = $state<string | null>(null)
  /** What was last searched for, in all sessions or in one. */
  lastQuery = ''
  sidebarFolded = $state(recall('sidebar-folded', false))
  /** The workspace that the new session is for, when it was begun at a project. */
  newWorkspace = $state<string | null>(null)
  /** Asks the sidebar to put the focus into its search. */
  searchAsked = $state(0)
  /** The tab that is being dragged. */
  dragged = $state<string | null>(null)
  /** The projects that are folded in the sidebar. */
  folded = $state.raw<ReadonlySet<string>>(new Set(recall<string[]>('folded', [])))
  /** What had the focus before a dialog took it. */
  #before: HTMLElement | null = null

  open(dialog: DialogName): void {
    if (this.dialog === null)
      this.#before = document.activeElement instanceof HTMLElement ? document.activeElement : null
    this.dialog = dialog
  }

  close(): void {
    this.dialog = null
    this.newWorkspace = null
    const before = this.#before
    this.#before = null
    queueMicrotask(() => before?.isConnected && before.focus())
  }

  request(session: string, what: SessionRequest): void {
    if (what === 'find') this.finding = session
    else this.requested = { session, what }
  }

  askClose(session: string): void {
    this.closing = session
    this.open('close')
  }

  newSession(workspace: string | null = null): void {
    this.newWorkspace = workspace
    this.open('new')
  }

  foldSidebar(folded: boolean): void {
    this.sidebarFolded = folded
    keep('sidebar-folded', folded)
  }

  fold(workspace: string): void {
    const folded = new Set(this.folded)
    if (!folded.delete(workspace)) folded.add(workspace)
    this.folded = folded
    keep('folded', [...folded].slice(-200))
  }
}

export const ui = new Ui()
