// Events of the daemon as they come, over one long answer. It reads frames; what they mean is left to the state.

import { sendRequest, refusal } from './http'
import type { SessionEvent } from './types'

/** What a stream shows: an event, or a sign of life. */
export type Frame =
  | { kind: 'event'; id: string | null; event: SessionEvent }
  | { kind: 'heartbeat'; lastSeq: number | null; cursor: string | null }

/** Reads a stream until it ends, is aborted, or breaks. `wanted` can drop a frame by its text before it is parsed. */
export async function* follow(
  path: string,
  signal: AbortSignal,
  wanted: (event: string, text: string) => boolean = () => true,
): AsyncGenerator<Frame[]> {
  const headers = { accept: 'text/event-stream' }
  const response = await sendRequest(path, { headers, signal, credentials: 'same-origin', cache: 'no-store' })
  if (!response.ok || !response.body) throw await refusal(response)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  const lines = new FrameLines()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const frames = lines.push(value).flatMap((raw) => read(raw, wanted) ?? [])
      if (frames.length > 0) yield frames
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** A frame as text. Its name is in the data, so an `event:` line is not looked at. */
export interface RawFrame {
  id: string | null
  data: string
}

/** Cuts text into frames; the end of one that is not whole yet is kept for the next chunk. */
export class FrameLines {
  #rest = ''

  push(chunk: string): RawFrame[] {
    const text = this.#rest + chunk
    const frames: RawFrame[] = []
    let from = 0
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', from)) {
      const frame = cut(text.slice(from, end))
      if (frame) frames.push(frame)
      from = end + 2
    }
    this.#rest = text.slice(from)
    return frames
  }
}

function cut(block: string): RawFrame | null {
  const frame: RawFrame = { id: null, data: '' }
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    const value = line.slice(colon + 1).replace(/^ /, '')
    if (line.startsWith('id:')) frame.id = value
    else if (line.startsWith('data:')) frame.data += frame.data ? `\n${value}` : value
  }
  return frame.data ? frame : null
}

/** The name of an event, without parsing it: `type` stands before `data`, and nothing before it can contain it. */
function eventName(text: string): string {
  return /"type":"([a-z_]+)"/.exec(text)?.[1] ?? ''
}

function read(raw: RawFrame, wanted: (event: string, text: string) => boolean): Frame | null {
  const name = eventName(raw.data)
  if (name === 'heartbeat') {
    const { data } = JSON.parse(raw.data) as { data?: { last_seq?: number; cursor?: string } }
    return { kind: 'heartbeat', lastSeq: data?.last_seq ?? null, cursor: data?.cursor ?? raw.id }
  }
  if (name === 'error') throw new Error(`the daemon ended the stream: ${raw.data.slice(0, 500)}`)
  if (!wanted(name, raw.data)) return raw.id === null ? null : { kind: 'heartbeat', lastSeq: null, cursor: raw.id }
  return { kind: 'event', id: raw.id, event: JSON.parse(raw.data) as SessionEvent }
}
