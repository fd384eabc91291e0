// A long log, made as the daemon would have written it, to be imported: many turns of messages, calls and results.

import { createHash } from 'node:crypto'

import type { Daemon } from './harness'

/** What one turn of a made log holds. */
export interface MadeTurn {
  prompt: string
  /** What the model says, each with the calls that it asks for. */
  steps: { text: string; calls?: { name: string; input: unknown; told: string; details?: unknown }[] }[]
}

/** Imports a session with these turns; its id. */
export async function importTurns(daemon: Daemon, turns: MadeTurn[]): Promise<string> {
  const seed = await daemon.session()
  const exported = await fetch(`${daemon.url}/v1/sessions/${seed}/export?format=ndjson`, {
    headers: { authorization: `Bearer ${daemon.token}` },
  })
  const first = JSON.parse((await exported.text()).split('\n', 1)[0] as string) as Record<string, unknown>
  const response = await fetch(`${daemon.url}/v1/sessions/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/x-ndjson' },
    body: chained(first, turns),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`import: ${response.status} ${text}`)
  return (JSON.parse(text) as { session_id: string }).session_id
}

function chained(first: Record<string, unknown>, turns: MadeTurn[]): string {
  const lines: string[] = []
  let chain = '0'.repeat(16)
  const add = (type: string, turn: string | null, data: unknown) => {
    const record = {
      seq: lines.length + 1,
      ts: first['ts'],
      session_id: first['session_id'],
      turn_id: turn,
      type,
      data,
    }
    const json = JSON.stringify(record)
    chain = createHash('sha256')
      .update(chain + json)
      .digest('hex')
      .slice(0, 16)
    lines.push(`${json.slice(0, -1)},"chain":"${chain}"}`)
  }
  add('session_created', null, first['data'])
  turns.forEach((turn, at) => addTurn(add, turn, at, first['ts'] as string))
  return `${lines.join('\n')}\n`
}

type Add = (type: string, turn: string | null, data: unknown) => void

function addTurn(add: Add, { prompt, steps }: MadeTurn, at: number, created_at: string): void {
  const turn = id('turn', at, 0)
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    cached_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    cost_usd: null,
  }
  const prompted = id('msg', at, 0)
  add('message_added', turn, {
    message: { id: prompted, role: 'user', parts: [{ type: 'text', text: prompt }], created_at },
  })
  add('turn_started', turn, { message_ids: [prompted], model: 'demo:demo' })
  steps.forEach(({ text, calls = [] }, step) => {
    const named = calls.map((call, index) => ({ ...call, id: `call_${at}_${step}_${index}` }))
    const parts = [
      { type: 'text', text },
      ...named.map(({ id, name, input }) => ({ type: 'tool_call', id, name, input })),
    ]
    const message = { id: id('msg', at, 1 + step * 100), role: 'assistant', parts, created_at }
    add('model_output_completed', turn, { message, stop_reason: named.length > 0 ? 'tool_calls' : 'stop', usage })
    if (named.length === 0) return
    add('tool_batch_started', turn, { tool_calls: named.map((call) => call.id), parallel: false })
    named.forEach(({ id: call, name, input, told, details }, index) => {
      add('tool_call_started', turn, { tool_call: { id: call, name, input }, kind: 'read' })
      const result = {
        id: call,
        ok: true,
        parts: [{ type: 'text', text: told }],
        ...(details === undefined ? {} : { details }),
      }
      add('tool_call_completed', turn, {
        tool_call: { id: call, name },
        tool_result: result,
        duration_ms: 3,
        message_id: id('msg', at, 2 + step * 100 + index),
      })
    })
    add('tool_batch_completed', turn, {})
  })
  add('turn_completed', turn, { stop_reason: 'stop', usage, verified: null })
}

function id(kind: string, turn: number, within: number): string {
  return `${kind}_019c0000${turn.toString(16).padStart(4, '0')}7000a000${within.toString(16).padStart(12, '0')}`
}
