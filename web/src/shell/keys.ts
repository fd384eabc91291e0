// The keyboard shortcuts of the page, in one table: the help sheet shows it, the palette runs it.

export interface Shortcut {
  /** As it is shown. `mod` is Ctrl, or ⌘ on a Mac. */
  keys: string[]
  /** What it does. */
  text: string
}

export const isMac = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform)
const mod = isMac ? '⌘' : 'Ctrl'
const alt = isMac ? '⌥' : 'Alt'

export const SHORTCUTS: { title: string; keys: Shortcut[] }[] = [
  {
    title: 'Everywhere',
    keys: [
      { keys: [mod, 'K'], text: 'Command palette: sessions and commands' },
      { keys: ['?'], text: 'This help' },
      { keys: [alt, 'N'], text: 'New session' },
      { keys: ['/'], text: 'Search in all sessions' },
      { keys: [alt, 'A'], text: 'All that waits for an answer' },
      { keys: [alt, 'D'], text: 'Dashboard' },
      { keys: [alt, 'B'], text: 'Show or hide the sidebar' },
      { keys: [alt, '1…9'], text: 'Tab by its place' },
      { keys: [alt, '←', '/', '→'], text: 'Tab before, next tab' },
      { keys: [alt, 'W'], text: 'Close the tab' },
      { keys: [alt, 'Shift', 'W'], text: 'Open it again' },
      { keys: [alt, 'click'], text: 'Show a session beside this one' },
      { keys: [alt, 'U'], text: 'Next session that wants attention' },
    ],
  },
  {
    title: 'Composer',
    keys: [
      { keys: ['Enter'], text: 'Send' },
      { keys: ['Shift', 'Enter'], text: 'New line' },
      { keys: [mod, 'Enter'], text: 'Steer: hand it to the running turn before its next step' },
      { keys: ['↑'], text: 'What was sent before, in an empty composer' },
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
      { keys: ['R'], text: 'Deny and say why' },
      { keys: [alt, 'Y'], text: 'To the question, while you write' },
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
