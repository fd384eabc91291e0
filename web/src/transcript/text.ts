// Small pieces of text for people: invisible characters made visible, sizes, times. Pure.

// Characters that change how the text around them is read (direction, joining) or that cannot be seen at all. In a command or
// a file name they can make it look like another one.
const UNSEEN = /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g
const HAS_UNSEEN = new RegExp(UNSEEN.source, 'u')

/** The text with every character that cannot be seen written out, such as `‹U+202E›`. Tabs and line breaks stay. */
export function reveal(text: string): string {
  return revealUnseen(text).replace(CONTROL, written)
}

/** The same for one line: line breaks and tabs are written out, too. */
export function revealLine(text: string): string {
  return reveal(text).replace(/[\n\r\t]/g, written)
}

/** Writes out what changes direction or is invisible, and leaves control characters. */
export function revealUnseen(text: string): string {
  return HAS_UNSEEN.test(text) ? text.replace(UNSEEN, unlessJoiner) : text
}

/** Joiners within an emoji are as they should be. */
function unlessJoiner(character: string, at: number, whole: string): string {
  const isJoiner =
    character === '\u200d' && /\p{Extended_Pictographic}\ufe0f?$/u.test(whole.slice(Math.max(0, at - 3), at))
  return isJoiner ? character : written(character)
}

function written(character: string): string {
  return `‹U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`
}

/** A time span: `340 ms`, `4.2 s`, `3 min 5 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  const seconds = milliseconds / 1000
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** By whom something was done: ` by you`, ` by you, on the command line`, ` by docs-bot`. The owner is the only person there is. */
export function byWhom(by: string): string {
  if (by === 'page' || by === 'http' || by.startsWith('http Mozilla/')) return ' by you'
  if (by === 'tui' || /^http ostler-tui\b/.test(by)) return ' by you, in the terminal'
  if (by === 'cli' || /^http ostler(?:-cli)?\b/.test(by)) return ' by you, on the command line'
  return ` by ${revealLine(by.replace(/^http /, '').replace(/\/[\d.]+(?=$| )/, ''))}`
}

/** How many, with the right form of the noun: `1 file`, `3 files`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number < 1000 ? number : number.toLocaleString('en')} ${number === 1 ? noun : plural}`
}

/** A number of tokens, shortened: `840`, `12.3k`, `1.2M`. */
export function tokens(number: number): string {
  if (number < 1000) return String(number)
  if (number < 1_000_000) return `${(number / 1000).toFixed(number < 100_000 ? 1 : 0)}k`
  return `${(number / 1_000_000).toFixed(1)}M`
}

/** The last `limit` lines of a text, and how many stand before them. */
export function lastLines(text: string, limit: number): { text: string; before: number } {
  let at = text.endsWith('\n') ? text.length - 1 : text.length
  for (let lines = 0; lines < limit; lines += 1) {
    at = text.lastIndexOf('\n', at - 1)
    if (at < 0) return { text, before: 0 }
    if (at === 0) break
  }
  const kept = text.slice(at + 1)
  let before = 0
  for (let from = text.indexOf('\n'); from >= 0 && from <= at; from = text.indexOf('\n', from + 1)) before += 1
  return { text: kept, before }
}

/** The first `limit` lines of a text, and how many come after them. */
export function firstLines(text: string, limit: number): { text: string; after: number } {
  let at = -1
  for (let lines = 0; lines < limit; lines += 1) {
    at = text.indexOf('\n', at + 1)
    if (at < 0) return { text, after: 0 }
  }
  const rest = text.slice(at + 1)
  if (rest === '') return { text, after: 0 }
  return { text: text.slice(0, at), after: rest.split('\n').length - (rest.endsWith('\n') ? 1 : 0) }
}
