import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

import { BINARY, Daemon } from './daemon.js';

test('the examples of the README run as they stand', async (t) => {
  const daemon = await Daemon.start();
  t.after(() => daemon.stop());
  const readme = await readFile('README.md', 'utf8');
  const examples = [...readme.matchAll(/```js\n(.*?)```/gs)].map((match) => match[1] ?? '');
  assert.equal(examples.length, 3);
  const outputs = [];
  await mkdir('build/examples', { recursive: true });
  for (const [index, example] of examples.entries()) {
    const file = resolve('build/examples', `${index}.mjs`);
    await writeFile(file, example);
    const env = {
      ...daemon.env,
      PATH: dirname(BINARY) + delimiter + process.env.PATH,
      OSTLER_DATA_DIR: daemon.data,
      OSTLER_SERVER_LISTEN: new URL(daemon.url).host,
      OSTLER_GATEWAY_LISTEN: new URL(daemon.gateway).host,
    };
    const child = spawn(process.execPath, [file], { cwd: daemon.workspace, env, stdio: ['ignore', 'pipe', 'inherit'] });
    outputs.push(await text(child.stdout));
    assert.equal(child.exitCode ?? (await new Promise((done) => child.once('exit', done))), 0, `example ${index}`);
  }
  assert.match(outputs[0] ?? '', /list/i);
  assert.match(outputs[1] ?? '', /hello/i);
  assert.match(outputs[2] ?? '', /sess_[0-9a-f]{32} agent_start/);
});
