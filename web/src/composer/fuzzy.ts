/**
 * Fuzzy ranking: which of many strings a few typed letters most likely mean, and which letters matched, so
 * that a menu can mark them. Where the strings come from and how they are shown is for others.
 */

/** A string that matched. */
export interface Match {
  /** Higher is better; only comparable for one query. */
  score: number
  /** The places of the matched letters, ascending. */
  positions: number[]
}

/** Something that was ranked. */
export interface Ranked<T> extends Match {
  item: T
}

/** Longer candidates are matched in their last so many letters, where a path tells most. */
const MAX_CANDIDATE = 256
const MAX_QUERY = 64

const MATCH = 16
const CONSECUTIVE = 18
const BOUNDARY = 14
const BASENAME = 6
const SAME_CASE = 1
const GAP = -1

/** The best of `items` for `query`, best first; all in their own order when nothing was typed. */
export function rank<T>(query: string, items: readonly T[], text: (item: T) => string, limit = 50): Ranked<T>[] {
  if (query === '') return items.slice(0, limit).map((item) => ({ item, score: 0, positions: [] }))
  const found: { ranked: Ranked<T>; place: number; length: number }[] = []
  items.forEach((item, place) => {
    const candidate = text(item)
    const matched = match(query, candidate)
    if (matched) found.push({ ranked: { item, ...matched }, place, length: candidate.length })
  })
  found.sort((a, b) => b.ranked.score - a.ranked.score || a.length - b.length || a.place - b.place)
  return found.slice(0, limit).map(({ ranked }) => ranked)
}

/** How well the letters of `query` are found in `candidate`, in their order; null when one is missing. */
export function match(query: string, candidate: string): Match | null {
  const wanted = query.slice(0, MAX_QUERY).replace(/\s+/g, '')
  const skipped = Math.max(0, candidate.length - MAX_CANDIDATE)
  const given = candidate.slice(skipped)
  if (wanted === '') return { score: 0, positions: [] }
  const lowerWanted = wanted.toLowerCase()
  const lowerGiven = given.toLowerCase()
  // Lower-casing can lengthen a few letters; without a place for each, they are compared as they are.
  const folded = lowerWanted.length === wanted.length && lowerGiven.length === given.length
  const q = folded ? lowerWanted : wanted
  const c = folded ? lowerGiven : given
  if (!isSubsequence(q, c)) return null
  return best(wanted, given, q, c, skipped)
}

function isSubsequence(q: string, c: string): boolean {
  let at = 0
  for (const letter of q) {
    const found = c.indexOf(letter, at)
    if (found < 0) return false
    at = found + letter.length
  }
  return true
}

/** The best placing of all letters: for each letter and place, the best score that ends there. */
function best(wanted: string, given: string, q: string, c: string, skipped: number): Match | null {
  const bonuses = placeBonuses(given)
  const width = c.length
  let previous: Float64Array | null = null
  const origins: Int32Array[] = []
  for (let i = 0; i < q.length; i += 1) {
    const row = new Float64Array(width).fill(-Infinity)
    const origin = new Int32Array(width).fill(-1)
    let reach = -Infinity
    let reachFrom = -1
    for (let j = i; j < width; j += 1) {
      if (previous && j > 0) {
        reach += GAP
        const before = previous[j - 1] ?? -Infinity
        if (before + GAP > reach) {
          reach = before + GAP
          reachFrom = j - 1
        }
      }
      if (q[i] !== c[j]) continue
      const here = MATCH + (bonuses[j] ?? 0) + (wanted[i] === given[j] ? SAME_CASE : 0)
      if (!previous) {
        row[j] = here + Math.max(GAP * j, -8)
        continue
      }
      const adjacent = (previous[j - 1] ?? -Infinity) + CONSECUTIVE
      row[j] = here + Math.max(adjacent, reach)
      origin[j] = adjacent >= reach ? j - 1 : reachFrom
    }
    origins.push(origin)
    previous = row
  }
  return previous && trace(previous, origins, skipped)
}

function trace(last: Float64Array, origins: Int32Array[], skipped: number): Match | null {
  let end = -1
  last.forEach((score, j) => {
    if (score > -Infinity && (end < 0 || score > (last[end] ?? -Infinity))) end = j
  })
  if (end < 0) return null
  const score = last[end] ?? 0
  const positions: number[] = []
  for (let i = origins.length - 1; i >= 0; i -= 1) {
    positions.unshift(end + skipped)
    end = origins[i]?.[end] ?? -1
  }
  return { score, positions }
}

/** What a match is worth at each place: more at the beginning of a word, and in the last part of a path. */
function placeBonuses(given: string): number[] {
  const slash = given.lastIndexOf('/')
  return Array.from({ length: given.length }, (_, j) => {
    const before = given[j - 1] ?? '/'
    const here = given[j] ?? ''
    const begins = /[/\\_\-. :]/.test(before) || (/[a-z\d]/.test(before) && /[A-Z]/.test(here))
    return (begins ? BOUNDARY : 0) + (j > slash ? BASENAME : 0)
  })
}

/** The text cut into stretches that matched and stretches that did not. */
export function stretches(text: string, positions: readonly number[]): { text: string; hit: boolean }[] {
  const hits = new Set(positions)
  const cut: { text: string; hit: boolean }[] = []
  for (let at = 0; at < text.length; at += 1) {
    const hit = hits.has(at)
    const last = cut.at(-1)
    if (last && last.hit === hit) last.text += text[at]
    else cut.push({ text: text[at] ?? '', hit })
  }
  return cut
}
