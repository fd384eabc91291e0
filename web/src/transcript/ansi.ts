// Turns what a program printed for a terminal into lines of styled spans. Colours become one of sixteen that the theme
// knows; every other escape is dropped, links and titles included. Nothing here becomes markup: spans are shown as text.

import { revealUnseen } from './text'

export interface Span {
  text: string
  /** Class names for it, separated by spaces; empty for plain text. */
  style: string
}

/** A line that is longer is cut: no terminal is that wide, and no reader either. */
const MAX_LINE = 4000

/** Reads a program's output. Carriage returns overwrite, as they would at a terminal. */
export function parseAnsi(text: string): Span[][] {
  const screen = new Screen()
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 0x1b) {
      at = readEscape(screen, text, at)
    } else if (code === 0x0a) {
      screen.feed()
      at += 1
    } else if (code === 0x0d) {
      screen.column = 0
      at += 1
    } else if (code === 0x08) {
      screen.column = Math.max(0, screen.column - 1)
      at += 1
    } else if ((code < 0x20 && code !== 0x09) || (code >= 0x7f && code <= 0x9f)) {
      at += 1
    } else {
      const end = plainEnd(text, at)
      screen.write(text.slice(at, end))
      at = end
    }
  }
  return screen.finish()
}

/** The output as plain text, for copying. */
export function stripAnsi(text: string): string {
  return parseAnsi(text)
    .map((line) => line.map((span) => span.text).join(''))
    .join('\n')
}

function plainEnd(text: string, from: number): number {
  let at = from
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if ((code < 0x20 && code !== 0x09) || (code >= 0x7f && code <= 0x9f)) break
    at += 1
  }
  return at
}

/** Deals with the escape at `at`, and gives the place behind it. One that has no end swallows the rest. */
function readEscape(screen: Screen, text: string, at: number): number {
  const next = text[at + 1]
  if (next === '[') {
    const sequence = /^[0-?]*[ -/]*([@-~])?/.exec(text.slice(at + 2, at + 130))!
    if (sequence[1]) control(screen, sequence[1], sequence[0].slice(0, -1))
    return at + 2 + sequence[0].length
  }
  if (next === ']' || next === 'P' || next === '_' || next === '^' || next === 'X') {
    const end = /\u0007|\u001b\\|\u009c/g
    end.lastIndex = at + 2
    const found = end.exec(text)
    return found ? found.index + found[0].length : text.length
  }
  const short = /^[ -/]*[0-~]?/.exec(text.slice(at + 1, at + 8))!
  return at + 1 + short[0].length
}

function control(screen: Screen, final: string, parameters: string): void {
  const number = Number.parseInt(parameters, 10)
  if (final === 'm') screen.restyle(parameters)
  else if (final === 'K') screen.erase(Number.isNaN(number) ? 0 : number)
  else if (final === 'G') screen.column = Math.min(MAX_LINE, Math.max(0, (number || 1) - 1))
  else if (final === 'C') screen.column = Math.min(MAX_LINE, screen.column + (number || 1))
  else if (final === 'D') screen.column = Math.max(0, screen.column - (number || 1))
}

interface Style {
  fg: number | null
  bg: number | null
  flags: Set<string>
}

/** The line that is being printed, and those before it. */
class Screen {
  column = 0
  #lines: Span[][] = []
  #line: Span[] = []
  #length = 0
  #style: Style = { fg: null, bg: null, flags: new Set() }
  #classes = ''

