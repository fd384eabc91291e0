/** What the queue's rows say and where they can go: pure, so that moving is the same by key, button and drag. */

import type { InputPart, Part, Queued } from '../api/types'

/** The text of some parts, with files by their names. */
export function textOf(parts: readonly (Part | InputPart)[]): string {
  return parts
    .map(partText)
    .filter((text) => text !== '')
    .join('\n')
}

function partText(part: Part | InputPart): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'image':
    case 'audio':
    case 'file':
      return `[${part.ref.split('/').at(-1) ?? part.ref}]`
    case 'tool_call':
      return part.name
    case 'tool_result':
      return part.text
  }
}

/** The parts with another text: the first text part takes it, the others go, and files stay. */
export function withText(parts: readonly Part[], text: string): InputPart[] {
  const changed: InputPart[] = text.trim() === '' ? [] : [{ type: 'text', text }]
  for (const part of parts) {
    if (part.type === 'image' || part.type === 'audio' || part.type === 'file')
      changed.push({ type: part.type, ref: part.ref })
  }
  return changed
}

/** The text that can be edited: without the files. */
export function editableText(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** Before which message the one at `from` has to stand to come to the place `to`; null is the end, undefined nowhere else. */
export function beforeFor(queue: readonly Queued[], from: number, to: number): string | null | undefined {
  if (from === to || to < 0 || to >= queue.length || from < 0 || from >= queue.length) return undefined
  const others = queue.filter((_, place) => place !== from)
  return others[to]?.message.id ?? null
}
