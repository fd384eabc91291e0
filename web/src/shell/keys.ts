// The keyboard shortcuts of the page, in one table: the help sheet shows it, the palette runs it.

export interface Shortcut {
  /** As it is shown. `mod` is Ctrl, or ⌘ on a Mac. */
  keys: string[]
  /** What it does. */
  text: string
}

export const isMac = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform)
export const mod = isMac ? '⌘' : 'Ctrl'
export const alt = isMac ? '⌥' : 'Alt'

export const SHORTCUTS: { title: string; keys: Shortcut[] }[] = [
  {
    title: 'Everywhere',
    keys: [
      { keys: [mod, 'K'], text: 'Command palette: sessions and commands' },
      { keys: ['?'], text: 'This help' },
      { keys: [alt, 'N'], text: 'New session' },
      { keys: ['/'], text: 'Search all sessions' },
      { keys: [mod, 'F'], text: 'Find in this session' },
      { keys: [alt, 'A'], text: 'Pending approvals' },
      { keys: [alt, 'D'], text: 'Dashboard' },
      { keys: [alt, 'B'], text: 'Show or hide the sidebar' },
      { keys: [alt, '1…9'], text: 'Go to tab 1…9' },
      { keys: [alt, '←', '/', '→'], text: 'Previous or next tab' },
      { keys: [alt, 'W'], text: 'Close the tab' },
      { keys: [alt, 'Shift', 'W'], text: 'Reopen the last closed tab' },
      { keys: [alt, 'click'], text: 'Open a session in split view' },
      { keys: [alt, 'U'], text: 'Next session that needs attention' },
    ],
  },
  {
    title: 'Composer',
    keys: [
      { keys: ['Enter'], text: 'Send' },
      { keys: ['Shift', 'Enter'], text: 'New line' },
      { keys: [mod, 'Enter'], text: 'Steer: send to the running turn before its next step' },
      { keys: ['↑'], text: 'Previous message, in an empty composer' },
      { keys: ['/'], text: 'Commands' },
      { keys: ['@'], text: 'Files of the workspace' },
      { keys: ['Esc', 'Esc'], text: 'Stop the turn' },
    ],
  },
  {
    title: 'Approvals',
    keys: [
      { keys: ['Y'], text: 'Allow once' },
      { keys: ['S'], text: 'Allow for this session' },
      { keys: ['A'], text: 'Always allow' },
      { keys: ['N'], text: 'Deny' },
      { keys: ['W'], text: 'Deny with a reason' },
      { keys: [alt, 'Y'], text: 'Move to the approval while typing' },
    ],
  },
]

/** Whether a key belongs to a text that is being written. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target
  if (!(target instanceof HTMLElement)) return false
  return (
    target.isContentEditable ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(target.type))
  )
}
