import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ConnectionError, type EventRecord, OstlerClient, OstlerError, type SessionEvent, operations } from '../src/index.js';
import { BACKOFF, Daemon, Proxy } from './daemon.js';

let daemon: Daemon;
let client: OstlerClient;
before(async () => {
  daemon = await Daemon.start();
  client = new OstlerClient(daemon.options);
});
after(() => daemon.stop());

const SLOWLY = 'say one two three four five six seven eight nine ten ä ö ü 😀 eleven twelve slowly';

function session(body: object = {}) {
  return client.createSession({ workspace_path: daemon.workspace, model: 'demo', ...body });
}

/** Everything up to the first event of this type. */
async function until(events: AsyncIterable<SessionEvent>, type: SessionEvent['type']): Promise<SessionEvent[]> {
  const seen: SessionEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (event.type === type) return seen;
  }
  throw new Error(`the events ended before ${type}`);
}

function records(events: SessionEvent[]): EventRecord[] {
  return events.filter((event): event is EventRecord => 'seq' in event);
}

/** That no record is missing and none came twice. */
function inOrder(events: SessionEvent[]): void {
  const seqs = records(events).map((record) => record.seq);
  assert.deepEqual(seqs, seqs.map((_, index) => index + 1));
}

/** The same, and for the text. Of a connection that was cut its end may be missing, which the record then has. */
function whole(events: SessionEvent[], cut = true): void {
  inOrder(events);
  const streamed = events.map((event) => (event.type === 'model_output_delta' ? event.data.text : '')).join('');
  const parts = events.flatMap((event) => (event.type === 'model_output_completed' ? event.data.message.parts : []));
  const recorded = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  assert.ok(streamed.length > 0);
  assert.equal(streamed, cut ? recorded.slice(0, streamed.length) : recorded);
}

test('a session is made, streams, and is read again', async () => {
  const { session_id } = await session({ title: 'First' });
  const sent = await client.sendMessage(session_id, SLOWLY);
  const events = await until(client.events(session_id), 'turn_completed');
  whole(events, false);
  assert.ok(events.filter((event) => event.type === 'model_output_delta').length > 3);
  assert.ok(events.every((event) => event.type === 'session_created' || event.type === 'model_resolved' || event.turn_id === sent.turn_id));

  const view = await client.session(session_id);
  assert.equal(view.title, 'First');
  assert.equal(view.last_seq, records(events).at(-1)?.seq);
  assert.equal((await client.updateSession(session_id, { title: 'Second' })).title, 'Second');
  const page = await client.messages(session_id, { limit: 10 });
  assert.deepEqual([page.messages.at(0)?.role, page.messages.at(-1)?.role], ['user', 'assistant']);
  assert.ok((await client.sessions({ q: 'eleven' })).sessions.some((entry) => entry.id === session_id));
  assert.ok((await client.context(session_id)).sections.length > 0);
  assert.ok((await client.models()).models.some((model) => model.name.startsWith('demo')));

  const rest = client.events(session_id, { after: view.last_seq - 1, follow: false });
  assert.deepEqual(records(await all(rest)).map((record) => record.type), ['turn_completed', 'session_updated']);
  const only = await all(client.events(session_id, { types: ['turn_started', 'turn_completed'], follow: false }));
  assert.deepEqual(only.map((event) => event.type), ['turn_started', 'turn_completed']);
});

test('a fork, an export and an import have the same conversation', async () => {
  const { session_id } = await session();
  await client.sendMessage(session_id, 'say hello');
  await until(client.events(session_id), 'turn_completed');
  const fork = await client.fork(session_id);
  const file = new Uint8Array(await (await client.export(session_id, { format: 'ndjson' })).arrayBuffer());
  const copy = await client.importSession(file, { format: 'ndjson' });
  const said = async (id: string) => (await client.messages(id)).messages.map((message) => message.parts);
  assert.deepEqual(await said(fork.session_id), await said(session_id));
  assert.deepEqual(await said(copy.session_id), await said(session_id));
  await client.compact(fork.session_id);
  await until(client.events(fork.session_id, { after: (await client.session(fork.session_id)).last_seq - 1 }), 'turn_completed');
});

