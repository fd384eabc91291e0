// What searches find, read back; and characters that are written by name.
import { expect, it } from 'vitest'

import { decode } from '../markdown/entities'
import { readHits } from './hits'

it('reads hits by file, with what stands near and what the tool remarks', () => {
  const told = 'src/a-1.rs-3- near\nsrc/a-1.rs:4: found: it\n--\nsrc/b.rs:10: let x = 3: 4\n[There are more.]\n'
  expect(readHits(told)).toEqual({
    files: [
      {
        path: 'src/a-1.rs',
        hits: [
          { line: 3, text: 'near', isMatch: false },
          { line: 4, text: 'found: it', isMatch: true },
        ],
      },
      { path: 'src/b.rs', hits: [{ line: 10, text: 'let x = 3: 4', isMatch: true }] },
    ],
    notes: ['There are more.'],
  })
})

it('leaves another form as it is', () => {
  expect(readHits('src/a.rs\nsrc/b.rs\n')).toBeNull()
  expect(readHits('[Nothing was found.]')).toEqual({ files: [], notes: ['Nothing was found.'] })
})

it('decodes names and numbers of characters to text', () => {
  expect(decode('&lt;b&gt; &amp;amp; &#65;&#x42; &nope; &#0; &#xD800; &constructor;')).toBe(
    '<b> &amp; AB &nope; \ufffd \ufffd &constructor;',
  )
})
