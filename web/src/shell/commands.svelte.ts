// The keys that work everywhere. What the palette can do besides is in page-commands.ts.

import { app } from '../state/app.svelte'
import { focusNextNeedingAttention } from './session-actions'
import { isTyping } from './keys'
import { ui } from './ui.svelte'

export function searchAll(): void {
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
    if (key.toLowerCase() === 'f') return findCommand()
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

/** The browser finds only what is drawn, which is a part of a session; pressed again, it is the browser's. */
function findCommand(): (() => void) | null {
  const id = app.current
  if (!id || ui.dialog || ui.finding === id) return null
  return () => ui.request(id, 'find')
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
