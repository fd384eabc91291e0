// Everything that the palette can do. It comes with the palette; the keys that work without it are in commands.svelte.ts.

import { exportAddress } from '../api/actions'
import { app } from '../state/app.svelte'
import { searchAll } from './commands.svelte'
import { alt, mod } from './keys'
import { archiveWithUndo, focusNextNeedingAttention, pinSession } from './session-actions'
import { theme } from './theme.svelte'
import { ui, type SessionRequest } from './ui.svelte'

export interface PageCommand {
  title: string
  /** Its keys, or what tells it from others of the same title. */
  hint?: string
  keys?: readonly string[]
  run: () => void
}

/** The commands that make sense now. */
export function pageCommands(): PageCommand[] {
  const id = app.current
  return [
    { title: 'New session', keys: [alt, 'N'], run: () => ui.newSession() },
    { title: 'Dashboard', keys: [alt, 'D'], run: () => app.show({ name: 'dashboard' }) },
    { title: 'Pending approvals', keys: [alt, 'A'], run: () => app.show({ name: 'approvals' }) },
    { title: 'Settings', run: () => app.show({ name: 'settings' }) },
    { title: 'Search all sessions', keys: ['/'], run: searchAll },
    { title: 'Next session that needs attention', keys: [alt, 'U'], run: focusNextNeedingAttention },
    ...(id ? [...sessionCommands(id), { title: 'Close this tab', keys: [alt, 'W'], run: () => app.closeTab(id) }] : []),
    ...(app.closed.length > 0
      ? [{ title: 'Reopen the last closed tab', keys: [alt, 'Shift', 'W'], run: () => void app.reopenTab() }]
      : []),
    { title: 'Theme: light', run: () => theme.set('light') },
    { title: 'Theme: dark', run: () => theme.set('dark') },
    { title: 'Theme: system', run: () => theme.set('system') },
    { title: 'Keyboard shortcuts', keys: ['?'], run: () => ui.open('help') },
  ]
}

/** Everything that can be done with the session on screen. */
function sessionCommands(id: string): PageCommand[] {
  const open = app.opened(id)
  const row = app.list.row(id)
  if (!open?.session) return []
  const isClosed = open.session.status === 'completed'
  const hint = 'this session'
  const ask = (title: string, what: SessionRequest, keys?: readonly string[]): PageCommand => ({
    title,
    hint,
    ...(keys ? { keys } : {}),
    run: () => ui.request(id, what),
  })
  return [
    ask('Find in session', 'find', [mod, 'F']),
    ask('Rename', 'rename'),
    ask('Fork', 'fork'),
    ask('Review the last changes', 'review'),
    ask('Undo the last turn…', 'undo'),
    ask('Context and cost', 'context'),
    ...(isClosed
      ? []
      : [
          ask('Change model', 'model'),
          ask('Change approval mode', 'mode'),
          ask('Compact the conversation', 'compact'),
          ...(open.running ? [ask('Stop the turn', 'stop', ['Esc', 'Esc'])] : [ask('Retry the last turn', 'retry')]),
        ]),
    { title: row?.pinned ? 'Unpin' : 'Pin', hint, run: () => void pinSession(id, !row?.pinned) },
    { title: 'Export transcript', hint, run: () => download(exportAddress(id, 'html')) },
    { title: 'Export archive', hint, run: () => download(exportAddress(id, 'zip')) },
    ...(app.tabs.length > 1 ? [{ title: 'Open in split view', hint, run: () => app.showBeside(id) }] : []),
    { title: 'Archive', hint, run: () => void archiveWithUndo(id) },
    ...(isClosed ? [] : [{ title: 'Close session permanently…', hint, run: () => ui.askClose(id) }]),
  ]
}

function download(address: string): void {
  const link = document.createElement('a')
  link.href = address
  link.download = ''
  link.click()
}
