// What the palette and the keys can do, in one list, and the keys that work everywhere.

import { app } from '../state/app.svelte'
import { archiveWithUndo, focusNextNeedingAttention } from './session-actions'
import { isTyping } from './keys'
import { theme } from './theme.svelte'
import { ui } from './ui.svelte'

export interface PageCommand {
  title: string
  hint?: string
  run: () => void
}

/** The commands that make sense now. */
export function pageCommands(): PageCommand[] {
  const id = app.current
  return [
    { title: 'New session', hint: 'Alt N', run: () => ui.newSession() },
    { title: 'Dashboard', hint: 'Alt D', run: () => app.show({ name: 'dashboard' }) },
    { title: 'All that waits for an answer', hint: 'Alt A', run: () => app.show({ name: 'approvals' }) },
    { title: 'Settings', run: () => app.show({ name: 'settings' }) },
    { title: 'Search in all sessions', hint: '/', run: searchAll },
    { title: 'Next session that wants attention', hint: 'Alt U', run: focusNextNeedingAttention },
    ...(id
      ? [
          { title: 'Close this tab', hint: 'Alt W', run: () => app.closeTab(id) },
          { title: 'Archive this session', run: () => void archiveWithUndo(id) },
        ]
      : []),
    ...(app.closed.length > 0
      ? [{ title: 'Open the tab again that was closed last', hint: 'Alt Shift W', run: () => void app.reopenTab() }]
      : []),
    { title: 'Theme: light', run: () => theme.set('light') },
    { title: 'Theme: dark', run: () => theme.set('dark') },
    { title: 'Theme: as the system', run: () => theme.set('system') },
    { title: 'Keyboard shortcuts', hint: '?', run: () => ui.open('help') },
  ]
}

function searchAll(): void {
  ui.foldSidebar(false)
  if (innerWidth <= 720) app.sidebarOpen = true
  ui.searchAsked += 1
}

/** Takes a key that works everywhere. */
export function handleKey(event: KeyboardEvent): void {
  if (app.entry !== 'in' || event.defaultPrevented || event.isComposing) return
  const run = commandOf(event)
  if (!run) return
  event.preventDefault()
  run()
}

function commandOf(event: KeyboardEvent): (() => void) | null {
  const { key, code } = event
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    if (key.toLowerCase() !== 'k') return null
    return () => (ui.dialog === 'palette' ? ui.close() : ui.open('palette'))
  }
  if (key === 'Escape' && ui.dialog) return () => ui.close()
  if (event.altKey && !event.ctrlKey && !event.metaKey) return altCommand(code, event.shiftKey)
  if (event.altKey || event.ctrlKey || event.metaKey || ui.dialog || isTyping(event)) return null
  if (key === '?') return () => ui.open('help')
  if (key === '/') return searchAll
  return null
}

function altCommand(code: string, shift: boolean): (() => void) | null {
  const digit = /^Digit([1-9])$/.exec(code)?.[1]
  if (digit) {
    const id = app.tabs[Number(digit) - 1]
    return id ? () => app.showSession(id) : null
  }
  switch (code) {
    case 'KeyN':
      return () => ui.newSession()
    case 'KeyA':
      return () => app.show({ name: 'approvals' })
    case 'KeyD':
      return () => app.show({ name: 'dashboard' })
    case 'KeyB':
      return () => (innerWidth <= 720 ? (app.sidebarOpen = !app.sidebarOpen) : ui.foldSidebar(!ui.sidebarFolded))
    case 'KeyU':
      return focusNextNeedingAttention
    case 'KeyW':
      if (shift) return () => void app.reopenTab()
      return app.current ? () => app.closeTab(app.current as string) : null
    case 'ArrowLeft':
      return () => app.cycle(-1)
    case 'ArrowRight':
      return () => app.cycle(1)
    default:
      return null
  }
}
