/**
 * Which text of a session has been passed on. A daemon shows whoever connects in the middle of a message all of its text
 * so far, so after a lost connection some of it comes a second time; this takes away what is known already.
 */

import type { EventDelta, EventRecord } from './generated/http.js';

/** How much of each open stream of text is known, in bytes of UTF-8. */
export class SeenText {
  /** By message or call, and then by part or stream. */
  readonly #streams = new Map<string, Map<string, number>>();

  /** What is new of a delta; undefined when nothing is. */
  news(delta: EventDelta): EventDelta | undefined {
    const [owner, stream] =
      delta.type === 'tool_output_delta'
        ? [`${delta.turn_id} ${delta.data.tool_call_id}`, delta.data.stream]
        : [delta.data.message_id, String(delta.data.part)];
    const streams = this.#streams.get(owner) ?? new Map<string, number>();
    this.#streams.set(owner, streams);
    const known = streams.get(stream) ?? 0;
    const bytes = new TextEncoder().encode(delta.data.text);
    const end = delta.data.offset + bytes.length;
    if (end <= known) return undefined;
    streams.set(stream, end);
    if (delta.data.offset >= known) return delta;
    const text = new TextDecoder().decode(bytes.subarray(known - delta.data.offset));
    return { ...delta, data: { ...delta.data, offset: known, text } } as EventDelta;
  }

  /** Forgets what has ended, so that this stays as small as what is open. */
  forget(record: EventRecord): void {
    switch (record.type) {
      case 'model_output_completed':
        this.#streams.delete(record.data.message.id);
        break;
      case 'tool_call_completed':
        this.#streams.delete(`${record.turn_id} ${record.data.tool_call.id}`);
        break;
      case 'turn_completed':
      case 'turn_failed':
      case 'turn_canceled':
        this.#streams.clear();
        break;
      default:
    }
  }
}
