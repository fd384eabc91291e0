/**
 * What the word at the caret asks for: a command when a message begins with `/`, a file after `@`. What there
 * is to choose from, and how it is shown, is for others.
 */

/** A word that opens a menu. */
export interface Trigger {
  kind: 'command' | 'file'
  /** What was typed after the sign. */
  query: string
  /** Where the sign stands. */
  start: number
  /** Where the word ends, which is where the caret is or further on. */
  end: number
}

/** The trigger at the caret, if there is one. */
export function triggerAt(text: string, caret: number): Trigger | null {
  return commandAt(text, caret) ?? fileAt(text, caret)
}

function commandAt(text: string, caret: number): Trigger | null {
  const word = /^\/([\w-]*)/.exec(text)
  if (!word || caret < 1 || caret > word[0].length) return null
  // A path such as /usr/bin is not a command.
  if (text[word[0].length] === '/') return null
  return { kind: 'command', query: text.slice(1, caret), start: 0, end: word[0].length }
}

function fileAt(text: string, caret: number): Trigger | null {
  const before = /(?:^|[\s([{,;])@([^\s@"]*)$/.exec(text.slice(0, caret))
  if (!before) return null
  const query = before[1] ?? ''
  const after = /^[^\s@"]*/.exec(text.slice(caret))?.[0] ?? ''
  return { kind: 'file', query, start: caret - query.length - 1, end: caret + after.length }
}

/** The text with the chosen word in place of what was typed, and where the caret goes. */
export function complete(text: string, trigger: Trigger, word: string): { text: string; caret: number } {
  const rest = text.slice(trigger.end)
  const space = /^\s/.test(rest) ? '' : ' '
  const before = text.slice(0, trigger.start) + word + space
  // Where a space stands already, the caret goes behind it.
  const caret = before.length + (space === '' && /^[ \t]/.test(rest) ? 1 : 0)
  return { text: before + rest, caret }
}

/** How a file is written in a message. */
export function fileWord(path: string): string {
  return /[\s"@]/.test(path) ? `@"${path.replaceAll('"', '\\"')}"` : `@${path}`
}

/** Whether the caret is in the first or the last line, where up and down leave the text for the history. */
export function edges(text: string, caret: number): { first: boolean; last: boolean } {
  return { first: !text.slice(0, caret).includes('\n'), last: !text.slice(caret).includes('\n') }
}
