// Markdown while it comes in: the same blocks as at its end, and settled ones left alone.
import { describe, expect, it } from 'vitest'

import { Blocks, read } from './blocks'
import { isDataPicture, isStored, storedAddress, target } from './links'

const TEXT = `# Title

Some *text* with \`code\`
and a second line.

1. one
   with more

2. two
- x
- y

\`\`\`rust
fn main() {}

# not a heading
\`\`\`

| a | b |
| - | - |
| 1 | 2 |

> quoted
continued

Setext
======

<div onclick="alert(1)">html</div>

[ref]: https://example.org

Last with [a link][ref].
`

const shown = (text: string) =>
  read(text)
    .filter((token) => !['space', 'def'].includes(token.type))
    .map((token) => [token.type, token.raw.trim()])

describe('Blocks', () => {
  it('comes to the same blocks whatever the deltas', () => {
    for (const size of [1, 2, 7, 50]) {
      const blocks = new Blocks()
      for (let end = 0; end < TEXT.length; end += size) {
        const now = blocks.update(TEXT.slice(0, end), true)
        expect(now.map((block) => block.index)).toEqual(now.map((_, at) => at))
      }
      const streamed = blocks.update(TEXT, true).map((block) => [block.token.type, block.token.raw.trim()])
      expect(streamed).toEqual(shown(TEXT))
      expect(blocks.update(TEXT, false).map((block) => [block.token.type, block.token.raw.trim()])).toEqual(shown(TEXT))
    }
  })

  it('keeps settled blocks as they are', () => {
    const blocks = new Blocks()
    const first = blocks.update('one\n\ntwo\n\nthree is lon', true)
    const second = blocks.update('one\n\ntwo\n\nthree is longer\nand longer', true)
    expect(second[0]).toBe(first[0])
    const third = blocks.update('one\n\ntwo\n\nthree is longer\nand longer\n\nfour\nfive', true)
    expect(third[0]).toBe(first[0])
    expect(third[1]).toBe(second[1])
    const end = blocks.update('one\n\ntwo\n\nthree is longer\nand longer\n\nfour\nfive', false)
    expect(end[0]).toBe(first[0])
  })

  it('shows code before its fence is closed, in time that grows with the text only', () => {
    const blocks = new Blocks()
    let text = 'before\n\n```js\n'
    for (let line = 0; line < 3000; line += 1) {
      text += `const x${line} = "# **not** markdown"\n`
      const now = blocks.update(text, true)
      if (line % 500 === 0) expect(now.at(-1)!.token).toMatchObject({ type: 'code', lang: 'js' })
    }
    text += '```\n\nafter'
    expect(blocks.update(text, true).map((block) => block.token.type)).toEqual(['paragraph', 'code', 'paragraph'])
  })

  it('starts anew when the text is another one', () => {
    const blocks = new Blocks()
    blocks.update('one\n\ntwo\n\nthree', true)
    expect(blocks.update('other', true).map((block) => block.token.raw)).toEqual(['other'])
  })

  it('explains links from anywhere once the text is whole', () => {
    const text = 'See [it][x].\n\nmore\n\n[x]: https://example.org'
    const blocks = new Blocks()
    blocks.update(text, true)
    expect(JSON.stringify(blocks.update(text, false)[0]!.token)).toContain('"href":"https://example.org"')
  })
})

describe('links', () => {
  it('makes links only of what is harmless', () => {
    const bad = [
      'javascript:alert(1)',
      ' JaVaScRiPt:alert(1)',
      'java\nscript:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'vbscript:x',
      'blob:http://x/y',
      'file:///etc/passwd',
      '//evil.example/x',
      '/v1/sessions',
      '../x',
      '#x',
      'https://user:pw@evil.example/',
    ]
    for (const href of bad) expect(target(href), href).toEqual({ kind: 'text' })
    expect(target('https://example.org/a?b#c')).toMatchObject({ kind: 'web', host: 'example.org' })
    expect(target('mailto:a@b.example')).toMatchObject({ kind: 'web' })
    expect(target(`sessions/sess_${'0'.repeat(32)}`)).toEqual({ kind: 'session', id: `sess_${'0'.repeat(32)}` })
  })

  it('knows the files that a session keeps, and no others', () => {
    expect(storedAddress('sess_1', 'artifacts/turn_1/a b.svg')).toBe('/v1/sessions/sess_1/artifacts/turn_1/a%20b.svg')
    for (const ref of [
      'attachments/../x',
      'artifacts/..',
      'attachments/a/b',
      'x/y',
      'attachments/a?b',
      'artifacts/../x',
      'attachments/..',
    ]) {
      expect(isStored(ref), ref).toBe(false)
    }
  })

  it('takes pictures from the text itself, but no SVG', () => {
    expect(isDataPicture('data:image/png;base64,AAAA')).toBe(true)
    expect(isDataPicture('data:image/svg+xml;base64,AAAA')).toBe(false)
  })
})