test('files go in and come out again', async () => {
  const { session_id } = await session();
  const stored = await client.attach(session_id, 'notes.txt', new TextEncoder().encode('some notes'));
  assert.equal((await client.attachments(session_id)).files.length, 1);
  assert.equal(await (await client.attachment(session_id, stored.name)).text(), 'some notes');
});

test('a message waits while another is answered, and can be withdrawn or run', async () => {
  const { session_id } = await session({ auto_run: false });
  const kept = await client.sendMessage(session_id, SLOWLY);
  assert.equal(kept.turn_id, null);
  await client.run(session_id);
  const queued = await client.sendMessage(session_id, { role: 'user', parts: [{ type: 'text', text: 'say next' }], auto_run: true });
  assert.equal((await client.queue(session_id)).queue[0]?.message.id, queued.message_id);
  await client.withdraw(session_id, queued.message_id);
  assert.equal((await client.queue(session_id)).queue.length, 0);
  const turn = (await client.session(session_id)).running_turn_id;
  assert.equal((await client.cancel(session_id, { reason: 'enough' })).canceled, true);
  const events = await until(client.events(session_id), 'session_canceled');
  assert.ok(events.some((event) => event.type === 'turn_canceled' && event.data.reason === 'enough'));
  assert.ok(turn);
  await client.retry(session_id, turn);
  await client.cancel(session_id);
  assert.equal((await client.cancel(session_id)).canceled, false);
});

test('a call waits for its answer, and the first answer counts', async () => {
  const { session_id } = await session();
  await client.sendMessage(session_id, 'write hello.txt with Hello!');
  const asked = (await until(client.events(session_id), 'approval_requested')).at(-1);
  assert.ok(asked?.type === 'approval_requested' && asked.turn_id);
  const waiting = (await client.approvals()).approvals.filter((one) => one.session_id === session_id);
  assert.equal(waiting[0]?.tool_call_id, asked.data.tool_call.id);
  const answer = { turn_id: asked.turn_id, tool_call_id: asked.data.tool_call.id, action: 'approve' as const };
  await client.approve(session_id, answer);
  await assert.rejects(client.approve(session_id, { ...answer, action: 'deny' }), (error: OstlerError) => {
    return error.status === 409 && error.code === 'already_answered';
  });
  inOrder(await until(client.events(session_id), 'turn_completed'));
  const undone = await client.undo(session_id, { turn_id: asked.turn_id, preview: true });
  assert.ok(JSON.stringify(undone).includes('hello.txt'));
});

test('errors say what happened and what to do', async () => {
  await assert.rejects(client.session('sess_00000000000000000000000000000000'), (error: OstlerError) => {
    return error instanceof OstlerError && error.status === 404 && error.code === 'session_not_found' && error.hint !== null;
  });
  await assert.rejects(until(client.events('sess_00000000000000000000000000000000'), 'turn_completed'), OstlerError);
  await assert.rejects(client.createSession({ workspace_path: 'nowhere' }), { name: 'OstlerError', code: 'bad_workspace' });
  await assert.rejects(new OstlerClient({ ...daemon.options, token: 'wrong' }).sessions(), { status: 401 });
  await assert.rejects(async () => client.session(''), TypeError);
  const nobody = new OstlerClient({ url: 'http://127.0.0.1:9', token: null, backoff: { first: 1, tries: 2 } });
  await assert.rejects(nobody.health(), ConnectionError);
  await assert.rejects(all(nobody.events('sess_00000000000000000000000000000000')), ConnectionError);
});

test('a stream that is cut again and again, in the middle of events too, has no gap and nothing twice', async () => {
  const proxy = await Proxy.start(daemon);
  try {
    const { session_id } = await session();
    await client.sendMessage(session_id, SLOWLY);
    // Enough for the largest record and the headers before it, so that each connection brings something.
    proxy.limit = 4_500;
    whole(await until(new OstlerClient(proxy.options).events(session_id), 'turn_completed'));
    assert.ok(proxy.connections > 1, `${proxy.connections} connections`);
  } finally {
    await proxy.stop();
  }
});

