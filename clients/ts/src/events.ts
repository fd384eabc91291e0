/**
 * Event streams that outlive their connection: each record once, in order, without a gap, whatever happens to the
 * connection or the daemon in between.
 */

import { type Backoff, pause, waitBefore } from './backoff.js';
import { type Connection, unreachable } from './connection.js';
import { ConnectionError, OstlerError, ProtocolError, passes } from './errors.js';
import type { EventDelta, EventRecord, Failure, SessionEvent } from './generated/http.js';
import { SeenText } from './seen.js';
import { type Frame, FrameReader } from './sse.js';

/** How to follow a session. */
export interface EventOptions {
  /** Begin after this `seq`; 0 is the beginning. */
  after?: number;
  /** False: end after what there is. */
  follow?: boolean;
  /** Only events of these names. */
  types?: ReadonlyArray<SessionEvent['type']>;
  /** Ends the iteration, without an error. */
  signal?: AbortSignal;
}

/** How to follow all sessions. */
export interface AllEventOptions {
  /** Begin after this cursor; `start` is the very beginning. Without it, only what is to come. */
  after?: string;
  types?: ReadonlyArray<SessionEvent['type']>;
  signal?: AbortSignal;
}

/** An event of any session. A delta may come twice, or after its message is whole: splice it at its offset. */
export interface FeedEvent {
  /** Where to go on after this event; to be kept as it is. Absent until there is one. */
  cursor?: string;
  event: SessionEvent;
}

/** The daemon shows every 15 s that it lives; one that misses four of these is taken for gone. */
const SILENCE = 60_000;

/** Follows a session. */
export async function* sessionEvents(
  connection: Connection,
  backoff: Backoff,
  id: string,
  options: EventOptions,
): AsyncGenerator<SessionEvent, void, undefined> {
  const seen = new SeenText();
  let cursor = options.after ?? 0;
  const open = (signal: AbortSignal) =>
    connection.ask('session_events', {
      path: { session_id: id },
      query: { after: cursor, follow: options.follow, types: options.types?.join(',') },
      accept: 'text/event-stream',
      signal,
    });
  for await (const { event } of events(open, backoff, options.signal, options.follow !== false)) {
    if (!isRecord(event)) {
      const news = seen.news(event);
      if (news) yield news;
      continue;
    }
    if (event.seq <= cursor) continue;
    if (!options.types && event.seq !== cursor + 1) {
      throw new ProtocolError(`record ${event.seq} came where record ${cursor + 1} should be`);
    }
    cursor = event.seq;
    seen.forget(event);
    yield event;
  }
}

/** Follows every session. */
export async function* allEvents(
  connection: Connection,
  backoff: Backoff,
  options: AllEventOptions,
): AsyncGenerator<FeedEvent, void, undefined> {
  let cursor = options.after;
  const open = (signal: AbortSignal) =>
    connection.ask('all_events', {
      query: { after: cursor, types: options.types?.join(',') },
      accept: 'text/event-stream',
      signal,
    });
  // The first heartbeat has a cursor, so nothing is lost when the connection is cut before the first record.
  const heartbeat = (data: { cursor?: string }) => (cursor = data.cursor ?? cursor);
  for await (const { id, event } of events(open, backoff, options.signal, true, heartbeat)) {
    cursor = id ?? cursor;
    yield { cursor, event };
  }
}

/** What a frame holds: an event, a sign of life, or the reason why the daemon ends the stream. */
type FrameData =
  | SessionEvent
  | { type: 'heartbeat'; data: { cursor?: string } }
  | { type: 'error'; data: { error: Failure } };

/** The events of one connection after the other. Gives up after as many tries in a row as the backoff allows. */
async function* events(
  open: (signal: AbortSignal) => Promise<Response>,
  backoff: Backoff,
  signal: AbortSignal | undefined,
  follow: boolean,
  heartbeat: (data: { cursor?: string }) => void = () => {},
): AsyncGenerator<{ id?: string; event: SessionEvent }, void, undefined> {
  let failures = 0;
  while (!signal?.aborted) {
    try {
      for await (const frame of oneConnection(open, signal)) {
        failures = 0;
        const event = parse(frame);
        if (event.type === 'heartbeat') heartbeat(event.data);
        else if (event.type === 'error') throw new OstlerError(event.data.error, 0);
        else yield { id: frame.id, event };
      }
      if (!follow) return;
      throw new ConnectionError('the connection was closed');
    } catch (error) {
      if (signal?.aborted) return;
      const wait = passes(error) ? waitBefore((failures += 1), backoff) : undefined;
      if (wait === undefined) throw error;
      await pause(wait, signal);
    }
  }
}

/** The frames of one connection, which is closed when the caller stops, and when the daemon is silent for too long. */
async function* oneConnection(
  open: (signal: AbortSignal) => Promise<Response>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Frame, void, undefined> {
  const ended = new AbortController();
  const end = () => ended.abort(new ConnectionError('nobody wants it any more'));
  signal?.addEventListener('abort', end);
  let timer: NodeJS.Timeout | undefined;
  const listen = () => {
    clearTimeout(timer);
    timer = setTimeout(() => ended.abort(new ConnectionError(`nothing came for ${SILENCE / 1000} s`)), SILENCE);
    // A daemon that is silent is no reason to keep a process from ending.
    timer.unref();
  };
  try {
    listen();
    const response = await open(ended.signal);
    if (!response.body) throw new ProtocolError('the events came without a body');
    const reader = new FrameReader();
    for await (const chunk of chunks(response.body, response.url)) {
      listen();
      yield* reader.push(chunk);
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
    ended.abort(new ConnectionError('it was read to its end'));
  }
}

async function* chunks(body: ReadableStream<Uint8Array>, url: string): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  while (true) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw error instanceof ConnectionError ? error : unreachable(url, error);
    });
    if (done) return;
    yield value;
  }
}

function parse(frame: Frame): FrameData {
  try {
    return JSON.parse(frame.data) as FrameData;
  } catch {
    throw new ProtocolError(`an event is not JSON: ${frame.data.slice(0, 200)}`);
  }
}

function isRecord(event: EventRecord | EventDelta): event is EventRecord {
  return 'seq' in event;
}
