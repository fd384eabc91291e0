import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, after, before, test } from 'node:test';

import { AgentConnection, type AgentConnectionOptions, CommandError, ConnectionError, type jsonl } from '../src/index.js';
import { BINARY, Daemon } from './daemon.js';

let daemon: Daemon;
before(async () => (daemon = await Daemon.start()));
after(() => daemon.stop());

const SLOWLY = 'say one two three four five six seven eight nine ten eleven twelve slowly';

function connection(t: TestContext, options: AgentConnectionOptions = {}): AgentConnection {
  const { workspace, arguments: args, env } = daemon;
  const agent = new AgentConnection({ command: [BINARY], cwd: workspace, model: 'demo', args, env, ...options });
  t.after(() => agent.stop());
  return agent;
}

/** The messages of the next run of a session. */
function answer(agent: AgentConnection, sessionId: string): Promise<jsonl.WireMessage[]> {
  return new Promise((resolve) => {
    let expected: number | undefined;
    const listen = (id: string, event: jsonl.SessionEvent, { event_seq }: { event_seq: number }) => {
      if (id !== sessionId) return;
      assert.equal(event_seq, expected ?? event_seq);
      expected = event_seq + 1;
      if (event.type !== 'agent_end') return;
      agent.off('event', listen);
      resolve(event.data[0]);
    };
    agent.on('event', listen);
  });
}

function text(message: jsonl.WireMessage | undefined): string {
  return (message?.content ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');
}

test('sessions run side by side, each with its own events', async (t) => {
  const agent = connection(t);
  const ready = await agent.start();
  const primary = ready.primary_session_id ?? '';
  assert.ok(agent.isReady() && agent.activeSessionId === primary && agent.primarySessionId === primary);
  const second = await agent.startSession({ cwd: daemon.workspace });
  const both = Promise.all([answer(agent, primary), answer(agent, second.session_id)]);
  agent.prompt('say ä\u2028ö 😀');
  agent.prompt('say second', second.session_id);
  const [one, two] = await both;
  assert.equal(text(one[0]), 'say ä\u2028ö 😀');
  assert.ok(text(one.at(-1)).includes('ä\u2028ö 😀') && text(two.at(-1)).includes('second'));
  assert.equal((await agent.setActiveSession(second.session_id)).session_id, second.session_id);
  assert.equal(agent.activeSessionId, second.session_id);
  const { stats } = await agent.stats();
  assert.equal(stats.session_id, second.session_id);
  assert.deepEqual(
    (await agent.listRunningSessions()).sessions.map((session) => session.session_id),
    [primary, second.session_id],
  );
  assert.ok((await agent.listSessions()).sessions.length >= 2);
  assert.ok((await agent.listModels()).providers.some((provider) => provider.id === 'demo'));
  assert.ok((await agent.save(primary)).ok);
  await agent.ping();
  assert.equal((await agent.closeSession(second.session_id)).reason, 'normal');
  assert.equal(await agent.stop(), 0);
  assert.equal(agent.isReady(), false);
});

test('a session of another client that is named is no answer to a start', async (t) => {
  const other = connection(t);
  const { primary_session_id: foreign } = await other.start();
  const agent = connection(t);
  await agent.start();
  const answers = Promise.all([agent.stats(foreign ?? ''), agent.startSession()]);
  const [stats, started] = await answers;
  assert.equal(stats.session_id, foreign);
  assert.notEqual(started.session_id, foreign);
});

test('an abort keeps what was written, and a question is answered', async (t) => {
  const agent = connection(t);
  const { primary_session_id: id } = await agent.start();
  assert.ok(id);
  const stopped = answer(agent, id);
  const update = (_: string, event: jsonl.SessionEvent) => event.type === 'message_update' && agent.abort();
  agent.on('event', update);
  agent.prompt(SLOWLY);
  const last = (await stopped).at(-1);
  agent.off('event', update);
  assert.ok(last?.role === 'assistant' && last.stop_reason === 'aborted' && text(last).length > 0);

  agent.once('ui_request', (request) => {
    assert.equal(request.session_id, id);
    assert.ok(request.method === 'select' && request.params.options.some((option) => option.value === 'once'));
    agent.respondToUIRequest(request.id, 'once');
  });
  const written = answer(agent, id);
  agent.prompt('write from-rpc.txt with Hello', id);
  assert.ok((await written).some((message) => message.role === 'tool_result' && !message.is_error));
  agent.reset();
  assert.equal((await agent.stats()).session_id, id);
});

test('errors reach whoever asked', async (t) => {
  const agent = connection(t);
  await agent.start();
  const missing = 'sess_00000000000000000000000000000000';
  await assert.rejects(agent.stats(missing), (error: CommandError) => error.message === 'not_found' && error.sessionId === missing);
  assert.equal((await agent.closeSession(missing)).reason, 'not_found');
  await assert.rejects(agent.startSession({ cwd: '/nowhere/at/all' }), CommandError);
  await agent.ping();
  await agent.stop();
  assert.throws(() => agent.prompt('too late'), ConnectionError);
  await assert.rejects(connection(t, { command: ['/nowhere/ostler'] }).start(), ConnectionError);
  await assert.rejects(connection(t, { model: 'nobody:nothing' }).start(), Error);
});

test('a daemon that is killed ends it, and its sessions are opened again from their files', async (t) => {
  const own = await Daemon.start();
  t.after(() => own.stop());
  const options = { cwd: own.workspace, args: own.arguments, env: own.env };
  const agent = connection(t, options);
  const { primary_session_id: id } = await agent.start();
  assert.ok(id);
  const said = answer(agent, id);
  agent.prompt('say remember');
  await said;
  const { path } = await agent.save();
  assert.ok(path);
  const closed = new Promise<number | null>((resolve) => agent.once('close', resolve));
  await own.kill();
  assert.equal(await closed, 5);
  await own.restart();
  const again = connection(t, { ...options, sessionFile: path });
  assert.equal((await again.start()).primary_session_id, id);
  assert.ok((await again.stats()).stats.message_count >= 2);
});

test('a process that writes something else is told', async (t) => {
  const script = join(daemon.place, 'odd.mjs');
  await writeFile(script, `process.stdout.write('what?\\n'); process.stdin.resume();`);
  const agent = connection(t, { command: [process.execPath, script] });
  await assert.rejects(agent.start(), { name: 'ProtocolError' });
});
