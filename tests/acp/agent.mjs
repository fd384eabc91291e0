// A small agent on the protocol's own SDK, whose directory is the first argument. What it does follows from the
// prompt: `call` makes a call, `ask` asks first, `write` and `run` have the client do something, `wait` waits until
// it is canceled; whatever it is told, it says back.
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const sdk = `${process.argv[2]}/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js`;
const acp = await import(pathToFileURL(sdk));
const sessions = new Map();

async function prompt({ params, client }) {
  const { sessionId } = params;
  const canceled = new Promise((resolve) => sessions.set(sessionId, resolve));
  const update = (update) => client.notify(acp.methods.client.session.update, { sessionId, update });
  const text = params.prompt.map((block) => block.text ?? "").join(" ");
  const toolCallId = `call-${text.length}`;
  const ended = (status, words) =>
    update({ sessionUpdate: "tool_call_update", toolCallId, status,
      content: [{ type: "content", content: { type: "text", text: words } }] });
  await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: `You said: ${text}` } });
  if (/call|ask/.test(text)) {
    await update({ sessionUpdate: "tool_call", toolCallId, title: "Look around", kind: "execute", status: "pending",
      rawInput: { command: "ls" } });
  }
  if (/ask/.test(text)) {
    const { outcome } = await client.request(acp.methods.client.session.requestPermission, {
      sessionId, toolCall: { toolCallId },
      options: [
        { optionId: "go", name: "Go on", kind: "allow_once" },
        { optionId: "stop", name: "Stop", kind: "reject_once" },
      ],
    });
    if (outcome.outcome === "cancelled") return { stopReason: "cancelled" };
    if (outcome.optionId !== "go") return ended("failed", "not allowed").then(() => ({ stopReason: "end_turn" }));
  }
  if (/call|ask/.test(text)) await ended("completed", "a.txt b.txt");
  if (/write/.test(text)) {
    const path = `${process.cwd()}/by-sdk.txt`;
    await client.request(acp.methods.client.fs.writeTextFile, { sessionId, path, content: "written\n" });
    const read = await client.request(acp.methods.client.fs.readTextFile, { sessionId, path });
    await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: `It holds ${read.content}` } });
  }
  if (/run/.test(text)) {
    const terminal = await client.createTerminal({ sessionId, command: "echo", args: ["it's me"] });
    const { exitCode } = await terminal.waitForExit();
    const { output } = await terminal.currentOutput();
    await terminal.release();
    await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: `${exitCode}: ${output}` } });
  }
  if (/wait/.test(text)) {
    await canceled;
    return { stopReason: "cancelled" };
  }
  return { stopReason: "end_turn" };
}

acp
  .agent({ name: "sdk-agent" })
  .onRequest(acp.methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: { loadSession: false } }))
  .onRequest(acp.methods.agent.session.new, () => ({ sessionId: crypto.randomUUID() }))
  .onRequest(acp.methods.agent.session.prompt, prompt)
  .onNotification(acp.methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
