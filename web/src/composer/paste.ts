/**
 * Long pastes stand in the text as one short mark, with the text itself kept aside: it can be looked at, put
 * in place of its mark, or taken out. A mark that has been edited by hand is no mark any more.
 */

/** A long text that was pasted. */
export interface Paste {
  /** Its number in the draft, from 1; the mark carries it. */
  id: number
  text: string
}

/** A paste becomes a chip from so many lines, or so many letters, on. */
const MIN_LINES = 12
const MIN_LENGTH = 1_500

/** Whether a paste is long enough to be set aside. */
export function isLong(text: string): boolean {
  return text.length >= MIN_LENGTH || countLines(text) >= MIN_LINES
}

export function countLines(text: string): number {
  const trimmed = text.endsWith('\n') ? text.slice(0, -1) : text
  return trimmed.split('\n').length
}

/** What stands for a paste in the text. */
export function mark(paste: Paste): string {
  const lines = countLines(paste.text)
  const size = lines > 1 ? `${lines} lines` : `${paste.text.length} characters`
  return `[Pasted text ${paste.id}: ${size}]`
}

/** The number for the next paste: one that none has had, so that an old mark cannot name a new text. */
export function nextId(pastes: readonly Paste[]): number {
  return pastes.reduce((highest, paste) => Math.max(highest, paste.id), 0) + 1
}

/** Those whose mark is still in the text. */
export function present(text: string, pastes: readonly Paste[]): Paste[] {
  return pastes.filter((paste) => text.includes(mark(paste)))
}

/** The text as it is sent: with each paste in place of its mark. */
export function resolve(text: string, pastes: readonly Paste[]): string {
  if (pastes.length === 0) return text
  const byMark = new Map(pastes.map((paste) => [mark(paste), paste.text]))
  // In one pass, so that a paste that holds the mark of another is left as it is.
  return text.replace(/\[Pasted text \d+: \d+ (?:lines|letters|characters)\]/g, (found) => byMark.get(found) ?? found)
}

/** The text with this paste in place of its mark, and where the caret goes. */
export function expand(text: string, paste: Paste): { text: string; caret: number } {
  const found = text.indexOf(mark(paste))
  if (found < 0) return { text, caret: text.length }
  const before = text.slice(0, found) + paste.text
  return { text: before + text.slice(found + mark(paste).length), caret: before.length }
}

/** The text without this paste's mark. */
export function remove(text: string, paste: Paste): { text: string; caret: number } {
  const found = text.indexOf(mark(paste))
  if (found < 0) return { text, caret: text.length }
  return { text: text.slice(0, found) + text.slice(found + mark(paste).length), caret: found }
}

/** The paste whose mark ends (Backspace) or begins (Delete) at the caret, which then goes as a whole. */
export function markAt(text: string, caret: number, pastes: readonly Paste[], side: 'before' | 'after'): Paste | null {
  const near = side === 'before' ? text.slice(0, caret) : text.slice(caret)
  const touches = (paste: Paste) => (side === 'before' ? near.endsWith(mark(paste)) : near.startsWith(mark(paste)))
  return pastes.find(touches) ?? null
}
