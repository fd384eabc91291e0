// Where the rows of a long list stand: heights that were measured or guessed, and their sums. It knows nothing of the page;
// the transcript draws only the rows that it names.

export interface Placed {
  readonly key: string
}

/** The rows from `start` up to, without, `end`. */
export interface Range {
  start: number
  end: number
}

/** The heights of a list of rows. */
export class Layout<R extends Placed> {
  #rows: readonly R[] = []
  /** Where each row begins, and at last where the list ends. */
  #tops: number[] = [0]
  #measured = new Map<string, number>()
  /** From which row on the sums no longer hold. */
  #stale = Infinity

  constructor(readonly guess: (row: R) => number) {}

  get rows(): readonly R[] {
    return this.#rows
  }

  get total(): number {
    this.#refresh()
    return this.#tops[this.#rows.length]!
  }

  /** Takes other rows. Those at the front that are the same objects are not looked at again. */
  set(rows: readonly R[]): void {
    if (rows === this.#rows) return
    const before = this.#rows
    let same = 0
    while (same < rows.length && same < before.length && rows[same] === before[same]) same += 1
    this.#rows = rows
    this.#stale = Math.min(this.#stale, same)
    if (this.#measured.size > rows.length * 2 + 1000) this.#forget()
  }

  /** Takes the height of a row as it was drawn, and says whether that changed anything. */
  measure(index: number, height: number): boolean {
    const row = this.#rows[index]
    if (!row) return false
    const before = this.#measured.get(row.key) ?? this.guess(row)
    if (Math.abs(before - height) < 0.5 && this.#measured.has(row.key)) return false
    this.#measured.set(row.key, height)
    this.#stale = Math.min(this.#stale, index)
    return before !== height
  }

  height(index: number): number {
    return this.top(index + 1) - this.top(index)
  }

  top(index: number): number {
    this.#refresh()
    return this.#tops[Math.min(Math.max(index, 0), this.#rows.length)]!
  }

  /** The row that stands at a height; the last one when it is beyond the end. */
  at(y: number): number {
    this.#refresh()
    let [low, high] = [0, this.#rows.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#tops[middle]! <= y) low = middle
      else high = middle - 1
    }
    return Math.max(low, 0)
  }

  /** The rows that a window shows, and those around it. */
  range(top: number, height: number, around: number): Range {
    if (this.#rows.length === 0) return { start: 0, end: 0 }
    return { start: this.at(top - around), end: this.at(top + height + around) + 1 }
  }

  #refresh(): void {
    if (this.#stale === Infinity) return
    const tops = this.#tops
    tops.length = this.#stale + 1
    let y = tops[this.#stale]!
    for (let at = this.#stale; at < this.#rows.length; at += 1) {
      const row = this.#rows[at]!
      y += this.#measured.get(row.key) ?? this.guess(row)
      tops.push(y)
    }
    this.#stale = Infinity
  }

  /** Drops the heights of rows that are no longer there. */
  #forget(): void {
    const keys = new Set(this.#rows.map((row) => row.key))
    for (const key of this.#measured.keys()) if (!keys.has(key)) this.#measured.delete(key)
  }
}
