// A provider on loopback that speaks OpenAI's chat completions and answers what a spec scripts: text in pieces, tool calls, a pause
// that the spec ends. Without a script it says "Done."

import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One thing that the model does while it answers. */
export type Move =
  | { text: string }
  | { thinking: string }
  | { call: string; input: unknown; id?: string }
  /** Waits until the promise is settled. */
  | { until: Promise<unknown> }
  /** So many pieces of text, one every so many milliseconds. */
  | { pieces: number; every: number; text: (index: number) => string }
  | { fail: number; message: string }

/** Answers requests with scripts, in the order in which they were given. */
export class ScriptedModel {
  readonly #server: Server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => void this.#answer(Buffer.concat(chunks).toString(), outgoing))
  })
  readonly #scripts: Move[][] = []
  /** What was asked so far. */
  readonly requests: { messages?: unknown[] }[] = []
  #calls = 0

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** The next answer that nobody has asked for yet. Each answer is one step of a turn. */
  next(...moves: Move[]): this {
    this.#scripts.push(moves)
    return this
  }

  async #answer(body: string, outgoing: ServerResponse): Promise<void> {
    const asked = JSON.parse(body || '{}') as { messages?: unknown[] }
    this.requests.push(asked)
    const moves = this.#scripts.shift() ?? [{ text: 'Done.' }]
    const failure = moves.find((move) => 'fail' in move)
    if (failure && 'fail' in failure) {
      outgoing.writeHead(failure.fail, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify({ error: { message: failure.message } }))
      return
    }
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    const finish = await this.#play(moves, outgoing)
    send(outgoing, {}, finish)
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
    outgoing.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [], usage })}\n\n`)
    outgoing.end('data: [DONE]\n\n')
  }

  async #play(moves: Move[], outgoing: ServerResponse): Promise<string> {
    let calls = 0
    for (const move of moves) {
      if (outgoing.destroyed) break
      if ('until' in move) await move.until
      else if ('pieces' in move) await pieces(move, outgoing)
      else if ('text' in move) send(outgoing, { content: move.text })
      else if ('thinking' in move) send(outgoing, { reasoning_content: move.thinking })
      else if ('call' in move) {
        const id = move.id ?? `call_${(this.#calls += 1)}`
        const call = {
          index: calls++,
          id,
          type: 'function',
          function: { name: move.call, arguments: JSON.stringify(move.input) },
        }
        send(outgoing, { tool_calls: [call] })
      }
    }
    return calls > 0 ? 'tool_calls' : 'stop'
  }
}

async function pieces(
  move: { pieces: number; every: number; text: (index: number) => string },
  outgoing: ServerResponse,
): Promise<void> {
  const begun = performance.now()
  for (let index = 0; index < move.pieces && !outgoing.destroyed; index += 1) {
    send(outgoing, { content: move.text(index) })
    const ahead = begun + (index + 1) * move.every - performance.now()
    if (ahead > 1) await new Promise((resolve) => setTimeout(resolve, ahead))
  }
}

function send(outgoing: ServerResponse, delta: Record<string, unknown>, finish: string | null = null): void {
  const chunk = {
    id: 'x',
    object: 'chat.completion.chunk',
    model: 'model',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
  outgoing.write(`data: ${JSON.stringify(chunk)}\n\n`)
}
