import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { GatewayClient, operations } from '../src/index.js';
import { DEFAULT_BACKOFF, waitBefore } from '../src/backoff.js';
import { Lines } from '../src/lines.js';
import { SeenText } from '../src/seen.js';
import { FrameReader } from '../src/sse.js';
import type { EventDelta } from '../src/index.js';

const bytes = (text: string) => new TextEncoder().encode(text);

test('lines end at LF only, and characters may be split', () => {
  const lines = new Lines();
  const found = [...bytes('{"a":"ä\u2028\u0085😀"}\r\n\nrest')].flatMap((byte) => lines.push(Uint8Array.of(byte)));
  assert.deepEqual(found, ['{"a":"ä\u2028\u0085😀"}', '']);
  assert.equal(lines.finish(), 'rest');
  assert.deepEqual(lines.push(bytes('a\nb\nc')), ['a', 'b']);
});

test('an event that did not end is not given out', () => {
  const reader = new FrameReader();
  assert.deepEqual(reader.push(bytes('id: 4\nevent: turn_started\ndata: {"seq":4}')), []);
  assert.deepEqual(reader.push(bytes('\n\n: a comment\n\ndata: {}\n\n')), [
    { id: '4', data: '{"seq":4}' },
    { id: undefined, data: '{}' },
  ]);
});

test('waits double up to the longest and then end', () => {
  const waits = Array.from({ length: 12 }, (_, index) => waitBefore(index + 1, DEFAULT_BACKOFF));
  assert.deepEqual(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000, 5000, undefined]);
});

test('text that is known already is taken away, by bytes', () => {
  const seen = new SeenText();
  const delta = (offset: number, text: string, part = 0) =>
    ({ type: 'model_output_delta', data: { message_id: 'msg_1', part, offset, text } }) as EventDelta;
  assert.equal(seen.news(delta(0, 'äö'))?.data.text, 'äö');
  assert.equal(seen.news(delta(0, 'äö')), undefined);
  assert.deepEqual(seen.news(delta(0, 'äöü!'))?.data, { message_id: 'msg_1', part: 0, offset: 4, text: 'ü!' });
  assert.equal(seen.news(delta(0, 'other', 1))?.data.text, 'other');
  // Whoever comes late to a long output gets its end only.
  assert.equal(seen.news(delta(100, 'late'))?.data.offset, 100);
});

test('every operation has a method', async () => {
  const source = await readFile('src/client.ts', 'utf8').then(async (text) => text + (await readFile('src/events.ts', 'utf8')));
  const missing = Object.keys(operations).filter((name) => !source.includes(`'${name}'`));
  assert.deepEqual(missing, []);
});

/** A gateway that answers in the same moment, and goes on with an event at once. */
class HastyGateway {
  readonly #listeners = new Map<string, (event: never) => void>();

  constructor() {
    queueMicrotask(() => this.#tell('open', {}));
  }

  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.set(type, listener);
  }

  send(data: string): void {
    const { id, type } = JSON.parse(data);
    const answer = type === 'auth' ? { type, ok: true } : { id, result: { session: { key: 'k' }, messages: [] } };
    this.#tell('message', { data: JSON.stringify(answer) });
    if (id) this.#tell('message', { data: '{"event":"chat.delta","data":{"runId":"r","text":"so far"}}' });
    if (id) this.#tell('close', { code: 1006, reason: '' });
  }

  close(): void {}

  #tell(type: string, event: object): void {
    this.#listeners.get(type)?.(event as never);
  }
}

test('who asked goes on before the events that follow the answer, and those come before the end', async () => {
  const client = new GatewayClient({ url: 'ws://nowhere', token: 'x', WebSocket: HastyGateway, backoff: { tries: 0 } });
  const order: string[] = [];
  client.on('chat.delta', () => order.push('event'));
  const closed = new Promise((resolve) => client.on('closed', resolve)).then(() => order.push('end'));
  await client.connect();
  await client.call('sessions.get', { sessionKey: 'k' }).then(() => order.push('answer'));
  await closed;
  assert.deepEqual(order, ['answer', 'event', 'end']);
});
