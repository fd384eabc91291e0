// Draws a formula as MathML. Elements are made one by one from the closed list of tex.ts; no markup is read.

import { revealUnseen } from '../text'
import { readTex, type MathNode } from './tex'

const NAMESPACE = 'http://www.w3.org/1998/Math/MathML'

/** The element of a formula; null when it cannot be read. */
export function drawMath(source: string, isBlock: boolean): Element | null {
  const tree = readTex(source)
  if (!tree) return null
  const math = document.createElementNS(NAMESPACE, 'math')
  if (isBlock) math.setAttribute('display', 'block')
  math.setAttribute('alttext', revealUnseen(source))
  math.append(draw(tree))
  return math
}

function draw({ tag, text, children = [], attributes = {} }: MathNode): Element {
  const element = document.createElementNS(NAMESPACE, tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  if (text !== undefined) element.textContent = revealUnseen(text)
  element.append(...children.map(draw))
  return element
}
