// Reads unified diffs into files, hunks and numbered lines. It shows nothing itself, and leaves what a line looks like
// to the views.

export type LineKind = 'context' | 'added' | 'removed' | 'note'

export interface DiffLine {
  kind: LineKind
  /** The line without its sign. */
  text: string
  /** Its number in the old file, unless it was added. */
  old: number | null
  /** Its number in the new file, unless it was removed. */
  new: number | null
}

export interface DiffHunk {
  /** Its place in the file's diff, from 0; a review rejects hunks by it. */
  index: number
  oldStart: number
  newStart: number
  /** What stands behind the second `@@`: usually the function around it. */
  heading: string
  lines: DiffLine[]
}

export interface DiffFile {
  /** Where the file was; null when it is new. */
  from: string | null
  /** Where it is; null when it is gone. */
  to: string | null
  hunks: DiffHunk[]
  added: number
  removed: number
  /** Whether its content is not text. */
  binary: boolean
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/

/** Reads a diff of any number of files. What is no part of a diff is passed over. */
export function parseDiff(text: string): DiffFile[] {
  const files: DiffFile[] = []
  let file: DiffFile | null = null
  let hunk: Open | null = null
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!
    // Within a hunk the counts decide, because a removed line `-- x` looks like a header.
    if (hunk && take(hunk, line)) continue
    const header = HUNK.exec(line)
    if (header) {
      file ??= begin(files, null, null)
      hunk = open(file, header)
      continue
    }
    if (line.startsWith('\\') && hunk) {
      hunk.hunk.lines.push({ kind: 'note', text: line.slice(2), old: null, new: null })
      continue
    }
    hunk = null
    if (line.startsWith('diff --git ')) {
      file = begin(files, ...gitPaths(line))
    } else if (line.startsWith('--- ') && lines[at + 1]?.startsWith('+++ ')) {
      const [from, to] = [path(line), path(lines[at + 1]!)]
      file = file && file.hunks.length === 0 ? Object.assign(file, { from, to }) : begin(files, from, to)
      at += 1
    } else if (file) {
      attribute(file, line)
    }
  }
  return files
}

/** The file's name as people say it: where it is, or where it was. */
export function pathOf(file: DiffFile): string {
  return file.to ?? file.from ?? ''
}

interface Open {
  hunk: DiffHunk
  file: DiffFile
  oldLeft: number
  newLeft: number
  oldNext: number
  newNext: number
}

function begin(files: DiffFile[], from: string | null, to: string | null): DiffFile {
  const file: DiffFile = { from, to, hunks: [], added: 0, removed: 0, binary: false }
  files.push(file)
  return file
}

function open(file: DiffFile, header: RegExpExecArray): Open {
  const [oldStart, newStart] = [Number(header[1]), Number(header[3])]
  const hunk = { index: file.hunks.length, oldStart, newStart, heading: header[5] ?? '', lines: [] }
  file.hunks.push(hunk)
  return {
    hunk,
    file,
    oldLeft: Number(header[2] ?? 1),
    newLeft: Number(header[4] ?? 1),
    oldNext: oldStart,
    newNext: newStart,
  }
}

/** Takes a line into the hunk, and says whether it belongs there. */
function take(open: Open, line: string): boolean {
  if (open.oldLeft <= 0 && open.newLeft <= 0) return false
  const text = line.slice(1)
  const sign = line[0]
  if (sign === '+' && open.newLeft > 0) {
    open.hunk.lines.push({ kind: 'added', text, old: null, new: open.newNext++ })
    open.newLeft -= 1
    open.file.added += 1
  } else if (sign === '-' && open.oldLeft > 0) {
    open.hunk.lines.push({ kind: 'removed', text, old: open.oldNext++, new: null })
    open.oldLeft -= 1
    open.file.removed += 1
  } else if (sign === '\\') {
    open.hunk.lines.push({ kind: 'note', text: line.slice(2), old: null, new: null })
  } else if (sign === ' ' || line === '' || line === '\r') {
    open.hunk.lines.push({ kind: 'context', text, old: open.oldNext++, new: open.newNext++ })
    open.oldLeft -= 1
    open.newLeft -= 1
  } else {
    return false
  }
  return true
}

/** The path of a `---` or `+++` line. */
function path(line: string): string | null {
  let path = line.slice(4).replace(/\t.*$/, '').replace(/\r$/, '')
  if (path === '/dev/null') return null
  if (path.startsWith('"') && path.endsWith('"')) path = unquote(path)
  return path.replace(/^[ab]\//, '')
}

function gitPaths(line: string): [string | null, string | null] {
  const found = /^diff --git (?:"?a\/)(.*?)"? (?:"?b\/)(.*?)"?$/.exec(line)
  return found ? [found[1]!, found[2]!] : [null, null]
}

function attribute(file: DiffFile, line: string): void {
  if (line.startsWith('new file')) file.from = null
  else if (line.startsWith('deleted file')) file.to = null
  else if (line.startsWith('rename from ')) file.from = line.slice(12)
  else if (line.startsWith('rename to ')) file.to = line.slice(10)
  else if (line.startsWith('Binary files ') || line.startsWith('GIT binary patch')) file.binary = true
}

/** Undoes git's quoting of unusual names, whose bytes are given in octal. */
function unquote(quoted: string): string {
  const bytes: number[] = []
  const inner = quoted.slice(1, -1)
  const named: { [letter: string]: number } = { n: 10, t: 9, r: 13, a: 7, b: 8, f: 12, v: 11 }
  for (let at = 0; at < inner.length; at += 1) {
    const octal = /^\\([0-3][0-7]{2})/.exec(inner.slice(at, at + 4))
    if (octal) {
      bytes.push(Number.parseInt(octal[1]!, 8))
      at += 3
    } else if (inner[at] === '\\' && at + 1 < inner.length) {
      at += 1
      bytes.push(named[inner[at]!] ?? inner.charCodeAt(at))
    } else {
      bytes.push(...new TextEncoder().encode(inner[at]!))
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes))
}
