// Frames that are cut anywhere come out whole.

import { describe, expect, it } from 'vitest'

import { FrameLines } from './stream'

describe('FrameLines', () => {
  const text = 'id: 4\nevent: turn_started\ndata: {"seq":4}\n\ndata: {"data":{}}\n\n'

  it('gives the same frames for every cut', () => {
    for (let cut = 0; cut <= text.length; cut += 1) {
      const lines = new FrameLines()
      const frames = [...lines.push(text.slice(0, cut)), ...lines.push(text.slice(cut))]
      expect(frames).toEqual([
        { id: '4', data: '{"seq":4}' },
        { id: null, data: '{"data":{}}' },
      ])
    }
  })
})
