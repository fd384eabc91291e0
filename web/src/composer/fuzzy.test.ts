/** Ranking by a few typed letters. */

import { describe, expect, it } from 'vitest'

import { match, rank, stretches } from './fuzzy'

const best = (query: string, items: string[]) => rank(query, items, (item) => item).map(({ item }) => item)

describe('fuzzy ranking', () => {
  it('finds letters in their order only', () => {
    expect(match('abc', 'a-b-c')).not.toBeNull()
    expect(match('acb', 'a-b-c')).toBeNull()
    expect(match('abcd', 'a-b-c')).toBeNull()
    expect(match('', 'anything')).toEqual({ score: 0, positions: [] })
  })

  it('prefers the file name to the folders, and beginnings of words to their middles', () => {
    expect(best('main', ['domain/a.rs', 'src/main.rs', 'src/remainder.rs'])[0]).toBe('src/main.rs')
    expect(best('fb', ['src/foobar.ts', 'src/foo_bar.ts'])[0]).toBe('src/foo_bar.ts')
    expect(best('fb', ['src/foobar.ts', 'src/fooBar.ts'])[0]).toBe('src/fooBar.ts')
    expect(best('api', ['a/p/i/x.ts', 'src/api.ts'])[0]).toBe('src/api.ts')
  })

  it('prefers letters that stand together, then the shorter text, then the order given', () => {
    expect(best('test', ['t-e-s-t.md', 'test.md'])[0]).toBe('test.md')
    expect(best('lib', ['src/lib.rs.bak', 'src/lib.rs'])[0]).toBe('src/lib.rs')
    expect(best('x', ['x1', 'x2'])).toEqual(['x1', 'x2'])
  })

  it('ignores case, spaces in the query, and prefers the same case', () => {
    expect(match('README', 'readme.md')).not.toBeNull()
    expect(match('read me', 'readme.md')?.positions).toEqual([0, 1, 2, 3, 4, 5])
    expect(best('Readme', ['readme', 'Readme'])[0]).toBe('Readme')
  })

  it('says which letters matched', () => {
    expect(match('mr', 'src/main.rs')?.positions).toEqual([4, 9])
    expect(stretches('src/main.rs', [4, 9])).toEqual([
      { text: 'src/', hit: false },
      { text: 'm', hit: true },
      { text: 'ain.', hit: false },
      { text: 'r', hit: true },
      { text: 's', hit: false },
    ])
  })

  it('gives all in order for an empty query, and never more than asked for', () => {
    expect(best('', ['b', 'a'])).toEqual(['b', 'a'])
    expect(
      rank(
        'a',
        Array.from({ length: 100 }, (_, at) => `a${at}`),
        (item) => item,
        7,
      ),
    ).toHaveLength(7)
  })

  it('looks at the end of a long path, with places in the whole of it', () => {
    const long = `${'deep/'.repeat(100)}target.rs`
    const found = match('target', long)
    expect(found?.positions[0]).toBe(long.length - 'target.rs'.length)
  })

  it('survives letters that grow when they are folded', () => {
    expect(() => match('i', 'İstanbul')).not.toThrow()
    expect(match('st', 'İstanbul')).not.toBeNull()
  })
})
