/** Server-sent events, taken apart. An event that has not ended with its empty line is never given out. */

import { Lines } from './lines.js';

/** One event of a stream. What it is called is in its data, so that an `event:` line is not looked at. */
export interface Frame {
  /** Absent where the event has none of its own. */
  id?: string;
  data: string;
}

/** Takes a stream apart as it comes. */
export class FrameReader {
  readonly #lines = new Lines();
  #id: string | undefined;
  #data: string[] = [];

  /** Takes a chunk, and gives out the events that are whole now. */
  push(chunk: Uint8Array): Frame[] {
    return this.#lines.push(chunk).flatMap((line) => this.#take(line) ?? []);
  }

  #take(line: string): Frame | undefined {
    if (line === '') return this.#finish();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') this.#id = value;
    else if (name === 'data') this.#data.push(value);
    return undefined;
  }

  #finish(): Frame | undefined {
    const frame: Frame = { id: this.#id, data: this.#data.join('\n') };
    const empty = this.#data.length === 0;
    this.#id = undefined;
    this.#data = [];
    return empty ? undefined : frame;
  }
}
