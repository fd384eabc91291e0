import assert from 'node:assert/strict';
import { type TestContext, after, before, test } from 'node:test';

import { ConnectionError, GatewayClient, GatewayError, OstlerClient, OstlerError, type gateway as wire } from '../src/index.js';
import { BACKOFF, Daemon, Proxy } from './daemon.js';

let daemon: Daemon;
before(async () => (daemon = await Daemon.start()));
after(() => daemon.stop());

const SLOWLY = 'say one two three four five six seven eight nine ten eleven twelve slowly';

async function connected(t: TestContext, host = new URL(daemon.url).host, token = daemon.token): Promise<GatewayClient> {
  const client = new GatewayClient({ url: `ws://${host}/gateway`, token, backoff: BACKOFF });
  t.after(() => client.close());
  await client.connect();
  return client;
}

test('a conversation, its history and its session are there', async (t) => {
  const client = await connected(t);
  const { sessionKey } = await client.call('sessions.create', {});
  const pieces: string[] = [];
  const end = await client.chat(sessionKey, SLOWLY, (text) => pieces.push(text));
  assert.equal(pieces.join(''), end.text);
  assert.ok(pieces.length > 3 && end.text.includes('twelve') && !end.aborted && end.usage);
  const { messages } = await client.call('chat.history', { sessionKey });
  assert.deepEqual(messages.map((message) => message.role), ['user', 'assistant']);
  assert.ok((await client.call('sessions.list', {})).sessions.some((session) => session.key === sessionKey));
  assert.ok((await client.call('agents.list', {})).agents.length > 0);
  // The same session, at the other door.
  const http = new OstlerClient(daemon.options);
  assert.equal((await http.session(`sess_${sessionKey.replaceAll('-', '')}`)).status, 'active');
});

test('a run is stopped, and a call is answered', async (t) => {
  const client = await connected(t);
  const { sessionKey } = await client.call('sessions.create', {});
  let run = '';
  client.once('chat.delta', (delta) => {
    run = delta.runId;
    void client.call('chat.abort', { runId: delta.runId });
  });
  const stopped = await client.chat(sessionKey, SLOWLY);
  assert.ok(stopped.aborted && stopped.runId === run && !stopped.text.includes('twelve'));
  client.once('exec.approval_request', ({ approvalId }) => void client.call('exec.deny', { approvalId, reason: 'not now' }));
  const denied = await client.chat(sessionKey, 'write hello.txt with Hello!');
  assert.ok(!denied.aborted);
  assert.deepEqual((await client.call('approvals.list', {})).approvals, []);
});

test('errors say what was wrong', async (t) => {
  await assert.rejects(connected(t, undefined, 'wrong'), (error: OstlerError) => error instanceof OstlerError && error.status === 401);
  await assert.rejects(connected(t, '127.0.0.1:9'), ConnectionError);
  const client = await connected(t);
  await assert.rejects(client.call('sessions.get', { sessionKey: 'nonsense' }), { name: 'GatewayError', code: -32602 });
  const sessionKey = '00000000-0000-7000-8000-000000000000';
  await assert.rejects(client.call('chat.send', { sessionKey, message: 'x' }), (error: GatewayError) => {
    return error.code === -32603 && error.message.startsWith('Session not found');
  });
  await client.close();
  await assert.rejects(client.call('health.check', {}), ConnectionError);
});

test('a run is waited for over connections that are cut', async (t) => {
  const proxy = await Proxy.start(daemon);
  t.after(() => proxy.stop());
  const client = await connected(t, proxy.host);
  const { sessionKey } = await client.call('sessions.create', {});
  let resumed = 0;
  client.on('resumed', ({ session }) => void (resumed += Number(session.key === sessionKey)));
  client.on('chat.delta', () => resumed < 3 && proxy.cut());
  const end = await client.chat(sessionKey, SLOWLY);
  assert.ok(resumed >= 3, `${resumed} times`);
  const { messages } = await client.call('chat.history', { sessionKey });
  assert.equal(end.text, messages.at(-1)?.content);
});

test('a run that a killed daemon had begun ends with an error', async (t) => {
  const own = await Daemon.start();
  t.after(() => own.stop());
  const client = await connected(t, new URL(own.url).host, own.token);
  const { sessionKey } = await client.call('sessions.create', {});
  const back = new Promise<wire.SessionDetail>((resolve) => client.once('resumed', resolve));
  client.once('chat.delta', () => void own.kill().then(() => own.restart()));
  await assert.rejects(client.chat(sessionKey, SLOWLY), { name: 'RunError' });
  const detail = await back;
  assert.equal(detail.lastRun?.status, 'failed');
  assert.ok(detail.messages.some((message) => message.role === 'user'));
});