  write(raw: string): void {
    const text = revealUnseen(raw).slice(0, Math.max(0, MAX_LINE - this.column))
    if (text === '') return
    if (this.column > this.#length) this.#append(' '.repeat(this.column - this.#length), '')
    if (this.column === this.#length) {
      this.#append(text, this.#classes)
    } else {
      const after = cut(this.#line, this.column + text.length, this.#length)
      this.#line = cut(this.#line, 0, this.column)
      this.#length = this.column
      this.#append(text, this.#classes)
      for (const span of after) this.#append(span.text, span.style)
    }
    this.column += text.length
  }

  feed(): void {
    this.#lines.push(this.#line)
    this.#line = []
    this.#length = 0
    this.column = 0
  }

  /** Clears the line from the cursor on (0), up to it (1), or all of it (2). */
  erase(what: number): void {
    if (what === 0 && this.column < this.#length) {
      this.#line = cut(this.#line, 0, this.column)
      this.#length = this.column
    } else if (what === 1) {
      const kept = cut(this.#line, this.column, this.#length)
      this.#line = [{ text: ' '.repeat(Math.min(this.column, this.#length)), style: '' }, ...kept]
    } else if (what === 2) {
      this.#line = []
      this.#length = 0
    }
  }

  restyle(parameters: string): void {
    restyle(
      this.#style,
      parameters.split(/[;:]/).map((number) => (number === '' ? 0 : Number(number))),
    )
    this.#classes = classes(this.#style)
  }

  finish(): Span[][] {
    if (this.#line.length > 0) this.feed()
    return this.#lines
  }

  #append(text: string, style: string): void {
    const last = this.#line.at(-1)
    if (last && last.style === style) last.text += text
    else this.#line.push({ text, style })
    this.#length += text.length
  }
}

/** The spans between two columns. */
function cut(line: Span[], from: number, to: number): Span[] {
  const spans: Span[] = []
  let start = 0
  for (const { text, style } of line) {
    const part = text.slice(Math.max(0, from - start), Math.max(0, to - start))
    if (part !== '') spans.push({ text: part, style })
    start += text.length
  }
  return spans
}

const FLAGS: { [code: number]: string } = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underline',
  7: 'inverse',
  9: 'strike',
}

function restyle(style: Style, codes: number[]): void {
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at]!
    if (code === 0) Object.assign(style, { fg: null, bg: null, flags: new Set() })
    else if (FLAGS[code]) style.flags.add(FLAGS[code])
    else if (code === 22) ['bold', 'dim'].forEach((flag) => style.flags.delete(flag))
    else if (code > 22 && code < 30) style.flags.delete(FLAGS[code - 20] ?? '')
    else if (code >= 30 && code <= 37) style.fg = code - 30
    else if (code >= 40 && code <= 47) style.bg = code - 40
    else if (code >= 90 && code <= 97) style.fg = code - 82
    else if (code >= 100 && code <= 107) style.bg = code - 92
    else if (code === 39) style.fg = null
    else if (code === 49) style.bg = null
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes.slice(at + 1))
      if (code === 38) style.fg = colour
      else style.bg = colour
      at += used
    }
  }
}

/** One of 256 colours, or any at all, as the nearest that the theme has. */
function extended(codes: number[]): [number | null, number] {
  if (codes[0] === 5) {
    const index = codes[1] ?? 0
    if (index < 16) return [index, 2]
    if (index >= 232) return [nearest(...grey(index)), 2]
    const step = (digit: number) => (digit === 0 ? 0 : 55 + digit * 40)
    const cube = index - 16
    return [nearest(step(Math.floor(cube / 36)), step(Math.floor(cube / 6) % 6), step(cube % 6)), 2]
  }
  if (codes[0] === 2) return [nearest(codes[1] ?? 0, codes[2] ?? 0, codes[3] ?? 0), 4]
  return [null, 0]
}

function grey(index: number): [number, number, number] {
  const level = 8 + (index - 232) * 10
  return [level, level, level]
}

function nearest(red: number, green: number, blue: number): number | null {
  const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)]
  // What is grey is left to the theme, which knows whether paper or ink is dark.
  if (most - least < 32) return most < 64 || most > 224 ? null : 8
  const middle = (most + least) / 2
  const hue = (red > middle ? 1 : 0) + (green > middle ? 2 : 0) + (blue > middle ? 4 : 0)
  return most > 200 && least > 80 ? hue + 8 : hue
}

function classes(style: Style): string {
  const names = [...style.flags].map((flag) => `ansi-${flag}`)
  if (style.fg !== null) names.push(`ansi-fg-${style.fg}`)
  if (style.bg !== null) names.push(`ansi-bg-${style.bg}`)
  return names.join(' ')
}
