// Formulas become elements from a closed list; what is not known leaves the formula as it was written.

import { describe, expect, it } from 'vitest'

import { read } from './blocks'
import { readTex, type MathNode } from './tex'

/** A tree in few letters: `mfrac(mi:a mi:b)`. */
function shown(node: MathNode | null): string {
  if (!node) return 'null'
  if (node.children) return `${node.tag}(${node.children.map(shown).join(' ')})`
  return node.text === undefined ? node.tag : `${node.tag}:${node.text}`
}

describe('readTex', () => {
  it.each([
    ['a^2 + b_1', 'mrow(msup(mi:a mn:2) mo:+ msub(mi:b mn:1))'],
    ['\\frac{a}{b}', 'mfrac(mi:a mi:b)'],
    ['x^10', 'mrow(msup(mi:x mn:1) mn:0)'],
    ['\\sqrt[3]{x}', 'mroot(mi:x mn:3)'],
    ['\\sum_{i=0}^n i', 'mrow(munderover(mo:∑ mrow(mi:i mo:= mn:0) mi:n) mi:i)'],
    ['\\int_0^1', 'msubsup(mo:∫ mn:0 mn:1)'],
    ["f'(x)", 'mrow(msup(mi:f mo:′) mo:( mi:x mo:))'],
    ['\\left( a \\right)', 'mrow(mo:( mi:a mo:))'],
    [
      '\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}',
      'mrow(mo:( mtable(mtr(mtd(mn:1) mtd(mn:2)) mtr(mtd(mn:3) mtd(mn:4))) mo:))',
    ],
    ['x \\in \\mathbb{R}', 'mrow(mi:x mo:∈ mi:ℝ)'],
    ['\\text{if } x \\ge 0', 'mrow(mtext:if  mi:x mo:≥ mn:0)'],
  ])('reads %s', (source, tree) => expect(shown(readTex(source))).toBe(tree))

  it.each([
    '\\href{javascript:alert(1)}{x}',
    '\\frac{a}',
    'a^',
    '{a',
    'a}',
    '\\begin{pmatrix} 1',
    '\\input{x}',
    'a^b^c',
  ])('leaves %s', (source) => expect(readTex(source)).toBeNull())

  it('takes markup for text, and ends in any depth', () => {
    expect(shown(readTex('\\text{<img src=x>}'))).toBe('mtext:<img src=x>')
    expect(readTex('{'.repeat(3000) + '}'.repeat(900))).toBeNull()
    expect(readTex('x'.repeat(5000))).toBeNull()
  })
})

describe('formulas in markdown', () => {
  const kinds = (text: string) => JSON.stringify(read(text)).match(/"type":"math"[^}]*"tex":"[^"]*"/g)?.length ?? 0

  it('are told from money', () => {
    expect(kinds('It is $a^2$ and \\(b\\).')).toBe(2)
    expect(kinds('$$\nx = 1\n$$')).toBe(1)
    expect(kinds('\\[ x \\]')).toBe(1)
    expect(kinds('It costs $5 and $10, or $5-$10, `$a$`.')).toBe(0)
    expect(kinds('```\n$a$\n```')).toBe(0)
  })
})
