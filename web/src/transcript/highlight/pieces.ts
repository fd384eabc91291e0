// Pieces of coloured code, and how they are read from what the highlighter writes. Its markup never reaches the page: only
// the text and one of a few known class names do.

export interface CodePiece {
  text: string
  /** One of the class names below, or empty. */
  style: string
}

/** The highlighter's words, and those of our style sheet. */
const STYLES: { [scope: string]: string } = {
  keyword: 'hl-keyword',
  built_in: 'hl-type',
  type: 'hl-type',
  literal: 'hl-number',
  number: 'hl-number',
  operator: '',
  punctuation: '',
  property: 'hl-attr',
  regexp: 'hl-string',
  string: 'hl-string',
  char: 'hl-string',
  subst: '',
  symbol: 'hl-number',
  variable: 'hl-attr',
  title: 'hl-title',
  params: '',
  comment: 'hl-comment',
  doctag: 'hl-comment',
  meta: 'hl-meta',
  prompt: 'hl-meta',
  section: 'hl-title',
  tag: 'hl-keyword',
  name: 'hl-keyword',
  attr: 'hl-attr',
  attribute: 'hl-attr',
  bullet: 'hl-keyword',
  code: 'hl-string',
  emphasis: 'hl-em',
  strong: 'hl-strong',
  formula: 'hl-string',
  link: 'hl-string',
  quote: 'hl-comment',
  'selector-tag': 'hl-keyword',
  'selector-id': 'hl-title',
  'selector-class': 'hl-title',
  'selector-attr': 'hl-attr',
  'selector-pseudo': 'hl-attr',
  addition: 'hl-added',
  deletion: 'hl-removed',
}

const ENTITIES: { [entity: string]: string } = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'" }

/** Reads the highlighter's output: spans with a class, and escaped text. */
export function toPieces(html: string): CodePiece[] {
  const pieces: CodePiece[] = []
  const open: string[] = []
  const put = (raw: string) => {
    if (raw === '') return
    const text = raw.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity]!)
    const style = open.at(-1) ?? ''
    const last = pieces.at(-1)
    if (last && last.style === style) last.text += text
    else pieces.push({ text, style })
  }
  const tag = /<(\/?)span(?: class="([^"]*)")?>/g
  let from = 0
  for (let found = tag.exec(html); found; found = tag.exec(html)) {
    put(html.slice(from, found.index))
    from = tag.lastIndex
    if (found[1]) open.pop()
    else open.push(styleOf(found[2] ?? '', open.at(-1) ?? ''))
  }
  put(html.slice(from))
  return pieces
}

function styleOf(classes: string, around: string): string {
  const scope = /hljs-([\w-]+)/.exec(classes)?.[1]
  return scope === undefined ? around : (STYLES[scope] ?? around)
}

/** The part of the pieces that belongs to the beginning of another text, as long as both begin alike. */
export function fitting(pieces: CodePiece[], text: string): CodePiece[] {
  const fit: CodePiece[] = []
  let at = 0
  for (const piece of pieces) {
    if (!text.startsWith(piece.text, at)) break
    fit.push(piece)
    at += piece.text.length
  }
  if (at < text.length) fit.push({ text: text.slice(at), style: '' })
  return fit
}

/** The pieces of each line. */
export function byLine(pieces: readonly CodePiece[]): CodePiece[][] {
  const lines: CodePiece[][] = [[]]
  for (const piece of pieces) {
    piece.text.split('\n').forEach((part, at) => {
      if (at > 0) lines.push([])
      if (part !== '') lines.at(-1)!.push({ text: part, style: piece.style })
    })
  }
  return lines
}
