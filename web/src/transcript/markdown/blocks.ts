// Splits markdown into its top-level blocks while it still comes in. What stands before the last block is settled: it is read
// once, keeps its object, and so is drawn once. Drawing, and what may become a link, is left to the components.

import { Marked, type Token } from 'marked'

import { MATH } from './math-tokens'

const markdown = new Marked({ gfm: true }).use({ extensions: MATH })

export interface Block {
  /** Its place in the text; the same from its first character on. */
  index: number
  token: Token
  /** Whether more of it may come. */
  open: boolean
}

/** What opens a block of code. */
const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)\n/

/** The blocks of one text that grows. */
export class Blocks {
  #settled = ''
  #blocks: Block[] = []

  /** Takes the text as it is now. Blocks that have not changed are the same objects as before. */
  update(text: string, streaming: boolean): Block[] {
    if (!streaming) return this.#finish(text)
    if (!text.startsWith(this.#settled)) this.#reset()
    const tail = text.slice(this.#settled.length)
    const kept = this.#blocks.filter((block) => !block.open)
    const code = openFence(tail)
    if (code) return (this.#blocks = [...kept, { index: kept.length, token: code, open: true }])
    const tokens = read(copied(tail))
    const settled = settledCount(tokens)
    let end = this.#settled.length
    for (const token of tokens.slice(0, settled)) {
      end += token.raw.length
      if (isShown(token)) kept.push({ index: kept.length, token, open: false })
    }
    this.#settled = text.slice(0, end)
    const open = tokens.slice(settled).filter(isShown)
    this.#blocks = kept.concat(open.map((token, at) => ({ index: kept.length + at, token, open: true })))
    return this.#blocks
  }

  /** Reads the whole text, because a link may be explained anywhere in it. */
  #finish(text: string): Block[] {
    const before = this.#blocks
    this.#reset()
    this.#blocks = read(text)
      .filter(isShown)
      .map((token, index) => {
        const known = before[index]
        const isSame = known && known.token.raw === token.raw && !mayRefer(token.raw)
        return isSame ? (known.open ? { ...known, token, open: false } : known) : { index, token, open: false }
      })
    return this.#blocks
  }

  #reset(): void {
    this.#settled = ''
    this.#blocks = []
  }
}

/** Reads a whole text. */
export function read(text: string): Token[] {
  return markdown.lexer(text)
}

/** The text in memory of its own. A piece of a text keeps all of that text alive, and a settled block would keep the whole of it. */
function copied(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

/** The code of a fence that has not been closed yet, without looking at the rest as markdown. */
function openFence(tail: string): Token | null {
  const opened = FENCE.exec(tail)
  if (!opened || (opened[1]!.startsWith('`') && opened[2]!.includes('`'))) return null
  const body = tail.slice(opened[0].length)
  const closing = new RegExp(`(^|\\n) {0,3}${opened[1]}${opened[1]![0]}*[ \\t]*(\\n|$)`)
  if (closing.test(body)) return null
  return { type: 'code', raw: tail, lang: opened[2]!.trim(), text: body }
}

/** How many of the first tokens no further text can change. */
function settledCount(tokens: Token[]): number {
  const shown = tokens.map((token, at) => ({ token, at })).filter(({ token }) => isShown(token))
  const last = shown.at(-1)
  if (!last) return 0
  // A line that has only just begun may turn out to belong to what stands before it: `2` to a list, `-` to a heading.
  const isYoung = !last.token.raw.includes('\n')
  const bound = isYoung ? shown.at(-2) : last
  if (!bound) return 0
  // Only an empty line parts blocks for good.
  for (let at = bound.at; at > 0; at -= 1) {
    const before = tokens[at - 1]!
    if (before.type === 'space' || /\n[ \t]*\n$/.test(before.raw)) return at
  }
  return 0
}

function isShown(token: Token): boolean {
  return token.type !== 'space' && token.type !== 'def'
}

/** Whether a block may have a link that is explained elsewhere. */
function mayRefer(raw: string): boolean {
  return raw.includes('[')
}
