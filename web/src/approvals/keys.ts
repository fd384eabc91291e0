/**
 * Which key gives which answer to an approval. A letter counts only where nobody is typing, and not in the first
 * moment after the card has come up, when it was meant for something else. Another key brings the focus to the
 * card from anywhere, so that a letter then counts.
 */

export type AnswerKind = 'once' | 'session' | 'always' | 'deny' | 'reason'

export const ANSWER_KEYS: readonly { kind: AnswerKind; key: string; name: string }[] = [
  { kind: 'once', key: 'y', name: 'Allow once' },
  { kind: 'session', key: 's', name: 'Allow for this session' },
  { kind: 'always', key: 'a', name: 'Always allow' },
  { kind: 'deny', key: 'n', name: 'Deny' },
  { kind: 'reason', key: 'w', name: 'Deny with a reason' },
]

/** How long a card has to be there before a letter answers it. */
export const SETTLE_MS = 400

type Pressed = Pick<KeyboardEvent, 'key' | 'code' | 'altKey' | 'ctrlKey' | 'metaKey' | 'repeat' | 'isComposing'>

/** The answer that a key gives; null when it gives none. */
export function answerFor(pressed: Pressed, where: { typing: boolean; settled: boolean }): AnswerKind | null {
  if (pressed.altKey || pressed.ctrlKey || pressed.metaKey || pressed.repeat || pressed.isComposing) return null
  if (where.typing || !where.settled) return null
  const letter = pressed.key.toLowerCase()
  return ANSWER_KEYS.find(({ key }) => key === letter)?.kind ?? null
}

/** Whether the key brings the focus to the card: Alt and Y, also where Alt writes another sign. */
export function isCardKey(pressed: Pressed): boolean {
  const isY = pressed.key.toLowerCase() === 'y' || (pressed.code === 'KeyY' && !/^[a-z]$/i.test(pressed.key))
  return isY && pressed.altKey && !pressed.ctrlKey && !pressed.metaKey && !pressed.repeat
}