test('a stream whose sockets are killed goes on', async () => {
  const proxy = await Proxy.start(daemon);
  try {
    const { session_id } = await session();
    const events = new OstlerClient(proxy.options).events(session_id);
    const seen: SessionEvent[] = [];
    await client.sendMessage(session_id, SLOWLY);
    for await (const event of events) {
      seen.push(event);
      if (event.type === 'model_output_delta') proxy.cut();
      if (event.type === 'turn_completed') break;
    }
    whole(seen);
    assert.ok(proxy.connections > 2, `${proxy.connections} connections`);
  } finally {
    await proxy.stop();
  }
});

test('the stream of all sessions goes on where it was cut', async () => {
  const proxy = await Proxy.start(daemon);
  try {
    const feed = new OstlerClient(proxy.options).allEvents();
    // It shows what is to come, so something has to come for as long as it is not there.
    let there = false;
    const first = feed.next().finally(() => (there = true));
    while (!there) await session();
    assert.ok((await first).value?.cursor);
    proxy.cut();
    const [a, b] = [await session(), await session()];
    await client.sendMessage(a.session_id, 'say a');
    await client.sendMessage(b.session_id, 'say b');
    const seqs = new Map([[a.session_id, 0], [b.session_id, 0]]);
    let ends = 0;
    for await (const { event } of feed) {
      const last = seqs.get(event.session_id);
      if (!('seq' in event) || last === undefined) continue;
      assert.equal(event.seq, last + 1);
      seqs.set(event.session_id, event.seq);
      proxy.cut();
      if (event.type === 'turn_completed' && (ends += 1) === 2) break;
    }
    assert.ok(proxy.connections >= 2, `${proxy.connections} connections`);
  } finally {
    await proxy.stop();
  }
});

test('an iteration ends by its signal', async () => {
  const { session_id } = await session();
  const stop = new AbortController();
  const seen: SessionEvent[] = [];
  for await (const event of client.events(session_id, { signal: stop.signal })) {
    seen.push(event);
    stop.abort();
  }
  assert.equal(seen[0]?.type, 'session_created');
});

test('a killed daemon that comes back is followed on, and what waited still waits', async () => {
  const own = await Daemon.start();
  try {
    const client = new OstlerClient({ ...own.options, backoff: BACKOFF });
    const { session_id } = await client.createSession({ workspace_path: own.workspace, model: 'demo' });
    await client.sendMessage(session_id, 'write kept.txt with Kept');
    const seen: SessionEvent[] = [];
    let restarted = false;
    for await (const event of client.events(session_id)) {
      seen.push(event);
      if (event.type === 'approval_requested') {
        await own.kill();
        const down = await client.health().catch((error: unknown) => error);
        assert.ok(down instanceof ConnectionError);
        await own.restart();
        restarted = true;
        const [waiting] = (await client.approvals()).approvals;
        assert.ok(waiting);
        await client.approve(session_id, { turn_id: waiting.turn_id, tool_call_id: waiting.tool_call_id, action: 'approve' });
      }
      if (event.type === 'turn_completed') break;
    }
    assert.ok(restarted);
    inOrder(seen);

    const { turn_id } = await client.sendMessage(session_id, SLOWLY);
    const later: SessionEvent[] = [];
    for await (const event of client.events(session_id, { after: records(seen).at(-1)?.seq })) {
      later.push(event);
      if (event.type === 'model_output_delta' && !later.some((one) => one.type === 'turn_failed')) {
        await own.kill();
        await own.restart();
      }
      if (event.type === 'session_failed') break;
    }
    const failed = later.find((event) => event.type === 'turn_failed');
    assert.ok(failed?.type === 'turn_failed' && failed.turn_id === turn_id && failed.data.reason === 'interrupted');
    inOrder([...seen, ...later]);
  } finally {
    await own.stop();
  }
});

test('the daemon has the operations that the client was made for', async () => {
  const { paths } = (await client.openapi()) as { paths: Record<string, Record<string, { operationId: string }>> };
  const served = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [operationId, { method: method.toUpperCase(), path }]),
  );
  assert.deepEqual(Object.fromEntries(served), operations);
});

async function all(events: AsyncIterable<SessionEvent>): Promise<SessionEvent[]> {
  const seen: SessionEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}
