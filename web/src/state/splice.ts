// Text that comes in pieces with byte offsets: each piece is written at its offset, over what may be there already.

/** A stream of text as far as it is known. */
export interface Spliced {
  readonly text: string
  /** The offset of its first byte; above 0 when the beginning was missed or let go. */
  readonly start: number
  /** Bytes of UTF-8 up to its end, the missing beginning included. */
  readonly end: number
}

export const NOTHING: Spliced = { text: '', start: 0, end: 0 }

/** Writes a piece at its offset. No more than `limit` characters are kept, the newest ones. */
export function splice(known: Spliced, offset: number, text: string, limit = Infinity): Spliced {
  const end = offset + byteLength(text)
  if (offset === known.end) return bound({ text: known.text + text, start: known.start, end }, limit)
  // Something is missing, or all of it was written anew.
  if (offset > known.end || offset <= known.start) return bound({ text, start: offset, end }, limit)
  return bound({ text: take(known.text, offset - known.start) + text, start: known.start, end }, limit)
}

function bound(spliced: Spliced, limit: number): Spliced {
  if (spliced.text.length <= limit) return spliced
  // Half of the limit is let go at once, so that not every piece costs a copy.
  let from = spliced.text.length - Math.floor(limit / 2)
  const code = spliced.text.charCodeAt(from)
  if (code >= 0xdc00 && code <= 0xdfff) from += 1
  const dropped = spliced.text.slice(0, from)
  return { text: spliced.text.slice(from), start: spliced.start + byteLength(dropped), end: spliced.end }
}

/** The beginning of a text, so many bytes long. */
function take(text: string, bytes: number): string {
  let left = bytes
  let index = 0
  while (index < text.length && left > 0) {
    const point = text.codePointAt(index) ?? 0
    left -= width(point)
    index += point > 0xffff ? 2 : 1
  }
  return text.slice(0, index)
}

/** The length of a text in UTF-8. */
export function byteLength(text: string): number {
  let bytes = 0
  for (let index = 0; index < text.length; index += 1) {
    const point = text.codePointAt(index) ?? 0
    bytes += width(point)
    if (point > 0xffff) index += 1
  }
  return bytes
}

function width(point: number): number {
  if (point < 0x80) return 1
  if (point < 0x800) return 2
  return point < 0x10000 ? 3 : 4
}
