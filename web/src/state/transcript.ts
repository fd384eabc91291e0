// The transcript of a session, folded from records and deltas into entries. Plain data; what is shown reactively is a copy.
// What each record makes of an entry is in entries.ts.

import type { EventDelta, EventRecord, SessionEvent } from '../api/types'
import { applyRecord, isOpenStream, streamEntry, type Streams } from './entries'
import type { Entry } from './model'
import { joinPage } from './join-history'
import { NOTHING, splice } from './splice'

/** Characters that are kept of what a running tool prints, for each stream. */
const OUTPUT_LIMIT = 256 * 1024

/** Folds events into entries, over a window of the newest records. */
export class Transcript {
  /** The records of the window, oldest first. */
  records: EventRecord[] = []
  readonly book = new Book()
  #streams: Streams = new Map()

  get entries(): readonly Entry[] {
    return this.book.entries
  }

  /** The first record of the window; 0 when it is empty. */
  get firstSeq(): number {
    return this.records[0]?.seq ?? 0
  }

  get lastSeq(): number {
    return this.records.at(-1)?.seq ?? 0
  }

  /** Takes an event. Whether it changed anything: a record that is known already, or a delta that comes late, does not. */
  push(event: SessionEvent): boolean {
    if (!('seq' in event)) return this.#pushDelta(event)
    if (event.seq <= this.lastSeq) return false
    this.records.push(event)
    applyRecord(this.book, this.#streams, event)
    return true
  }

  /** Takes the records before the window. Entries that stay as they are stay the same objects. */
  prepend(older: readonly EventRecord[]): void {
    const page = new Book()
    const fresh = older.filter((record) => record.seq < (this.firstSeq || Infinity))
    for (const record of fresh) applyRecord(page, new Map(), record)
    joinPage(
      page,
      this.book,
      this.records,
      [...this.#streams.values()].map((stream) => stream.delta),
    )
    this.records = [...fresh, ...this.records]
  }

  /** Lets go of all but the newest records. Whether there was something to let go. */
  trim(keep: number): boolean {
    if (this.records.length <= keep) return false
    this.#refold(keep === 0 ? [] : this.records.slice(-keep))
    return true
  }

  #pushDelta(delta: EventDelta): boolean {
    const name = streamName(delta)
    if (!isOpenStream(this.book, delta)) return false
    const known = this.#streams.get(name)
    const limit = delta.type === 'tool_output_delta' ? OUTPUT_LIMIT : Infinity
    const spliced = splice(known?.spliced ?? NOTHING, delta.data.offset, delta.data.text, limit)
    if (known && spliced.end === known.spliced.end && spliced.text === known.spliced.text) return false
    const stream = { delta: { ...delta, data: { ...delta.data, text: '' } } as EventDelta, spliced }
    this.#streams.set(name, stream)
    streamEntry(this.book, stream)
    return true
  }

  #refold(records: EventRecord[]): void {
    const streams = this.#streams
    const before = this.book.take()
    this.records = records
    this.#streams = new Map()
    for (const record of records) applyRecord(this.book, this.#streams, record)
    for (const [name, stream] of streams) {
      if (!isOpenStream(this.book, stream.delta)) continue
      this.#streams.set(name, stream)
      streamEntry(this.book, stream)
    }
    this.book.reuse(before)
  }
}

/** Entries in order, found by key. */
export class Book {
  entries: Entry[] = []
  /** Messages that are whole: deltas of theirs come too late. */
  readonly finished = new Set<string>()
  /** Turns that changed their workspace, as far as is known, and the checkpoint before that. */
  readonly captured = new Map<string, string>()
  readonly startedAt = new Map<string, string>()
  /** The entry that shows each child. */
  readonly children = new Map<string, string>()
  lastEnd: string | null = null
  /** Where each entry is, counted from an origin: so those that are there need no other place when some are put before them. */
  #places = new Map<string, number>()
  #origin = 0

  find(key: string): Entry | undefined {
    const place = this.#places.get(key)
    return place === undefined ? undefined : this.entries[place - this.#origin]
  }

  /** Replaces the entry of that key, or adds it at the end. */
  put(entry: Entry): void {
    const place = this.#places.get(entry.key)
    if (place === undefined) {
      this.#places.set(entry.key, this.entries.length + this.#origin)
      this.entries.push(entry)
    } else this.entries[place - this.#origin] = entry
  }

  /** Puts these in the place of those that the predicate names, where the first of them stood; at the end when there is none. */
  swap(isOld: (entry: Entry) => boolean, fresh: Entry[]): void {
    // What is replaced is young: it is looked for from the end.
    let first = this.entries.length
    for (let place = this.entries.length - 1; place >= 0 && place >= this.entries.length - 500; place -= 1) {
      if (isOld(this.entries[place] as Entry)) first = place
    }
    const tail = this.entries.splice(first)
    for (const entry of tail) this.#places.delete(entry.key)
    for (const entry of [...fresh, ...tail.filter((entry) => !isOld(entry))]) this.put(entry)
  }

  /** Puts another book before this one. Of what stands in both, the other's is kept. */
  prepend(older: Book): void {
    // What stands in both is near the seam: places after it count on from the same origin.
    const both = older.entries.flatMap((entry) => this.#places.get(entry.key) ?? [])
    const seam = both.length === 0 ? 0 : Math.max(...both) - this.#origin + 1
    const between = this.entries.slice(0, seam).filter((entry) => !older.#places.has(entry.key))
    this.#origin += seam - between.length - older.entries.length
    const front = [...older.entries, ...between]
    front.forEach((entry, place) => this.#places.set(entry.key, place + this.#origin))
    this.entries = [...front, ...this.entries.slice(seam)]
    for (const id of older.finished) this.finished.add(id)
    for (const [id, checkpoint] of older.captured) this.captured.set(id, checkpoint)
    for (const [id, at] of older.startedAt) this.startedAt.set(id, at)
    for (const [id, key] of older.children) this.children.set(id, key)
    this.lastEnd ??= older.lastEnd
  }

  /** Empties it, and gives back what was in it. */
  take(): Map<string, Entry> {
    const before = new Map(this.entries.map((entry) => [entry.key, entry]))
    this.entries = []
    this.#places = new Map()
    this.#origin = 0
    this.finished.clear()
    this.captured.clear()
    this.startedAt.clear()
    this.children.clear()
    this.lastEnd = null
    return before
  }

  /** Puts back the very objects of before where nothing has changed. */
  reuse(before: Map<string, Entry>): void {
    this.entries = this.entries.map((entry) => {
      const old = before.get(entry.key)
      return old && same(old, entry, 2) ? old : entry
    })
  }
}

function same(one: unknown, other: unknown, depth: number): boolean {
  if (one === other) return true
  if (depth === 0 || typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false
  const [a, b] = [Object.entries(one), Object.keys(other)]
  return (
    a.length === b.length &&
    a.every(([name, value]) => same(value, (other as Record<string, unknown>)[name], depth - 1))
  )
}

/** What tells the streams of a session apart. */
export function streamName(delta: EventDelta): string {
  return delta.type === 'tool_output_delta'
    ? `${delta.turn_id}/${delta.data.tool_call_id}/${delta.data.stream}`
    : `${delta.data.message_id}:${delta.data.part}`
}
