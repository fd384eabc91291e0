/**
 * Which line answers which command. This wire has no ids for that, but it carries out commands one after the other, so an
 * answer belongs to the oldest command that waits for one of its kind, about its session.
 */

import type { CommandError } from './errors.js';
import type { ServerFrame } from './generated/jsonl.js';

interface Expected {
  type: string;
  sessionId: string | undefined;
  resolve(message: never): void;
  reject(error: Error): void;
}

/** The commands that wait for an answer, the oldest first. */
export class Answers {
  #waiting: Expected[] = [];
  /** Sessions that this side has named, or was told of. */
  readonly #known = new Set<string>();
  /** Sessions that were named before they were known: the process says of each that it is started, unasked. */
  readonly #opening = new Set<string>();

  /** Waits for a line of this type, about this session if one is named. */
  expect<Message>(type: string, sessionId: string | undefined): Promise<Message> {
    const answer = new Promise<Message>((resolve, reject) => {
      this.#waiting.push({ type, sessionId, resolve: resolve as (message: never) => void, reject });
    });
    // Whoever does not look at the answer is not to be ended by it.
    answer.catch(() => {});
    return answer;
  }

  /** A command has named this session. */
  named(sessionId: string): void {
    if (!this.#known.has(sessionId)) this.#opening.add(sessionId);
  }

  take(message: ServerFrame): void {
    if (message.type === 'ready' && message.primary_session_id) this.#known.add(message.primary_session_id);
    if (message.type === 'session_started') {
      this.#known.add(message.session_id);
      if (this.#opening.delete(message.session_id)) return;
    }
    const sessionId = 'session_id' in message ? message.session_id : undefined;
    if (message.type === 'session_closed') {
      this.#known.delete(message.session_id);
      this.#opening.delete(message.session_id);
    }
    this.#first((one) => one.type === message.type && (one.sessionId === undefined || one.sessionId === sessionId))?.resolve(
      message as never,
    );
  }

  /** An error answers the oldest command about its session; without one, the oldest that starts a session. */
  refuse(error: CommandError): void {
    const { sessionId } = error;
    if (sessionId) this.#opening.delete(sessionId);
    const about = (one: Expected) =>
      sessionId ? one.sessionId === sessionId : one.type === 'session_started' || one.type === 'ready';
    this.#first(about)?.reject(error);
  }

  /** Nothing will be answered any more. */
  fail(error: Error): void {
    for (const one of this.#waiting.splice(0)) one.reject(error);
  }

  #first(matches: (one: Expected) => boolean): Expected | undefined {
    const place = this.#waiting.findIndex(matches);
    return place < 0 ? undefined : this.#waiting.splice(place, 1)[0];
  }
}
