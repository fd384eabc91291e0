// The transcript under load: a very long session, and a model that writes fast. Tasks are measured by the processor time that they
// take, not by the clock, so that a busy machine does not fail them.
import type { Browser, Page } from '@playwright/test'

import { enter, expect, openSession, test } from './harness'
import { importTurns } from './transcript-log'

test.describe.configure({ mode: 'serial' })

const SECONDS = Number(process.env.OSTLER_SPEC_SECONDS ?? 60)

/** The longest tasks of the page's main thread while something is done, in milliseconds of processor time, longest first. */
async function tasks(browser: Browser, page: Page, work: () => Promise<void>): Promise<number[]> {
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline', '__metadata'] })
  await work()
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }
  const threads = new Set(
    trace.traceEvents
      .filter((event) => event.name === 'thread_name' && event.args?.name === 'CrRendererMain')
      .map((event) => `${event.pid}:${event.tid}`),
  )
  return trace.traceEvents
    .filter(
      (event) => /RunTask|ThreadControllerImpl::RunTask/.test(event.name) && threads.has(`${event.pid}:${event.tid}`),
    )
    .map((event) => (event.tdur ?? event.dur ?? 0) / 1000)
    .sort((a, b) => b - a)
    .slice(0, 5)
}

interface TraceEvent {
  name: string
  pid: number
  tid: number
  dur?: number
  tdur?: number
  args?: { name?: string }
}

/** What the page's JavaScript keeps, in bytes, after it was tidied up. */
async function heap(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page)
  await client.send('HeapProfiler.collectGarbage')
  const { usedSize } = await client.send('Runtime.getHeapUsage')
  await client.detach()
  return usedSize
}

/** Waits until the answer has come to a word. */
async function written(page: Page, word: string): Promise<void> {
  await page.waitForFunction(
    (word) => document.querySelector('.assistant .markdown')?.textContent?.includes(word),
    word,
    { timeout: 60_000 },
  )
}

test('a session of ten thousand parts opens with its end and draws a window of its rows', async ({
  daemon,
  page,
  browser,
}) => {
  test.setTimeout(240_000)
  const code = '```rust\nfn main() {\n    let greeting = "hello";\n    println!("{greeting}");\n}\n```'
  const turns = Array.from({ length: 840 }, (_, at) => ({
    prompt: `Question ${at}`,
    steps: [
      {
        text: `Looking, ${at}.`,
        calls: [
          { name: 'read_file', input: { path: `src/f${at}.rs` }, told: '1\tfn a() {}' },
          { name: 'search', input: { query: 'a' }, told: 'src/a.rs:1: fn a() {}\n', details: { matches: 1 } },
        ],
      },
      {
        text: `Changing *it*, ${at}.`,
        calls: [
          {
            name: 'edit_file',
            input: { path: 'a' },
            told: 'ok',
            details: {
              files: [
                { path: 'a', action: 'update', added: 1, removed: 1, diff: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n' },
              ],
            },
          },
          { name: 'shell', input: { command: `echo ${at}` }, told: `${at}\n`, details: { exit_code: 0 } },
        ],
      },
      {
        text: [
          `## Answer ${at}`,
          'Some words with **weight** and `code`. '.repeat(1 + (at % 6) * 4),
          at % 3 === 0 ? code : '- one\n- two',
        ].join('\n\n'),
      },
    ],
  }))
  const session = await importTurns(daemon, turns)
  await enter(daemon, page)
  const opening = await tasks(browser, page, async () => {
    await openSession(daemon, page, session)
    await expect(page.getByRole('heading', { name: 'Answer 839' })).toBeInViewport()
  })
  const scroller = page.getByRole('region', { name: 'Messages and tool calls' })
  await scroller.hover()
  const up = await tasks(browser, page, async () => {
    for (let step = 0; step < 60; step += 1) {
      await page.mouse.wheel(0, -900)
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
    }
  })
  // Now all of it is loaded, and jumped about in.
  const loading = await tasks(browser, page, async () => {
    await expect
      .poll(
        async () => {
          await scroller.evaluate((element) => (element.scrollTop = 0))
          return page.getByRole('article', { name: 'You' }).getByText('Question 0', { exact: true }).isVisible()
        },
        { timeout: 120_000, intervals: [20] },
      )
      .toBe(true)
  })
  const about = await tasks(browser, page, async () => {
    for (let step = 1; step <= 40; step += 1) {
      await scroller.evaluate(
        (element, part) => (element.scrollTop = element.scrollHeight * part),
        ((step * 7) % 40) / 40,
      )
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
    }
  })
  const drawn = await page.locator('.transcript .row').count()
  console.log(
    'longest tasks in ms:',
    JSON.stringify({ opening, up, loading, about }),
    'rows drawn:',
    drawn,
    'heap MB:',
    Math.round((await heap(page)) / 1e6),
  )
  // The times are for people to read: they depend on what else the machine does. How much is drawn does not.
  expect(drawn).toBeLessThan(80)
})

test('two hundred deltas a second leave the field usable and the heap flat', async ({ daemon, page, browser }) => {
  test.setTimeout(SECONDS * 1000 + 120_000)
  const paragraph = (at: number) =>
    at % 40 === 39 ? '.\n\n' : at % 400 === 200 ? '\n\n```js\nconst x = 1\n```\n\n' : ` word${at}`
  daemon.model.next({ pieces: SECONDS * 200, every: 5, text: paragraph }, { text: '\n\nThe end.' })
  const session = await daemon.scripted()
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await daemon.say(session, 'write much')
  await written(page, 'word1010 ')
  const early = await heap(page)
  const field = page.getByRole('textbox', { name: /message/i }).first()
  const longest = await tasks(browser, page, async () => {
    // A person types all the while, and each key shows at once.
    for (let key = 0; key < 40; key += 1) await field.press('a')
    await expect(field).toHaveValue('a'.repeat(40))
    await written(page, 'word2610 ')
  })
  await expect(page.getByText('The end.')).toBeInViewport({ timeout: SECONDS * 1000 + 60_000 })
  const late = await heap(page)
  console.log(
    'longest tasks in ms:',
    JSON.stringify(longest),
    'heap MB:',
    (early / 1e6).toFixed(1),
    '→',
    (late / 1e6).toFixed(1),
  )
  // The text itself, its elements, and no more: each delta leaves nothing behind.
  expect(late - early).toBeLessThan(8_000_000)
})
