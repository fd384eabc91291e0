// What models, tools and files say stays text: nothing of it runs, leads astray, or fetches anything.
import { appendFile, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Page } from '@playwright/test'

import { Daemon, enter, expect, openSession, test } from './harness'
import { importTurns } from './transcript-log'

/** Watches for anything that runs or leaves the machine. */
async function watch(page: Page, daemon: Daemon): Promise<{ ran: () => Promise<number>; foreign: string[] }> {
  const foreign: string[] = []
  page.on('request', (request) => {
    if (!/^(?:blob:|data:)/.test(request.url()) && !request.url().startsWith(daemon.url)) foreign.push(request.url())
  })
  await page.addInitScript(() => {
    const counted = window as Window & { ran?: number }
    counted.ran = 0
    window.alert = () => void (counted.ran! += 1)
  })
  return { ran: () => page.evaluate(() => (window as Window & { ran?: number }).ran ?? -1), foreign }
}

/** Elements that no text may make. */
const MADE =
  '.transcript :is(script, iframe, object, embed, form, style, link, base, meta, [onerror], [onclick], [onload], ' +
  '[srcdoc], a[href^="javascript" i], a[href^="data" i])'

const EVIL = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>',
  '<svg onload=alert(1)><script>alert(1)</script></svg>',
  '<style>body{display:none}</style><form action="https://evil.example"><input></form>',
  '<details open ontoggle=alert(1)>x</details>',
].join('\n\n')

