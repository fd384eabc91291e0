// Where formulas are in markdown: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` on their own. Reading them is left to tex.ts.

import type { TokenizerExtension, Tokens } from 'marked'

export interface MathToken extends Tokens.Generic {
  type: 'math'
  tex: string
  block: boolean
}

// A dollar sign before a space, or one that a digit follows, is money.
const INLINE = /^(?:\$(?![\s$])((?:\\.|[^\\$`\n])*?[^\s\\$`]|[^\s\\$`])\$(?!\d)|\\\(([^\n]+?)\\\)|\$\$([^\n$]+)\$\$)/
const BLOCK = /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\]) *(?:\n+|$)/

function token(found: RegExpExecArray, block: boolean): MathToken {
  const tex = found.slice(1).find((group) => group !== undefined) ?? ''
  return { type: 'math', raw: found[0], tex: tex.trim(), block }
}

/** For marked. */
export const MATH: TokenizerExtension[] = [
  {
    name: 'math',
    level: 'block',
    start: (source) => /\n {0,3}(?:\$\$|\\\[)/.exec(source)?.index,
    tokenizer(source) {
      const found = BLOCK.exec(source)
      return found ? token(found, true) : undefined
    },
  },
  {
    name: 'inlineMath',
    level: 'inline',
    start: (source) => /\$|\\\(/.exec(source)?.index,
    tokenizer(source) {
      const found = INLINE.exec(source)
      return found ? token(found, false) : undefined
    },
  },
]
