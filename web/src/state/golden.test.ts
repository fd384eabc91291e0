// The kept logs fold to the same view here as in the daemon, which wrote the expected one beside each log.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import type { EventRecord } from '../api/types'
import { fold } from './apply'

const LOGS = join(__dirname, '../../../testdata/logs')
const VIEWS = join(__dirname, '../../../testdata/views')
const logs = readdirSync(LOGS).map((name) => join(LOGS, name))
const recordsOf = (log: string): EventRecord[] =>
  readFileSync(join(log, 'events.ndjson'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as EventRecord)

/** What was seen then is seen now; members may have been added since. */
function cover(now: unknown, then: unknown, at: string): void {
  if (Array.isArray(then)) {
    expect((now as unknown[]).length, at).toBe(then.length)
    then.forEach((value, index) => cover((now as unknown[])[index], value, `${at}[${index}]`))
  } else if (then && typeof then === 'object') {
    for (const [name, value] of Object.entries(then))
      cover((now as Record<string, unknown>)[name], value, `${at}.${name}`)
  } else expect(now ?? null, at).toEqual(then)
}

describe('golden logs', () => {
  it.each(logs)('%s folds to the view that clients saw', (log) => {
    cover(fold(recordsOf(log)), JSON.parse(readFileSync(join(log, 'view.json'), 'utf8')), 'view')
  })

  it.each(readdirSync(VIEWS))('%s folds to the daemon’s view after each record', (name) => {
    const lines = readFileSync(join(VIEWS, name), 'utf8').split('\n').filter(Boolean)
    const steps = lines.map((line) => JSON.parse(line) as { record: EventRecord; changed: object })
    let known: object = {}
    steps.forEach(({ record, changed }, index) => {
      known = { ...known, ...changed }
      const view = fold(steps.slice(0, index + 1).map((step) => step.record))
      expect(plain(view), `after ${record.type}, seq ${record.seq}`).toEqual(plain(known))
    })
  })
})

/** Without what stands for nothing: absent, null and empty are the same to a client. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (!value || typeof value !== 'object') return value
  const kept = Object.entries(value).filter(
    ([, each]) => each !== null && each !== undefined && !(Array.isArray(each) && each.length === 0) && each !== false,
  )
  return Object.fromEntries(kept.map(([name, each]) => [name, plain(each)]))
}
