// Reads what the search tool found back into files and lines. Pure; what is in another form is shown as it is.

export interface Hit {
  line: number
  text: string
  /** Whether it was found, or only stands near. */
  isMatch: boolean
}

export interface HitFile {
  path: string
  hits: Hit[]
}

/** The hits by file, and the remarks of the tool; null when the text has another form. */
export function readHits(text: string): { files: HitFile[]; notes: string[] } | null {
  const files: HitFile[] = []
  const notes: string[] = []
  let understood = 0
  let lines = 0
  for (const line of text.split('\n')) {
    if (line === '' || line === '--') continue
    if (/^\[.*\]$/.test(line)) {
      notes.push(line.slice(1, -1))
      continue
    }
    lines += 1
    const found = hit(line, files.at(-1)?.path ?? null)
    if (!found) continue
    understood += 1
    if (files.at(-1)?.path !== found.path) files.push({ path: found.path, hits: [] })
    files.at(-1)!.hits.push(found.hit)
  }
  return lines === understood ? { files, notes } : null
}

function hit(line: string, last: string | null): { path: string; hit: Hit } | null {
  // A path may hold what looks like a number: the file that is being listed settles it.
  if (last !== null && line.startsWith(last)) {
    const known = /^([:-])(\d+)\1 ?(.*)$/.exec(line.slice(last.length))
    if (known) return { path: last, hit: { line: Number(known[2]), text: known[3]!, isMatch: known[1] === ':' } }
  }
  const found = /^(.+?):(\d+): ?(.*)$/.exec(line) ?? /^(.+?)-(\d+)- ?(.*)$/.exec(line)
  if (!found) return null
  const isMatch = line[found[1]!.length] === ':'
  return { path: found[1]!, hit: { line: Number(found[2]), text: found[3]!, isMatch } }
}
