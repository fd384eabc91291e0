/** How every wire of the daemon is cut into lines, and a line read as JSON. */

/** What a line says; undefined when it is no JSON object. */
export function object<Said extends object>(line: string): Said | undefined {
  try {
    const said: unknown = JSON.parse(line);
    return typeof said === 'object' && said !== null ? (said as Said) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Lines as every wire of the daemon frames them: they end at LF and nowhere else, a CR before it is dropped, and a
 * character may be split between two chunks. (Node's `readline` also cuts at U+2028 and the like, which are text.)
 */
export class Lines {
  readonly #decoder = new TextDecoder('utf-8');
  /** Whole pieces of the line that has not ended. */
  #pieces: string[] = [];

  /** Takes a chunk, and gives out the lines that are whole now. */
  push(chunk: Uint8Array): string[] {
    const pieces = this.#decoder.decode(chunk, { stream: true }).split('\n');
    const last = pieces.pop() ?? '';
    const lines = pieces.map((piece, index) => {
      const line = index === 0 ? this.#pieces.join('') + piece : piece;
      return line.endsWith('\r') ? line.slice(0, -1) : line;
    });
    if (lines.length > 0) this.#pieces = [];
    if (last) this.#pieces.push(last);
    return lines;
  }

  /** The last line, if it did not end. */
  finish(): string {
    return this.#pieces.splice(0).join('') + this.#decoder.decode();
  }
}
