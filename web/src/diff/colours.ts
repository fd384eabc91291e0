// Syntax colours in diffs: each side of a hunk is coloured as the piece of code that it is, and joined with the marks of what has
// changed within a line. The colouring itself is the highlight worker's.

import { highlight, languageOfPath } from '../transcript/highlight/highlight'
import { byLine, type CodePiece } from '../transcript/highlight/pieces'
import { revealUnseen } from '../transcript/text'
import { pathOf, type DiffFile, type DiffHunk, type DiffLine } from './parse'

/** Longer hunks stay plain: their colours would come late, and draw everything again. */
const MOST_LINES = 600

export type LineColours = ReadonlyMap<DiffLine, readonly CodePiece[]>

/** A stretch of a line with one look. */
export interface LineRun {
  text: string
  style: string
  changed: boolean
}

/** The colours of all lines of a file's hunks, as far as its language is known. */
export async function coloursOf(file: DiffFile, hunks: readonly DiffHunk[]): Promise<LineColours> {
  const colours = new Map<DiffLine, readonly CodePiece[]>()
  const language = languageOfPath(pathOf(file))
  if (language === '') return colours
  for (const hunk of hunks) {
    if (hunk.lines.length > MOST_LINES) continue
    const after = hunk.lines.filter((line) => line.kind === 'context' || line.kind === 'added')
    const before = hunk.lines.filter((line) => line.kind === 'context' || line.kind === 'removed')
    // Lines of context are coloured with the new side, which is what will be read on.
    for (const side of before.length > after.length || before.some((line) => line.kind === 'removed')
      ? [before, after]
      : [after]) {
      const pieces = await highlight(language, side.map((line) => revealUnseen(line.text)).join('\n'))
      if (!pieces) continue
      byLine(pieces).forEach((linePieces, place) => {
        const line = side[place]
        if (line) colours.set(line, linePieces)
      })
    }
  }
  return colours
}

/** A line in stretches: where it has changed, and in which colour. Colours that belong to another text are left out. */
export function lineRuns(
  parts: readonly { text: string; changed: boolean }[],
  colours: readonly CodePiece[] | undefined,
): LineRun[] {
  const whole = parts.map((part) => part.text).join('')
  const fits = colours !== undefined && colours.map((piece) => piece.text).join('') === whole
  if (!fits) return parts.map((part) => ({ ...part, style: '' }))
  const runs: LineRun[] = []
  let place = 0
  let left = colours[0]?.text ?? ''
  for (const part of parts) {
    let rest = part.text
    while (rest !== '') {
      if (left === '') left = colours[(place += 1)]?.text ?? rest
      const text = rest.slice(0, left.length)
      runs.push({ text, style: colours[place]?.style ?? '', changed: part.changed })
      rest = rest.slice(text.length)
      left = left.slice(text.length)
    }
  }
  return runs
}

/** How far a line is indented, so that what is wrapped of it can be too. */
export function indentOf(text: string): number {
  let width = 0
  for (const character of text) {
    if (character === ' ') width += 1
    else if (character === '\t') width += 4 - (width % 4)
    else break
  }
  return Math.min(width, 24)
}
