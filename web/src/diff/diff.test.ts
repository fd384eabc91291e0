// Diffs: read, made, laid out side by side.
import { describe, expect, it } from 'vitest'

import { makeDiff } from './make'
import { indentOf, lineRuns } from './colours'
import { parseDiff, pathOf } from './parse'
import { changedPieces, compareWords, splitRows } from './rows'

const TWO = `diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,3 @@ fn main() {
 one
-two
+TWO
 three
@@ -10 +10,2 @@
--- not a header
+++ neither
+more
\\ No newline at end of file
diff --git a/b.txt b/b.txt
new file mode 100644
--- /dev/null
+++ b/b.txt
@@ -0,0 +1 @@
+hello
`

describe('parseDiff', () => {
  it('reads files, hunks and line numbers', () => {
    const [a, b] = parseDiff(TWO)
    expect([a!.from, a!.to, a!.added, a!.removed, a!.hunks.length]).toEqual(['src/a.rs', 'src/a.rs', 3, 2, 2])
    expect(a!.hunks[0]!.heading).toBe('fn main() {')
    expect(a!.hunks[0]!.lines.map((line) => [line.kind, line.old, line.new])).toEqual([
      ['context', 1, 1],
      ['removed', 2, null],
      ['added', null, 2],
      ['context', 3, 3],
    ])
    expect([b!.from, b!.to, pathOf(b!)]).toEqual([null, 'b.txt', 'b.txt'])
  })

  it('tells lines that look like headers from headers by the counts', () => {
    const hunk = parseDiff(TWO)[0]!.hunks[1]!
    expect(hunk.lines.map((line) => [line.kind, line.text])).toEqual([
      ['removed', '-- not a header'],
      ['added', '++ neither'],
      ['added', 'more'],
      ['note', 'No newline at end of file'],
    ])
  })

  it('reads a diff of the daemon, which has no git header', () => {
    const files = parseDiff(
      '--- a/x\n+++ b/x\n@@ -3,1 +3,2 @@\n-a\n+b\n+c\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n',
    )
    expect(files.map((file) => [file.from, file.to, file.added, file.removed])).toEqual([
      ['x', 'x', 2, 1],
      ['y', null, 0, 1],
    ])
  })

  it('undoes the quoting of names and keeps what is no diff out', () => {
    expect(pathOf(parseDiff('--- /dev/null\n+++ "b/na\\303\\257ve\\t.txt"\n@@ -0,0 +1 @@\n+x\n')[0]!)).toBe(
      'naïve\t.txt',
    )
    expect(parseDiff('hello\nworld')).toEqual([])
  })
})

describe('makeDiff', () => {
  it('keeps three lines around a change and parts what is far apart', () => {
    const old = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`)
    const fresh = old.with(4, 'five').toSpliced(25, 1)
    const file = makeDiff('f', old.join('\n'), fresh.join('\n'))
    expect([file.added, file.removed, file.hunks.length]).toEqual([1, 2, 2])
    expect(file.hunks.map((hunk) => [hunk.oldStart, hunk.newStart, hunk.lines.length])).toEqual([
      [2, 2, 8],
      [23, 23, 7],
    ])
  })

  it('shows a new file as added and nothing as nothing', () => {
    expect(makeDiff('f', null, 'a\nb\n')).toMatchObject({ from: null, to: 'f', added: 2, removed: 0 })
    expect(makeDiff('f', 'a\n', 'a\n').hunks).toEqual([])
  })

  it('gives up on comparing what is very long, and still tells all of it', () => {
    const text = (sign: string) => Array.from({ length: 700 }, (_, at) => sign + at).join('\n')
    expect(makeDiff('f', text('a'), text('b'))).toMatchObject({ added: 700, removed: 700 })
  })
})

describe('rows', () => {
  it('puts removed lines beside the added ones', () => {
    const hunk = parseDiff('--- a/x\n+++ b/x\n@@ -1,4 +1,3 @@\n a\n-b\n-c\n+B\n d\n')[0]!.hunks[0]!
    expect(splitRows(hunk).map(({ left, right }) => [left?.text ?? null, right?.text ?? null])).toEqual([
      ['a', 'a'],
      ['b', 'B'],
      ['c', null],
      ['d', 'd'],
    ])
  })

  it('marks the words that differ, and nothing when all do', () => {
    expect(compareWords('let a = 1;', 'let b = 1;')?.new).toEqual([
      { text: 'let ', changed: false },
      { text: 'b', changed: true },
      { text: ' = 1;', changed: false },
    ])
    expect(compareWords('completely different', 'nothing alike at all')).toBeNull()
    const hunk = parseDiff('--- a/x\n+++ b/x\n@@ -1 +1 @@\n-let a = 1;\n+let b = 1;\n')[0]!.hunks[0]!
    expect(changedPieces(hunk).size).toBe(2)
  })
})

describe('colours', () => {
  it('are joined with what has changed', () => {
    const parts = [
      { text: 'let a', changed: false },
      { text: ' = 2', changed: true },
    ]
    const colours = [
      { text: 'let', style: 'hl-keyword' },
      { text: ' a = ', style: '' },
      { text: '2', style: 'hl-number' },
    ]
    expect(lineRuns(parts, colours)).toEqual([
      { text: 'let', style: 'hl-keyword', changed: false },
      { text: ' a', style: '', changed: false },
      { text: ' = ', style: '', changed: true },
      { text: '2', style: 'hl-number', changed: true },
    ])
  })

  it('of another text are left out', () => {
    expect(lineRuns([{ text: 'x', changed: false }], [{ text: 'y', style: 'hl-type' }])).toEqual([
      { text: 'x', changed: false, style: '' },
    ])
  })

  it('leave an indent that wrapped lines can have', () => {
    expect(['  a', '\tb', ' \tc', 'd', ' '.repeat(80)].map(indentOf)).toEqual([2, 4, 4, 0, 24])
  })
})
