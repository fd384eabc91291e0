// Reads a small part of TeX into a tree of MathML elements from a closed list. What it does not know makes the whole formula null,
// so that it is shown as it was written. It builds no element and no markup.

/** The elements that a formula may be made of. */
export type MathTag =
  | 'mi'
  | 'mn'
  | 'mo'
  | 'mtext'
  | 'mspace'
  | 'mrow'
  | 'mfrac'
  | 'msqrt'
  | 'mroot'
  | 'msub'
  | 'msup'
  | 'msubsup'
  | 'munder'
  | 'mover'
  | 'munderover'
  | 'mtable'
  | 'mtr'
  | 'mtd'

export interface MathNode {
  readonly tag: MathTag
  readonly text?: string
  readonly children?: readonly MathNode[]
  readonly attributes?: Readonly<Record<string, string>>
}

const MAX_LENGTH = 4_000
const MAX_DEPTH = 40

/** The tree of a formula; null when it has something that is not known. */
export function readTex(source: string): MathNode | null {
  if (source.length > MAX_LENGTH) return null
  try {
    const reader = new Reader(source)
    const node = reader.row(() => reader.isAtEnd)
    return reader.isAtEnd ? node : null
  } catch (error) {
    if (error instanceof UnknownTex) return null
    throw error
  }
}

class UnknownTex extends Error {}

const letters = (names: string, from: string): [string, string][] =>
  names.split(' ').map((name, place) => [name, [...from][place]!])

const SYMBOLS = new Map<string, string>([
  ...letters(
    'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau',
    'αβγδϵζηθικλμνξπρστ',
  ),
  ...letters('upsilon phi chi psi omega varepsilon vartheta varphi varrho varsigma', 'υϕχψωεϑφϱς'),
  ...letters('Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega', 'ΓΔΘΛΞΠΣΥΦΨΩ'),
  ...letters('infty partial nabla ell hbar emptyset forall exists aleph Re Im varnothing degree', '∞∂∇ℓℏ∅∀∃ℵℜℑ∅°'),
  ...letters('prime top bot angle triangle', '′⊤⊥∠△'),
])

const OPERATORS = new Map<string, string>([
  ...letters('times cdot div pm mp ast star circ bullet oplus ominus otimes odot', '×⋅÷±∓∗⋆∘∙⊕⊖⊗⊙'),
  ...letters('leq le geq ge neq ne approx equiv sim simeq cong propto ll gg prec succ', '≤≤≥≥≠≠≈≡∼≃≅∝≪≫≺≻'),
  ...letters(
    'in notin ni subset supset subseteq supseteq cup cap setminus wedge land vee lor neg lnot',
    '∈∉∋⊂⊃⊆⊇∪∩∖∧∧∨∨¬¬',
  ),
  ...letters(
    'to rightarrow leftarrow leftrightarrow Rightarrow Leftarrow Leftrightarrow mapsto implies iff',
    '→→←↔⇒⇐⇔↦⟹⟺',
  ),
  ...letters('uparrow downarrow gets longrightarrow Longrightarrow hookrightarrow', '↑↓←⟶⟹↪'),
  ...letters('ldots dots cdots vdots ddots colon mid parallel perp models vdash therefore because', '……⋯⋮⋱:∣∥⊥⊨⊢∴∵'),
  ...letters(
    'lbrace rbrace lbrack rbrack langle rangle lceil rceil lfloor rfloor vert Vert lvert rvert',
    '{}[]⟨⟩⌈⌉⌊⌋|‖||',
  ),
  ['{', '{'],
  ['}', '}'],
  ['|', '‖'],
  ['%', '%'],
  ['$', '$'],
  ['&', '&'],
  ['#', '#'],
  ['_', '_'],
  ['backslash', '\\'],
])