test('markup, links and pictures of a markdown text do no harm', async ({ daemon, page }) => {
  const text = [
    EVIL,
    '[click](javascript:alert(1)) [click](JaVaScRiPt:alert%281%29) [click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
    '[click](java&#10;script:alert(1)) <javascript:alert(1)> [vb](vbscript:x) [file](file:///etc/passwd)',
    '![a picture](https://evil.example/track.png) ![svg](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)',
    '[fine](https://example.org/page) and `<b onclick=alert(1)>code</b>`',
    '| <img src=x onerror=alert(1)> | b |\n| - | - |\n| <script>alert(1)</script> | [x](javascript:alert(1)) |',
    '```html\n<script>alert(1)</script>\n```',
    '```svg\n<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="alert(1)">' +
      '<script>alert(1)</script><image href="https://evil.example/x.png"/><rect width="40" height="40"/></svg>\n```',
    '# <img src=x onerror=alert(1)> heading',
    'Turned: a\u202eb',
  ].join('\n\n')
  const session = await importTurns(daemon, [{ prompt: EVIL, steps: [{ text }] }])
  const { ran, foreign } = await watch(page, daemon)
  await enter(daemon, page)
  await openSession(daemon, page, session)
  const answer = page.getByRole('article', { name: 'Answer' })
  await expect(answer.getByText('Turned: a‹U+202E›b')).toBeAttached()
  await expect(page.getByRole('article', { name: 'You' })).toContainText('<script>alert(1)</script>')
  await expect(answer).toContainText('<img src=x onerror=alert(1)>')
  await expect(page.locator(MADE)).toHaveCount(0)
  expect(await answer.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual([
    'https://evil.example/track.png',
    'https://example.org/page',
  ])
  for (const link of await answer.locator('a').all()) expect(await link.getAttribute('rel')).toContain('noopener')
  for (const click of await answer.getByText('click', { exact: true }).all()) await click.click()
  // The drawing is shown, as a picture.
  const drawing = answer.locator('img.drawing')
  await expect.poll(() => drawing.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBe(40)
  expect(await drawing.getAttribute('src')).toMatch(/^blob:/)
  expect(await ran()).toBe(0)
  expect(foreign).toEqual([])
})

test('what tools say, and the names of files, do no harm', async ({ daemon, page }) => {
  const name = '<img src=x onerror=alert(1)>.rs'
  const link = '\u001b]8;;javascript:alert(1)\u001b\\click here\u001b]8;;\u001b\\'
  const diff = `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-<script>alert(1)</script>\n+<img src=x onerror=alert(1)>\n`
  const session = await importTurns(daemon, [
    {
      prompt: 'go',
      steps: [
        {
          text: '',
          calls: [
            {
              name: 'shell',
              input: { command: `echo '${EVIL}'` },
              told: `${EVIL}\n${link}\n\u001b[31mred\u001b[0m \u001b[999999999C.\u0007`,
              details: { exit_code: 1 },
            },
            {
              name: 'apply_patch',
              input: {},
              told: 'ok',
              details: { files: [{ path: name, action: 'update', added: 1, removed: 1, diff }] },
            },
            { name: 'evil<script>alert(1)</script>', input: { '<b>': EVIL }, told: EVIL },
            {
              name: 'search',
              input: { query: '<script>' },
              told: `${name}:1: <script>alert(1)</script>\n`,
              details: { matches: 1 },
            },
            { name: 'shell', input: { command: 'x' }, told: 'between' },
            { name: 'read_file', input: { path: name }, told: '1\t<script>alert(1)</script>' },
          ],
        },
        { text: 'Done.' },
      ],
    },
  ])
  const { ran, foreign } = await watch(page, daemon)
  await page.setViewportSize({ width: 1280, height: 2400 })
  await enter(daemon, page)
  await openSession(daemon, page, session)
  await expect(page.getByText('Done.')).toBeVisible()
  const closed = page.locator('.transcript article button[aria-expanded=false]')
  while ((await closed.count()) > 0) await closed.first().click()
  const terminal = page.locator('article[data-form=command] .terminal').first()
  await expect(terminal).toContainText('click here')
  await expect(terminal.locator('a')).toHaveCount(0)
  await expect(terminal.locator('.ansi-fg-1')).toHaveText('red')
  await expect(page.locator('article[data-form=change] .diff-text.diff-added')).toContainText(
    '<img src=x onerror=alert(1)>',
  )
  await expect(page.locator('article[data-form=search] .hit mark')).toHaveText('<script>')
  await expect(page.locator('article[data-form=read] .subject')).toHaveText(name)
  await expect(page.locator(MADE)).toHaveCount(0)
  expect(await ran()).toBe(0)
  expect(foreign).toEqual([])
})

test('a drawing that a tool made is shown as a picture and never as a page', async ({ page }) => {
  // Whatever draws on this machine, here it draws something evil.
  const programs = await mkdtemp(join(tmpdir(), 'ostler-programs-'))
  const drawing =
    '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="32" onload="alert(1)">' +
    '<script>alert(1)</script><rect width="64" height="32" fill="red"/></svg>'
  await writeFile(join(programs, 'dot'), `#!/bin/sh\ncat > /dev/null\nprintf '%s' '${drawing}'\n`)
  await chmod(join(programs, 'dot'), 0o755)
  const daemon = await Daemon.start()
  const path = process.env.PATH
  try {
    // Programs that are confined do not see it.
    await appendFile(join(daemon.place, 'config.toml'), '\n[sandbox]\nmode = "off"\n')
    await daemon.kill()
    process.env.PATH = `${programs}:${path}`
    await daemon.restart()
    daemon.model
      .next({ call: 'diagram', input: { format: 'dot', source: 'digraph { a -> b }' } })
      .next({ text: 'Drawn.' })
    const session = await daemon.scripted({ policy: { approval: { require_for_kinds: [] } } })
    await daemon.say(session, 'draw')
    const { ran, foreign } = await watch(page, daemon)
    await enter(daemon, page)
    await openSession(daemon, page, session)
    await expect
      .poll(async () => {
        const { approvals } = await daemon.api<{ approvals: { turn_id: string; tool_call_id: string }[] }>(
          'GET',
          '/v1/approvals',
        )
        for (const { turn_id, tool_call_id } of approvals)
          await daemon.api('POST', `/v1/sessions/${session}/approve`, { turn_id, tool_call_id, action: 'approve' })
        return page.getByText('Drawn.').isVisible()
      })
      .toBe(true)
    const picture = page.locator('article[data-form=drawing] img.drawing')
    await expect.poll(() => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBe(64)
    expect(await picture.getAttribute('src')).toMatch(/^blob:/)
    await expect(page.locator('.transcript svg:not(.icon)')).toHaveCount(0)
    expect(await ran()).toBe(0)
    expect(foreign).toEqual([])
  } finally {
    process.env.PATH = path
    await daemon.stop()
    await rm(programs, { recursive: true })
  }
})
