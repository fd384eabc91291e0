// An editor by the official TypeScript library: node client.mjs LIBRARY PHASE WORKSPACE SESSION COMMAND…
// Phase `first` makes a session and prompts in it, `second` loads it. Prints the session's id. Used by the tests of
// crates/cli.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

const [library, phase, cwd, known, command, ...args] = process.argv.slice(2);
const acp = await import(library);

const updates = [];
let answer = "allow_once";
let seen = () => {};
const editor = acp
  .client({ name: "test" })
  .onNotification("session/update", ({ params }) => {
    updates.push(params.update);
    seen(params.update);
  })
  .onRequest("session/request_permission", ({ params }) => {
    const option = params.options.find((option) => option.kind === answer);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });

const text = (kind) =>
  updates.filter((update) => update.sessionUpdate === kind).map((update) => update.content.text ?? "").join("");
const last = (kind) => updates.findLast((update) => update.sessionUpdate === kind);
const play = (...steps) => [{ type: "text", text: `play ${JSON.stringify(steps)}` }];
const call = (name, input) => [{ name, input }];

async function first(agent) {
  const { sessionId, modes } = await agent.request("session/new", { cwd, mcpServers: [] });
  assert.equal(modes.currentModeId, "default");
  const prompt = (prompt) => agent.request("session/prompt", { sessionId, prompt });

  assert.equal((await prompt(play("hello from the model"))).stopReason, "end_turn");
  assert.equal(text("agent_message_chunk"), "hello from the model");

  const write = (path) => play(call("write_file", { path, content: "new\n" }), "written");
  assert.equal((await prompt(write("granted.txt"))).stopReason, "end_turn");
  assert.equal(readFileSync(`${cwd}/granted.txt`, "utf8"), "new\n");
  const done = updates.findLast((update) => update.sessionUpdate === "tool_call_update" && update.content);
  assert.equal(done.status, "completed");
  const diff = done.content.find((content) => content.type === "diff");
  assert.deepEqual([diff.path, diff.newText], [`${cwd}/granted.txt`, "new\n"]);

  answer = "reject_once";
  assert.equal((await prompt(write("denied.txt"))).stopReason, "end_turn");
  assert.equal(last("tool_call_update").status, "failed");
  assert.ok(!existsSync(`${cwd}/denied.txt`));

  answer = "allow_once";
  seen = (update) => {
    if (update.status === "in_progress") agent.notify("session/cancel", { sessionId });
  };
  const slow = play(call("shell", { command: "sleep 600" }));
  assert.equal((await prompt(slow)).stopReason, "cancelled");
  seen = () => {};
  assert.equal(last("tool_call_update").status, "failed");
  return sessionId;
}

async function second(agent) {
  const { sessions } = await agent.request("session/list", { cwd });
  assert.ok(sessions.some((session) => session.sessionId === known));
  await agent.request("session/load", { sessionId: known, cwd, mcpServers: [] });
  assert.ok(text("user_message_chunk").includes("hello from the model"));
  assert.ok(text("agent_message_chunk").startsWith("hello from the model"));
  const prompt = play("still here");
  assert.equal((await agent.request("session/prompt", { sessionId: known, prompt })).stopReason, "end_turn");
  assert.ok(text("agent_message_chunk").endsWith("still here"));
  return known;
}

const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const id = await editor.connectWith(stream, async (agent) => {
  const told = await agent.request("initialize", {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } },
    clientInfo: { name: "test", version: "1" },
  });
  assert.equal(told.protocolVersion, 1);
  assert.ok(told.agentCapabilities.loadSession);
  return phase === "first" ? first(agent) : second(agent);
});
console.log(id);
child.stdin.end();
child.kill();
process.exit(0);