/** Operators whose limits stand above and below in a formula of its own line. */
const LARGE = new Map<string, string>(
  letters('sum prod coprod int iint iiint oint bigcup bigcap bigoplus bigotimes bigvee bigwedge', '∑∏∐∫∬∭∮⋃⋂⨁⨂⋁⋀'),
)
const FUNCTIONS = new Set(
  (
    'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp det dim ker deg gcd arg hom Pr ' +
    'lim limsup liminf max min sup inf argmax argmin'
  ).split(' '),
)
const LIMITS = new Set('lim limsup liminf max min sup inf argmax argmin det gcd Pr'.split(' '))
const SPACES = new Map([
  [',', '0.17em'],
  [':', '0.22em'],
  [';', '0.28em'],
  ['!', '-0.17em'],
  [' ', '0.25em'],
  ['quad', '1em'],
  ['qquad', '2em'],
])
const ACCENTS = new Map<string, string>([
  ...letters('hat widehat bar overline vec tilde widetilde dot ddot check breve', '^^¯¯→~~˙¨ˇ˘'),
])
const FENCES = new Map([
  ['pmatrix', ['(', ')']],
  ['bmatrix', ['[', ']']],
  ['Bmatrix', ['{', '}']],
  ['vmatrix', ['|', '|']],
  ['Vmatrix', ['‖', '‖']],
  ['cases', ['{', '']],
])
const TABLES = new Set(['matrix', 'aligned', 'align', 'align*', 'array', 'gathered', 'split', 'smallmatrix'])
const DOUBLE: { [letter: string]: string } = { C: 'ℂ', H: 'ℍ', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' }

class Reader {
  #place = 0
  #depth = 0

  constructor(readonly source: string) {}

  get isAtEnd(): boolean {
    this.#skip()
    return this.#place >= this.source.length
  }

  /** Atoms with what is above and below them, until the end of the row. */
  row(isOver: () => boolean): MathNode {
    if ((this.#depth += 1) > MAX_DEPTH) throw new UnknownTex()
    const children: MathNode[] = []
    while (!isOver()) {
      if (this.isAtEnd) throw new UnknownTex()
      children.push(this.#scripted())
    }
    this.#depth -= 1
    return children.length === 1 ? children[0]! : { tag: 'mrow', children }
  }

  #skip(): void {
    while (/\s/.test(this.source[this.#place] ?? '')) this.#place += 1
  }

  #looksAt(text: string): boolean {
    this.#skip()
    return this.source.startsWith(text, this.#place)
  }

  #take(text: string): boolean {
    if (!this.#looksAt(text)) return false
    this.#place += text.length
    return true
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new UnknownTex()
  }

  /** An atom with its sub- and superscript. */
  #scripted(): MathNode {
    const isBare = this.#looksAt('^') || this.#looksAt('_')
    const before = this.#place
    const base: MathNode = isBare ? { tag: 'mrow', children: [] } : this.#atom()
    const name = /^\\([A-Za-z]+)/.exec(this.source.slice(before))?.[1] ?? ''
    const limits = (LARGE.has(name) && !name.endsWith('int')) || LIMITS.has(name) || /^(?:under|over)brace$/.test(name)
    let below: MathNode | null = null
    let above: MathNode | null = null
    for (;;) {
      if (this.#take('^')) {
        if (above) throw new UnknownTex()
        above = this.#argument()
      } else if (this.#take('_')) {
        if (below) throw new UnknownTex()
        below = this.#argument()
      } else if (this.#looksAt("'")) {
        let primes = ''
        while (this.#take("'")) primes += '′'
        const prime: MathNode = { tag: 'mo', text: primes }
        above = above ? { tag: 'mrow', children: [prime, above] } : prime
      } else break
    }
    if (above && below) return { tag: limits ? 'munderover' : 'msubsup', children: [base, below, above] }
    if (above) return { tag: limits ? 'mover' : 'msup', children: [base, above] }
    if (below) return { tag: limits ? 'munder' : 'msub', children: [base, below] }
    return base
  }

  /** What a command takes: a group, or one atom. */
  #argument(): MathNode {
    this.#skip()
    if (this.#looksAt('{')) return this.#group()
    const character = this.source[this.#place]
    if (character === undefined || character === '}' || character === '^' || character === '_') throw new UnknownTex()
    // Of a number only its first digit is the argument.
    if (/\d/.test(character)) {
      this.#place += 1
      return { tag: 'mn', text: character }
    }
    return this.#atom()
  }

  #group(): MathNode {
    this.#expect('{')
    const row = this.row(() => this.#looksAt('}'))
    this.#expect('}')
    return row
  }

  #atom(): MathNode {
    this.#skip()
    if (this.#looksAt('{')) return this.#group()
    const rest = this.source.slice(this.#place)
    const number = /^\d+(?:[.,]\d+)*/.exec(rest)?.[0]
    if (number) {
      this.#place += number.length
      return { tag: 'mn', text: number }
    }
    if (rest.startsWith('\\')) return this.#command()
    const character = String.fromCodePoint(rest.codePointAt(0) ?? 0)
    if ('}&#%$~^_'.includes(character)) throw new UnknownTex()
    this.#place += character.length
    if (/\p{L}/u.test(character)) return { tag: 'mi', text: character }
    return { tag: 'mo', text: character === '-' ? '−' : character }
  }

  #command(): MathNode {
    const name = /^\\([A-Za-z]+\*?|.)/su.exec(this.source.slice(this.#place))?.[1]
    if (name === undefined) throw new UnknownTex()
    this.#place += name.length + 1
    const symbol = SYMBOLS.get(name)
    if (symbol) return { tag: 'mi', text: symbol }
    const operator = OPERATORS.get(name) ?? LARGE.get(name)
    if (operator) return { tag: 'mo', text: operator }
    if (FUNCTIONS.has(name)) return { tag: 'mi', text: name.replace(/^(lim|arg)(sup|inf|max|min)$/, '$1 $2') }
    const space = SPACES.get(name)
    if (space) return { tag: 'mspace', attributes: { width: space } }
    const accent = ACCENTS.get(name)
    if (accent) {
      const over: MathNode = {
        tag: 'mo',
        text: accent,
        attributes: { stretchy: /^(over|wide)/.test(name) ? 'true' : 'false' },
      }
      return { tag: 'mover', attributes: { accent: 'true' }, children: [this.#argument(), over] }
    }
    return this.#structure(name)
  }

  #structure(name: string): MathNode {
    switch (name) {
      case 'frac':
      case 'dfrac':
      case 'tfrac':
        return { tag: 'mfrac', children: [this.#argument(), this.#argument()] }
      case 'binom': {
        const children = [this.#argument(), this.#argument()]
        return fenced('(', { tag: 'mfrac', attributes: { linethickness: '0' }, children }, ')')
      }
      case 'sqrt': {
        if (!this.#take('[')) return { tag: 'msqrt', children: [this.#argument()] }
        const degree = this.row(() => this.#looksAt(']'))
        this.#expect(']')
        return { tag: 'mroot', children: [this.#argument(), degree] }
      }
      case 'underline':
        return {
          tag: 'munder',
          children: [this.#argument(), { tag: 'mo', text: '_', attributes: { stretchy: 'true' } }],
        }
      case 'underbrace':
      case 'overbrace': {
        const brace: MathNode = { tag: 'mo', text: name === 'underbrace' ? '⏟' : '⏞', attributes: { stretchy: 'true' } }
        return { tag: name === 'underbrace' ? 'munder' : 'mover', children: [this.#argument(), brace] }
      }
      case 'text':
      case 'textrm':
      case 'mbox':
        return { tag: 'mtext', text: this.#plain() }
      case 'operatorname':
      case 'mathrm':
      case 'mathit':
      case 'mathsf':
      case 'mathtt':
        return { tag: 'mi', text: this.#plain(), attributes: { mathvariant: 'normal' } }
      case 'mathbf':
      case 'boldsymbol':
      case 'mathcal':
        return this.#argument()
      case 'mathbb':
        return { tag: 'mi', text: [...this.#plain()].map((letter) => DOUBLE[letter] ?? letter).join('') }
      case 'left':
        return this.#between()
      case 'begin':
        return this.#environment()
      case 'displaystyle':
      case 'textstyle':
      case 'limits':
      case 'nolimits':
        return { tag: 'mrow', children: [] }
      default:
        throw new UnknownTex()
    }
  }

  /** The text of a group, which holds no commands. */
  #plain(): string {
    this.#skip()
    const found = /^\{([^{}\\]*)\}/.exec(this.source.slice(this.#place))
    if (!found) throw new UnknownTex()
    this.#place += found[0].length
    return found[1]!
  }

  #fence(): string {
    this.#skip()
    if (this.#take('.')) return ''
    const found = /^(?:\\([A-Za-z]+|[{}|])|[()[\]|/<>])/.exec(this.source.slice(this.#place))
    if (!found) throw new UnknownTex()
    this.#place += found[0].length
    const named = found[1] === undefined ? found[0] : OPERATORS.get(found[1])
    if (named === undefined) throw new UnknownTex()
    return { '<': '⟨', '>': '⟩' }[named] ?? named
  }

  #between(): MathNode {
    const open = this.#fence()
    const inside = this.row(() => this.#looksAt('\\right') && !/^\\right[a-z]/.test(this.source.slice(this.#place)))
    this.#expect('\\right')
    return fenced(open, inside, this.#fence())
  }

  #environment(): MathNode {
    const name = this.#plain()
    const fences = FENCES.get(name)
    if (!fences && !TABLES.has(name)) throw new UnknownTex()
    if (name === 'array' && this.#looksAt('{')) this.#plain()
    const end = `\\end{${name}}`
    const rows: MathNode[] = []
    while (!this.#looksAt(end)) {
      const cells: MathNode[] = []
      do {
        const cell = this.row(() => this.#looksAt('&') || this.#looksAt('\\\\') || this.#looksAt(end))
        cells.push({ tag: 'mtd', children: [cell] })
      } while (this.#take('&'))
      rows.push({ tag: 'mtr', children: cells })
      if (!this.#take('\\\\')) break
    }
    this.#expect(end)
    const isLeft = name === 'cases' || name.startsWith('align') || name === 'split'
    const table: MathNode = {
      tag: 'mtable',
      ...(isLeft ? { attributes: { columnalign: 'left' } } : {}),
      children: rows,
    }
    return fences ? fenced(fences[0]!, table, fences[1]!) : table
  }
}

function fenced(open: string, inside: MathNode, close: string): MathNode {
  const fence = (text: string): MathNode[] =>
    text === '' ? [] : [{ tag: 'mo', text, attributes: { fence: 'true', stretchy: 'true' } }]
  return { tag: 'mrow', children: [...fence(open), inside, ...fence(close)] }
}
